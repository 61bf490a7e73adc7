# SPDX-License-Identifier: BSD-3-Clause
"""Keys with known values go through the programs. Then everything that the programs have written or served is searched for them."""

import base64
import contextlib
import json
import re
import signal
import socketserver
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from agent import PREFIX, Agent
from etcd import Etcd, encode
from lab.tools import TIMEOUT_S, wait_until
from support import pcap
from support.cli import table
from support.director_conf import CONFIG
from support.director_process import DirectorProcess
from support.folders import short_folder
from support.ports import reserved_port
from support.tree import CLI, FLEET, HEALTHCHECK, REDIRECT

KEYS = {name: bytes(range(first, first + 16)) for name, first in (("hash_key", 0xA1), ("seed", 0xB2), ("quic", 0xC3))}
QUIC = {"id": 1, "server_id_length": 3, "nonce_length": 8, "key": KEYS["quic"].hex()}
# A quarter of a key is what an error shows of one that is not valid.
FORMS = {f"{name} {form}": text for name, key in KEYS.items() for form, text in (
    ("bytes", key), ("first half", key[:8]), ("second half", key[8:]), ("base64", base64.b64encode(key)),
    ("hex", key.hex().encode()[:17]), ("end of the hex", key.hex().encode()[15:]), ("upper", key.hex().upper().encode()[:17]))}
WORD = "Battery-Staple-0815"
PASSWORD, HEADER = "Correct-Horse-4711", f"Bearer {WORD}"
FORMS |= {word: word.encode() for text in (PASSWORD, HEADER) for word in re.findall("[A-Z][a-z]+-[^ ]+", text)}
# Faults of tables, each close to a key: (what is replaced, by what).
H = KEYS["hash_key"].hex()
FAULTS = [(f'"{H}"', f'"{H[:-1]}"'), (f'"{H}"', f'"{H}0"'), (f'"{H}"', f'"{H}'), (f'"{H}",', f'"{H}"'), ('"hash_key":', '"hash_key"'), (f'"{H}"', f'["{H}"]'),
          (f'"{H}"', f'{{"{H}": 1}}'), (f'"{H}"', H), (f'"{H}"', f"'{H}'"), (f'"{H}"', f'"{H[:-1]}g"'),
          (f'"{H}"', f'"{H}", "hash_key": "{H}"'), (f'"{QUIC["key"]}"', f'"{QUIC["key"]}00"'), (f'"{QUIC["key"]}"', f'"{QUIC["key"]}" 1'), (f'"{QUIC["key"]}"', QUIC["key"]),
          (f'"{H}"', f'"{H[:18]}\n{H[18:]}"'), (f'"{H}"', f'"{WORD}\n')]


def search(where, data):
    data = data.encode() if isinstance(data, str) else data
    found = [name for name, form in FORMS.items() if form in data]
    assert not found, f"{where} has {found}: {data[:2000]!r}"


def readable_by_others(folder):
    """The files that others may read, and that have a secret."""
    return [path for path in folder.rglob("*") if path.is_file() and path.stat().st_mode & 7 and any(form in path.read_bytes() for form in FORMS.values())]


def document(**more):
    backends = [{"ip": "192.0.2.10", "state": "active", "healthy": True, "server_id": "0a0b0c"}, {"ip": "192.0.2.11", "state": "active", "healthy": True, "server_id": "0a0b0d"}]
    return json.dumps({"tables": [table(backends=backends, quic=[QUIC]) | {"hash_key": H, "seed": KEYS["seed"].hex(), **more}]})


@pytest.fixture
def folder():
    with short_folder() as path:
        yield path


@pytest.fixture
def files(folder):
    """The table with its marked keys, a mode that others may not read, and damaged copies of it."""
    for number, (old, new) in enumerate([("", ""), *FAULTS]):
        path = folder / f"{number}.json"
        path.write_text(document().replace(old, new) if old else document())
        path.chmod(0o640)
        assert not number or path.read_text() != document(), old
    return folder


