# SPDX-License-Identifier: BSD-3-Clause
"""`glb-healthcheck status`: what it prints about a running daemon, and its exit code."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import nginx
from daemon import PROGRAM, backend, fit, table
from lab.tools import wait_until
from support.tree import CLI

GOOD, BAD = "10.78.0.1", "10.78.0.2"


def ask(made, *options):
    """Returns the exit code, the printed text and the errors. Checks the width of all lines. Words may be too long."""
    done = made.host.run(PROGRAM, "status", "--config-file", str(made.conf), *options, check=False)
    if "--json" not in options:
        assert fit(done.stdout.splitlines()), done.stdout
    return done.returncode, done.stdout, done.stderr


def words(text):
    return " ".join(text.split())


def test_everything_is_healthy(daemon):
    made = daemon(table(backend(GOOD, http=nginx.OK))).start().wait_ready()
    code, text, errors = ask(made)
    assert (code, errors) == (0, "")
    first, *lines = text.splitlines()
    assert first.startswith("glb-healthcheck ") and first.endswith(": all backends healthy")
    shown = words(text)
    assert f"src {made.src}: loaded 1 time, refused 0 times dst {made.dst}: written 1 time, failed 0 times" in shown
    assert "reload none: run 0 times, failed 0 times" in shown
    assert "table web: 1 of 1 backend healthy" in lines
    assert f"{GOOD} active healthy healthy http {GOOD}:{nginx.OK}/ healthy " in shown
    assert "passed" not in shown and "panic" not in shown
    code, text, errors = ask(made, "--json")
    assert (code, errors) == (0, "") and json.loads(text).keys() == made.status().keys()


def test_unhealthy_backend(daemon):
    made = daemon(table(backend(GOOD, http=nginx.OK), backend(BAD, tcp=9), backend("10.78.0.3", "inactive")))
    made.start().wait_ready()
    code, text, _ = ask(made)
    assert code == 1 and text.splitlines()[0].endswith(": 1 of 2 backends unhealthy")
    shown = words(text)
    assert "table web: 1 of 2 backends healthy BACKEND, CHECKS VERDICT IN DST LATENCY SINCE" in shown
    assert f"{BAD} active unhealthy unhealthy tcp {BAD}:9 unhealthy " in shown
    assert "refused: Connection refused" in shown
    assert "10.78.0.3 inactive unchecked healthy" in shown
    code, text, _ = ask(made, "--json")
    assert code == 1 and json.loads(text)["tables"][0]["backends"][1]["verdict"] == "unhealthy"


def test_unhealthy_backend_without_checks_stays_so_and_check_says_so(daemon):
    by_hand = {**backend(BAD), "healthy": False}
    made = daemon(table(backend(GOOD, http=nginx.OK), by_hand)).start().wait_ready()
    assert made.healthy() == {GOOD: True, BAD: False}
    warning = "tables[0].backends[1].healthy: is false, and this backend has no checks: it gets no new connections until you change that"
    assert f"warning: {made.src}: {warning}" in made.log()
    code, text, _ = ask(made)
    assert code == 1 and f"{BAD} active unhealthy unhealthy" in words(text)
    assert f'backend_healthy{{table="web",backend="{BAD}"}} 0\n' in made.get("/metrics")[2]
    assert f"table web: {BAD}, no checks: unhealthy" in made.host.run(PROGRAM, "-c", str(made.conf), "-1", check=False).stdout
    shown = made.host.run(str(CLI), "check", str(made.src), check=False)
    assert warning in shown.stderr and shown.returncode == 1, shown
    made.write_src(table(backend(GOOD), by_hand))  # no health checks at all
    assert "has no checks" not in made.host.run(str(CLI), "check", str(made.src), check=False).stderr


def test_panic(daemon):
    made = daemon(table(backend(GOOD, tcp=9), backend(BAD, tcp=9))).start().wait_ready()
    code, text, _ = ask(made)
    assert code == 1
    assert "table web: 0 of 2 backends healthy; panic keeps 2 unhealthy backends in service" in words(text)
    assert f"{GOOD} active unhealthy healthy" in words(text)


def test_refused_src_and_failed_reload(daemon):
    made = daemon(table(backend(GOOD, http=nginx.OK)), max_shrink=50)
    made.write_conf(max_shrink=50, reload_command='"echo no works >&2; exit 3"')
    made.start().wait_ready()
    wait_until(lambda: made.status()["reload"]["error"], "a failed reload")
    made.write_src()
    wait_until(lambda: made.status()["src"]["error"], "the refusal")
    code, text, _ = ask(made)
    assert code == 1 and text.splitlines()[0].endswith(": src refused, reload failed")
    # The words are joined without spaces, because a path may be divided.
    joined = "".join(text.split())
    assert "".join(made.status()["src"]["error"].split()) in joined
    assert "exitcode3:noworks" in joined


def test_no_daemon(daemon):
    made = daemon(table(backend(GOOD)))
    code, text, errors = ask(made)
    assert (code, text) == (1, "")
    assert errors.startswith("glb-healthcheck: http://127.0.0.1:19521/status: Failed to connect")
    assert errors.endswith(": is glb-healthcheck running, with this configuration?\n") and errors.count("\n") == 1


def test_daemon_that_does_not_listen(daemon):
    made = daemon(table(backend(GOOD)), listen='"none"')
    assert ask(made) == (1, "", 'glb-healthcheck: the configuration has listen = "none", so the daemon does not report its status\n')


def test_faulty_configuration(daemon):
    made = daemon(table(backend(GOOD)), hold_ms=-1)
    code, text, errors = ask(made)
    assert (code, text) == (1, "") and f"{made.conf}:" in errors and "hold_ms" in errors


@pytest.mark.parametrize("listen", ("0.0.0.0:19521", "[::]:19521", "[::1]:19521"))
def test_address_of_the_daemon(daemon, listen):
    made = daemon(table(backend(GOOD)), listen=f'"{listen}"').start()
    wait_until(lambda: ask(made)[0] == 0, lambda: f"a status: {ask(made)} {made.log()}")


def test_proxy_in_the_environment_is_not_used(daemon):
    made = daemon(table(backend(GOOD))).start().wait_ready()
    done = made.host.run("env", "http_proxy=http://127.0.0.1:9", "ALL_PROXY=http://127.0.0.1:9", PROGRAM, "status",
                         "--config-file", str(made.conf), check=False)
    assert done.returncode == 0, done.stderr


class Stranger:
    """A server at the daemon's address that replies with `body`."""

    def __init__(self, host, body, code=200):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(code)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        with host:
            self.server = HTTPServer(("127.0.0.1", 19521), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@pytest.mark.parametrize("body, code, message", (
    (b"nonsense", 200, "the reply is not a status of glb-healthcheck: "),
    (b"[]", 200, "the reply is not a status of glb-healthcheck: members are missing"),
    (b'{"tables": []}', 200, "the reply is not a status of glb-healthcheck: members are missing"),
    (b"", 200, "HTTP status 200: this is not glb-healthcheck"),
    (b"{}", 404, "HTTP status 404: this is not glb-healthcheck"),
    (b"{}", 302, "HTTP status 302: this is not glb-healthcheck"),
))
@pytest.mark.parametrize("options", ((), ("--json",)))
def test_stranger_at_the_address(daemon, here, body, code, message, options):
    made = daemon(table(backend(GOOD)))
    with Stranger(here, body, code):
        status, text, errors = ask(made, *options)
    assert (status, text) == (1, "") and errors.startswith("glb-healthcheck: ") and message in errors


@pytest.mark.parametrize("members", (
    {"src": {}, "tables": []},
    {"src": {"error": 7, "loads": "x"}, "tables": [None, 5, {"backends": [None, {"checks": {}}, {"checks": [None]}]}]},
))
def test_reply_with_missing_and_wrong_members(daemon, here, members):
    made = daemon(table(backend(GOOD)))
    with Stranger(here, json.dumps(members).encode()):
        code, _, errors = ask(made)
    assert (code, errors) == (1 if not members["tables"] else 0, "")


def test_texts_of_strangers_do_not_reach_the_terminal(daemon, here):
    """Control characters are replaced, and words that are wider than the terminal are divided."""
    evil = "\x1b[2J\x07\u009b" + "w" * 300 + " " + "ü" * 100
    check = {"check": evil, "verdict": "unhealthy", "result": "timeout", "reason": evil, "latency_ms": 1e300,
             "against_verdict": 2, "changed": 1 << 62}
    status = {"version": evil, "src": {"file": evil, "error": evil}, "dst": {"error": evil}, "reload": {"state": evil},
              "tables": [{"name": evil, "panic": True, "kept_by_panic": 1,
                          "backends": [{"ip": evil, "state": evil, "verdict": "unhealthy", "checks": [check]}]}]}
    made = daemon(table(backend(GOOD)))
    with Stranger(here, json.dumps(status).encode()):
        code, text, errors = ask(made)
    assert (code, errors) == (1, "")
    assert "?[2J???www" in text
    assert all(character.isprintable() or character == "\n" for character in text)
