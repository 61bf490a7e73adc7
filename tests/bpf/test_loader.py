# SPDX-License-Identifier: BSD-3-Clause
"""The effects and the error messages of attach, detach, status and stats."""

import json
import os
import re
import socket
import subprocess

import pytest

from cases import frames as f
from host import PROXY, VIP
from lab.net import Namespace, connect
from lab.tools import wait_until
from locks import locked
from packets import gue_frame
from support.tree import REDIRECT_OBJECT
from tc_ingress import TC_PROGRAM

PINS = "/sys/fs/bpf/glb-redirect"
OPEN = "  allow_from any (open to any sender), allow_to local, next_hops any, max_hops 8\n"


class Proxy:
    def __init__(self, glb_redirect):
        self.glb_redirect = glb_redirect
        self.namespace, self.network = Namespace(), Namespace()
        connect(self.namespace, "eth0", self.network, "net0")
        # The frames of gue_frame() are for this host.
        self.namespace.ip(f"link set eth0 address {f.DIRECTOR_MAC}", f"addr add {PROXY}/24 dev eth0", f"addr add {VIP[4]}/32 dev lo",
                          f"addr add {VIP[6]}/128 dev lo nodad")

    def __call__(self, *words, code=0):
        result = self.namespace.run(self.glb_redirect, *words, check=False)
        assert result.returncode == code, result.stderr
        return result.stdout if code == 0 else result.stderr

    def receive(self, frames):
        """Sends the frames from the other end of the veth pair."""
        with self.network:
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        with raw:
            raw.bind(("net0", 0))
            for frame in frames:
                raw.send(frame)

    def count(self, frames, counted=None):
        """Like receive(). Waits until the program has counted `counted` packets, by default all: a busy kernel delivers them later."""
        total = self.stats()["total"] + (len(frames) if counted is None else counted)
        self.receive(frames)
        wait_until(lambda: self.stats()["total"] == total, lambda: f"{total} packets: {self.stats()}")

    def stats(self, interface="eth0"):
        """The counters. Each packet is counted in `total` and in exactly one other."""
        counters = json.loads(self("stats", interface, "--json"))[interface]
        del counters["accepted_at_hop"]
        return counters

    def hops(self, interface="eth0"):
        return json.loads(self("stats", interface, "--json"))[interface]["accepted_at_hop"]

    def status(self, interface="eth0"):
        return json.loads(self("status", interface, "--json"))[interface]

    def folder(self, interface="eth0"):
        """The folder with the pins of the attached program."""
        return f"{PINS}/{interface}/{self.status(interface)['program_id']}"

    def status_text(self):
        return self.namespace.run(self.glb_redirect, "status", check=False).stdout

    def close(self):
        self.namespace.close()
        self.network.close()


@pytest.fixture
def proxy(glb_redirect):
    proxy = Proxy(glb_redirect)
    yield proxy
    proxy.close()


PING = gue_frame(f.ipv4("198.51.100.7", "10.10.10.10", f.ICMP, f.echo(4)))
MALFORMED = gue_frame(b"\x45")


def test_attach_status_detach(proxy):
    pins = proxy.namespace.run("ls", "/sys/fs/bpf").stdout  # kernels may put things there
    assert proxy("attach", "eth0") == "eth0: attached, native mode\n  port 19523, udp first-hop, syn-cookies off, forward sender\n" + OPEN
    status = proxy.status()
    assert status.pop("program_id") > 0
    assert status.pop("version") in proxy("--version")
    assert status.pop("next_program") is None
    assert status.pop("lost") == {"kernel": 0, "driver": 0}
    assert status.pop("frags") is (tuple(map(int, os.uname().release.split(".")[:2])) >= (5, 18))
    assert status == {"attached": True, "mode": "native", "port": 19523, "udp": "first-hop", "syn_cookies": False, "forward": "sender",
                      "tc_program": TC_PROGRAM,
                      "open_to_any_sender": True, "allow_from": None, "allow_to": "local", "next_hops": None, "max_hops": 8, "quic": False,
                      "config_file": None, "addresses_followed": False, "warnings": []}
    assert "xdp" in proxy.namespace.run("ip", "link", "show", "eth0").stdout
    assert proxy("detach", "eth0") == "eth0: detached\n"
    assert "xdp" not in proxy.namespace.run("ip", "link", "show", "eth0").stdout
    assert proxy.namespace.run("ls", "/sys/fs/bpf").stdout == pins
    assert proxy("status") == "not attached to any interface\n"


