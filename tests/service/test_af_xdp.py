# SPDX-License-Identifier: BSD-3-Clause
"""A director on AF_XDP with bifurcate.bpf.o: what it leaves, what it finds at its start, and which VIPs it takes from the kernel."""

import ctypes
import json
import os
import signal
import socket

import pytest

from lab.tools import TIMEOUT_S, program, wait_until
from support import traffic
from support.director_conf import CONFIG
from support.director_process import NOBODY, DirectorProcess, write_table
from support.tree import BUILD
from support.underlay import FAMILIES

OURS = f"net_af_xdp0,iface=director,xdp_prog={program('bifurcate.bpf.o')}"
OF_LIBXDP = "net_af_xdp0,iface=director"
VIPS = {"10.10.10.10", "10.10.11.0/24", "fdb4::/64"}
AF_XDP, SYS_PIDFD_GETFD = 44, 438


def table_of(*binds, name="one"):
    document = json.loads(json.dumps(traffic.TABLE))
    (table, *_) = document["tables"]
    table["name"] = name
    table["binds"] = [{"ip": bind, "proto": "tcp", "port": 80} for bind in binds]
    return {"tables": [table]}


class Host:
    """The namespace of the director."""

    def __init__(self, link, folder):
        self.link, self.folder = link, folder
        self.table = str(folder / "table")
        self.write(table_of(*VIPS))

    def write(self, document):
        write_table(self.table, document)

    def director(self, vdev=OURS, prefix=()):
        config = {**CONFIG, "idle": "sleep"}
        return DirectorProcess([vdev], config, self.table, prefix=[*self.link.director.command(), *prefix], memory=64)

    def refused(self, vdev=OURS, prefix=()):
        """Starts a director that must fail. Returns its log."""
        director = self.director(vdev, prefix)
        try:
            assert director.process.wait(TIMEOUT_S) == 1, director.log
            return director.log
        finally:
            director.__exit__()

    def program(self):
        """The id and name of the interface's XDP program, or None."""
        shown = json.loads(self.link.director.run("ip", "-json", "link", "show", "director").stdout)[0]
        return (shown["xdp"]["prog"]["id"], shown["xdp"]["prog"]["name"]) if "xdp" in shown else None

    def bifurcate(self, *words, check=True):
        return self.link.director.run(program("glb-bifurcate"), *words, check=check)

    def vips(self):
        return set(self.bifurcate("show").stdout.split())

    def attach_foreign(self):
        run = self.link.director.run
        run("/usr/sbin/bpftool", "prog", "load", str(BUILD / "tests/bpf/programs/count_all_plain.bpf.o"), "/sys/fs/bpf/foreign")
        run("/usr/sbin/bpftool", "net", "attach", "xdp", "pinned", "/sys/fs/bpf/foreign", "dev", "director")
        return self.program()

    def assert_forwards(self, director):
        """The director receives and forwards a SYN for a VIP."""
        mac, client = director.port_mac(), self.link.client
        before = director.stats()["forwarded"]
        client.run(*"ip address replace 192.0.2.33/24 dev client".split())
        client.run(*f"ip neigh replace 192.0.2.254 lladdr {mac} dev client".split())
        client.run(*"ip route replace 10.10.0.0/16 via 192.0.2.254".split())
        with client.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
            tcp.setblocking(False)
            tcp.connect_ex(("10.10.10.10", 80))
            wait_until(lambda: director.stats()["forwarded"] > before, "the SYN to be forwarded")


@pytest.fixture
def host(link, tmp_path):
    return Host(link, tmp_path)


def kill(director):
    director.process.kill()
    director.process.wait()


def take_xdp_socket(director):
    """Copies the director's AF_XDP socket to this process, so that the socket outlives the director."""
    libc = ctypes.CDLL(None, use_errno=True)
    pid = os.pidfd_open(director.process.pid)
    for number in map(int, os.listdir(f"/proc/{director.process.pid}/fd")):
        if os.readlink(f"/proc/{director.process.pid}/fd/{number}").startswith("socket:"):
            mine = libc.syscall(SYS_PIDFD_GETFD, pid, number, 0)
            copy = socket.socket(AF_XDP, socket.SOCK_RAW, 0, fileno=mine)
            if copy.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN) == AF_XDP:
                os.close(pid)
                return copy
            copy.close()
    raise AssertionError("the director has no AF_XDP socket")


def test_director_starts_again_after_each_kill(host):
    host.bifurcate("sync", host.table)
    left = None
    for _ in range(3):
        with host.director() as director:
            assert ("removed the XDP program that a killed director left" in director.log) == (left is not None)
            assert host.program() != left and host.program()[1] == "glb_bifurcate"
            host.assert_forwards(director)
            kill(director)
        left = host.program()
        assert left, "the test needs a program that was left behind"
    with host.director() as director:
        director.terminate()
    assert host.program() is None


