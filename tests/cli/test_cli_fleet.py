# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli doctor --fleet: pages of metrics that fit together have no finding but ok, and each fault has its finding."""

import contextlib
import http.server
import json
import re
import socket
import subprocess
import threading

import pytest

from lab.tools import TIMEOUT_S
from support.outputs import check_output
from support.ports import closed_port
from support.tree import CLI, TREE

LEVELS = ["ok", "warn", "fail"]
DIGEST, FIRST_HOPS, OTHER = "8f1d3a5c7e9b0d2f", "5a7c9e1b3d5f7082", "0000000000000001"


def director(source="192.0.2.1", digest=DIGEST, first_hops=FIRST_HOPS, version="0.1.0", state="ok"):
    """source: addresses with spaces between. first_hops: None is a director of an older version."""
    sources = "".join(f'glb_director_source_info{{address="{address}"}} 1\n' for address in source.split())
    told = f'first_hops="{first_hops}",' if first_hops is not None else ""
    states = "".join(f'glb_director_health_state{{state="{name}"}} {int(name == state)}\n' for name in ("starting", "ok", "degraded", "failing", "stopping"))
    return (f'# HELP glb_director_build_info versions\n# TYPE glb_director_build_info gauge\n'
            f'glb_director_build_info{{version="{version}",dpdk="22.11",isa="avx2"}} 1\n'
            f'{sources}{states}'
            f'glb_director_table_info{{digest="{digest}",{told}fingerprint="1",format="version 3",path="/a \\"b\\\\"}} 1\n')


def proxy(allow=("192.0.2.0/24",), version="0.1.0", attached=1, is_open=0, interface="eth0", outer_ipv6=None):
    """outer_ipv6: None is a version that does not know it."""
    known = "" if outer_ipv6 is None else f'glb_redirect_outer_ipv6{{interface="{interface}"}} {outer_ipv6}\n'
    prefixes = "".join(f'glb_redirect_allow_from_info{{interface="{interface}",prefix="{prefix}"}} 1\n' for prefix in allow)
    return (f'glb_redirect_build_info{{version="{version}"}} 1\nglb_redirect_attached{{interface="{interface}"}} {attached}\n'
            f'glb_redirect_open_to_any_sender{{interface="{interface}"}} {is_open}\n{known}{prefixes}')


class Fleet:
    """Serves pages on ports of 127.0.0.1. A page is a text, bytes, a status, or a function that gets the handler."""

    def __init__(self, stack):
        self.stack = stack

    def serve(self, page):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                assert self.path == "/metrics"
                if callable(page):
                    page(self)
                    return
                if isinstance(page, int):
                    self.send_response(page)
                    self.send_header("Location", "/metrics")
                    self.end_headers()
                    return
                body = page.encode() if isinstance(page, str) else page
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True, kwargs={"poll_interval": 0.05}).start()
        self.stack.callback(server.server_close)
        self.stack.callback(server.shutdown)
        return f"127.0.0.1:{server.server_port}"

    def check(self, *hosts, options=("--timeout", "5")):
        done = subprocess.run([CLI, "doctor", "--fleet", "--json", *options, *hosts], capture_output=True, text=True, timeout=60)
        assert done.stderr == ""
        report = json.loads(done.stdout)
        check_output("doctor", report)
        assert (report["host"], done.returncode) == ("fleet", LEVELS.index(report["result"]))
        return [(each["level"], each["check"], each["object"], each["text"]) for each in report["findings"] if each["level"] != "ok"]

    def pages(self, *pages):
        self.hosts = [self.serve(page) for page in pages]
        return self.check(*self.hosts)


@pytest.fixture
def fleet():
    with contextlib.ExitStack() as stack:
        yield Fleet(stack)


def test_a_healthy_fleet(fleet):
    assert fleet.pages(director(), director("192.0.2.2"), proxy(), proxy(("192.0.2.1", "192.0.2.2"))) == []
    both = director("192.0.2.1 2001:db8::d")
    assert fleet.pages(both, proxy(outer_ipv6=1), proxy(("2001:db8::/64",), outer_ipv6=1), proxy(("2001:db8::d", "192.0.2.1"), outer_ipv6=1)) == []
    assert fleet.pages(director(), director("192.0.2.2"), proxy()) == []
    text = subprocess.run([CLI, "doctor", "--fleet", *fleet.hosts], capture_output=True, text=True, check=True).stdout
    assert f"digests: 2 directors: digest {DIGEST}" in text and text.endswith("\nfleet: 0 failures, 0 warnings\n")