def run(*words, **options):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=TIMEOUT_S, check=False, **options)
    search(words, done.stdout + done.stderr)
    return done


def test_command_line(files):
    good = files / "0.json"
    assert run(CLI, "check", good).returncode in (0, 1)  # with warnings
    assert run(CLI, "build-config", good, files / "table.bin").returncode == 0
    changed = files / "changed.json"
    changed.write_text(document(seed="00" * 16))
    for words in (["show", good], ["show", "--json", good], ["show", files / "table.bin"], ["tables", good], ["diff", good, changed], ["diff", "--json", good, changed],
                  ["lookup", good, "198.51.100.7", "10.10.10.10", "80"], ["plan", good, changed], ["quic", "decode", good, "300102030405060708"]):
        run(CLI, *words)
    for number in range(1, len(FAULTS) + 1):
        for words in (["check"], ["show"], ["check", "--json"]):
            run(CLI, *words, files / f"{number}.json")
    assert run(CLI, "edit", good, "drain", "192.0.2.11", "--yes").returncode in (0, 1, 2, 3)
    readable = [path for path in files.iterdir() if path.stat().st_mode & 7 and path != changed]
    assert not readable, "files with keys that others may read"
    assert run(CLI, "quic", "server-config", good, "192.0.2.10", "--for", "nothing").returncode != 0  # a good one prints the key, on purpose


def damaged(command, files, name):
    """Runs a program on a configuration with a key that is damaged in each way."""
    good = f'allow_from = [ "192.0.2.0/24" ];\nquic = ( {{ id = 0; server_id_length = 3; nonce_length = 8; key = "{QUIC["key"]}"; server_id = "ed793a"; }} );\n'
    key = f'"{QUIC["key"]}"'
    for old, new in (("", ""), (key, key[:-2] + '"'), (key, key[:-1]), (key, key[1:]), (key, f"[ {key} ]"), (key, f"{key} {key}"), ("key =", f'{key} ='), (key + ";", key)):
        path = files / name
        path.write_text(good.replace(old, new) if old else good)
        path.chmod(0o600)
        run(*command, path)


def test_configuration_of_a_proxy(files):
    damaged([CLI, "check"], files, "redirect.conf")
    damaged([REDIRECT, "attach", "no-interface", "--config-file"], files, "redirect.conf")


def get(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=TIMEOUT_S) as reply:
            return reply.read()
    except urllib.error.HTTPError as error:
        return error.read()


def test_director(files):
    used = files / "used.json"
    used.write_text(document())
    pcap.write(files / "rx.pcap", [bytes(60)])
    with reserved_port() as port:
        vdevs = [f"net_pcap0,rx_pcap={files}/rx.pcap,tx_pcap={files}/tx.pcap"]
        config = {**CONFIG, "metrics": f"127.0.0.1:{port}", "idle": "sleep"}
        with DirectorProcess(vdevs, config, used, eal=["--log-level=*:debug"], memory=64) as director:
            for number in [*range(1, len(FAULTS) + 1), 0]:
                used.write_text((files / f"{number}.json").read_text())
                director.telemetry.ask("/glb/reload")
                wait_until(lambda: sum(director.stats()[key] for key in ("reloads", "reload_failures")) > 0, "a reload")
            wait_until(lambda: director.stats()["reloads"], lambda: director.log)
            commands = director.telemetry.ask("/")
            for command in commands:
                for parameter in ("", ",0", ",0,0"):
                    if command.startswith("/glb") and command != "/glb/reload":
                        search(command, json.dumps(director.telemetry.ask(command + parameter)))
            for path in ("/", "/tables", "/tables/0", "/metrics", "/nothing"):
                search(path, get(port, path))
            run(CLI, "doctor", "--file-prefix", "suite", env=director.environment)
            run(CLI, "capture", "--file-prefix", "suite", "--write", files / "out.pcapng", "--seconds", "1", env=director.environment)
            search("capture", (files / "out.pcapng").read_bytes() if (files / "out.pcapng").exists() else b"")
            director.process.send_signal(signal.SIGTERM)
            director.process.wait(TIMEOUT_S)
            search("log", director.log + (director.folder / "stdout").read_text())


