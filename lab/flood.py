# SPDX-License-Identifier: BSD-3-Clause
"""A SYN flood from many addresses that never answer: `flood.py DEVICE SYNS PER_SECOND < FRAMES`, one a line in hexadecimal.

Prints how many frames it sent. On the client's host, from a process of its own, so that it does not hold up the load.
"""

import socket
import sys
import time

BATCH_S = 0.01


def main(device, total, per_second):
    frames = [bytes.fromhex(line) for line in sys.stdin]
    cable = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    cable.bind((device, 0))
    start, sent = time.monotonic(), 0
    while sent < total:
        due = min(total, int((time.monotonic() - start + BATCH_S) * per_second))
        for number in range(sent, due):
            cable.send(frames[number % len(frames)])
        sent = due
        time.sleep(BATCH_S)
    print(sent)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
