# SPDX-License-Identifier: BSD-3-Clause
"""nginx on the proxies' host, with a certificate for one name."""

import subprocess

OK, ERROR, H2, TLS, TLS_H2, TLS_CLIENT, OWN = 80, 81, 82, 443, 444, 445, 8080
NAME = "www.example.com"

CONFIG = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx-error.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    {servers}
}}
"""

SERVERS = """
    server {{ listen 80 backlog=4096; listen [::]:80;
              location / {{ return 200 "all is well for $host\\n"; }}
              location /ask {{ return 200 "$request_method $host token=$http_x_token agent=$http_user_agent\n"; }}
              location /made {{ return 204; }}
              location /moved {{ return 301 /; }}
              location /unchanged {{ return 304; }} }}
    server {{ listen 81; return 500; }}
    server {{ listen 82 http2; location / {{ return 200 "$server_protocol $host $http_x_token\n"; }} location /bodies/ {{ root {folder}; }} }}
    server {{ listen 444 ssl http2; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
              return 200 "$server_protocol\n"; }}
    server {{ listen 445 ssl; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
              ssl_client_certificate {folder}/clients.pem; ssl_verify_client on; return 200 "hello $ssl_client_s_dn\n"; }}
    server {{ listen 443 ssl; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
              return 200 "secret for $ssl_server_name\\n"; }}
"""


def make_certificate(folder, name=NAME, prefix="", key=("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", *key, "-nodes", "-days", "2",
         "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
         "-keyout", folder / f"{prefix}key.pem", "-out", folder / f"{prefix}cert.pem"], check=True, capture_output=True)


def make_bodies(folder, sizes):
    """Files that port 82 serves as /bodies/SIZE."""
    (folder / "bodies").mkdir(exist_ok=True)
    for size in sizes:
        (folder / "bodies" / str(size)).write_bytes(bytes(size))


def make_clients(folder):
    """Two client certificates, a-cert.pem and b-cert.pem, with their keys."""
    for name in "ab":
        make_certificate(folder, f"client-{name}", f"{name}-")
    (folder / "clients.pem").write_text((folder / "a-cert.pem").read_text() + (folder / "b-cert.pem").read_text())


def start(host, folder, servers=SERVERS):
    folder.mkdir(exist_ok=True)
    config = folder / "nginx.conf"
    config.write_text(CONFIG.format(folder=folder, servers=servers.format(folder=folder)))
    return host.start("nginx", "-p", str(folder), "-e", str(folder / "nginx-error.log"), "-c", str(config),
                      stdin=subprocess.DEVNULL)