@contextlib.contextmanager
def health_checks(conf, log):
    """They run until the end of `with`. Then their log is searched."""
    with open(log, "wb") as stderr:
        process = subprocess.Popen([HEALTHCHECK, "--debug", "--config-file", conf], stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)
    try:
        yield
        run(HEALTHCHECK, "status", "--json", "--config-file", conf)
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)
    search("log", log.read_bytes())


def test_healthcheck(files):
    src, dst, conf, log = files / "src.json", files / "dst.json", files / "healthcheck.conf", files / "log"
    src.write_text(document())
    src.chmod(0o640)
    with reserved_port() as port:
        conf.write_text(f'forwarding_table = {{ src = "{src}"; dst = "{dst}"; }};\nlisten = "127.0.0.1:{port}";\n'
                        f'reload = {{ build = "{files}/table.bin"; }};\n')
        with health_checks(conf, log):
            wait_until((files / "table.bin").exists, log.read_text)
            for number in [*range(1, len(FAULTS) + 1), 0]:
                src.write_text((files / f"{number}.json").read_text())
                run(HEALTHCHECK, "reload", "--config-file", conf)
            for path in ("/", "/status", "/metrics", "/nothing"):
                search(path, get(port, path))
    assert not readable_by_others(files)


class Refuses(socketserver.BaseRequestHandler):
    """An HTTP server that shows what it was sent, as some proxies do."""

    def handle(self):
        request = self.request.recv(65536)
        self.server.requests.append(request)
        self.request.sendall(b"HTTP/1.1 403 " + request.replace(b"\r\n", b" ")[:400] + b"\r\nContent-Length: 0\r\n\r\n")


@contextlib.contextmanager
def echo_server():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refuses) as server:
        server.requests = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_headers_of_checks(folder):
    """In the table, in the configuration, in values that are refused, and in what a proxy sends back."""
    src, conf, log = folder / "src.json", folder / "healthcheck.conf", folder / "log"
    with echo_server() as server, reserved_port() as port:
        def text(headers):
            checks = {"http": server.server_address[1], "http_headers": headers}
            return json.dumps({"tables": [table(backends=[{"ip": "127.0.0.1", "state": "active", "healthchecks": checks}])]})

        faults = [{"X-Token": HEADER + "\n"}, {"X Token": HEADER}, {"Host": HEADER}, {"X-Token": [HEADER]}, HEADER, [HEADER]]
        src.write_text(text({"X-Token": HEADER}))
        src.chmod(0o640)
        conf.write_text(f'forwarding_table = {{ src = "{src}"; dst = "{folder}/dst.json"; }};\nlisten = "127.0.0.1:{port}";\ninterval_ms = 100;\n'
                        f'http = {{ headers = {{ X-Other = "{HEADER}"; }}; }};\n')
        conf.chmod(0o600)
        run(HEALTHCHECK, "--check-once", "--config-file", conf)
        assert any(HEADER.encode() in request for request in server.requests)
        with health_checks(conf, log):
            wait_until(lambda: "403" in run(HEALTHCHECK, "status", "--config-file", conf).stdout, log.read_text)
            for fault in faults:
                src.write_text(text(fault))
                run(CLI, "check", src)
                run(HEALTHCHECK, "reload", "--config-file", conf)
            for path in ("/", "/status", "/metrics"):
                search(path, get(port, path))
        right = conf.read_text()
        for wrong in (f'"{HEADER}', f'"{HEADER}', f'"{HEADER}\\r\\n"', f'( "{HEADER}" )', f'{{ a = "{HEADER}"; }}', f'"{HEADER}" "'):
            conf.write_text(right.replace(f'"{HEADER}"', wrong))
            run(HEALTHCHECK, "--check-once", "--config-file", conf)


