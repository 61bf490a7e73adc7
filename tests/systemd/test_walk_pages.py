# SPDX-License-Identifier: BSD-3-Clause
"""Runs the commands of the how-to pages that need systemd, on the machine that test_units.py has left. They are the blocks marked
`host` of first-table.md, health-checks.md, set-up-a-proxy.md and, for AF_XDP, flow-bifurcation.md."""

from pathlib import Path

import pytest

from conftest import log, run, show, stats, systemctl, wait
from support.pages import block

DIRECTOR, HEALTHCHECK = "glb-director.service", "glb-healthcheck.service"
BUILT = Path("/var/lib/glb/forwarding_table.bin")
PROXIES = "192.168.50.10,192.168.50.11,192.168.50.12"


def walk(page, part, folder="/", check=True):
    """Runs the block that contains `part`. Returns what it prints."""
    return run("bash", "-ec", f"cd {folder}\n{block(page, part)}", check=check).stdout


@pytest.fixture(scope="module")
def environment(director_files, peer):
    """/etc/default/glb-director with the port of this machine, as flow-bifurcation.md shows it for a card.

    The director is ready only with a next hop to one of the pages' proxies, so the other end of its link has their addresses.
    Neighbour entries by hand would not do: net_af_packet makes the kernel delete them when the port starts.
    """
    run("ip", "address", "replace", "192.168.50.2/24", "dev", "lb0")
    for proxy in range(10, 15):
        peer.ip(f"addr add 192.168.50.{proxy}/24 dev lb1")
    systemctl("stop", DIRECTOR, HEALTHCHECK)
    run("bash", "-c", "rm -rf /var/lib/glb/*")
    assert director_files == Path("/etc/glb"), "the pages name /etc/glb"
    path = Path("/etc/default/glb-director")
    path.write_text('GLB_DIRECTOR_EAL_ARGS="--no-huge -m 128 --no-pci --lcores=0@(0,1) --vdev=net_af_packet0,iface=lb0"\n')
    return path


def test_first_table_is_rolled_out(environment, tmp_path):
    (tmp_path / "mine").mkdir()
    run("glb-director-cli", "new", "--dir", str(tmp_path / "mine"), "--vip", "203.0.113.10:80/tcp", "--backend", PROXIES,
        "--source", "192.168.50.2")
    walk("docs/howto/first-table.md", "install -m 0640", tmp_path)
    systemctl("start", DIRECTOR)
    assert show(DIRECTOR, "ActiveState") == "active" and stats()["generation"] == 1, log(DIRECTOR)
    printed = walk("docs/howto/first-table.md", "systemctl reload glb-director")
    assert "generation 2" in printed and stats()["generation"] == 2


def test_checks_are_set_and_a_proxy_is_added_by_edit(environment):
    assert "written" in walk("docs/howto/health-checks.md", "http=80 http_uri=/ gue=19523")
    assert "reloaded: generation 3" in walk("docs/howto/first-table.md", "add 192.168.50.14")
    table = Path("/etc/glb/forwarding_table.json").read_text(encoding="utf-8")
    assert table.count('"gue": 19523') == 4 and "192.168.50.14" in table


def test_health_checks_run_as_the_page_says(environment):
    walk("docs/howto/health-checks.md", "systemd-sysusers")
    walk("docs/howto/health-checks.md", "systemctl enable --now glb-healthcheck\n")

    def status():
        return run("glb-healthcheck", "status", check=False).stdout

    wait(lambda: "the director uses the new table" in " ".join(status().split()), f"the new table: {log(HEALTHCHECK)}")
    assert BUILT.owner() == "glb-healthcheck" and BUILT.group() == "root" and BUILT.stat().st_mode & 0o777 == 0o640
    # The exit code is 1, because nothing serves HTTP.
    assert walk("docs/howto/health-checks.md", "glb-healthcheck status\n", check=False).count("192.168.50.") >= 4


def test_proxy_is_set_up_and_undone(environment):
    run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0peer")
    run("ip", "link", "set", "eth0", "up")
    walk("docs/howto/set-up-a-proxy.md", "systemctl enable --now glb-redirect@eth0")
    assert "attached, " in run("glb-redirect", "status", "eth0").stdout
    walk("docs/howto/set-up-a-proxy.md", "systemctl disable --now glb-redirect@eth0")
    assert "attached, " not in run("glb-redirect", "status", check=False).stdout.partition("eth0")[2]


def test_map_of_vips_is_filled_and_removed(environment):
    assert walk("docs/howto/flow-bifurcation.md", "systemctl enable --now glb-bifurcate").split() == ["203.0.113.10"]
    walk("docs/howto/flow-bifurcation.md", "systemctl disable --now glb-bifurcate")
    assert not Path("/sys/fs/bpf/glb_vips").exists() and show(DIRECTOR, "ActiveState") == "inactive"
    systemctl("stop", HEALTHCHECK)
