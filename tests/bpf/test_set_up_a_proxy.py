# SPDX-License-Identifier: BSD-3-Clause
"""Runs the commands of docs/howto/set-up-a-proxy.md, and compares what glb-redirect prints with the page."""

import os
import re

import pytest

from lab.net import Namespace, connect
from lab.tools import wait_until
from support.pages import block, commands, marked

PAGE = "docs/howto/set-up-a-proxy.md"
(CONF,) = marked(PAGE, "conf")


def shape(text):
    """The text without its numbers and without what depends on the kernel. Counters are right-aligned, so a gap and its number count as one width."""
    text = re.sub(r"program \d+, version \S+", "program N, version V", text)
    text = re.sub(r"tc program by (tcx|clsact)", "tc program by W", text)  # depends on the kernel
    return re.sub(r" +\d+$", lambda match: f" {len(match[0])}", text, flags=re.MULTILINE)


def set_up(proxy, glb_redirect, conf):
    """Attaches with the configuration of the page, and starts the follower."""
    conf.write_text(CONF)
    proxy.run(glb_redirect, "attach", "eth0", "--config-file", conf)
    follower = proxy.start(glb_redirect, "follow")
    wait_until(lambda: "followed" in proxy.run(glb_redirect, "status").stdout, "glb-redirect follow")
    return follower


@pytest.mark.parametrize("page, part", [(PAGE, "# glb-redirect check"), (PAGE, "# glb-redirect status\n"), (PAGE, "# glb-redirect stats")])
def test_example_prints_what_is_shown(glb_redirect, page, part, tmp_path):
    ((command, shown),) = commands(block(page, part))
    proxy, network, follower = Namespace(), Namespace(), None
    try:
        connect(proxy, "eth0", network, "net0")
        if " check " in command:  # on a new host
            network.offload("net0", "gro", "on")
            proxy.ip("addr add 192.168.51.10/24 dev eth0", "route add default via 192.168.51.1")
        else:
            follower = set_up(proxy, glb_redirect, tmp_path / "redirect.conf")
        printed = proxy.run(glb_redirect, *command.split()[1:], check=" check " not in command).stdout
    finally:
        if follower:
            follower.kill()
            follower.wait()
        proxy.close()
        network.close()
    printed = printed.replace(str(tmp_path), "/etc/glb")
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in shape("\n".join(shown)).splitlines())
    assert re.fullmatch(pattern, shape(printed)), printed


def test_commands_run_on_a_host_with_the_interface_of_the_page(glb_redirect):
    """Runs all blocks marked `root` in their order, on a host that has eth0, a default route and no connection tracking."""
    blocks = [*marked(PAGE, "root"), *marked("docs/reference/redirect.md", "root")]
    script = "".join(re.sub(r"^# (.*\n)(?:.*\n)*", r"\1", text) for text in blocks)
    assert len(script.splitlines()) >= 14
    proxy, network = Namespace(), Namespace()
    try:
        connect(proxy, "eth0", network, "net0", mtu=1600)
        proxy.ip("addr add 192.168.51.10/24 dev eth0", "route add default via 192.168.51.1")
        proxy.run(glb_redirect, "attach", "eth0")
        path = {**os.environ, "PATH": f"{os.path.dirname(glb_redirect)}:{os.environ['PATH']}"}
        proxy.run("bash", "-ec", script, env=path)
        addresses = proxy.run("ip", "-brief", "address", "show", "dev", "lo").stdout
        assert "10.10.10.10/32" in addresses and "fdb4::10/128" in addresses
        assert "mtu 1600" in proxy.run("ip", "link", "show", "eth0").stdout
        assert "advmss 1392" in proxy.run("ip", "route", "show", "default").stdout
        assert proxy.run("nft", "list", "ruleset").stdout.count("notrack") == 4
        assert proxy.run("sysctl", "-n", "net.ipv4.conf.eth0.rp_filter").stdout == "2\n"
    finally:
        proxy.close()
        network.close()


def test_commands_of_the_mtu_page():
    proxy, network = Namespace(), Namespace()
    try:
        connect(proxy, "eth0", network, "net0", mtu=1600)
        proxy.ip("link set eth0 mtu 1500", "addr add 192.168.51.10/24 dev eth0", "route add default via 192.168.51.1")
        network.ip("addr add 192.168.51.1/24 dev net0")
        raise_mtu, ping, lower_mss = marked("docs/howto/mtu.md", "root")
        assert proxy.run("bash", "-ec", ping, check=False).returncode != 0
        proxy.run("bash", "-ec", raise_mtu)
        assert "mtu 1500" in proxy.run("ip", "route", "show", "default").stdout
        assert "1 received" in proxy.run("bash", "-ec", ping).stdout
        proxy.run("bash", "-ec", lower_mss)
        assert "advmss 1392" in proxy.run("ip", "route", "show", "default").stdout
    finally:
        proxy.close()
        network.close()