@pytest.fixture
def guarded(folder):
    """An etcd whose only user has the marked password."""
    with Etcd(folder) as etcd:
        etcd.ask("/v3/auth/user/add", {"name": "root", "password": PASSWORD})
        etcd.ask("/v3/auth/role/add", {"name": "root"})
        etcd.ask("/v3/auth/user/grant", {"user": "root", "role": "root"})
        etcd.ask("/v3/auth/enable", {})
        etcd.token = etcd.ask("/v3/auth/authenticate", {"name": "root", "password": PASSWORD})["token"]
        yield etcd


def test_agent_of_a_fleet(guarded, folder, files):
    password = folder / "password"
    password.write_text(PASSWORD + "\n")
    password.chmod(0o600)
    settings = {"endpoints": guarded.endpoints, "timeout_ms": 1000, "user": "root", "password_file": str(password)}
    agent = Agent(folder / "d1", guarded)
    agent.configure(etcd=settings)
    with agent:
        agent.wait_used(agent.put((files / "0.json").read_text()))
        for number in range(1, len(FAULTS) + 1):
            agent.wait_record(lambda record, at=agent.put((files / f"{number}.json").read_text()): (record["refused"] or {}).get("revision") == at or
                              record["table"]["revision"] == at)
            search("record", guarded.get(f"{PREFIX}/directors/d1"))
        run(CLI, "check", agent.path("fleet.conf"))
        for words in (["status"], ["status", "--json"]):
            run(FLEET, *words, "--config-file", agent.path("fleet.conf"))
        for path in ("/", "/status", "/metrics"):
            search(path, get(agent.port, path))
        password.write_text(PASSWORD + "0\n")
        guarded.ask("/v3/auth/user/changepw", {"name": "root", "password": PASSWORD + "00"})
        wait_until(lambda: "password" in agent.log or "authentication" in agent.log, lambda: agent.log)
        assert not readable_by_others(agent.folder)
        for name in ("state.json", "status.json"):
            search(name, agent.path(name, Path).read_bytes())
    search("log", agent.log)


def memory_of(pid):
    """The memory that a process may write."""
    with open(f"/proc/{pid}/mem", "rb") as memory, open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        for start, end in re.findall(r"^(\w+)-(\w+) rw", maps.read(), re.MULTILINE):
            with contextlib.suppress(OSError, ValueError):
                memory.seek(int(start, 16))
                yield memory.read(int(end, 16) - int(start, 16))


def kept(pid):
    """The secrets that a process has in its memory, and in which form."""
    return {name for part in memory_of(pid) for name, form in FORMS.items() if form in part}


@pytest.mark.parametrize("binary", [False, True])
def test_memory_of_a_director(files, binary):
    """It has the keys in use once as bytes, but no text of them, and nothing of a table that it does not use."""
    used = files / "used"

    def write(text):
        (files / "new").write_text(text)
        if binary:
            subprocess.run([CLI, "build-config", files / "new", files / "new.bin"], check=True, capture_output=True)
        (files / ("new.bin" if binary else "new")).rename(used)

    write(document())
    pcap.write(files / "rx.pcap", [bytes(60)])
    with DirectorProcess([f"net_pcap0,rx_pcap={files}/rx.pcap,tx_pcap={files}/tx.pcap"], {**CONFIG, "idle": "sleep"}, used, memory=64) as director:
        found = kept(director.process.pid)
        assert {"hash_key bytes", "quic bytes"} <= found
        assert all("bytes" in name or "half" in name for name in found), found
        if not binary:
            for number in range(1, len(FAULTS) + 1):
                write((files / f"{number}.json").read_text())
                director.telemetry.ask("/glb/reload")
        other = document(hash_key="11" * 16, seed="22" * 16).replace(QUIC["key"], "33" * 16)
        write(other)
        before = director.stats()["reloads"]
        director.telemetry.ask("/glb/reload")
        wait_until(lambda: director.stats()["reloads"] > before, lambda: director.log)
        assert bytes([0x11] * 16) in b"".join(memory_of(director.process.pid))
        wait_until(lambda: not kept(director.process.pid), lambda: kept(director.process.pid))