def test_options_reach_the_program(proxy):
    proxy("attach", "eth0", "--mode", "generic", "--port", "6080", "--udp", "connected")
    status = proxy.status()
    assert (status["mode"], status["port"], status["udp"]) == ("generic", 6080, "connected")
    proxy.count([PING, gue_frame(f.ipv4("198.51.100.7", "10.10.10.10", f.ICMP, f.echo(4)), port=6080)], 1)
    assert proxy.stats()["total"] == 1
    text = proxy("status")
    assert re.fullmatch(r"eth0: attached, generic mode, program \d+, version \S+\n"
                        r"  port 6080, udp connected, syn-cookies off, forward sender\n" + re.escape(OPEN)
                        + r"  addresses of this host: as of attach or reload\n  tc program by \w+\n", text)


def test_an_upgrade_keeps_counters(proxy):
    proxy("attach", "eth0")
    first = proxy.status()["program_id"]
    proxy.count([PING, PING, MALFORMED])
    said = proxy("attach", "eth0", "--udp", "connected")
    assert said == ("eth0: replaced the attached program, native mode\n"
                    "  port 19523, udp connected, syn-cookies off, forward sender\n" + OPEN)
    status = proxy.status()
    assert status["udp"] == "connected" and status["program_id"] != first
    proxy.count([PING])
    counters = proxy.stats()
    assert counters.pop("total") == 4 == sum(counters.values())
    assert (counters["accepted_other"], counters["drop_inner_truncated"]) == (3, 1)


def test_an_upgrade_keeps_the_link(proxy):
    """The link is the same before and after, so that the interface always has a program."""
    links = []
    for _ in range(2):
        proxy("attach", "eth0")
        info = proxy.namespace.run("/usr/sbin/bpftool", "-j", "link", "show", "pinned", f"{PINS}/eth0/link")
        links.append(json.loads(info.stdout)["id"])
    assert links[0] == links[1]


def older_version(proxy, layout, entries):
    """Makes the attached program look like another version, with other settings and with the counter values 1, 2, 3 and so on."""
    settings = layout.to_bytes(4, "little") + bytes(20)
    folder, commands = proxy.folder(), []
    for name, kind, value, count in (("settings", "array", 24, 1), ("counters", "percpu_array", 8, entries)):
        proxy.namespace.run("rm", f"{folder}/{name}")
        commands.append(f"map create {folder}/{name} type {kind} key 4 value {value} entries {count} name {name}")
    commands.append(f"map update pinned {folder}/settings key 0 0 0 0 value hex {settings.hex(' ')}")
    for number in range(entries):
        key, value = (size.to_bytes(width, "little").hex(" ") for size, width in ((number, 4), (number + 1, 8)))
        commands.append(f"map update pinned {folder}/counters key hex {key} value hex {value}")
    # On Linux 5.10 bpftool executes all commands and then fails with a stale error. The tests check the result themselves.
    proxy.namespace.run("/usr/sbin/bpftool", "batch", "file", "-", input="\n".join(commands) + "\n", check=False)


