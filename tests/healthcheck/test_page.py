# SPDX-License-Identifier: BSD-3-Clause
"""The page for people: what it says, with and without scripts, for hostile names and many backends."""

import http.client
import http.server
import threading

import pytest

import nginx
from daemon import backend, table, wait_probes
from lab.tools import TIMEOUT_S, wait_until
from network import PROXY
from support.browser import Page, browse, words

GOOD, BAD = "10.78.0.1", "10.78.0.2"
URL = "http://127.0.0.1:19521/"
HOSTILE = """<script>document.title="owned"</script>"'&<img src=x onerror=alert(1)>"""
LONG = "n" * 63
HISTORY = 32


def get(made, path="/", **headers):
    """Returns the status, the headers and the text."""
    with made.host:
        connection = http.client.HTTPConnection("127.0.0.1", 19521, timeout=TIMEOUT_S)
        connection.connect()
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, reply.headers, text


def page(made, path="/"):
    status, _, text = get(made, path)
    assert status == 200, text
    return Page(text)


def checks(shown):
    """{(name of the table, check): row} of the page."""
    return {(words(fold.find("summary/b")), row["Check"].text): row
            for fold in shown.tree.iter("details") for row in shown.rows(fold)}


def test_page_has_what_status_has(daemon):
    made = daemon(table(backend(GOOD, http=nginx.OK, tcp=nginx.OK), {**backend(BAD, "draining", tcp=9), "weight": 300},
                        backend("10.78.0.3", "inactive"), balance=1.05),
                  table(backend(GOOD, tcp=nginx.OK), name="second", vips=["203.0.113.11"]), interval_ms=50, timeout_ms=5000)
    made.start().wait_ready()
    wait_probes(made, 3 * HISTORY)
    shown, status = page(made), made.status()
    assert shown.figures()["Healthy backends"].values == [2, 3]
    lines = [words(fold.find("summary/small")) for fold in shown.tree.iter("details")]
    assert lines == ["1 of 2 backends healthy, balance 1.05", "1 of 1 backends healthy"]
    rows = checks(shown)
    wanted = {(one["name"], check["check"]): (entry, check)
              for one in status["tables"] for entry in one["backends"] for check in entry["checks"]}
    assert rows.keys() == wanted.keys() | {("web", "no checks of 10.78.0.3")}
    for key, (entry, check) in wanted.items():
        assert rows[key]["Backend"].text == entry["ip"]
        state = f"{entry['state']}, {'healthy' if entry['healthy'] else 'unhealthy'}"
        assert rows[key]["In the table"].text == f"{state}, weight {300 if entry['ip'] == BAD else 100}"
        assert rows[key]["Verdict"].text == check["verdict"]
        assert rows[key]["Last result"].text.split()[0] == check["result"]
        assert rows[key]["Last 32 results"].labels == [f"last 32 results: 32 {check['result']}"]
    assert rows["web", f"tcp {BAD}:9"]["Last result"].text == "refused Connection refused"
    odd, = shown.rows(shown.find("odd"))
    assert odd["Check"].text == f"tcp {BAD}:9"
    done = {row["Step"].text: row for row in shown.rows(shown.find("work"))}
    assert [done["read src"]["Done"].value, done["read src"]["What"].text] == [status["src"]["loads"], str(made.src)]
    assert [done["write dst"]["Done"].value, done["write dst"]["What"].text] == [status["dst"]["writes"], str(made.dst)]
    assert shown.find("faults").get("hidden") is not None
    assert words(shown.find("verdict")) == "1 backend unhealthy"


def test_history_has_each_result_in_order(daemon, own_nginx):
    made = daemon(table(backend(GOOD, tcp=8080)), interval_ms=100, timeout_ms=80).start().wait_ready()
    wait_probes(made, 1)
    own_nginx.start()
    wait_probes(made, 3)
    own_nginx.stop()
    wait_probes(made, 2)
    strip, = [each for each in page(made).tree.iter("{http://www.w3.org/2000/svg}svg") if each.get("class") == "strip"][-1:]
    assert [path.get("class") for path in strip.iter("{http://www.w3.org/2000/svg}path")] == ["f", "p", "f"]


def test_problems_come_first(daemon, tmp_path):
    made = daemon(table(backend(GOOD, tcp=nginx.OK), backend(BAD, tcp=9)), panic_threshold=60, reload_command='"echo no such unit; exit 3"')
    made.start().wait_ready()
    made.src.write_text("{ broken")
    made.kill(1)
    wait_until(lambda: made.status()["src"]["refused"] and made.status()["reload"]["failed"], "the faults")
    shown = page(made)
    told = [words(item) for item in shown.find("faults").iter("li")]
    assert told[0].startswith("src is refused ")
    assert told[1].startswith("the reload failed ") and "no such unit" in told[1]
    assert told[2] == "web panic: only 1 of 2 backends are healthy, so all count as healthy, and 1 unhealthy ones get new connections"
    assert len(told) == 3
    assert words(shown.find("verdict")) == "the director does not get new tables"


