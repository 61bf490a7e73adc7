# SPDX-License-Identifier: BSD-3-Clause
"""A host's connection tracking: its counters, and how to make its table nearly full.

Only the first network namespace can write the limit, nf_conntrack_max. The kernel compares it with the number of entries of each
namespace. fill() therefore adds idle connections through netlink (linux/netfilter/nfnetlink_conntrack.h).
"""

import socket
import struct

from lab.tools import LabError

PROC = "/proc/sys/net/netfilter"
LARGEST = 1 << 20  # entries. An entry takes some 400 bytes, and adding more would take too long
BATCH = 500  # netlink messages per call

NETLINK_NETFILTER = 12
NEW_ENTRY = 1 << 8 | 0  # NFNL_SUBSYS_CTNETLINK, IPCTNL_MSG_CT_NEW
REQUEST, CREATE, EXCLUSIVE = 0x1, 0x400, 0x200
NESTED = 0x8000
TUPLE_ORIGINAL, TUPLE_REPLY, STATUS, TIMEOUT = 1, 2, 3, 7
TUPLE_IP, TUPLE_PROTOCOL = 1, 2
SOURCE, DESTINATION = 1, 2  # attributes in TUPLE_IP
NUMBER, SOURCE_PORT, DESTINATION_PORT = 1, 2, 3  # attributes in TUPLE_PROTOCOL
# The kernel evicts no entry that has seen packets in both directions.
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
    """The netlink message that adds an entry. Each number makes another one."""
    source = struct.pack("!I", FIRST_SOURCE + number)
    body = struct.pack("=BBH", socket.AF_INET, 0, 0)
    body += attribute(TUPLE_ORIGINAL | NESTED, one_way(source, OTHER_END, PORTS))
    body += attribute(TUPLE_REPLY | NESTED, one_way(OTHER_END, source, PORTS[::-1]))
    body += attribute(STATUS, struct.pack("!I", SEEN_REPLY | ASSURED | CONFIRMED))
    body += attribute(TIMEOUT, struct.pack("!I", SECONDS))
    return struct.pack("=IHHII", 16 + len(body), NEW_ENTRY, REQUEST | CREATE | EXCLUSIVE, 0, 0) + body


def fill(host, free):
    """Adds entries until `free` are left. Returns the size of the table."""
    size = int(host.run("cat", f"{PROC}/nf_conntrack_max").stdout)
    if size > LARGEST:
        raise LabError(f"nf_conntrack_max is {size}, too large to fill: run sysctl -w net.netfilter.nf_conntrack_max=262144")
    wanted = size - free - tracked(host)
    with host.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER) as netlink:
        for first in range(0, wanted, BATCH):
            netlink.send(b"".join(map(new_entry, range(first, min(first + BATCH, wanted)))))
    left = size - tracked(host)
    if left > free:
        raise LabError(f"{host.name}: its conntrack table has only {size - left} of {size - free} entries")
    return size


def tracked(host):
    """The number of connections that a host's kernel tracks."""
    return int(host.run("cat", f"{PROC}/nf_conntrack_count").stdout)


def counters(host):
    """{name: sum over the CPUs}. The file has a line per CPU, in hexadecimal."""
    head, *rows = host.run("cat", "/proc/net/stat/nf_conntrack").stdout.splitlines()
    totals = [sum(int(word, 16) for word in column) for column in zip(*(row.split() for row in rows), strict=True)]
    return dict(zip(head.split(), totals, strict=True))
