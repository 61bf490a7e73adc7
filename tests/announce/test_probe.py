# SPDX-License-Identifier: BSD-3-Clause
"""The probe: VIPs are announced only after pings came back. The kernel of a network namespace replies instead of a proxy."""

import os
import signal

import pytest
from announcer import VIP, VIP6

from lab.net import Namespace
from lab.tools import TIMEOUT_S, wait_until

ON, ON6 = "glb_203_0_113_10", "glb_2001_db8_f__10"
FAMILIES = (("203.0.113.241", "glb_203_0_113_241", "203.0.113.240/28"), ("2001:db8:f::f1", "glb_2001_db8_f__f1", "2001:db8:f::f0/124"))


class Host:
    def __init__(self, announcer, director, address, **keys):
        self.namespace = Namespace("host")
        self.namespace.sysctl({"net.ipv6.conf.lo.accept_dad": 0})
        self.namespace.ip("link set lo up")
        self.address = address
        announcer.configure(probe={"address": address, "interval_ms": 50, "rise": 3, "fall": 3, **keys})
        announcer.prefix = self.namespace.command()
        bind = next(bind for each, _, bind in FAMILIES if each == address)
        director.set_tables(("web", 1, [VIP, bind]), ("web6", 1, [VIP6]))

    def reply(self, on=True):
        self.namespace.ip(f"address {'add' if on else 'del'} {self.address} dev lo" + (" nodad" if on and ":" in self.address else ""))


@pytest.fixture
def make_host(announcer, director):
    if os.getuid() != 0:
        pytest.skip("network namespaces need root")
    hosts = []

    def make(address, **keys):
        hosts.append(Host(announcer, director, address, **keys))
        return hosts[-1]

    yield make
    announcer.__exit__()
    for host in hosts:
        host.namespace.close()


def wait_probes(announcer, state):
    wait_until(lambda: announcer.status()["probe"]["proven"] is state, lambda: f"proven {state}: {announcer.status()}\n{announcer.log}")


@pytest.mark.parametrize("address, name, bind", FAMILIES)
def test_vips_follow_the_pings(announcer, director, make_host, address, name, bind):
    host = make_host(address)
    with announcer:
        announcer.wait_announced(name)
        announcer.wait_log(f"probe of {address}: forwarding is not proven: no ping to the address of the probe came back: Network is unreachable")
        host.reply()
        announcer.wait_announced(ON, ON6, name)
        wait_until(lambda: all(vip["state"] == "announced" for vip in announcer.status()["vips"]), "the status")
        assert announcer.call("status").stdout.count(f"probe: {address}: proven: ") == 1
        host.reply(False)
        announcer.wait_announced(name)
        host.reply()
        announcer.wait_announced(ON, ON6, name)
        assert announcer.stop() == 0
    assert announcer.announced == []
    assert bind not in announcer.log  # other directors' probes have addresses of this bind


def test_probe_needs_an_address_of_its_family(announcer, director, make_host):
    """The underlay has only IPv6 addresses, and the route to an IPv4 VIP has an IPv6 next hop. No reply could come back."""
    host = make_host(FAMILIES[0][0])
    host.namespace.ip("link add name eth0 type veth peer name eth1", "link set eth0 up", "link set eth1 up",
                      "addr add 2001:db8::1/64 dev eth0 nodad", "route add 0.0.0.0/0 via inet6 2001:db8::2 dev eth0")
    with announcer:
        announcer.wait_announced(FAMILIES[0][1])
        announcer.wait_log("no ping to the address of the probe came back: Cannot assign requested address")
        host.reply()
        announcer.wait_announced(ON, ON6, FAMILIES[0][1])


def test_director_that_fails_needs_a_new_proof(announcer, director, make_host):
    host = make_host(FAMILIES[0][0])
    host.reply()
    with announcer:
        announcer.wait_announced(ON, ON6, FAMILIES[0][1])
        director.fail()
        announcer.wait_announced()
        wait_probes(announcer, False)
        host.reply(False)
        director.health = {"state": "ok", "reasons": {}}
        announcer.wait_announced(FAMILIES[0][1])
        announcer.wait_rounds(director)
        assert announcer.announced == [FAMILIES[0][1]]


def test_fall_of_zero_keeps_a_proof(announcer, director, make_host):
    host = make_host(FAMILIES[0][0], fall=0)
    host.reply()
    with announcer:
        announcer.wait_announced(ON, ON6, FAMILIES[0][1])
        host.reply(False)
        announcer.wait_rounds(director, 10)
        assert announcer.announced == sorted([ON, ON6, FAMILIES[0][1]])


def test_fall_of_zero_keeps_the_vips_after_a_reload_or_a_restart(announcer, director, make_host):
    host = make_host(FAMILIES[0][0], fall=0)
    host.reply()
    with announcer:
        announcer.wait_announced(ON, ON6, FAMILIES[0][1])
        host.reply(False)
        announcer.process.send_signal(signal.SIGHUP)
        announcer.wait_log("announce.conf is in use")
        announcer.wait_rounds(director, 10)
        assert announcer.announced == sorted([ON, ON6, FAMILIES[0][1]])
        announcer.stop(signal.SIGKILL)
    before = announcer.changes
    with announcer:
        announcer.wait_rounds(director, 10)
        assert announcer.changes == before


def test_probe_goes_on_while_an_operator_has_withdrawn_the_vips(announcer, director, make_host):
    host = make_host(FAMILIES[0][0])
    host.reply()
    announcer.call("withdraw")
    with announcer:
        announcer.wait_announced(FAMILIES[0][1])
        wait_probes(announcer, True)
        announcer.call("withdraw")  # it does not wait for the address of the probe
        announcer.call("announce")
        announcer.wait_announced(ON, ON6, FAMILIES[0][1])


def test_forged_replies_prove_nothing(announcer, director, make_host):
    """Echo replies from the right address, which do not have the request's random bytes."""
    host = make_host(FAMILIES[0][0])
    host.reply()
    host.namespace.sysctl({"net.ipv4.icmp_echo_ignore_all": 1})
    forger = ("from scapy.all import IP, ICMP, send; import time\n"
              "while True: send(IP(src='203.0.113.241', dst='203.0.113.241')/ICMP(type=0, id=1, seq=1)/bytes(16), verbose=0); time.sleep(0.02)")
    process = host.namespace.start("/usr/bin/python3", "-c", forger)
    try:
        with announcer:
            announcer.wait_announced(FAMILIES[0][1])
            announcer.wait_log("no ping to the address of the probe came back\n")
            announcer.wait_rounds(director, 10)
            assert announcer.announced == [FAMILIES[0][1]]
    finally:
        process.kill()
        process.wait()


def test_source_that_this_host_does_not_have_refuses_the_start(announcer, make_host):
    make_host(FAMILIES[0][0], source="198.51.100.99")
    with announcer:
        assert announcer.process.wait(TIMEOUT_S) == 1
    announcer.wait_log("probe.source: this host does not have the address")
