# SPDX-License-Identifier: BSD-3-Clause
"""reload and follow: the program learns changes of redirect.conf and of the host's addresses, and loses no packet and no counter."""

import contextlib
import signal
import subprocess
import threading

import pytest

from cases import frames as f
from host import outside
from lab.tools import wait_until
from packets import gue_frame
from test_loader import MALFORMED, PING, Proxy

NEW = {4: "10.10.10.99", 6: "fdb4::99"}


@pytest.fixture
def proxy(glb_redirect):
    with contextlib.closing(Proxy(glb_redirect)) as proxy:
        yield proxy


@pytest.fixture
def following(proxy):
    """Starts the follower, and ends it after the test."""
    running = []

    def start(attached=True):
        running.append(proxy.namespace.start(proxy.glb_redirect, "follow", stderr=subprocess.PIPE))
        if attached:
            wait_until(lambda: proxy.status()["addresses_followed"], "glb-redirect follow")
        return running[-1]

    yield start
    for each in running:
        each.kill()
        each.wait()
        each.stderr.close()


def ping(family, to, **fields):
    if family == 6:
        return gue_frame(f.ipv6("2001:db8::7", to, f.ICMPV6, f.echo(6)), **fields)
    return gue_frame(f.ipv4("198.51.100.7", to, f.ICMP, f.echo(4)), **fields)


def counts(proxy, frame, counter):
    """Whether this counter counts the frame. Every test that waits for a change asks this repeatedly."""
    before = proxy.stats()[counter]
    proxy.count([frame])
    return proxy.stats()[counter] > before


def wait_counts(proxy, frame, counter):
    wait_until(lambda: counts(proxy, frame, counter), counter)


def change(proxy, family, verb):
    proxy.namespace.ip(f"addr {verb} {NEW[family]}/{32 if family == 4 else 128} dev lo{' nodad' if verb == 'add' and family == 6 else ''}")


@pytest.mark.parametrize("family", [4, 6])
def test_new_address_is_followed_and_a_removed_one_too(proxy, following, family):
    proxy("attach", "eth0")
    following()
    assert counts(proxy, ping(family, NEW[family]), "drop_destination")
    change(proxy, family, "add")
    wait_counts(proxy, ping(family, NEW[family]), "accepted_other")
    change(proxy, family, "del")
    wait_counts(proxy, ping(family, NEW[family]), "drop_destination")


@pytest.mark.parametrize("family, prefix, address", [(4, "10.20.0.0/16", "10.20.3.4"), (6, "2001:db8:20::/48", "2001:db8:20::3")])
def test_local_route_to_a_prefix_is_followed(proxy, following, family, prefix, address):
    """Anycast: the kernel accepts packets for a whole prefix that no interface has."""
    proxy("attach", "eth0")
    following()
    proxy.namespace.ip(f"route add local {prefix} dev lo")
    wait_counts(proxy, ping(family, address), "accepted_other")
    proxy.namespace.ip(f"route del local {prefix} dev lo")
    wait_counts(proxy, ping(family, address), "drop_destination")


@pytest.mark.parametrize("family, everything, inner", [
    (4, "0.0.0.0/0", "10.20.3.4"), (6, "::/0", "2001:db8:20::3")])
def test_local_route_for_all_addresses_is_ignored(proxy, following, family, everything, inner):
    """As for TPROXY, in a table that only some packets use. Local routes to other prefixes in this table count."""
    table = "dev lo table 100"
    proxy.namespace.ip(f"route add local {everything} {table}")
    proxy("attach", "eth0")
    assert proxy.status()["allow_to"] == "local"
    prefix = {4: "10.21.0.0/16", 6: "2001:db8:21::/48"}[family]
    refused, other_host = ping(family, inner), ping(4, "10.10.10.10", dst="192.168.50.77", outer=family)
    assert counts(proxy, refused, "drop_destination") and counts(proxy, other_host, "not_for_us")
    proxy("reload", "eth0")
    assert counts(proxy, refused, "drop_destination") and counts(proxy, other_host, "not_for_us")
    following()
    proxy.namespace.ip(f"route add local {prefix} {table}")
    wait_counts(proxy, ping(family, {4: "10.21.3.4", 6: "2001:db8:21::3"}[family]), "accepted_other")
    assert counts(proxy, refused, "drop_destination") and counts(proxy, other_host, "not_for_us")


def add_outer_address(proxy, outer):
    """Returns a packet to it. In IPv6 the address has no duplicates to look for."""
    address = outside(outer, "192.168.50.77/24")
    proxy.namespace.ip(f"addr add {address} dev eth0" + (" nodad" if outer == 6 else ""))
    return ping(4, "10.10.10.10", dst="192.168.50.77", outer=outer)