def layout_of(names):
    """The FNV-1a hash of the counters' names, which identifies a list of counters."""
    value = 2166136261
    for byte in "".join(f"{name} " for name in names).encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def test_an_upgrade_over_fewer_counters_keeps_them(proxy):
    proxy("attach", "eth0")
    names = list(proxy.stats())
    older_version(proxy, layout_of(names[:-1]), len(names) - 1)
    assert proxy.namespace.run(proxy.glb_redirect, "attach", "eth0").stderr == ""
    kept = proxy.stats()
    processors = kept["total"]  # bpftool writes the value for each CPU
    assert processors > 0
    assert list(kept.values()) == [processors * (number + 1) for number in range(len(names) - 1)] + [0]
    proxy.count([PING])
    assert proxy.stats()["total"] == processors + 1


def test_an_upgrade_over_a_shorter_list_of_other_counters_starts_at_0(proxy):
    proxy("attach", "eth0")
    names = list(proxy.stats())
    older_version(proxy, layout_of([*names[:-2], "something_else"]), len(names) - 1)
    assert "start at 0" in proxy.namespace.run(proxy.glb_redirect, "attach", "eth0").stderr
    assert set(proxy.stats().values()) == {0}


def test_status_of_an_older_version(proxy):
    proxy("attach", "eth0")
    older_version(proxy, 0, 1)
    status = proxy.status()
    assert status["syn_cookies"] is False and status["forward"] == "sender"
    assert "other counters" in proxy("stats", "eth0", code=1)


def test_syn_cookies_on_and_off_again(proxy):
    proxy.namespace.sysctl({"net.ipv4.conf.lo.forwarding": 1, "net.ipv6.conf.lo.forwarding": 1})
    assert proxy("attach", "eth0", "--syn-cookies", "on").endswith("syn-cookies on, forward sender\n" + OPEN)
    assert proxy.status()["syn_cookies"] is True
    assert ", syn-cookies on, " in proxy("status")
    proxy("attach", "eth0")
    assert proxy.status()["syn_cookies"] is False


def test_syn_cookies_need_forwarding_of_each_family(proxy):
    proxy.namespace.sysctl({"net.ipv4.conf.lo.forwarding": 1})
    message = "the kernel looks up routes for eBPF only if forwarding is enabled on lo"
    assert message in proxy("attach", "eth0", "--syn-cookies", "on", code=1)
    proxy.namespace.sysctl({"net.ipv4.conf.lo.forwarding": 0, "net.ipv6.conf.lo.forwarding": 1})
    assert message in proxy("attach", "eth0", "--syn-cookies", "on", code=1)
    assert proxy("status") == "not attached to any interface\n"


def test_forward_by_route_and_by_sender_again(proxy):
    """GUE is IPv4, so that forwarding of IPv6 is not needed."""
    proxy.namespace.sysctl({"net.ipv4.conf.lo.forwarding": 1, "net.ipv6.conf.lo.forwarding": 0})
    assert proxy("attach", "eth0", "--forward", "fib").endswith("forward fib\n" + OPEN)
    assert proxy.status()["forward"] == "fib" and ", forward fib\n" in proxy("status")
    proxy("attach", "eth0")
    assert proxy.status()["forward"] == "sender"


def test_setting_of_the_sysctl_can_be_lost_after_attach(proxy):
    """The program then forwards by the sender. Another attach says what is missing, and leaves the program as it is."""
    proxy.namespace.sysctl({"net.ipv4.conf.lo.forwarding": 1})
    proxy("attach", "eth0", "--forward", "fib")
    before = proxy.status()
    proxy.namespace.sysctl({"net.ipv4.conf.lo.forwarding": 0})
    assert "--forward fib: " in proxy("attach", "eth0", "--forward", "fib", code=1)
    assert proxy.status() == before


def other_counters(proxy):
    """Makes the attached program look like another version by replacing its pinned settings."""
    directory = proxy.folder()
    proxy.namespace.run("rm", f"{directory}/settings")
    proxy.namespace.run(
        "/usr/sbin/bpftool", "map", "create", f"{directory}/settings", "type", "array", "key", "4", "value", "24",
        "entries", "1", "name", "settings",
    )


