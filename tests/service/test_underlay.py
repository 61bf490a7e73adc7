# SPDX-License-Identifier: BSD-3-Clause
"""A running director reports routers that cannot forward its packets. One director for all cases."""

import copy

from lab.tools import wait_until
from support import pcap, traffic
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, write_table
from support.health import wait_health
from vectors.cases import frames as f

SOURCE6 = "2001:db8::d"

def message(router, proxy, mtu, length=1300):
    """An ICMP error of a router about a GUE packet from the director to the proxy."""
    quote = f.ipv4(CONFIG["outbound_src_ip"], proxy, f.UDP, f.udp(0x8123, 19523, length=length - 20), total_length=length)
    icmp = bytes([3, 4, 0, 0, 0, 0, mtu >> 8, mtu & 255])
    return f.ethernet(f.ipv4(router, CONFIG["outbound_src_ip"], f.ICMP, icmp + quote))


def message6(router, proxy, mtu, length=1300):
    """The same of an IPv6 router, which tells its MTU in any case."""
    quote = f.ipv6(SOURCE6, proxy, f.UDP, f.udp(0x8123, 19523, length=length - 40), payload_length=length - 40)
    return f.ethernet(f.ipv6(router, SOURCE6, f.ICMPV6, f.icmp(2, 0, mtu, quote)))


def test_routers_of_both_families_are_listed(tmp_path):
    """IPv4 proxies first, each family by address. The smallest IPv6 MTU is 1280."""
    frames = [message6("2001:db8::1", "fd00::b", 1280), message6("fd00::fe", "fd00::a", 1300), message("203.0.113.1", "192.168.50.11", 1200)]
    frames += [message6("2001:db8::1", "fd00::c", 1280), message6("2001:db8::1", "fd00::b", 1279), message6("2001:db8::1", "fd00::b", 1400)]
    frames += [message6("ff02::1", "fd00::b", 1280)]
    rx = pcap.write(tmp_path / "rx.pcap", frames)
    table = copy.deepcopy(traffic.TABLE)
    table["tables"][0]["backends"] = [{"ip": ip, "state": "active"} for ip in ("fd00::a", "fd00::b")]
    table["tables"][1]["backends"][0]["ip"] = "192.168.50.11"
    vdev = f"net_pcap0,rx_pcap={rx},tx_pcap={tmp_path / 'tx.pcap'}"
    config = {**CONFIG, "outbound_src_ip6": SOURCE6, "outbound_mtu": 1400}
    with DirectorProcess([vdev], config, write_table(tmp_path / "table", table)) as director:
        stats = director.wait_received(len(frames))
        assert stats["underlay_too_big"] == 3
        reply = wait_until(lambda: (lambda reply: reply if len(reply["proxies"]) == 3 else None)(director.telemetry.ask("/glb/underlay")), "the messages")
        assert [(proxy["proxy"], proxy["router"], proxy["mtu"], proxy["guessed"]) for proxy in reply["proxies"].values()] == [
            ("192.168.50.11", "203.0.113.1", 1200, 0), ("fd00::a", "fd00::fe", 1300, 0), ("fd00::b", "2001:db8::1", 1280, 0)]
        (reason,) = wait_health(director, "degraded", "underlay_too_big")["reasons"]
        assert "router 203.0.113.1 forwards at most 1200 bytes to proxy 192.168.50.11 (and 2 more proxies)" in reason["text"]


def test_routers_are_logged_once_and_listed_by_proxy(tmp_path):
    frames = [message("203.0.113.1", "192.168.50.11", 1200)] * 300
    frames += [message("203.0.113.2", "192.168.50.10", 0), message("203.0.113.3", "192.168.50.11", 1250)]
    frames += [message("203.0.113.1", "192.168.50.99", 1200)]  # not a proxy
    rx = pcap.write(tmp_path / "rx.pcap", frames)
    table = write_table(tmp_path / "table", traffic.TABLE)
    vdev = f"net_pcap0,rx_pcap={rx},tx_pcap={tmp_path / 'tx.pcap'}"
    with DirectorProcess([vdev], {**CONFIG, "outbound_mtu": 1300}, table) as director:
        stats = director.wait_received(len(frames))
        assert (stats["underlay_too_big"], stats["drop_unmatched"]) == (len(frames) - 1, 1)

        def listed():
            reply = director.telemetry.ask("/glb/underlay")
            return reply if len(reply["proxies"]) else None

        reply = wait_until(listed, "the messages in /glb/underlay")
        (reason,) = wait_health(director, "degraded", "underlay_too_big")["reasons"]
        log = director.log
        director.terminate()
    assert reason["severity"] == "degraded"
    assert "forwards at most" in reason["text"] and "but outbound_mtu is 1300" in reason["text"]
    assert reply["outbound_mtu"] == 1300
    # The ring of a worker has room for 256 messages, so the last ones may be missing if no check came in between.
    first = next(proxy for proxy in reply["proxies"].values() if proxy["proxy"] == "192.168.50.11")
    assert first["router"] in ("203.0.113.1", "203.0.113.3") and first["mtu"] in (1200, 1250) and not first["guessed"]
    assert 250 <= first["messages"] <= 301 and first["seconds_ago"] < 60
    assert {proxy["proxy"] for proxy in reply["proxies"].values()} <= {"192.168.50.10", "192.168.50.11"}
    lines = [line for line in log.splitlines() if "the network to the proxies is too small" in line]
    assert len(lines) == 1 and "but outbound_mtu is 1300" in lines[0], log
    warned = [line for line in log.splitlines() if "an IPv6 packet of 1280 bytes" in line]
    assert len(warned) == 2 and "tables[0].binds[2]: 'tcp fdb4::/64 port 80': outbound_mtu is 1300" in warned[0], log
    assert "has 1320 with the outer headers for 2 hops" in warned[0] and "set outbound_mtu to 1320 or more" in warned[0]
    assert "has 1328 with the outer headers for 4 hops" in warned[1]
