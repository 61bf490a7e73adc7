# SPDX-License-Identifier: BSD-3-Clause
"""A SYN flood: `flood.py DEVICE SYNS PER_SECOND < FRAMES`, where FRAMES has a frame per line in hexadecimal.

Runs on the client's host as its own process, so that it does not delay the load. Prints "sending", and at the end the number of
frames sent and the seconds that this took. If it gets no CPU time for a while, it does not send a burst to catch up.
"""

import ctypes
import errno
import os
import socket
import sys
import time

INTERVAL_S, LONGEST_S = 0.001, 0.005
SOL_PACKET, PACKET_QDISC_BYPASS = 263, 20


class Message(ctypes.Structure):
    """struct mmsghdr"""

    _fields_ = [
        ("name", ctypes.c_void_p), ("name_size", ctypes.c_uint32), ("vectors", ctypes.c_void_p),
        ("vector_count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_size", ctypes.c_size_t),
        ("flags", ctypes.c_int), ("sent", ctypes.c_uint)]


class Vector(ctypes.Structure):
    """struct iovec"""

    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Frames:
    """Frames that are sent in a cycle, many with one system call."""

    def __init__(self, frames):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.count, self.next = len(frames), 0
        self.bytes = [ctypes.create_string_buffer(frame, len(frame)) for frame in frames]
        self.vectors = (Vector * self.count)(*(Vector(ctypes.addressof(each), len(each)) for each in self.bytes))
        self.messages = (Message * self.count)(*(
            Message(vectors=ctypes.addressof(vector), vector_count=1) for vector in self.vectors))

    def send(self, cable, count):
        """Sends up to `count` frames. Returns how many: 0 if the device's queue is full."""
        first = ctypes.byref(self.messages, self.next * ctypes.sizeof(Message))
        sent = self.libc.sendmmsg(cable.fileno(), first, min(count, self.count - self.next), 0)
        if sent < 0 and ctypes.get_errno() == errno.ENOBUFS:
            return 0
        if sent < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self.next = (self.next + sent) % self.count
        return sent


def main(device, total, per_second):
    frames = Frames([bytes.fromhex(line) for line in sys.stdin])
    cable = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    cable.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
    cable.bind((device, 0))
    print("sending", flush=True)
    start, sent = time.monotonic(), 0
    earlier = start
    while sent < total:
        now = time.monotonic()
        due = min(total - sent, int(per_second * min(now - earlier, LONGEST_S)))
        earlier = now
        while due > 0 and (count := frames.send(cable, due)):
            sent, due = sent + count, due - count
        time.sleep(INTERVAL_S)
    print(sent, time.monotonic() - start)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