def test_an_upgrade_over_other_counters_says_so(proxy):
    proxy("attach", "eth0")
    proxy.count([PING])
    other_counters(proxy)
    result = proxy.namespace.run(proxy.glb_redirect, "attach", "eth0")
    assert "other counters" in result.stderr and "start at 0" in result.stderr
    assert proxy.stats()["total"] == 0
    proxy.count([PING])
    assert proxy.stats()["total"] == 1


def test_mode_of_an_attached_program_stays(proxy):
    proxy("attach", "eth0", "--mode", "generic")
    proxy("attach", "eth0")
    assert proxy.status()["mode"] == "generic"
    said = proxy("attach", "eth0", "--mode", "native", code=1)
    assert "attached in generic mode: detach it first" in said


def test_foreign_program_is_named_and_stays(proxy, tmp_path):
    proxy.namespace.run("/usr/sbin/bpftool", "prog", "load", str(REDIRECT_OBJECT), "/sys/fs/bpf/foreign")
    proxy.namespace.run("/usr/sbin/bpftool", "net", "attach", "xdp", "pinned", "/sys/fs/bpf/foreign", "dev", "eth0")
    shown = json.loads(proxy.namespace.run("ip", "-json", "link", "show", "eth0").stdout)
    identifier = shown[0]["xdp"]["prog"]["id"]
    said = proxy("attach", "eth0", code=1)
    assert f"'glb_redirect' id {identifier}" in said
    assert "(ip link set dev eth0 xdp off)" in said
    shown = json.loads(proxy.namespace.run("ip", "-json", "link", "show", "eth0").stdout)
    assert shown[0]["xdp"]["prog"]["id"] == identifier
    assert "not attached" in proxy("detach", "eth0", code=1)


def test_foreign_link_is_told_how_to_remove(proxy):
    proxy("attach", "eth0")
    proxy.namespace.run("mv", f"{PINS}/eth0/link", "/sys/fs/bpf/foreign")
    proxy("detach", "eth0")
    said = proxy("attach", "eth0", code=1)
    command = said[said.index("(") + 1 : said.index(")")]
    assert command.startswith("bpftool link detach id ")
    proxy.namespace.run(*command.replace("bpftool", "/usr/sbin/bpftool").split())
    proxy("attach", "eth0")


def test_renamed_interface(proxy):
    proxy("attach", "eth0")
    proxy.namespace.ip("link set eth0 down", "link set eth0 name wan0", "link set wan0 up")
    assert proxy.status_text() == "eth0: attached to interface 2, which was renamed to wan0\n"
    json_text = proxy.namespace.run(proxy.glb_redirect, "status", "--json", check=False).stdout
    assert (json.loads(json_text)["eth0"]["attached"], json.loads(json_text)["eth0"]["renamed_to"]) == (False, "wan0")
    assert "wan0 was called eth0 when the program was attached: run glb-redirect detach eth0 first" in proxy("attach", "wan0", code=1)
    connect(proxy.namespace, "eth0", proxy.network, "net1")
    assert "which is called wan0 now: run glb-redirect detach eth0 first" in proxy("attach", "eth0", code=1)
    assert proxy("detach", "eth0") == "eth0: detached\n"
    assert proxy("attach", "wan0").startswith("wan0: attached, native mode")


def test_a_program_of_another_network_namespace_is_left_alone(proxy):
    """Two network namespaces with one bpffs, and interfaces of the same name, even of the same number."""
    proxy("attach", "eth0")
    other = Namespace()
    try:
        connect(other, "eth0", proxy.network, "net1")

        def there(*words):
            namespaces = [f"--net=/proc/{other.pid}/ns/net", f"--mount=/proc/{proxy.namespace.pid}/ns/mnt"]
            return subprocess.run(["nsenter", *namespaces, "--", proxy.glb_redirect, *words], capture_output=True, text=True)

        for subcommand in ("attach", "detach"):
            result = there(subcommand, "eth0")
            assert result.returncode == 1 and "belongs to an interface of another network namespace" in result.stderr
        assert there("status").stdout == "eth0: attached to interface 2 of another network namespace\n"
    finally:
        other.close()
    proxy.count([PING])
    assert proxy.status()["attached"] and proxy.stats()["total"] == 1


