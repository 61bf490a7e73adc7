# SPDX-License-Identifier: BSD-3-Clause
"""A host's connection tracking: what it counted, and a table that is small because it is nearly full.

The kernel has one limit, nf_conntrack_max, which only its first namespace may write; but it holds each namespace's own count
against it. So a table is made small by filling it with connections that nobody uses, by netlink (linux/netfilter/nfnetlink_conntrack.h).
"""

import socket
import struct

from lab.tools import LabError

PROC = "/proc/sys/net/netfilter"
LARGEST = 1 << 20  # entries to fill in: more takes too much memory (some 400 bytes each), and too long
BATCH = 500  # messages in a call

NETLINK_NETFILTER = 12
NEW_ENTRY = 1 << 8 | 0  # NFNL_SUBSYS_CTNETLINK, IPCTNL_MSG_CT_NEW
REQUEST, CREATE, EXCLUSIVE = 0x1, 0x400, 0x200
NESTED = 0x8000
TUPLE_ORIGINAL, TUPLE_REPLY, STATUS, TIMEOUT = 1, 2, 3, 7
TUPLE_IP, TUPLE_PROTOCOL = 1, 2
SOURCE, DESTINATION = 1, 2  # of TUPLE_IP
NUMBER, SOURCE_PORT, DESTINATION_PORT = 1, 2, 3  # of TUPLE_PROTOCOL
# Seen both ways: such an entry is not given up for another one.
SEEN_REPLY, ASSURED, CONFIRMED = 0x2, 0x4, 0x8
UDP, PORTS, SECONDS = 17, (1000, 2000), 3600
FIRST_SOURCE, OTHER_END = 10 << 24, bytes((10, 255, 255, 254))


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def one_way(source, destination, ports):
    ip = attribute(SOURCE, source) + attribute(DESTINATION, destination)
    protocol = attribute(NUMBER, bytes((UDP,)))
    protocol += attribute(SOURCE_PORT, struct.pack("!H", ports[0])) + attribute(DESTINATION_PORT, struct.pack("!H", ports[1]))
    return attribute(TUPLE_IP | NESTED, ip) + attribute(TUPLE_PROTOCOL | NESTED, protocol)


def new_entry(number):
    """The message that makes one."""
    source = struct.pack("!I", FIRST_SOURCE + number)
    body = struct.pack("=BBH", socket.AF_INET, 0, 0)
    body += attribute(TUPLE_ORIGINAL | NESTED, one_way(source, OTHER_END, PORTS))
    body += attribute(TUPLE_REPLY | NESTED, one_way(OTHER_END, source, PORTS[::-1]))
    body += attribute(STATUS, struct.pack("!I", SEEN_REPLY | ASSURED | CONFIRMED))
    body += attribute(TIMEOUT, struct.pack("!I", SECONDS))
    return struct.pack("=IHHII", 16 + len(body), NEW_ENTRY, REQUEST | CREATE | EXCLUSIVE, 0, 0) + body


def fill(host, free):
    """Leaves room for so many connections. Returns how many entries the table has."""
    size = int(host.run("cat", f"{PROC}/nf_conntrack_max").stdout)
    if size > LARGEST:
        raise LabError(f"nf_conntrack_max is {size}, too many to fill in: sysctl -w net.netfilter.nf_conntrack_max=262144")
    wanted = size - free - tracked(host)
    with host.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER) as netlink:
        for first in range(0, wanted, BATCH):
            netlink.send(b"".join(map(new_entry, range(first, min(first + BATCH, wanted)))))
    left = size - tracked(host)
    if left > free:
        raise LabError(f"{host.name}: its connection tracking took only {size - left} of {size - free} entries")
    return size


def tracked(host):
    """Connections that a host's kernel tracks now."""
    return int(host.run("cat", f"{PROC}/nf_conntrack_count").stdout)


def counters(host):
    """By name. A line for each CPU, in hexadecimal."""
    head, *rows = host.run("cat", "/proc/net/stat/nf_conntrack").stdout.splitlines()
    totals = [sum(int(word, 16) for word in column) for column in zip(*(row.split() for row in rows), strict=True)]
    return dict(zip(head.split(), totals, strict=True))
