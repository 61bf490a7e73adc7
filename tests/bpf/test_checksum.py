# SPDX-License-Identifier: BSD-3-Clause
"""The program's own check of inner TCP and UDP checksums: which packets it marks for the kernel, or drops if there is no metadata."""

import os
import random
import struct

import pytest

from cases import frames as f
from conftest import run_frames
from host import CLIENT, FULL, UNKNOWN, VIP, checksummed_tcp, packet
from lab.wire import checksum
from model_of_proxy import XDP_DROP, XDP_PASS
from packets import SYN, gue_frame

VERSION = tuple(map(int, os.uname().release.split(".")[:2]))
if VERSION < (5, 15):
    pytest.skip("BPF_PROG_TEST_RUN takes no metadata before Linux 5.15: there, test_corruption.py is all", allow_module_level=True)

MAGIC = b"GLBm"  # of a mark
PROGRAM = 2  # REDIRECT_CHECKSUMS_PROGRAM
SIZES = [*range(140), 511, 512, 513, 1459, 1460, 3000, 3001]
# Metadata of 32 bytes leaves no room for the mark before Linux 6.9. Later kernels have room for 252 bytes.
METADATA = 32 if VERSION < (6, 9) else 0
RIGHT, MARKED, DROPPED = "right", "marked", "drop_inner_checksum"


def tcp(family, size):
    segment = f.tcp(UNKNOWN, 80, random.Random(size).randbytes(size), SYN)
    return packet(family, f.TCP, checksummed_tcp(family, CLIENT[family], VIP[family], segment))


def udp(family, size):
    datagram = f.udp(UNKNOWN, 443, random.Random(size).randbytes(size))
    pseudo = f.ip(CLIENT[family]) + f.ip(VIP[family]) + struct.pack(">II", len(datagram), f.UDP)
    datagram = datagram[:6] + struct.pack(">H", checksum(pseudo + datagram) or 0xFFFF) + datagram[8:]
    return packet(family, f.UDP, datagram)


def result_of(outcome):
    if outcome.verdict == XDP_DROP:
        return outcome.counter
    assert outcome.verdict == XDP_PASS
    return MARKED if outcome.frame[:4] == MAGIC else RIGHT


def run(host, inners, metadata=0):
    """The results for the packets, in their order."""
    frames = [gue_frame(inner) for inner in inners]
    return [result_of(outcome) for outcome in run_frames(host, frames, checksums=PROGRAM, metadata=metadata)]


@pytest.mark.parametrize("build", [tcp, udp])
@pytest.mark.parametrize("family", [4, 6])
def test_right_checksum_of_every_size(host, family, build):
    assert run(host, [build(family, size) for size in SIZES]) == [RIGHT] * len(SIZES)


@pytest.mark.parametrize("build, header", [(tcp, 20), (udp, 8)], ids=["tcp", "udp"])
@pytest.mark.parametrize("family", [4, 6])
def test_every_flipped_bit_is_found(host, family, build, header):
    """Only bits whose change gives another packet kind are left out: ports stay in, because any first SYN or UDP is accepted."""
    at, size = 20 if family == 4 else 40, 37
    whole = build(family, size)
    length = {6: (12, 13)}.get(whole[9 if family == 4 else 6], (4, 5))  # TCP: data offset and flags; UDP: length
    damaged = []
    for byte in range(at, len(whole)):
        for bit in range(8):
            if byte - at not in length:
                damaged.append(whole[:byte] + bytes([whole[byte] ^ 1 << bit]) + whole[byte + 1 :])
    assert len(damaged) == 8 * (header + size - 2)
    assert run(host, damaged) == [MARKED] * len(damaged)
    if METADATA:
        assert run(host, damaged, METADATA) == [DROPPED] * len(damaged)


@pytest.mark.parametrize("family", [4, 6])
def test_flipped_bit_of_an_address_is_found(host, family):
    at = 12 if family == 4 else 8
    whole = bytearray(tcp(family, 10))
    whole[at] ^= 0x20  # another client
    if family == 4:
        whole[10:12] = bytes(2)
        whole[10:12] = struct.pack(">H", f.internet_checksum(bytes(whole[:20])))
    assert run(host, [bytes(whole)]) == [MARKED]


def test_what_the_program_cannot_verify_goes_to_the_kernel(host):
    whole = udp(4, 32)[20:]
    wrong = whole[:-1] + bytes([whole[-1] ^ 1])
    inners = [
        packet(4, f.UDP, wrong[:24], fragment=f.MORE_FRAGMENTS),
        packet(6, f.FRAGMENT, f.fragment_header(f.UDP, more=True) + wrong[:24]),
        packet(6, f.ROUTING, f.extension(f.UDP) + wrong),
        packet(4, f.UDP, wrong + b"more than the UDP length"),
        udp(4, 32) + b"more than the IPv4 length",
        tcp(6, 32) + b"more than the payload length",
        packet(4, f.ICMP, f.echo(4)[:-1] + b"?"),
        packet(4, f.ESP, f.text(20)),
    ]
    assert run(host, inners) == [MARKED] * len(inners)
    if METADATA:
        assert run(host, inners, METADATA) == [RIGHT] * len(inners)


def test_udp_without_checksum(host):
    """IPv6 does not allow it, so the kernel decides."""
    datagram = f.udp(UNKNOWN, 443, b"text")
    datagram = datagram[:6] + bytes(2) + datagram[8:]
    assert run(host, [packet(family, f.UDP, datagram) for family in (4, 6)]) == [RIGHT, MARKED]


@pytest.mark.parametrize("family", [4, 6])
def test_damaged_syn_gets_no_cookie_of_the_program(host, family):
    host.namespace.sysctl({"net.ipv4.conf.lo.forwarding": 1, "net.ipv6.conf.lo.forwarding": 1})
    segment = checksummed_tcp(family, CLIENT[family], VIP[family], f.tcp(UNKNOWN, FULL, b"", SYN))
    wrong = segment[:4] + bytes([segment[4] ^ 1]) + segment[5:]
    frames = [gue_frame(packet(family, f.TCP, each)) for each in (segment, wrong)]
    frames = [host.mac + host.router_mac + frame[12:] for frame in frames]
    outcomes = run_frames(host, frames, interface="eth0", mtu=1500)
    assert [outcome.counter for outcome in outcomes] == ["syn_cookie_sent", "accepted_syn"]