def test_leftovers_of_an_interrupted_attach(proxy):
    connect(proxy.namespace, "eth1", proxy.network, "net1")
    proxy("attach", "eth0")
    proxy("attach", "eth1")
    proxy.namespace.run("rm", f"{PINS}/eth0/link")
    assert list(json.loads(proxy("status", "--json"))) == ["eth1"]
    assert list(json.loads(proxy("stats", "--json"))) == ["eth1"]
    assert proxy("detach", "eth0") == "eth0: was not attached; removed the pins of an interrupted attach\n"
    assert proxy.namespace.run("ls", PINS).stdout.split() == ["eth1"]
    assert "eth0: not attached" in proxy("detach", "eth0", code=1)


def test_status_goes_on_after_an_interface_that_is_gone(proxy):
    connect(proxy.namespace, "eth1", proxy.network, "net1")
    proxy("attach", "eth0")
    proxy("attach", "eth1")
    proxy.namespace.ip("link del eth0")
    gone, there, *_ = proxy.status_text().splitlines()
    assert gone == "eth0: pinned, but its interface is gone" and there.startswith("eth1: attached, ")


@pytest.mark.parametrize("subcommand", ["attach", "detach", "status", "stats"])
def test_too_few_descriptors_are_called_so(proxy, subcommand):
    proxy("attach", "eth0")
    for limit in (4, 5, 6):
        words = f"ulimit -n {limit}; exec {proxy.glb_redirect} {subcommand} eth0"
        result = proxy.namespace.run("sh", "-c", words, check=False)
        if result.returncode == 0:
            break
        # libbpf does not pass on the reason.
        assert re.search("Too many open files|cannot read the interface's XDP program", result.stderr), result.stderr
        assert proxy.status()["attached"]
    assert limit > 4


def test_interface_without_ethernet(proxy):
    proxy.namespace.ip("tuntap add dev tun0 mode tun")
    assert "tun0 is not an Ethernet interface" in proxy("attach", "tun0", "--mode", "generic", code=1)
    assert proxy("status") == "not attached to any interface\n"


def test_interface_was_made_anew(proxy):
    proxy("attach", "eth0")
    proxy.namespace.ip("link del eth0")
    assert "interface is gone" in proxy.namespace.run(proxy.glb_redirect, "status", check=False).stdout
    connect(proxy.namespace, "eth0", proxy.network, "net0")
    proxy("attach", "eth0")
    assert proxy.status()["attached"] and proxy.stats()["total"] == 0


def test_several_interfaces_and_a_name_with_a_dot(proxy):
    connect(proxy.namespace, "eth1.100", proxy.network, "net1")
    proxy("attach", "eth0")
    proxy("attach", "eth1.100", "--port", "6080")
    assert list(json.loads(proxy("status", "--json"))) == ["eth0", "eth1.100"]
    proxy.count([PING])
    stats = json.loads(proxy("stats", "--json"))
    assert (stats["eth0"]["total"], stats["eth1.100"]["total"]) == (1, 0)
    proxy("detach", "eth0")
    assert list(json.loads(proxy("status", "--json"))) == ["eth1.100"]


def test_watch_prints_a_line_a_second(proxy):
    proxy("attach", "eth0")
    command = proxy.namespace.command(proxy.glb_redirect, "stats", "--watch", "--json")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
        json.loads(watch.stdout.readline())
        proxy.receive([PING])
        totals = []
        while not totals or totals[-1] == 0:
            totals.append(json.loads(watch.stdout.readline())["eth0"]["total"])
        watch.terminate()
    assert totals[-1] == 1


