# SPDX-License-Identifier: BSD-3-Clause
"""A proxy in a namespace: strips GUE into a TUN device and serves the VIP behind it.

usage: proxy.py NAME ADDRESS VIP...

GUE arrives on a UDP socket at ADDRESS; the inner packet goes to the kernel through the TUN device, where the VIP's listeners
(HTTP on 80, a UDP echo on 53) find it. Answers leave by the default route, straight to the client. Every packet is
accepted: the second chance of packets whose connection lives on another proxy is not in here.
"""

import fcntl
import http.server
import os
import socket
import struct
import subprocess
import sys
import threading

GUE_PORT = 19523
HTTP_PORT, ECHO_PORT = 80, 53
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
LARGE = 8000  # bytes of body at /large: several packets


def open_tun(name):
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return tun


def inner_packet(payload):
    """The packet inside a GUE payload, or None if it is no GUE of a director."""
    if len(payload) < 8 or payload[0] & 0xE0 or payload[1] not in (4, 41):
        return None
    size = 4 + 4 * (payload[0] & 0x1F)
    if len(payload) <= size or size != 8 + 4 * payload[7]:
        return None
    return payload[size:]


def strip_gue(address, tun):
    outer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    outer.bind((address, GUE_PORT))
    while True:
        inner = inner_packet(outer.recv(65536))
        if inner is not None:
            os.write(tun, inner)


def echo_udp(name, vip):
    # A socket for each VIP: the answer must come from the address that was asked.
    service = socket.socket(socket.AF_INET6 if ":" in vip else socket.AF_INET, socket.SOCK_DGRAM)
    service.bind((vip, ECHO_PORT))
    while True:
        text, client = service.recvfrom(2048)
        service.sendto(name.encode() + b" echoes " + text, client)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy_name = ""

    def do_GET(self):
        body = self.proxy_name.encode() + b"\n"
        if self.path == "/large":
            body += b"." * LARGE
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6  # and IPv4, mapped


def background(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


def main():
    name, address, *vips = sys.argv[1:]
    tun = open_tun("gue")
    subprocess.run(["ip", "link", "set", "gue", "up"], check=True)
    Handler.proxy_name = name
    server = Server(("::", HTTP_PORT), Handler)
    for vip in vips:
        background(echo_udp, name, vip)
    background(strip_gue, address, tun)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
