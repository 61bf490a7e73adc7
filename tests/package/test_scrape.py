# SPDX-License-Identifier: BSD-3-Clause
"""Prometheus on another host scrapes the installed director, before and after the drop-in of monitoring.md. The unit filters addresses by
BPF programs of its cgroup, so the machine has the unified hierarchy of cgroups, also if this host has the old one. The tests run in this
order."""

import pytest

from conftest import plug_director
from lab.tools import wait_until
from machine import BOOT_TIMEOUT_S, NEW
from support.pages import block
from walk import walk

INSTALLING = "docs/howto/installing.md"
FIRST = "docs/howto/first-director.md"
MONITORING = "docs/howto/monitoring.md"
UNIT = "glb-director.service"
OWN, PROMETHEUS, STRANGER = "192.0.2.10", "192.0.2.7", "192.0.2.8"
ANSWER_S = 5  # the director answers at once; packets that the kernel drops never get an answer
TIMED_OUT = 28  # exit code of curl


@pytest.fixture(scope="module")
def director(machines, network):
    """A director of first-director.md, and the addresses of monitoring.md on the link to the router."""
    made = machines("scraped", unified=True)
    plug_director(made, network)
    made.run(f"ip address add {OWN}/24 dev eth1")
    network.ip(*(f"addr add {address}/24 dev to-director" for address in (PROMETHEUS, STRANGER)))
    made.repository(NEW)
    walk(made, block(INSTALLING, "sources.list.d/glb-director.list"))
    walk(made, block(INSTALLING, "apt-get install -y glb-director\n"))
    made.run("DEBIAN_FRONTEND=noninteractive apt-get install -y curl")
    for part in ("glb-director-cli new --dir /etc/glb", "glb-director-cli build-config", "/etc/default/glb-director", "sysctl -w net.ipv4.ip_forward=0"):
        walk(made, block(FIRST, part))
    return made


def restart(director):
    director.run(f"systemctl restart {UNIT}")
    wait_until(lambda: f"{OWN}:19520" in director.output("ss --listening --tcp --numeric --no-header"), lambda: director.log(UNIT), BOOT_TIMEOUT_S)


def scrape(run, source):
    """What a client with this address gets. None: the kernel dropped its packets. Fails if the connection is refused."""
    done = run("/usr/bin/curl", "--silent", "--show-error", "--max-time", str(ANSWER_S), "--interface", source, f"http://{OWN}:19520/metrics", check=False)
    assert done.returncode in (0, TIMED_OUT), done.stderr
    return done.stdout if done.returncode == 0 else None


def test_metrics_on_another_address_let_no_other_host_in(director, network):
    setting = block(MONITORING, 'metrics = "192.0.2.10:19520"')
    assert OWN in setting
    director.write("/etc/glb/director.conf", f"{director.read('/etc/glb/director.conf')}\n{setting}")
    restart(director)
    assert [scrape(network.run, address) for address in (PROMETHEUS, STRANGER)] == [None, None]


def test_drop_in_of_the_page_lets_prometheus_in_and_nobody_else(director, network):
    director.write(f"/etc/systemd/system/{UNIT}.d/override.conf", block(MONITORING, f"IPAddressAllow={PROMETHEUS}"))
    director.run("systemctl daemon-reload")  # systemctl edit does it
    restart(director)
    assert "glb_director_build_info{" in scrape(network.run, PROMETHEUS)
    assert scrape(network.run, STRANGER) is None
    # The source address is that of the interface, not of loopback, as the page says.
    assert scrape(lambda *words, **_: director.run(" ".join(words), check=False), OWN) is None


def test_programs_on_the_director_need_a_line_of_their_own(director):
    director.write(f"/etc/systemd/system/{UNIT}.d/doctor.conf", f"[Service]\nIPAddressAllow={OWN}\n")
    director.run("systemctl daemon-reload")
    restart(director)
    assert "glb_director_build_info{" in scrape(lambda *words, **_: director.run(" ".join(words), check=False), OWN)