@pytest.mark.parametrize("outer", [4, 6])
def test_outer_address_is_followed(proxy, following, outer):
    """The program remembers addresses that it found, but not longer than the host has them."""
    proxy("attach", "eth0")
    following()
    assert counts(proxy, ping(4, "10.10.10.10", dst="192.168.50.77", outer=outer), "not_for_us")
    frame = add_outer_address(proxy, outer)
    wait_counts(proxy, frame, "accepted_other")
    proxy.namespace.ip(f"addr del {outside(outer, '192.168.50.77/24')} dev eth0")
    wait_counts(proxy, frame, "not_for_us")


@pytest.mark.parametrize("outer", [4, 6])
def test_mac_address_is_followed(proxy, following, outer):
    frame = add_outer_address(proxy, outer)
    proxy("attach", "eth0")
    following()
    assert counts(proxy, frame, "accepted_other")
    proxy.namespace.ip("link set eth0 address 02:00:00:00:aa:01")
    wait_counts(proxy, ping(4, "10.10.10.10", mac="02:00:00:00:aa:01", dst="192.168.50.77", outer=outer), "accepted_other")
    wait_counts(proxy, frame, "not_for_us")


@pytest.mark.parametrize("kind", ["bridge", "bond"])
def test_mac_address_of_the_bridge_or_bond_belongs_to_the_host(proxy, following, kind):
    if proxy.namespace.run("ip", "link", "add", "up0", "type", kind, check=False).returncode:
        pytest.skip(f"the kernel has no {kind}")
    proxy.namespace.ip("link set up0 address 02:00:00:00:aa:02")
    proxy("attach", "eth0", "--mode", "generic")
    following()
    frame = ping(4, "10.10.10.10", mac="02:00:00:00:aa:02")
    assert counts(proxy, frame, "not_for_us")
    proxy.namespace.ip("link set eth0 down", "link set eth0 master up0", "link set eth0 up", "link set up0 up")
    wait_counts(proxy, frame, "accepted_other")


def test_interface_that_is_attached_later_is_followed(proxy, following):
    following(attached=False)
    proxy("attach", "eth0")
    proxy("detach", "eth0")
    proxy("attach", "eth0")
    wait_until(lambda: proxy.status()["addresses_followed"], "glb-redirect follow")
    change(proxy, 4, "add")
    wait_counts(proxy, ping(4, NEW[4]), "accepted_other")


def test_reload_keeps_following(proxy, following):
    proxy("attach", "eth0")
    following()
    proxy("reload", "eth0")
    change(proxy, 4, "add")
    wait_counts(proxy, ping(4, NEW[4]), "accepted_other")


def test_second_follower_is_refused(proxy, following):
    proxy("attach", "eth0")
    following()
    assert "follow runs already in this network namespace" in proxy("follow", code=1)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_lists_stay_when_the_follower_ends_and_another_takes_over(proxy, following, how):
    proxy("attach", "eth0")
    first = following()
    first.send_signal(how)
    first.wait()
    assert proxy.status()["addresses_followed"] is False
    assert counts(proxy, PING, "accepted_other")
    change(proxy, 4, "add")
    assert counts(proxy, ping(4, NEW[4]), "drop_destination")
    following()
    wait_counts(proxy, ping(4, NEW[4]), "accepted_other")


def test_reload_reads_the_addresses_without_a_follower(proxy):
    proxy("attach", "eth0")
    change(proxy, 4, "add")
    assert counts(proxy, ping(4, NEW[4]), "drop_destination")
    proxy("reload", "eth0")
    assert counts(proxy, ping(4, NEW[4]), "accepted_other")


def test_follower_needs_bpffs(proxy):
    proxy.namespace.run("umount", "/sys/fs/bpf")
    proxy.namespace.run("mount", "-t", "tmpfs", "tmpfs", "/sys/fs/bpf")  # in front of the bpffs of the machine
    assert "there is no bpffs on /sys/fs/bpf" in proxy("follow", code=1)


# reload


def test_reload_takes_the_right_to_send_from_an_ipv6_sender(proxy, tmp_path):
    """The program remembers senders, but not longer than redirect.conf has them."""
    frame, conf = add_outer_address(proxy, 6), tmp_path / "redirect.conf"
    for prefix, counter in (("fd64::/96", "accepted_other"), ("fd65::/96", "drop_source"), ("192.0.2.0/24", "drop_source")):
        conf.write_text(f'allow_from = ["{prefix}"];\n')
        proxy("attach", "eth0", "--config-file", conf)
        assert counts(proxy, frame, counter)


