# SPDX-License-Identifier: BSD-3-Clause
"""A director that forwards is upgraded from the previous commit's packages, and goes back: installing.md."""

import hashlib

import pytest

from conftest import plug_director, version
from machine import NEW, OLD
from support.pages import block
from traffic import burst, start
from walk import walk

INSTALLING = "docs/howto/installing.md"
FIRST = "docs/howto/first-director.md"
DIRECTOR, HEALTHCHECK = "glb-director.service", "glb-healthcheck.service"
KEPT = ("/etc/default/glb-director", "/etc/glb/healthcheck.conf", "/etc/glb/director.conf", "/etc/glb/forwarding_table.json")


@pytest.fixture(scope="module")
def director(machines, network):
    """A director with the old packages that forwards, with files that the operator has edited."""
    made = machines("upgraded")
    plug_director(made, network)
    made.repository(OLD)
    for page, part in ((INSTALLING, "sources.list.d/glb-director.list"), (INSTALLING, "apt-get install -y glb-director\n")):
        walk(made, block(page, part))
    made.run("rm -f /etc/glb/director.conf")
    for part in ("glb-director-cli new --dir /etc/glb", "glb-director-cli build-config", "/etc/default/glb-director"):
        walk(made, block(FIRST, part))
    for path in KEPT[:3]:
        made.run(f"echo '# edited' >>{path}")
    made.run("chgrp glb-healthcheck /etc/glb/forwarding_table.json; rm /var/lib/glb/forwarding_table.bin")
    made.run("systemctl enable --now glb-healthcheck glb-director")
    return made


def hashes(machine):
    return {path: hashlib.sha256(machine.path(path).read_bytes()).hexdigest() for path in KEPT}


def installed(machine):
    return set(machine.output("dpkg-query -W -f '${Version}\n' glb-director glb-director-cli glb-healthcheck").split())


def runs_installed_program(machine):
    return not walk(machine, block(INSTALLING, "readlink /proc/")).strip().endswith("(deleted)")


def change(machine, network, command, wanted):
    """Runs a command of apt while packets flow. The director must be the same process all the time, and lose none of them."""
    kept, pid, checks = hashes(machine), machine.show(DIRECTOR, "MainPID"), machine.show(HEALTHCHECK, "MainPID")
    traffic = start(machine, network)
    printed = command()
    sent, received = traffic.stop()
    assert received == sent and sent > 100
    assert installed(machine) == {wanted} and hashes(machine) == kept
    assert machine.show(DIRECTOR, "MainPID") == pid and machine.show(DIRECTOR, "ActiveState") == "active"
    assert not runs_installed_program(machine)
    assert machine.show(HEALTHCHECK, "MainPID") not in (checks, "0"), "the health checks run the new program"
    return printed


def test_upgrade_keeps_the_director_running_and_says_so(director, network):
    director.repository(OLD, NEW)
    printed = change(director, network, lambda: walk(director, block(INSTALLING, "--only-upgrade")), version(NEW))
    assert f"glb-director.service runs version {version(OLD)} until you restart it" in " ".join(printed.split())


def test_restart_runs_the_new_program(director, network):
    director.run("systemctl restart glb-director")
    assert runs_installed_program(director)
    sent, received, _ = burst(director, network)
    assert received == sent


def test_upgrade_without_news_changes_nothing(director):
    before = director.show(DIRECTOR, "MainPID"), director.show(HEALTHCHECK, "MainPID")
    walk(director, block(INSTALLING, "--only-upgrade"))
    assert (director.show(DIRECTOR, "MainPID"), director.show(HEALTHCHECK, "MainPID")) == before


def test_needrestart_leaves_the_director_alone(director):
    """Ubuntu runs needrestart after each upgrade, which restarts services by itself."""
    director.run("DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends needrestart")
    director.run("cp /usr/bin/glb-director /tmp/same; mv /tmp/same /usr/bin/glb-director")
    assert not runs_installed_program(director)
    before = director.show(DIRECTOR, "MainPID")
    printed = director.run("needrestart -r a -l -v").stdout
    assert director.show(DIRECTOR, "MainPID") == before and "glb-director.service" in printed
    director.run("systemctl restart glb-director")


def test_going_back_keeps_the_director_running(director, network):
    printed = walk(director, block(INSTALLING, "apt-cache madison"))
    assert [line.split("|")[1].strip() for line in printed.splitlines()] == [version(NEW), version(OLD)]
    change(director, network, lambda: walk(director, block(INSTALLING, "--allow-downgrades"), version=version(OLD)), version(OLD))


def test_restart_after_going_back_runs_the_old_program(director, network):
    director.run("systemctl restart glb-director")
    assert runs_installed_program(director)
    sent, received, _ = burst(director, network)
    assert received == sent


def test_file_that_both_sides_changed_stays_and_the_new_one_is_beside_it(director):
    """dpkg asks in this case. The page's command answers: keep mine."""
    name = "/etc/default/glb-director"
    mine = director.read(name)
    director.run(f"""
        mkdir -p /tmp/repack && cd /tmp/repack && dpkg-deb -R /srv/glb-director/glb-director_{version(NEW)}_*.deb x
        echo '# news' >>x{name} && sed -i 's/^Version: .*/&+changed/' x/DEBIAN/control
        dpkg-deb -b x /srv/glb-director >/dev/null && cd /srv/glb-director && apt-ftparchive packages . >Packages && apt-get update""")
    director.run("apt-get install -y -o Dpkg::Options::=--force-confold glb-director glb-director-cli glb-healthcheck")
    assert director.read(name) == mine and director.read(f"{name}.dpkg-dist").endswith("# news\n")
