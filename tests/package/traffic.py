# SPDX-License-Identifier: BSD-3-Clause
"""Packets of clients at the router of a director, and the GUE packets that come back."""

import json
import socket
import struct
import threading

from lab.tools import wait_until

VIP, CLIENT = "203.0.113.10", "198.51.100.7"
GUE = struct.pack(">H", 19523)


def syn(source_mac, mac, port):
    """A frame with a TCP SYN to the VIP. Nobody verifies the checksum of TCP here."""
    addresses = socket.inet_aton(CLIENT) + socket.inet_aton(VIP)
    tcp = struct.pack(">HHIIBBHHH", port, 80, 1, 0, 5 << 4, 2, 65535, 0, 0)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0x4000, 64, 6, 0)
    total = sum(struct.unpack(">10H", head + addresses))
    checksum = 0xFFFF - (total % 0xFFFF or 0xFFFF)
    return mac + source_mac + b"\x08\x00" + head[:10] + struct.pack(">H", checksum) + addresses + tcp


class Traffic:
    """Sends one packet every 5 ms from the namespace `router` to the MAC address of a director, until stop()."""

    def __init__(self, router, device, mac):
        self.socket = router.packet_socket(device, ignore_outgoing=True)
        self.socket.settimeout(0.005)
        self.mac, self.own = bytes.fromhex(mac.replace(":", "")), self.socket.getsockname()[4]
        self.sent = self.received = 0
        self.first_hops = set()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        while not self.stopping.is_set():
            self.socket.send(syn(self.own, self.mac, 20000 + self.sent % 40000))
            self.sent += 1
            self._receive()

    def _receive(self):
        """Counts what arrives until nothing came for the socket's timeout."""
        try:
            while True:
                frame = self.socket.recv(2048)
                if frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[36:38] == GUE:
                    self.received += 1
                    self.first_hops.add(socket.inet_ntoa(frame[30:34]))
        except TimeoutError:
            return

    def stop(self):
        """Returns how many packets were sent and how many came back."""
        self.stopping.set()
        self.thread.join()
        self.socket.settimeout(1)
        self._receive()
        self.socket.close()
        return self.sent, self.received


def start(machine, network):
    return Traffic(network, "to-director", machine.output("cat /sys/class/net/eth1/address"))


def burst(machine, network, count=20):
    """Sends at least `count` packets. Returns how many, how many came back, and the first hops."""
    traffic = start(machine, network)
    wait_until(lambda: traffic.sent >= count, f"{count} packets")
    return (*traffic.stop(), traffic.first_hops)


def forwarded(machine):
    return json.loads(machine.output("glb-director-cli stats --json"))["forwarded"]
