# SPDX-License-Identifier: BSD-3-Clause
"""Runs glb-director-cli, and writes the files that it reads."""

import ipaddress
import json
import re
import struct
import subprocess

from lab.tools import TIMEOUT_S
from model import siphash24
from support.director_conf import CONFIG, write_config
from support.outputs import check_output
from support.tree import CLI

OK, FAILED, USAGE, BROKEN = 0, 1, 2, 3
CHECK_WARNINGS, CHECK_ERRORS = 1, 2
HANGS_S = 5 * TIMEOUT_S  # an edit of 128 MiB takes minutes on an emulated machine


def run(*args, code=OK, **kwargs):
    """Runs the CLI, which must exit with `code`. The result has stdout and stderr as text."""
    done = subprocess.run([CLI, *map(str, args)], capture_output=True, text=True, timeout=HANGS_S, **kwargs)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}: {done.stderr}{done.stdout}"
    if "--json" in args and done.stdout:
        live = " --live" if "--live" in args and args[0] in ("show", "lookup", "tables") else ""
        for document in done.stdout.splitlines() if "--watch" in args else [done.stdout]:
            check_output(f"{args[0]}{live}", json.loads(document))
    return done


def complete(*words):
    """The words that the CLI offers to a shell for the last of these words."""
    return [line.split("\t")[0] for line in run("--complete", *words).stdout.splitlines()]


def run_json(*args, code=OK, **kwargs):
    return json.loads(run(*args, "--json", code=code, **kwargs).stdout)


def backend(ip, state="active", healthy=True):
    return {"ip": ip, "state": state, "healthy": healthy}


def table(name="web", backends=3, hash_key=1, **members):
    """A table with one bind, tcp 10.10.10.10 port 80, and backends 192.168.50.1, .2 ..."""
    if isinstance(backends, int):
        backends = [backend(f"192.168.{50 + i // 250}.{i % 250 + 1}") for i in range(backends)]
    return {
        "name": name,
        "hash_key": f"{hash_key:032x}",
        "seed": f"{0x5eed:032x}",
        "binds": [{"ip": "10.10.10.10", "proto": "tcp", "port": 80}],
        "backends": backends,
        **members,
    }


def write_tables(path, *tables):
    path.write_text(json.dumps({"tables": list(tables)}))
    return path


def write_conf(path, **keys):
    """Writes a director.conf with these keys, and the two required ones if they are not given. None leaves a key out."""
    return write_config(path, {key: value for key, value in {**CONFIG, **keys}.items() if value is not None})


def as_ipv6(value):
    """The same value with IPv6 addresses of proxies: fd00::50:1 for 192.168.50.1."""
    return json.loads(re.sub(r'"192\.168\.(\d+)\.(\d+)"', r'"fd00::\1:\2"', json.dumps(value)))


def with_ipv6_backend(data, old, new):
    """A binary table with another address of a backend. build-config refuses backends of two families, but other writers may not."""
    data = bytearray(data)
    at = data.index(ipaddress.ip_address(old).packed + bytes(12))
    data[at - 4] = 2  # the family, in both versions
    data[at : at + 16] = ipaddress.ip_address(new).packed
    if data[4] == 3:
        data[16:24] = bytes(8)
        data[16:24] = siphash24(bytes(16), data)
    return bytes(data)


KEY = re.compile(r"\b[0-9a-f]{32}\b")


def with_own_keys(text):
    """The text of a table with other keys, because `check` refuses those of examples."""
    return KEY.sub(lambda key: f"{int(key[0], 16) ^ 0xFACE:032x}", text)


def tcp_frame(source="198.51.100.7", destination="10.10.10.10", sport=40000, dport=80, payload=b"", flags=0):
    """An Ethernet frame with IPv4 and TCP. Checksums are zero, because nothing reads them."""
    address = lambda text: bytes(map(int, text.split(".")))
    tcp = struct.pack("!HHIIBBHHH", sport, dport, 1, 0, 0x50, 2, 65535, 0, 0) + payload
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, flags, 64, 6, 0)
    return bytes(12) + b"\x08\x00" + ip + address(source) + address(destination) + tcp
