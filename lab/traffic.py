# SPDX-License-Identifier: BSD-3-Clause
"""What the demo's clients do, with curl, ping and the kernel's own stack. Runs in the client's namespace.

Prints a JSON object a line for each thing done: {"what": ..., "client": ..., "answer": ...}; "answer" is null when none came.
"""

import json
import socket
import subprocess

from lab.topology import CLIENTS4, CLIENTS6, NARROW4, NARROW6, VIP4, VIP6, family


def first_line(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.partition("\n")[0] if done.returncode == 0 else None


def curl(client, vip, path="/"):
    host = f"[{vip}]" if ":" in vip else vip
    return first_line(["curl", "-s", "--max-time", "5", "--interface", client, f"http://{host}{path}"])


def ping(client, vip):
    answer = first_line(["ping", "-c", "1", "-W", "5", "-I", client, vip])
    return answer and "answered"


def ask_udp(client, vip):
    with socket.socket(family(client), socket.SOCK_DGRAM) as question:
        question.bind((client, 0))
        question.settimeout(5)
        question.sendto(b"hello", (vip, 53))
        try:
            return question.recv(100).decode()
        except TimeoutError:
            return None


def vip_of(client):
    return VIP6 if ":" in client else VIP4


def main():
    steps = [("ping", ping, [CLIENTS4[0], CLIENTS6[0]]), ("curl", curl, CLIENTS4 + CLIENTS6),
             ("udp", ask_udp, CLIENTS4[:2] + CLIENTS6[:2])]
    for what, ask, clients in steps:
        for client in clients:
            print(json.dumps({"what": what, "client": client, "answer": ask(client, vip_of(client))}), flush=True)
    for client in (NARROW4, NARROW6):
        answer = curl(client, vip_of(client), "/large")
        print(json.dumps({"what": "curl through a 1280-byte link", "client": client, "answer": answer}), flush=True)


if __name__ == "__main__":
    main()