def test_director_after_a_killed_one_without_our_program(host):
    """libxdp's own program needs no help: it is shared."""
    for _ in range(2):
        with host.director(OF_LIBXDP) as director:
            kill(director)
    name = host.program()[1]
    assert name in ("xsk_def_prog", "xdp_dispatcher")  # the latter where xdp-tools is installed
    assert f"XDP program of another tool, '{name}'" in host.refused(OURS)


@pytest.mark.parametrize("vdev", [OURS, OF_LIBXDP], ids=["ours", "libxdp"])
def test_program_of_another_tool_stays(host, vdev):
    foreign = host.attach_foreign()
    for _ in range(2):
        log = host.refused(vdev)
        assert f"error: director: it has an XDP program of another tool, 'count_all' (id {foreign[0]})" in log
        assert "ip link set dev director xdp off" in log
        assert host.program() == foreign


@pytest.mark.parametrize("vdev", [OURS, OF_LIBXDP], ids=["ours", "libxdp"])
def test_second_director_leaves_the_first_alone(host, vdev):
    host.bifurcate("sync", host.table)
    with host.director() as director:
        mine = host.program()
        for _ in range(4):
            # DirectorProcess runs nsenter, which becomes the director.
            assert f"error: director: another director (pid {director.process.pid}) uses it already" in host.refused(vdev)
        assert host.program() == mine
        host.assert_forwards(director)


def test_of_two_directors_that_start_together_one_runs(host):
    host.bifurcate("sync", host.table)
    both = [host.director() for _ in range(2)]
    try:
        wait_until(lambda: any(one.process.poll() is not None for one in both), "one director to give up")
        (loser,) = [one for one in both if one.process.poll() is not None]
        (winner,) = [one for one in both if one is not loser]
        assert "uses it already" in loser.log
        with winner:
            assert host.program()[1] == "glb_bifurcate"
            host.assert_forwards(winner)
    finally:
        for one in both:
            if one.folder.exists():
                one.__exit__()


def test_program_with_sockets_of_another_process_stays(host):
    with host.director() as director:
        mine = take_xdp_socket(director)
        kill(director)
    left = host.program()
    with mine:
        assert f"'glb_bifurcate' (id {left[0]}) serves AF_XDP sockets of another process" in host.refused()
        assert host.program() == left
    with host.director():
        assert host.program() != left


def test_another_users_process_cannot_block_the_start(host):
    """Every user may listen on the address that directors use to find each other."""
    listener = host.link.director.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    index = json.loads(host.link.director.run("ip", "-json", "link", "show", "director").stdout)[0]["ifindex"]
    with listener:
        listener.bind(f"\0glb-director/af_xdp/{index}")
        os.seteuid(NOBODY)  # listen() records the user
        try:
            listener.listen(1)
        finally:
            os.seteuid(0)
        with host.director():
            pass
        listener.listen(2)
        assert f"another director (pid {os.getpid()})" in host.refused()


def test_missing_capability_is_named(host):
    foreign = host.attach_foreign()
    log = host.refused(prefix=["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all"])
    assert f"director: cannot examine its XDP program (id {foreign[0]}): Operation not permitted: the director needs CAP_SYS_ADMIN" in log
    assert host.program() == foreign


def test_interface_that_does_not_exist_is_reported_by_dpdk(host):
    log = host.refused(OURS.replace("iface=director", "iface=eth9"))
    assert "the driver created no port" in log


def test_start_without_vips_warns(host):
    with host.director() as director:
        assert f"warning: /sys/fs/bpf/glb_vips has no VIP, so the kernel receives all packets: run glb-bifurcate sync {host.table}" in director.log
        assert host.vips() == set()
        host.bifurcate("sync", host.table)
        host.assert_forwards(director)
    with host.director() as director:
        assert "has no VIP" not in director.log


def test_map_follows_the_table_at_start_and_at_each_kind_of_reload(host):
    host.bifurcate("sync", host.table)
    host.write(table_of("10.10.10.10"))
    with host.director() as director:
        assert host.vips() == {"10.10.10.10"}
        assert "follows the forwarding table: 1 VIP, 0 added, 2 removed" in director.log
        host.write(table_of("10.10.10.10", "10.10.10.11"))
        assert director.telemetry.ask("/glb/reload")["ok"] == 1
        assert host.vips() == {"10.10.10.10", "10.10.10.11"}
        host.write(table_of("10.10.10.10", "fdb4::7"))
        director.process.send_signal(signal.SIGHUP)
        wait_until(lambda: host.vips() == {"10.10.10.10", "fdb4::7"}, "the map to follow")
        host.assert_forwards(director)


