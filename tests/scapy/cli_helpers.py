# SPDX-License-Identifier: BSD-3-Clause
"""The real glb-director-cli, and the files that it reads and writes."""

import json
import os
import pathlib
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GLB_BUILD", ROOT / "build"))
CLI = BUILD / "src" / "cli" / "glb-director-cli"

OK, FAILED, USAGE, BROKEN = 0, 1, 2, 3
CHECK_WARNINGS, CHECK_ERRORS = 1, 2

ETHERNET = 1


def run(*args, code=OK, **kwargs):
    """Runs the CLI, which must exit with `code`; the result has stdout and stderr as text."""
    done = subprocess.run([CLI, *map(str, args)], capture_output=True, text=True, timeout=60, **kwargs)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}: {done.stderr}{done.stdout}"
    return done


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


def libconfig(value):
    """A value as libconfig writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + " ".join(f"{key} = {libconfig(member)};" for key, member in value.items()) + " }"
    return json.dumps(value)


def write_conf(path, **keys):
    """A director.conf of these keys, with the two required ones unless they are given."""
    keys = {"outbound_gateway_mac": "02:00:00:00:00:fe", "outbound_src_ip": "192.0.2.1", **keys}
    path.write_text("".join(f"{key} = {libconfig(value)};\n" for key, value in keys.items()))
    return path


def write_pcap(path, frames, link_type=ETHERNET, snap=262144, times=None):
    """Microseconds; frames are cut to `snap` bytes; times in seconds, else a second apart from 1000 on."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, snap, link_type))
        for index, frame in enumerate(frames):
            time = times[index] if times else 1000 + index
            kept = frame[:snap]
            file.write(struct.pack("<IIII", int(time), round(time % 1 * 1e6), len(kept), len(frame)))
            file.write(kept)
    return path


def _block(kind, body):
    body += bytes(-len(body) % 4)
    size = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + size + body + size


def write_pcapng(path, frames):
    """Nanoseconds: frame i at 1000 s + i ns."""
    resolution = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    blocks = _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    blocks += _block(1, struct.pack("<HHI", ETHERNET, 0, 262144) + resolution)
    for index, frame in enumerate(frames):
        time = 1000 * 10**9 + index
        head = struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(frame), len(frame))
        blocks += _block(6, head + frame)
    path.write_bytes(blocks)
    return path


def read_pcap(path):
    """[(nanoseconds, captured bytes, length on the wire)], of the nanosecond format that the CLI writes."""
    data = path.read_bytes()
    assert struct.unpack_from("<I", data)[0] == 0xA1B23C4D
    assert struct.unpack_from("<I", data, 20)[0] == ETHERNET
    packets, at = [], 24
    while at < len(data):
        seconds, nanoseconds, kept, size = struct.unpack_from("<IIII", data, at)
        packets.append((seconds * 10**9 + nanoseconds, data[at + 16 : at + 16 + kept], size))
        at += 16 + kept
    assert at == len(data)
    return packets


def tcp_frame(source="198.51.100.7", destination="10.10.10.10", sport=40000, dport=80, payload=b""):
    """Ethernet, IPv4, TCP; checksums are not looked at and left zero."""
    address = lambda text: bytes(map(int, text.split(".")))
    tcp = struct.pack("!HHIIBBHHH", sport, dport, 1, 0, 0x50, 2, 65535, 0, 0) + payload
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0)
    return bytes(12) + b"\x08\x00" + ip + address(source) + address(destination) + tcp