@pytest.mark.parametrize(
    "words, code, says",
    [
        ((), 2, "a subcommand is missing"),
        (("fly",), 2, "unknown subcommand 'fly'"),
        (("attach",), 2, "missing operand; the operands are: INTERFACE"),
        (("attach", "eth0", "eth1"), 2, "unexpected operand 'eth1'"),
        (("attach", "../eth0"), 2, "'../eth0' is not an interface name"),
        (("attach", "eth0", "--mode", "hw"), 2, "'hw' is neither native nor generic"),
        (("attach", "eth0", "--port", "0"), 2, "'0' is not a number from 1 to 65535"),
        (("attach", "eth0", "--port", " 5"), 2, "' 5' is not a number from 1 to 65535"),
        (("attach", "eth0", "--port", "+5"), 2, "'+5' is not a number from 1 to 65535"),
        (("attach", "eth0", "--udp", "all"), 2, "'all' is neither first-hop nor connected"),
        (("attach", "eth0", "--syn-cookies", "yes"), 2, "'yes' is neither off nor on"),
        (("attach", "eth0", "--forward", "on"), 2, "--forward: 'on' is neither sender nor fib"),
        (("attach", "eth0", "--forward", "fib"), 1, "--forward fib: the kernel looks up routes for eBPF only if forwarding is enabled on lo: run sysctl -w net.ipv4.conf.lo.forwarding=1 (this"),
        (("attach", "eth0", "--syn-cookies", "on"), 1, "sysctl -w net.ipv4.conf.lo.forwarding=1 net.ipv6.conf.lo.forwarding=1"),
        (("attach", "eth0", "--fast"), 2, "unknown option '--fast'"),
        (("attach", "eth0", "--port"), 2, "--port needs an argument"),
        (("attach", "eth9"), 1, "there is no interface 'eth9'"),
        (("attach", "lo"), 1, "does not support native XDP: use --mode generic"),
        (("detach", "eth0"), 1, "eth0: not attached"),
        (("status", "eth0"), 1, "eth0: not attached"),
        (("stats", "eth0"), 1, "eth0: not attached"),
        (("stats", "--watch"), 1, "not attached to any interface"),
        (("stats", "--watch", "--json"), 1, "not attached to any interface"),
    ],
)
def test_refusal_is_one_plain_line(proxy, words, code, says):
    said = proxy(*words, code=code)
    assert says in said
    assert len(said.splitlines()) == code  # a usage error also points to --help
    assert not (proxy.namespace.run("ls", "/sys/fs/bpf").stdout.count("glb-redirect"))


def test_without_bpffs(proxy):
    proxy.namespace.run("umount", "/sys/fs/bpf")
    proxy.namespace.run("mount", "-t", "tmpfs", "tmpfs", "/sys/fs/bpf")
    for words in (["attach", "eth0"], ["status"], ["status", "eth0"], ["status", "--json"], ["stats"], ["stats", "eth0"]):
        assert "mount -t bpf bpf /sys/fs/bpf" in proxy(*words, code=1)
    assert "xdp" not in proxy.namespace.run("ip", "link", "show", "eth0").stdout


def test_without_privileges(proxy):
    for drop, missing in (("-all", "CAP_BPF CAP_PERFMON CAP_NET_ADMIN"), ("-all,+bpf,+net_admin", "CAP_PERFMON")):
        result = proxy.namespace.run(
            "setpriv", f"--bounding-set={drop}", "--inh-caps=-all", proxy.glb_redirect, "attach", "eth0", check=False
        )
        assert result.returncode == 1
        assert result.stderr == f"glb-redirect: not permitted: run glb-redirect as root; missing: {missing}\n"


def test_privileges_that_are_enough(proxy):
    """The capabilities and the limit of the systemd unit suffice."""
    proxy.namespace.run(
        "bash", "-c", 'ulimit -l unlimited 2>/dev/null; exec "$@"', "bash",  # needed before Linux 5.11
        "setpriv", "--bounding-set=-all,+bpf,+perfmon,+net_admin", "--inh-caps=-all", proxy.glb_redirect, "attach", "eth0"
    )
    assert proxy.status()["attached"]