def test_reload_applies_the_file_and_keeps_options_and_counters(proxy, tmp_path):
    conf = tmp_path / "redirect.conf"
    conf.write_text('allow_from = ["203.0.113.0/24"];\n')
    proxy("attach", "eth0", "--mode", "generic", "--udp", "connected", "--config-file", conf)
    proxy.count([PING, MALFORMED])
    assert proxy.stats()["drop_source"] == 2
    conf.write_text('allow_from = ["192.0.2.0/24"];\nnext_hops = [];\nmax_hops = 2;\n')
    said = proxy("reload", "eth0")
    assert said == (
        "eth0: replaced the attached program, generic mode\n  port 19523, udp connected, syn-cookies off, forward sender\n"
        f"  allow_from 192.0.2.0/24, allow_to local, next_hops none, max_hops 2\n  config-file {conf}\n")
    proxy.count([PING])
    assert (proxy.stats()["total"], proxy.stats()["drop_source"], proxy.stats()["accepted_other"]) == (3, 2, 1)
    status = proxy.status()
    assert (status["allow_from"], status["next_hops"], status["open_to_any_sender"]) == (["192.0.2.0/24"], [], False)


@pytest.mark.parametrize("text, says", [('allow_form = [];\n', ":1: allow_form: unknown key"), (None, ": cannot be opened: No such file"), ("\0", ": ")])
def test_error_in_the_file_changes_nothing(proxy, tmp_path, text, says):
    conf = tmp_path / "redirect.conf"
    conf.write_text('allow_from = ["192.0.2.0/24"];\n')
    proxy("attach", "eth0", "--config-file", conf)
    before = proxy.status()
    conf.unlink() if text is None else conf.write_text(text)
    for words in (("reload", "eth0"), ("attach", "eth0", "--config-file", conf)):
        assert f"glb-redirect: {conf}" + says in proxy(*words, code=1)
    assert proxy.status() == before
    assert counts(proxy, PING, "accepted_other")


def test_error_in_the_file_attaches_nothing(proxy, tmp_path):
    conf = tmp_path / "redirect.conf"
    conf.write_text("allow_from = [];\n")
    assert "allow_from: is empty" in proxy("attach", "eth0", "--config-file", conf, code=1)
    assert proxy("status") == "not attached to any interface\n"


def test_relative_path_is_kept_as_a_full_path(proxy, tmp_path):
    (tmp_path / "redirect.conf").write_text('allow_from = ["192.0.2.0/24"];\n')
    proxy.namespace.run("sh", "-c", f'cd {tmp_path} && exec "$0" attach eth0 --config-file redirect.conf', proxy.glb_redirect)
    assert proxy.status()["config_file"] == f"{tmp_path}/redirect.conf"
    proxy("reload", "eth0")


def test_path_that_is_too_long_is_refused(proxy):
    assert "--config-file: the full path must have 1 to 255 bytes" in proxy("attach", "eth0", "--config-file", "/" + 255 * "a", code=2)
    assert "1 to 255 bytes" in proxy("attach", "eth0", "--config-file", "", code=2)


def test_reload_of_an_interface_without_the_program(proxy):
    assert "eth0: not attached: run glb-redirect attach eth0" in proxy("reload", "eth0", code=1)


def test_long_lists_are_shown_by_their_number(proxy, tmp_path):
    conf = tmp_path / "redirect.conf"
    conf.write_text("allow_from = [%s];\n" % ", ".join(f'"10.{a}.{b}.0/24"' for a in range(20) for b in range(250)))
    assert "  allow_from 5000 prefixes, allow_to local, next_hops 5000 prefixes, max_hops 8\n" in proxy("attach", "eth0", "--config-file", conf)
    assert proxy.status()["allow_from"][:2] == ["10.0.0.0/24", "10.0.1.0/24"]


def test_no_packet_is_lost_or_counted_twice_while_reloading(proxy, tmp_path):
    conf = tmp_path / "redirect.conf"
    conf.write_text('allow_from = ["192.0.2.0/24"];\n')
    proxy("attach", "eth0", "--config-file", conf)
    done = threading.Event()

    def reload():
        for _ in range(10):
            proxy("reload", "eth0")
        done.set()

    thread, sent = threading.Thread(target=reload), 0
    thread.start()
    while not done.is_set():
        proxy.receive([PING] * 50)
        sent += 50
    thread.join()
    wait_until(lambda: proxy.stats()["total"] == sent, lambda: f"{sent} packets: {proxy.stats()}")
    assert sent >= 50 and proxy.stats()["accepted_other"] == sent