def hostile(daemon, tmp_path):
    """A daemon whose operator, tables and proxies write what looks like HTML."""
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\nprintf '%s\\377\\n' '{HOSTILE.replace(chr(39), '')}'; exit 2\n")
    plugin.chmod(0o755)
    made = daemon(table(backend(GOOD, tcp=nginx.OK), name=HOSTILE),
                  table(backend(BAD, command="db"), name=LONG, vips=["203.0.113.11"]),
                  table(backend(BAD, http=nginx.OK, http_uri=f"/{HOSTILE.replace(' ', '')}"), name="é€𝄞", vips=["203.0.113.12"]),
                  commands=f'( {{ name = "db"; command = [ "{plugin}" ]; }} )',
                  http='{ headers = { X-Token = "never-shown"; }; }', timeout_ms=5000)
    return made.start().wait_ready()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_hostile_text_stays_text(daemon, tmp_path, scripts):
    made = hostile(daemon, tmp_path)
    shown = browse(made.host, URL, scripts=scripts)
    assert shown.count("img") == 0 and shown.count("script") == 1
    assert "owned" not in words(shown.tree.find("head/title"))
    names = [words(fold.find("summary/b")) for fold in shown.tree.iter("details")]
    assert names == [" ".join(HOSTILE.split()), LONG, "é€𝄞"]
    reason, = [row["Last result"].text for (name, _), row in checks(shown).items() if name == LONG]
    assert reason.startswith("bad_exit critical: <script>document") and reason[-1] in "?\uFFFD"
    assert shown.find("pause").get("hidden") == (None if scripts else "")
    assert shown.find("filter") is not None and shown.source.count("never-shown") == 0
    assert table()["hash_key"] not in shown.source


@pytest.fixture
def replay(here):
    """Returns a function that serves replies one after the other, the last one for ever."""
    servers = []

    def serve(*replies):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                status, headers, text = replies[min(len(asked), len(replies)) - 1]
                self.send_response(status)
                for name in ("Content-Type", "Content-Security-Policy"):
                    self.send_header(name, headers[name])
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        asked = []
        with here:
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/", asked

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def test_script_replaces_what_has_changed(daemon, here, replay):
    made = daemon(table(backend(GOOD, tcp=nginx.OK))).start().wait_ready()
    first = get(made)
    changed = (*first[:2], first[2].replace("Healthy backends", "Other backends"))
    url, asked = replay(first, changed)
    shown = browse(here, url, seconds=12)
    assert "Other backends" in shown.figures() and len(asked) >= 2
    assert words(shown.find("told")) == ""
    assert browse(here, url, scripts=False).find("pause").get("hidden") == ""


@pytest.mark.parametrize("broken, why", [
    (lambda reply: (*reply[:2], reply[2].partition('<footer id="end">')[0]), "the page ended early"),
    (lambda reply: (500, *reply[1:]), "the server replies 500"),
], ids=["half a page", "an error"])
def test_script_says_when_the_page_is_old(daemon, here, replay, broken, why):
    made = daemon(table(backend(GOOD, tcp=nginx.OK))).start().wait_ready()
    reply = get(made)
    url, _ = replay(reply, broken((*reply[:2], reply[2].replace("Healthy backends", "Other backends"))))
    shown = browse(here, url, seconds=7)
    assert "Healthy backends" in shown.figures()
    told = words(shown.find("told"))
    assert told.startswith("Not updated for ") and told.endswith(why)


def test_headers_keep_other_sites_away(daemon):
    made = daemon(table(backend(GOOD, tcp=nginx.OK))).start().wait_ready()
    _, headers, _ = get(made)
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy and "form-action 'none'" in policy
    assert headers["Set-Cookie"] is None and headers["Access-Control-Allow-Origin"] is None
    assert [headers[name] for name in ("X-Content-Type-Options", "Cache-Control", "Referrer-Policy", "Cross-Origin-Resource-Policy")] == [
        "nosniff", "no-store", "no-referrer", "same-origin"]


def test_names_of_other_hosts_are_refused(daemon):
    """A web site could make its name lead to 127.0.0.1 and read the page through an operator's browser."""
    made = daemon(table(backend(GOOD, tcp=nginx.OK))).start()
    made.logged("dst.json written")
    for path in ("/", "/tables/0", "/status", "/metrics", "/nothing"):
        status, _, text = get(made, path, Host="rebind.example:19521")
        assert status == 421 and "localhost" in text and GOOD not in text, path
        assert get(made, path, Host="localhost:19521")[0] == (404 if path == "/nothing" else 200), path


def test_pages_that_do_not_exist(daemon):
    made = daemon(table(backend(GOOD, tcp=nginx.OK))).start()
    made.logged("dst.json written")
    for path in ("/tables/1", "/tables/4294967296", "/tables/-1", "/tables/00", "/tables/", "/tables/0/", "/tables", "//"):
        assert get(made, path)[0] == 404, path


TABLES, BACKENDS = 4, 1000
SHOWN = 512 // (TABLES + 1)
PAGE_MAX = 400_000


def memory_kib(made):
    with open(f"/proc/{made.pid()}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def test_page_about_many_backends_is_short(daemon):
    others = [backend(f"10.79.{i // 250}.{1 + i % 250}", tcp=9) for i in range(BACKENDS)]
    made = daemon(table(backend(PROXY, tcp=nginx.OK)), *(table(*others, name=f"table{i}", vips=[f"203.0.113.{i}"]) for i in range(TABLES)),
                  interval_ms=20000, timeout_ms=100).start()
    made.logged("dst.json written")
    before = memory_kib(made)
    _, _, text = get(made)
    shown = Page(text)
    assert len(text) < PAGE_MAX
    folds = list(shown.tree.iter("details"))
    assert [len(shown.rows(fold)) for fold in folds] == [1] + TABLES * [SHOWN]
    assert [words(fold.find("p")) for fold in folds[1:]] == [
        f"All {BACKENDS} backends of table{i} {SHOWN} are shown." for i in range(TABLES)]
    whole = page(made, folds[2].find("p/a").get("href"))
    fold, = whole.tree.iter("details")
    assert len(whole.rows(fold)) == BACKENDS and words(fold.find("summary/b")) == "table1"
    assert memory_kib(made) - before < 8192