def test_driver_that_refuses(proxy):
    """veth refuses XDP on an interface with fewer receive queues than the other end has transmit queues."""
    proxy.namespace.ip("link add many0 numtxqueues 1 numrxqueues 1 type veth peer name many1 numtxqueues 2 numrxqueues 2", "link set many0 up")
    said = proxy("attach", "many0", code=1)
    assert "its driver, veth, refuses the program" in said and "too few queues" in said
    assert len(said.splitlines()) == 1


def test_help(proxy):
    assert "usage: glb-redirect SUBCOMMAND" in proxy("--help")
    for name in ("attach", "reload", "follow", "detach", "status", "stats"):
        assert name in proxy("--help")
        assert f"usage: glb-redirect {name}" in proxy(name, "--help")
    options = [line for line in proxy("attach", "--help").splitlines() if line.startswith("  --")]
    starts = ("run in the driver", "accept all UDP", "UDP port", "redirect.conf", "print this")
    columns = {line.index(text) for line in options for text in starts if text in line}
    assert len(options) == 9 and len(columns) == 1


def test_two_at_once(proxy):
    """Of two loaders at the same time, one attaches the program and the other replaces it."""
    command = proxy.namespace.command(proxy.glb_redirect, "attach", "eth0")
    for _ in range(10):
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        said = sorted(one.communicate()[0] for one in both)
        assert ["attached" in said[0], "replaced" in said[1]] == [True, True], said
        assert proxy.status()["attached"] and proxy.stats()["total"] == 0
        proxy("detach", "eth0")


def test_another_user_cannot_hold_up_a_loader(proxy):
    """Without an option `mode`, everybody may open the folder of bpffs. Then flock(2) needs no other right."""
    proxy.namespace.run("chmod", "1777", "/sys/fs/bpf")
    with locked(proxy.namespace, "/sys/fs/bpf", "--reuid=nobody"):
        proxy("attach", "eth0")
    with locked(proxy.namespace, PINS, "--reuid=nobody"):
        proxy("detach", "eth0")


def test_a_loader_names_the_process_that_it_waits_for(proxy):
    proxy("attach", "eth0")
    with locked(proxy.namespace, PINS) as process:
        command = proxy.namespace.command(proxy.glb_redirect, "detach", "eth0")
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as waiting:
            note = f"glb-redirect: note: waits for process {process.pid} (python3), which has locked {PINS}\n"
            assert waiting.stderr.readline() == note
            process.stdin.close()
            process.wait(60)
            waiting.stderr.read()
    assert waiting.returncode == 0


def test_pins_that_another_user_may_change_are_refused(proxy):
    proxy.namespace.run("chmod", "1777", "/sys/fs/bpf")
    proxy.namespace.run("setpriv", "--reuid=nobody", "--clear-groups", "mkdir", PINS)
    assert f"{PINS}: another user may change this folder" in proxy("attach", "eth0", code=1)


@pytest.mark.parametrize("capabilities", ["", "+dac_read_search"])
def test_a_user_without_rights_is_never_told_that_nothing_is_attached(proxy, capabilities):
    """With CAP_DAC_READ_SEARCH the user can list the folder of the pins, and access(2) still says that it has none."""
    proxy("attach", "eth0")
    for words in (["status"], ["status", "eth0"], ["stats"], ["stats", "eth0"], ["status", "--json"]):
        rights = ["--inh-caps", capabilities, "--ambient-caps", capabilities] if capabilities else []
        done = proxy.namespace.run("setpriv", "--reuid", "nobody", "--clear-groups", *rights, proxy.glb_redirect, *words, check=False)
        assert done.returncode == 1 and "not permitted: run glb-redirect as root" in done.stderr and "attached" not in done.stdout, words
