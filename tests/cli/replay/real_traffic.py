# SPDX-License-Identifier: BSD-3-Clause
"""Captures traffic between two kernels: a client, and a server with the VIPs, on a veth pair in a capsule.

usage: real_traffic.py CAPTURE.pcap

The traffic is TCP uploads, UDP, ping, fragments, IP options, extension headers, ICMP errors, ARP and ND, in IPv4 and IPv6 and in
both directions. Needs root.
"""

import os
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from lab.capsule import enter_capsule  # noqa: E402
from lab.net import Namespace, connect  # noqa: E402
from lab.tools import wait_until  # noqa: E402

VIP4, VIP6 = "203.0.113.10", "2001:db8:f::10"
CLIENTS4 = [f"198.51.100.{host}" for host in range(11, 27)]
CLIENTS6 = [f"2001:db8:c::{host}" for host in range(11, 19)]
TCP_PORT, UDP_PORT, CLOSED_PORT = 80, 53, 9
LAST_WORDS = b"the last packet of this capture"
UPLOAD = 600_000  # bytes, about 415 packets per client
PATIENCE_S = 20
IP_OPTIONS, IPV6_HOPOPTS, IPV6_DSTOPTS = 4, 54, 59  # <linux/in.h>, <linux/in6.h>
PADDED_OPTIONS = bytes([0, 0, 1, 4, 0, 0, 0, 0])  # the kernel sets next header and length; then PadN


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def vip_of(client):
    return VIP6 if ":" in client else VIP4


# The server reads uploads to their end, and echoes datagrams.


def drain(connection):
    with connection:
        while connection.recv(1 << 20):
            pass
        connection.sendall(b"done")


def accept(listener):
    while True:
        threading.Thread(target=drain, args=(listener.accept()[0],), daemon=True).start()


def echo(address):
    service = socket.socket(family_of(address), socket.SOCK_DGRAM)
    service.bind((address, UDP_PORT))
    while True:
        data, client = service.recvfrom(65536)
        service.sendto(data, client)


def serve():
    listener = socket.create_server(("::", TCP_PORT), family=socket.AF_INET6, dualstack_ipv6=True)
    for vip in (VIP4, VIP6):
        threading.Thread(target=echo, args=(vip,), daemon=True).start()
    print("ready", flush=True)
    accept(listener)


# The client


def upload(client, size=UPLOAD):
    with socket.create_connection((vip_of(client), TCP_PORT), PATIENCE_S, (client, 0)) as connection:
        connection.sendall(bytes(size))
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(10) == b"done"


def datagram_socket(client):
    question = socket.socket(family_of(client), socket.SOCK_DGRAM)
    question.bind((client, 0))
    question.settimeout(PATIENCE_S)
    return question


def ask_udp(client, size, options=()):
    with datagram_socket(client) as question:
        for option in options:
            question.setsockopt(*option)
        question.sendto(bytes(size), (vip_of(client), UDP_PORT))
        assert len(question.recv(65536)) == size


def ask_from_closed_port(client):
    """The reply finds no socket, so the client's kernel sends an ICMP error to the VIP."""
    data = b"anybody?"
    with socket.socket(family_of(client), socket.SOCK_RAW, socket.IPPROTO_UDP) as raw:
        if raw.family == socket.AF_INET6:
            raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_CHECKSUM, 6)
        raw.bind((client, 0))
        raw.sendto(struct.pack("!HHHH", CLOSED_PORT, UDP_PORT, 8 + len(data), 0) + data, (vip_of(client), 0))


def refused(client):
    with socket.socket(family_of(client)) as connection:
        connection.bind((client, 0))
        assert connection.connect_ex((vip_of(client), TCP_PORT + 1)) != 0


def ping(client, *options):
    subprocess.run(["ping", "-q", "-c", "10", "-i", "0.002", "-I", client, *options, vip_of(client)],
                   check=True, stdout=subprocess.DEVNULL)


def ask():
    for client in [*CLIENTS4, *CLIENTS6]:
        upload(client)
        for size in (0, 1, 512, 1400, 4000):
            ask_udp(client, size)
        ask_from_closed_port(client)
        refused(client)
        ping(client)
    for client in (CLIENTS4[0], CLIENTS6[0]):
        ping(client, "-s", "3000")
    ping(CLIENTS4[1], "-R")  # record route: IPv4 options
    ask_udp(CLIENTS4[2], 100, [(socket.IPPROTO_IP, IP_OPTIONS, bytes([1, 1, 1, 1]))])
    ask_udp(CLIENTS6[1], 100, [(socket.IPPROTO_IPV6, IPV6_HOPOPTS, PADDED_OPTIONS)])
    ask_udp(CLIENTS6[2], 3000, [(socket.IPPROTO_IPV6, IPV6_DSTOPTS, PADDED_OPTIONS)])
    with datagram_socket(CLIENTS4[0]) as end:
        end.sendto(LAST_WORDS, (VIP4, UDP_PORT))


# Namespaces and tcpdump


def build():
    client, server = Namespace("client"), Namespace("server")
    connect(client, "eth0", server, "eth0")
    for namespace in (client, server):
        namespace.offloads_off("eth0")
    client.ip(
        *(f"addr add {address}/24 dev eth0" for address in CLIENTS4),
        *(f"addr add {address}/64 dev eth0 nodad" for address in CLIENTS6),
        "route add default via 198.51.100.1", "route add default via 2001:db8:c::1")
    server.ip("addr add 198.51.100.1/24 dev eth0", "addr add 2001:db8:c::1/64 dev eth0 nodad",
              f"addr add {VIP4}/32 dev lo", f"addr add {VIP6}/128 dev lo nodad")
    return client, server


def is_complete(path):
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 4096))
        return LAST_WORDS in file.read()


def capture(path):
    client, server = build()
    this = ["/usr/bin/python3", "-B", os.path.abspath(__file__)]
    service = server.start(*this, "serve", stdout=subprocess.PIPE)
    assert service.stdout.readline() == "ready\n"
    tcpdump = server.start(
        "tcpdump", "-i", "eth0", "-Z", "root", "--immediate-mode", "-U", "-s", "2000", "-B", "65536", "-w", path,
        stderr=subprocess.PIPE)
    assert "listening on" in tcpdump.stderr.readline()
    client.run(*this, "ask")
    wait_until(lambda: is_complete(path), "tcpdump to write the last packet")
    tcpdump.terminate()
    tcpdump.wait()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    elif sys.argv[1] == "ask":
        ask()
    else:
        enter_capsule()
        capture(sys.argv[1])
