# SPDX-License-Identifier: BSD-3-Clause
"""Servers that misbehave, each on another port. Runs on the proxies' host; prints "ready" when all listen.

usage: peers.py
"""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import threading
import time

HANG, SLOW, RESET, CLOSE, GARBAGE, HUGE = 8001, 8002, 8003, 8004, 8005, 8006
LONG_STATUS, LONG_HEADER, MANY_HEADERS, NO_COLON, BAD_LOCATION, BAD_LENGTH, BAD_CHUNK = range(8007, 8014)
GUE, FOU, FOU_GRE = 19523, 19522, 19525
GUE_DROPS, GUE_ELSEWHERE, GUE_LATE, GUE_ALTERED, GUE_CHECKSUM = 19600, 19601, 19602, 19603, 19604
ELSEWHERE = {4: "10.77.0.99", 6: "fd77::99"}
LATE_S = 2.5

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
UDP_NO_CHECK6_RX = 102


def start(host):
    """Runs this file on the proxies' host. Returns when all servers listen."""
    process = host.start(sys.executable, __file__, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    return process


def hang(connection):
    connection.recv(4096)
    connection.recv(4096)


def slow(connection):
    connection.recv(4096)
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n":
        connection.send(bytes([byte]))
        time.sleep(0.1)


def reset(connection):
    connection.recv(4096)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def close(connection):
    connection.recv(4096)


def garbage(connection):
    connection.recv(4096)
    connection.send(b"\x00\xff SSH-2.0 no HTTP\r\n\r\n")


def huge(connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(3 << 20))


def says(reply):
    def behave(connection):
        connection.recv(4096)
        connection.sendall(reply)

    return behave


HOSTILE = {  # replies that make libcurl fail in unusual ways
    LONG_STATUS: b"HTTP/1.1 200 " + 120_000 * b"x" + b"\r\n\r\n",
    LONG_HEADER: b"HTTP/1.1 200 OK\r\nX: " + 120_000 * b"x" + b"\r\n\r\n",
    MANY_HEADERS: b"HTTP/1.1 200 OK\r\n" + 10_000 * b"X: yyyyyy\r\n" + b"\r\n",
    NO_COLON: b"HTTP/1.1 200 OK\r\nthis is no header\r\nContent-Length: 0, 1\r\n\r\n",
    BAD_LOCATION: b"HTTP/1.1 301 Moved\r\nLocation: http://[::1/" + 3_000 * b"%" + b"\r\nContent-Length: 0\r\n\r\n",
    BAD_LENGTH: b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    BAD_CHUNK: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffffff\r\n",
}


def serve(port, behave):
    listener = socket.create_server(("", port), backlog=1024)

    def one(connection):
        with connection:
            try:
                behave(connection)
            except OSError:
                pass

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=one, args=(connection,), daemon=True).start()


def open_tun():
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"tunnel", IFF_TUN | IFF_NO_PI))
    os.system("ip link set tunnel up")
    return tun


def inner(datagram, family):
    """Returns the packet in one of GLB's GUE datagrams without hops. Any other datagram is a bug in the sender."""
    header, packet = datagram[:8], datagram[8:]
    assert header[0] == 1 and header[2:8] == bytes([0, 0, 0, int(family == 6), 0, 0]), header.hex()
    assert header[1] == {4: 4, 6: 41}[packet[0] >> 4], header.hex()
    return packet


def bare(datagram, _):
    """Returns the packet of a FOU port that is bound to IP, as `ip fou add port 19522 ipproto 4` does. None: the kernel drops it."""
    return datagram if datagram[0] >> 4 in (4, 6) else None


def gre(datagram, _):
    """Returns the packet in GRE with a key of zero (RFC 2890), as a FOU port bound to protocol 47 takes it. None: it is dropped."""
    flags, protocol, key = struct.unpack_from(">HHI", datagram)
    packet = datagram[8:]
    expected = {4: 0x0800, 6: 0x86DD}.get(packet[0] >> 4)
    return packet if (flags, protocol, key) == (0x2000, expected, 0) else None


def deliver(tun, packet):
    os.write(tun, packet)


def deliver_late(tun, packet):
    threading.Timer(LATE_S, os.write, (tun, packet)).start()


def reply_from(sources, body):
    """Replies to echo requests from the address in `sources`, or from the request's destination if it is empty. `body`
    converts the data after identifier and sequence number."""

    def reply6(packet):
        raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        raw.bind((sources.get(6) or socket.inet_ntop(socket.AF_INET6, packet[24:40]), 0))
        raw.sendto(bytes([129, 0, 0, 0]) + packet[44:48] + body(packet[48:]), (socket.inet_ntop(socket.AF_INET6, packet[8:24]), 0))
        raw.close()

    def reply(_, packet):
        if packet[0] >> 4 == 6:
            reply6(packet)
            return
        message = bytes([0, 0, 0, 0]) + packet[24:28] + body(packet[28:])
        total = sum(struct.unpack(f">{len(message) // 2}H", message))
        total = (total & 0xFFFF) + (total >> 16)
        total = (total & 0xFFFF) + (total >> 16)
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        raw.bind((sources.get(4) or socket.inet_ntoa(packet[16:20]), 0))
        raw.sendto(message[:2] + struct.pack(">H", ~total & 0xFFFF) + message[4:],
                   (socket.inet_ntoa(packet[12:16]), 0))
        raw.close()

    return reply


def strip(port, tun, decode, handle):
    outer = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    outer.setsockopt(socket.IPPROTO_UDP, UDP_NO_CHECK6_RX, int(port != GUE_CHECKSUM))
    outer.bind(("::", port))
    while True:
        datagram, source = outer.recvfrom(65536)
        packet = decode(datagram, 4 if source[0].startswith("::ffff:") else 6)
        if packet:
            handle(tun, packet)


def main():
    tun = open_tun()
    for port, behave in ((HANG, hang), (SLOW, slow), (RESET, reset), (CLOSE, close), (GARBAGE, garbage), (HUGE, huge),
                         *((port, says(reply)) for port, reply in HOSTILE.items())):
        threading.Thread(target=serve, args=(port, behave), daemon=True).start()
    for port, decode, handle in (
            (GUE, inner, deliver),
            (GUE_CHECKSUM, inner, deliver),  # the kernel drops UDP over IPv6 without a checksum
            (FOU, bare, deliver),
            (FOU_GRE, gre, deliver),
            (GUE_DROPS, inner, lambda *_: None),
            (GUE_LATE, inner, deliver_late),
            (GUE_ELSEWHERE, inner, reply_from(ELSEWHERE, bytes)),
            (GUE_ALTERED, inner, reply_from({}, lambda body: bytes(len(body))))):
        threading.Thread(target=strip, args=(port, tun, decode, handle), daemon=True).start()
    time.sleep(0.2)
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
