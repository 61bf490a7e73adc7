# SPDX-License-Identifier: BSD-3-Clause
"""A stand-in for glb-director: `director.py FOLDER CLI` answers in FOLDER/dpdk/rte/dpdk_telemetry.v2, and reads FOLDER/table.bin at start
and after SIGHUP. FOLDER/answers.json may change what it does: "refuse": TEXT, "silent" (true or "once"), "hold" (it
loads nothing until it is told otherwise), "health"."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

folder, cli = Path(sys.argv[1]), sys.argv[2]
used = {"digest": "0" * 16, "fingerprint": "0" * 16, "first_hops": "0" * 16, "generation": 0, "reload_failures": 0, "last_error": "",
        "table_path": str(folder / "table.bin")}


def answers():
    try:
        return json.loads((folder / "answers.json").read_text())
    except FileNotFoundError:
        return {}


def load():
    while "hold" in answers():
        time.sleep(0.02)
    if "refuse" in answers():
        used.update(reload_failures=used["reload_failures"] + 1, last_error=answers()["refuse"])
        return
    shown = subprocess.run([cli, "show", "--json", folder / "table.bin"], capture_output=True, text=True, check=False)
    if shown.returncode:
        used.update(reload_failures=used["reload_failures"] + 1, last_error=shown.stderr[-200:])
        return
    table = json.loads(shown.stdout)
    used.update({key: table[key] for key in ("digest", "fingerprint", "first_hops")}, generation=used["generation"] + 1, last_error="")


def serve(connection):
    with connection, contextlib.suppress(OSError):
        connection.send(json.dumps({"version": "DPDK 22.11", "pid": os.getpid(), "max_output_len": 16384}).encode())
        while question := connection.recv(1024).decode():
            said = answers()
            if said.get("silent") == "once":
                (folder / "answers.json").unlink()
                connection.recv(1)  # until the other end closes it
                return
            while said.get("silent"):
                time.sleep(0.05)
                said = answers()
            reply = used if question == "/glb/stats" else said.get("health", {"state": "ok", "reasons": {}})
            connection.send(json.dumps({question: reply}).encode())


def main():
    path = folder / "dpdk/rte/dpdk_telemetry.v2"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if (folder / "table.bin").exists():
        load()
    signal.signal(signal.SIGHUP, lambda *_: load())
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    listener.listen()
    (folder / "director.pid").write_text(f"{os.getpid()}\n")

    def accept():
        while True:
            threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    while True:
        time.sleep(0.02)  # another thread may get the signal, and the handler runs in this one


main()
