#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures the time of glb-redirect's program for a GUE packet that it accepts or refuses (BPF_PROG_TEST_RUN). Needs root.

Usage: bench/redirect_gue.py [BUILDDIR...]

With several builds, for instance of this version and of an earlier one, it measures them in turn. A build without --config-file has
only the first row, and one without outer IPv6 lacks the rows about it. Figures are medians of runs of 25 packets in ns for each packet. An accepted packet loses its outer headers, so a
frame has 25 GUE packets, one in the other, and the program accepts the next one in each repetition.
"""

import ctypes
import json
import os
import statistics
import struct
import sys
import tempfile
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TREE), str(TREE / "tests"), str(TREE / "tests/vectors")]
from cases import frames as f  # noqa: E402
from lab.net import Namespace, connect  # noqa: E402
from model.quic import QuicConfig  # noqa: E402

PACKETS, ROUNDS, RUNS = 25, 20, 50
PROXY, DIRECTOR, STRANGER = "192.168.50.10", "192.0.2.1", "203.0.113.9"
PROXY6, DIRECTOR6 = "fd50::10", "2001:db8:1::1"
# In native mode the program would verify the UDP checksums of inner IPv6, and in IPv4 these packets have none.
GENERIC = "accepted, lists of 3 prefixes, generic mode, outer "
SENDERS = 4096  # more than a CPU remembers
FEW = f'allow_from = ["192.0.2.0/24", "10.1.0.0/16", "{PROXY}"]; allow_to = ["{PROXY}", "10.10.10.10", "fdb4::/64"];\n'
FEW6 = f'allow_from = ["2001:db8:1::/64", "10.1.0.0/16", "{PROXY6}"]; allow_to = ["{PROXY6}", "10.10.10.10", "fdb4::/64"];\n'
MANY = 'allow_from = ["192.0.2.0/24", "10.1.0.0/16", %s]; allow_to = "local";\n' % ", ".join(f'"172.16.{n // 250}.{n % 250}"' for n in range(1000))
SYS_BPF, BPF_PROG_TEST_RUN, BPF_PROG_GET_FD_BY_ID = {"x86_64": 321, "aarch64": 280}[os.uname().machine], 10, 13


def bpf(command, attributes):
    """bpf(2). Returns its result and the attributes after it."""
    buffer = ctypes.create_string_buffer(attributes, 128)
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(SYS_BPF, command, buffer, len(buffer))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result, buffer.raw


# A GUE header with 4 hops, none of which is left. After its first byte, its 23 bytes are the connection ID of the packet around it.
HOPS = struct.pack(">BBHHBB", 5, 4, 0, 0, 4, 4) + bytes(range(1, 17))
KEY = bytes.fromhex("8f95f09245765f80256934e50c66207f")


def gue(source, inner):
    if ":" in source:
        return f.ipv6(source, PROXY6, f.UDP, f.udp(0x8ABC, 19523, struct.pack(">BBHHBB", 1, 41, 0, 1, 0, 0) + inner))
    return f.ipv4(source, PROXY, f.UDP, f.udp(0x8ABC, 19523, struct.pack(">BBHHBB", 1, 4, 0, 0, 0, 0) + inner))


def quic_frame():
    packet = f.ipv4("198.51.100.7", PROXY, f.UDP, f.udp(1, 2, HOPS))
    for _ in range(PACKETS):
        packet = f.ipv4(DIRECTOR, PROXY, f.UDP, f.udp(0x8ABC, 19523, HOPS + packet))
    return f.ethernet(packet)


def quic_conf(server, nonce, key=None, own=True):
    """redirect.conf with a configuration by which the packets of quic_frame() name this host, or another one."""
    config = QuicConfig(0, server, nonce, key)
    name = config.decode(HOPS[1:])[0]
    name = name if own else bytes([name[0] ^ 1]) + name[1:]
    key = f'key = "{key.hex()}";' if key else ""
    return FEW + f'quic = ( {{ id = 0; server_id_length = {server}; nonce_length = {nonce}; {key} server_id = "{name.hex()}"; }} );\n'


QUIC = {  # the last rows: text, and redirect.conf
    "UDP, without quic": FEW,
    "kept, without key": quic_conf(3, 8),
    "kept, one pass": quic_conf(8, 8, KEY),
    "kept, three passes": quic_conf(3, 8, KEY),
    "kept, four passes": quic_conf(10, 9, KEY),
    "names no host, three passes": quic_conf(3, 8, KEY, own=False),
    "another configuration": quic_conf(3, 8, KEY).replace("id = 0", "id = 1"),
}


def frame_of(sources):
    ipv6 = ":" in sources[0]
    packet = f.ipv6("2001:db8::7", PROXY6, f.UDP, f.udp(1, 2, b"data")) if ipv6 else f.ipv4("198.51.100.7", PROXY, f.UDP, f.udp(1, 2, b"data"))
    for source in sources:
        packet = gue(source, packet)
    return f.ethernet(packet)


class Program:
    """The program of a build on an interface of its own host."""

    def __init__(self, build, *options):
        self.glb_redirect = str(Path(build).resolve() / "src/redirect/glb-redirect")
        self.host, self.network = Namespace(), Namespace()
        connect(self.host, "eth0", self.network, "net0")
        self.host.ip(f"link set eth0 address {f.DIRECTOR_MAC}", f"addr add {PROXY}/24 dev eth0", f"addr add {PROXY6}/64 dev eth0 nodad", "addr add 10.10.10.10/32 dev lo")
        self.attached = self.host.run(self.glb_redirect, "attach", "eth0", *options, check=False).returncode == 0
        if self.attached:
            self.program = bpf(BPF_PROG_GET_FD_BY_ID, struct.pack("=I124x", self._status()["program_id"]))[0]
            self.index = json.loads(self.host.run("ip", "-json", "link", "show", "eth0").stdout)[0]["ifindex"]

    def _status(self):
        return json.loads(self.host.run(self.glb_redirect, "status", "eth0", "--json").stdout)["eth0"]

    def counter(self, name):
        return json.loads(self.host.run(self.glb_redirect, "stats", "eth0", "--json").stdout)["eth0"].get(name, 0)

    def run(self, frame):
        """Nanoseconds for each of PACKETS repetitions."""
        data, out = ctypes.create_string_buffer(frame, len(frame)), ctypes.create_string_buffer(4096)
        context = ctypes.create_string_buffer(struct.pack("=6I", 0, len(frame), 0, self.index, 0, 0), 24)
        layout = "=IIIIQQIIIIQQ"
        attributes = struct.pack(layout, self.program, 0, len(frame), len(out), ctypes.addressof(data), ctypes.addressof(out),
                                 PACKETS, 0, len(context), 0, ctypes.addressof(context), 0)
        with self.host:
            after = bpf(BPF_PROG_TEST_RUN, attributes.ljust(128, b"\0"))[1]
        return struct.unpack(layout, after[: struct.calcsize(layout)])[7]

    def close(self):
        self.host.close()
        self.network.close()


def main():
    same = [frame_of([DIRECTOR] * PACKETS)]
    others = [frame_of([f"10.1.{n >> 8}.{n & 255}" for n in range(first, first + PACKETS)]) for first in range(0, SENDERS, PACKETS)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        few, many, few6 = (Path(folder) / name for name in ("few.conf", "many.conf", "few6.conf"))
        few6.write_text(FEW6)
        quic = []
        for number, (text, conf) in enumerate(QUIC.items()):
            path = Path(folder) / f"quic{number}.conf"
            path.write_text(conf)
            quic.append((text, [quic_frame()], path, "quic_kept" if text.startswith("kept") else "accepted_other"))
        few.write_text(FEW)
        many.write_text(MANY)
        for build in sys.argv[1:] or [TREE / "build"]:
            for text, frames, conf, counter in (
                    ("accepted, no configuration", same, None, "accepted_other"), ("accepted, lists of 3 prefixes", same, few, "accepted_other"),
                    ("accepted, a list of 1002 prefixes", same, many, "accepted_other"),
                    ("accepted, each packet from another sender", others, few, "accepted_other"),
                    ("refused, from a stranger", [frame_of([STRANGER])], few, "drop_source"),
                    (GENERIC + "IPv4", same, few, "accepted_other"), (GENERIC + "IPv6", [frame_of([DIRECTOR6] * PACKETS)], few6, "accepted_other"), *quic):
                program = Program(build, *(["--config-file", conf] if conf else []), *(["--mode", "generic"] if text.startswith(GENERIC) else []))
                rows.append((build, text, program, frames, counter, []))
        for _ in range(ROUNDS):
            for _, _, program, frames, _, times in rows:
                if program.attached:
                    times += [program.run(frames[number % len(frames)]) for number in range(RUNS + len(frames))][len(frames) // 2 :]
    for build, text, program, frames, counter, times in rows:
        if program.attached and program.counter("total"):
            runs = ROUNDS * (RUNS + len(frames)) * PACKETS
            assert program.counter(counter) == runs, (text, program.counter(counter), runs)
            print(f"{build}: {text}: {statistics.median(times)} ns")
        program.close()


if __name__ == "__main__":
    main()