@pytest.mark.parametrize("family", FAMILIES)
def test_replies_to_probes_reach_the_kernel(host, family):
    """Proxies reply to the director's source address, from which the kernel of its host sends probes. Neighbours find this address, too."""
    director, proxy = ("192.0.2.1", "192.0.2.33") if family == "IPv4" else ("2001:db8::1", "2001:db8::33")
    length = 24 if family == "IPv4" else 64
    # The VIPs are neighbours of the address in both families.
    host.write(table_of("192.0.2.0/32", "192.0.2.2/31", "2001:db8::/128", "2001:db8::2/127"))
    host.bifurcate("sync", host.table)
    version = socket.AF_INET if family == "IPv4" else socket.AF_INET6
    with host.director() as running, host.link.director.socket(version, socket.SOCK_DGRAM) as probe, \
            host.link.client.socket(version, socket.SOCK_DGRAM) as responder:
        # Now, because the driver has set the interface down and up.
        for namespace, address, device in ((host.link.director, director, "director"), (host.link.client, proxy, "client")):
            namespace.run(*f"ip address add {address}/{length} dev {device}".split(), *["nodad"] * (family == "IPv6"))
        probe.bind((director, 0))
        responder.bind((proxy, 0))
        for end in (probe, responder):
            end.settimeout(TIMEOUT_S)
        responder.sendto(b"reply", probe.getsockname()[:2])
        assert probe.recv(16) == b"reply"
        probe.sendto(b"probe", responder.getsockname()[:2])
        assert responder.recv(16) == b"probe"
        assert running.stats()["forwarded"] == 0


def test_refused_table_does_not_change_the_map(host):
    host.bifurcate("sync", host.table)
    with host.director() as director:
        good = open(host.table, "rb").read()
        with open(host.table, "wb") as file:
            file.write(good[:100])
        assert director.telemetry.ask("/glb/reload")["ok"] == 0
        assert host.vips() == VIPS


def test_reload_does_not_fill_a_map_that_was_cleared(host):
    host.bifurcate("sync", host.table)
    with host.director() as director:
        host.bifurcate("clear")
        assert director.telemetry.ask("/glb/reload")["ok"] == 1
        assert host.vips() == set()
        assert director.log.count("has no VIP") == 1


def test_bind_of_all_addresses_does_not_reach_the_map(host):
    host.bifurcate("sync", host.table)
    with host.director() as director:
        host.write(table_of("10.10.10.10", "0.0.0.0/0"))
        assert director.telemetry.ask("/glb/reload")["ok"] == 1
        assert "error: the map of VIPs does not follow the forwarding table: table " in director.log
        assert "bind 0.0.0.0/0 would take all traffic from the kernel" in director.log
        assert host.vips() == VIPS


def test_director_without_our_program_leaves_the_map_alone(host):
    host.bifurcate("sync", host.table)
    host.write(table_of("10.10.10.99"))
    with host.director(OF_LIBXDP):
        assert host.vips() == VIPS


def make_bpffs_read_only(host):
    """As ProtectKernelTunables= in glb-director.service does."""
    host.link.director.run("mount", "--bind", "/sys/fs/bpf", "/sys/fs/bpf")
    host.link.director.run("mount", "-o", "remount,bind,ro", "/sys/fs/bpf")


def test_map_follows_although_the_unit_makes_bpffs_read_only(host):
    host.bifurcate("sync", host.table)
    make_bpffs_read_only(host)
    host.write(table_of("10.10.10.10"))
    with host.director() as director:
        assert host.vips() == {"10.10.10.10"}
        host.assert_forwards(director)


def test_missing_map_under_the_unit_is_explained(host):
    make_bpffs_read_only(host)
    log = host.refused()
    assert ("error: /sys/fs/bpf/glb_vips: cannot pin the map: Read-only file system: run systemctl enable --now glb-bifurcate, "
            "or glb-bifurcate sync TABLE\n") in log


def test_other_object_in_the_place_of_the_map_is_explained(host):
    host.link.director.run(*"/usr/sbin/bpftool map create /sys/fs/bpf/glb_vips type hash key 4 value 4 entries 9 name other".split())
    assert "error: /sys/fs/bpf/glb_vips: it is not a map of VIPs" in host.refused()
    assert host.program() is None


def custom_program(folder):
    """Another program than ours, as an operator would write it. Only its name differs."""
    path = folder / "custom.bpf.o"
    path.write_bytes(open(program("bifurcate.bpf.o"), "rb").read().replace(b"glb_bifurcate", b"my_bifurcatio"))
    return f"net_af_xdp0,iface=director,xdp_prog={path}"


@pytest.mark.parametrize("name", ["glb_bifurcate", "my_bifurcatio"])
def test_first_start_after_an_abort_succeeds(host, tmp_path, name):
    """As after the watchdog of the service manager, which sends SIGABRT."""
    vdev = OURS if name == "glb_bifurcate" else custom_program(tmp_path)
    host.bifurcate("sync", host.table)
    for left in (False, True):
        with host.director(vdev) as director:
            assert ("removed the XDP program that a killed director left" in director.log) == left
            host.assert_forwards(director)
            director.process.send_signal(signal.SIGABRT)
            director.process.wait()
        assert host.program()[1] == name
    if name != "glb_bifurcate":  # a program that is not in the file of this start belongs to somebody else
        assert f"XDP program of another tool, '{name}'" in host.refused(OURS)