FAULTS = {
    "other first hops": (
        [director(), director(digest=OTHER, first_hops=OTHER), director()], 1, "fail", "digests", f"of its first hops is {OTHER}, and that of 2 of 3 directors {FIRST_HOPS}"),
    "another digest, of an older version": (
        [director(), director(digest=OTHER, first_hops=None), director()], 1, "fail", "digests", f"of its table is {OTHER}, and that of 2 of 3 directors {DIGEST}"),
    "another digest beside an older version": (
        [director(), director(digest=OTHER), director(first_hops=None)], 1, "fail", "digests", f"of its table is {OTHER}, and that of 2 of 3 directors {DIGEST}"),
    "another version of a director": ([director(), director(), director(version="0.0.9")], 2, "warn", "versions", "glb-director is version 0.0.9"),
    "another version of a proxy": ([proxy(), proxy(version="0.0.9"), proxy()], 1, "warn", "versions", "glb-redirect is version 0.0.9"),
    "a degraded director": ([director(), director(state="degraded")], 1, "warn", "health", "its health is degraded"),
    "a failing director": ([director(state="failing"), director()], 0, "fail", "health", "it should get no packets"),
    "a director without health": ([director(state="none")], 0, "fail", "health", "its health is unknown"),
    "nothing is attached": ([director(), proxy().replace("glb_redirect_attached", "other").replace("glb_redirect_open", "other")], 1, "fail", "attached", "no program is attached"),
    "nothing is attached that would take outer IPv6": (
        [director("2001:db8::d"), proxy().replace("glb_redirect_attached", "other").replace("glb_redirect_open", "other")], 1, "fail", "attached", "no program is attached"),
    "the program was detached": ([director(), proxy(attached=0)], 1, "fail", "attached", "no longer runs on eth0"),
    "open to any sender": ([director(), proxy(is_open=1, allow=())], 1, "warn", "senders", "is open to any sender"),
    "a director is not allowed": ([director(), director("198.51.100.1"), proxy()], 2, "fail", "senders", "does not have 198.51.100.1, the source address of 127.0.0.1:"),
    "a proxy allows one director only": ([director(), director("192.0.2.2"), proxy(), proxy(("192.0.2.1",))], 3, "fail", "senders", "does not have 192.0.2.2"),
    "an IPv6 director is not allowed": ([director("2001:db8::d"), proxy(outer_ipv6=1)], 1, "fail", "senders", "does not have 2001:db8::d, the source address of 127.0.0.1:"),
    "the IPv6 address of a director is not allowed": (
        [director("192.0.2.1 2001:db8::d"), proxy(("192.0.2.1", "2001:db8::e"), outer_ipv6=1)], 1, "fail", "senders", "does not have 2001:db8::d"),
    "a proxy that takes no outer IPv6": ([director("2001:db8::d"), director("192.0.2.1 2001:db8::e"), proxy(("2001:db8::/64", "192.0.2.1"))], 2, "fail", "underlay",
                                         "its glb-redirect does not take outer IPv6, and 127.0.0.1:"),
    "a proxy that takes no outer IPv6 yet": ([director("192.0.2.1 2001:db8::d"), proxy(outer_ipv6=0)], 1, "warn", "underlay", "sends as soon as a table has this proxy with an IPv6 address"),
    "not a page of ours": ([director(), "node_load1 0.5\n"], 1, "fail", "reachable", "the page is not that of a director or a proxy"),
    "an error": ([director(), 503], 1, "fail", "reachable", "503"),
    "a redirect is not followed": ([director(), 302], 1, "fail", "reachable", "not that of a director"),
    "a page of an empty table": ([director(), ""], 1, "fail", "reachable", "not that of a director"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_exactly_its_finding(fleet, name):
    pages, index, level, check, text = FAULTS[name]
    ((found_level, found_check, found_object, found_text),) = fleet.pages(*pages)
    assert (found_level, found_check, found_object) == (level, check, fleet.hosts[index])
    assert text in found_text


@pytest.mark.parametrize("pages", [[proxy()], [director("198.51.100.1"), proxy(allow=())], [director("").replace("source_info", "other"), proxy()]],
                         ids=["no director", "allow_from is not told", "the source address is not told"])
def test_a_proxy_of_which_nothing_tells_whether_it_refuses_a_director(fleet, pages):
    assert fleet.pages(*pages) == []
    text = subprocess.run([CLI, "doctor", "--fleet", *fleet.hosts], capture_output=True, text=True, check=True).stdout
    assert f"senders: {fleet.hosts[-1]}: not known: whether it refuses a director; it is not open to any sender" in " ".join(text.split())


def test_two_directors_that_differ(fleet):
    assert [each[:3] for each in fleet.pages(director(first_hops=OTHER), director())] == [("fail", "digests", fleet.hosts[1])]


def test_a_failure_that_one_director_saw_is_no_finding(fleet):
    """Only its later hops differ, so a flow that moves to or from it keeps its first hop."""
    assert fleet.pages(director(), director(digest=OTHER), director()) == []
    text = subprocess.run([CLI, "doctor", "--fleet", *fleet.hosts], capture_output=True, text=True, check=True).stdout
    assert f"digests: 3 directors: first hops {FIRST_HOPS}; later hops differ, as they do for a day after" in " ".join(text.split())


def test_a_director_of_an_older_version_with_the_same_table(fleet):
    assert fleet.pages(director(), director(first_hops=None), director(first_hops="")) == []
    text = subprocess.run([CLI, "doctor", "--fleet", *fleet.hosts], capture_output=True, text=True, check=True).stdout
    assert f"digests: 3 directors: digest {DIGEST}" in " ".join(text.split())


def test_a_proxy_that_does_not_tell_all_of_its_list(fleet):
    page = proxy(("198.51.100.0/24",)) + 'glb_redirect_allow_from_omitted{interface="eth0"} 3\n'
    assert fleet.pages(director(), page) == []
    assert fleet.pages(director(), proxy(())) == []  # an exporter of a version that does not tell its list


def test_unreachable_hosts_are_named_and_the_others_checked(fleet):
    good, bad = fleet.serve(director()), fleet.serve(director(state="failing"))
    closed = closed_port()
    assert [each[:3] for each in fleet.check(good, closed, bad, "name.invalid:1")] == [("fail", "reachable", closed), ("fail", "reachable", "name.invalid:1"), ("fail", "health", bad)]


def test_a_host_that_accepts_and_says_nothing(fleet):
    """The timeout is that of the option."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        ((level, check, name, text),) = fleet.check(host, fleet.serve(director()), options=("--timeout", "1"))
    assert (level, check, name) == ("fail", "reachable", host) and "timed out" in text


def send(*pieces, length=None):
    def page(handler):
        handler.send_response(200)
        if length is not None:
            handler.send_header("Content-Length", str(length))
        handler.end_headers()
        with contextlib.suppress(OSError):
            for piece in pieces:
                handler.wfile.write(piece)
    return page


HOSTILE = {
    "too large": send(*[b"x" * (1 << 20)] * 80),
    "too large in lines": send(*[b'glb_director_build_info{version="1"} 1\n' * 30000] * 70),
    "one endless line": send(b"glb_director_build_info{", *[b"x" * (1 << 20)] * 80),
    "cut": send(director().encode()[:-40], length=100000),
    "binary": send(bytes(range(256)) * 1000),
    "no HTTP": lambda handler: handler.wfile.write(b"\x00" * 1000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page(fleet, name):
    bad, good = fleet.serve(HOSTILE[name]), fleet.serve(director())
    assert [each[:3] for each in fleet.check(good, bad)] == [("fail", "reachable", bad)]


def test_a_page_that_a_reload_has_cut_is_fetched_again(fleet):
    pages = [send(director().encode()[:40], length=4000), send(director().encode()[:80], length=4000), send(director().encode())]
    assert fleet.pages(lambda handler: pages.pop(0)(handler)) == []


@pytest.mark.parametrize("value", ("\x1b[31mred", "a\tb", 'quote\\"s', "back\\\\slash", "x" * 5000, "\xff", "", "{}", "%s%n"))
def test_values_of_labels_are_only_text(fleet, value):
    """A hostile value neither breaks the report nor reaches the terminal as it is."""
    for hostile in (director(digest=value, first_hops=None), director(digest=value, first_hops=value)):
        findings = fleet.pages(director(), hostile)
        assert "\x1b" not in json.dumps(findings) and findings[0][0] == "fail"


def test_a_file_of_hosts(fleet, tmp_path):
    hosts = tmp_path / "hosts"
    good, bad = fleet.serve(director()), fleet.serve(director(state="failing"))
    hosts.write_text(f"# directors\n192.0.2.70={bad}  # in rack 2\n\n   \n")
    assert [each[:3] for each in fleet.check(good, options=("--hosts", str(hosts)))] == [("fail", "health", f"192.0.2.70={bad}")]


@pytest.mark.parametrize("words, message", (
    ((), "name the directors and the proxies"),
    (("a:b",), "'a:b' is not HOST, HOST:PORT or [IPV6]:PORT"),
    (("http://a/",), "'http://a/' is not HOST"),
    (("a b",), "'a b' is not HOST"),
    (("127.0.0.1:65536",), "is not HOST"),
    (("a:01",), "is not HOST"),
    (("a=b",), "'a=b' is not HOST"),
    (("192.0.2.1=",), "'192.0.2.1=' is not HOST"),
    (("192.0.2.1=b:0",), "is not HOST"),
    (("x" * 300,), "is not HOST"),
    (("-", ) * 4097, "more than 4096 hosts"),
    (("--hosts", "/none"), "/none: "),
    (("--timeout", "0", "a"), "--timeout: '0' is not a number of seconds"),
    (("--root", "/", "a"), "exclude each other"),
))
def test_wrong_arguments(words, message):
    done = subprocess.run([CLI, "doctor", "--fleet", *words], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 2 and message in done.stderr and done.stdout == ""


def test_hosts_without_fleet():
    done = subprocess.run([CLI, "doctor", "a"], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 2 and "hosts and --config are for --fleet" in done.stderr


def test_the_reference_has_each_metric_that_the_doctor_reads():
    source = (TREE / "src/cli/doctor/fleet/fleet.c").read_text()
    names = re.findall(r'"(glb_\w+)"', source)
    page = (TREE / "docs/reference/metrics.md").read_text()
    assert len(names) == 10 and [name for name in names if f"| `{name}` |" not in page] == []
