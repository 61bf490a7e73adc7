# SPDX-License-Identifier: BSD-3-Clause
"""A CA, and certificates that it signs: for etcd and for its clients."""

import subprocess


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_ca(folder):
    folder.mkdir(exist_ok=True)
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=CA",
            "-keyout", "ca-key.pem", "-out", "ca.pem")
    return folder


def sign(folder, name, subject="127.0.0.1", days=2):
    """Makes NAME.pem and NAME-key.pem. Negative days: the certificate has expired."""
    (folder / f"{name}.ext").write_text(f"subjectAltName = {'IP' if subject[0].isdigit() else 'DNS'}:{subject}\n"
                                        "extendedKeyUsage = serverAuth, clientAuth\n")
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/", "-keyout", f"{name}-key.pem",
            "-out", f"{name}.csr")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", "-days", str(days),
            "-extfile", f"{name}.ext", "-out", f"{name}.pem")
