# SPDX-License-Identifier: BSD-3-Clause
"""A director from the packages, on a fresh machine: installing.md and first-director.md. The tests run in this order, and each starts
where the previous one ended."""

import pytest

from conftest import plug_director
from lab.tools import wait_until
from machine import BOOT_TIMEOUT_S, NEW
from support.pages import block
from support.tree import TREE
from traffic import burst, forwarded
from walk import walk

INSTALLING = "docs/howto/installing.md"
FIRST = "docs/howto/first-director.md"
DIRECTOR, HEALTHCHECK, BIFURCATE = "glb-director.service", "glb-healthcheck.service", "glb-bifurcate.service"
UNITS = (DIRECTOR, HEALTHCHECK, BIFURCATE, "glb-bifurcate@.service", "glb-bifurcate@.path")
EDITED = ("/etc/default/glb-director", "/etc/glb/healthcheck.conf")
TABLES = ("/etc/glb/forwarding_table.json", "/etc/glb/director.conf", "/var/lib/glb/forwarding_table.bin")


@pytest.fixture(scope="module")
def director(machines, network):
    made = machines("director")
    plug_director(made, network)
    made.repository(NEW)
    return made


def stat(machine, path):
    return machine.output(f"stat -c '%U:%G %a' {path}")


def page(name):
    return (TREE / name).read_text(encoding="utf-8")


def packages(machine):
    """{package: state} of dpkg."""
    lines = machine.run("dpkg-query -W -f '${Package} ${db:Status-Status}\n' 'glb-*' 2>/dev/null", check=False).stdout.splitlines()
    return dict(line.split() for line in lines)


def test_repository_is_added_and_the_director_installed(director):
    walk(director, block(INSTALLING, "apt-ftparchive packages"))
    walk(director, block(INSTALLING, "sources.list.d/glb-director.list"))
    printed = walk(director, block(INSTALLING, "apt-get install -y glb-director\n"))
    assert "glb-director is not started: " in printed
    assert {name for name, state in packages(director).items() if state == "installed"} == {"glb-director", "glb-director-cli", "glb-healthcheck"}


def test_nothing_is_enabled_or_started(director):
    files = director.output("systemctl list-unit-files --no-legend 'glb-*'").splitlines()
    assert {line.split()[0]: line.split()[1] for line in files} == {unit: "disabled" for unit in UNITS}
    assert director.output("systemctl list-units --all --no-legend 'glb-*'") == ""
    assert director.output("systemctl list-units --failed --no-legend") == ""


def test_files_have_the_owners_and_modes_of_the_page(director):
    assert stat(director, "/var/lib/glb") == "glb-healthcheck:root 2750"
    assert stat(director, "/etc/default/glb-director") == "root:root 644"
    assert stat(director, "/etc/glb/healthcheck.conf") == "root:glb-healthcheck 640"
    assert "| `/etc/default/glb-director` | root, 0644 |" in page(INSTALLING)
    assert "| `/etc/glb/healthcheck.conf` | root:glb-healthcheck, 0640 |" in page(INSTALLING)
    assert "| `/var/lib/glb` | glb-healthcheck:root, 2750 |" in page(INSTALLING)
    assert director.output("ls /etc/glb") == "healthcheck.conf"
    assert "nologin" in director.output("getent passwd glb-healthcheck")
    assert director.run("find /etc/glb /etc/default/glb-director /var/lib/glb -perm /022").stdout == ""


def test_unconfigured_director_fails_once_and_says_what_to_do(director):
    walk(director, block(FIRST, "# systemctl start glb-director"))
    assert director.show(DIRECTOR, "ActiveState") == "failed" and director.show(DIRECTOR, "NRestarts") == "0"
    assert director.show(DIRECTOR, "ExecMainStatus") == "6"
    assert "NOTCONFIGURED" in director.run(f"systemctl status {DIRECTOR}", check=False).stdout
    said = director.log(DIRECTOR).split()
    assert "/etc/glb/director.conf:" in said
    (named,) = (word for word in said if word.endswith("first-director.md"))
    assert director.path(named).is_file()


def test_health_checks_without_a_table_name_it(director):
    assert director.run(f"systemctl start {HEALTHCHECK}", check=False).returncode != 0
    director.run(f"systemctl stop {HEALTHCHECK}")
    said = director.log(HEALTHCHECK)
    assert "/etc/glb/forwarding_table.json: cannot be opened: No such file or directory" in said
    assert "there is no table yet: glb-director-cli new" in said


def test_unconfigured_bifurcate_names_the_table(director):
    assert director.run(f"systemctl start {BIFURCATE}", check=False).returncode != 0
    assert "/var/lib/glb/forwarding_table.bin" in director.log(BIFURCATE)
    director.run("systemctl reset-failed")


def test_director_without_a_table_is_told_how_to_build_one(director):
    """The unit tries again, because glb-healthcheck may build the table later."""
    walk(director, block(FIRST, "glb-director-cli new --dir /etc/glb"))
    walk(director, block(FIRST, "/etc/default/glb-director"))
    assert director.run(f"systemctl start {DIRECTOR}", check=False).returncode != 0
    assert director.show(DIRECTOR, "ExecMainStatus") == "1" and director.show(DIRECTOR, "ActiveState") != "failed"
    director.run(f"systemctl stop {DIRECTOR}")
    assert "there is no forwarding table yet: start glb-healthcheck, or run glb-director-cli build-config" in director.log(DIRECTOR)


def test_keys_can_be_read_by_root_only(director):
    walk(director, block(FIRST, "glb-director-cli build-config"))
    assert [stat(director, path) for path in TABLES] == ["root:root 640"] * 3
    assert director.run("runuser -u nobody -- cat /etc/glb/forwarding_table.json", check=False).returncode != 0
    assert director.run("runuser -u nobody -- cat /var/lib/glb/forwarding_table.bin", check=False).returncode != 0


def test_new_does_not_replace_a_table(director):
    before = director.read(TABLES[0])
    (command,) = (line[2:] for line in block(FIRST, "glb-director-cli new --dir /etc/glb").splitlines() if line.startswith("# glb-director-cli new"))
    assert director.run(command, check=False).returncode != 0 and director.read(TABLES[0]) == before


def test_director_starts_by_the_page(director, network):
    walk(director, block(FIRST, "sysctl -w net.ipv4.ip_forward=0"))
    walk(director, block(FIRST, "systemctl enable --now glb-director"))
    assert director.show(DIRECTOR, "ActiveState") == "active" and director.show(DIRECTOR, "UnitFileState") == "enabled"
    walk(director, block(FIRST, "# glb-director-cli health"))


def test_director_forwards(director, network):
    network.run("bash", "-ec", block(FIRST, "ip route replace 203.0.113.10/32"))
    before = forwarded(director)
    sent, received, first_hops = burst(director, network)
    assert received == sent and len(first_hops) == 1 and first_hops < {"192.168.51.10", "192.168.51.11"}  # one client
    assert forwarded(director) == before + sent
    walk(director, block(FIRST, "glb-director-cli stats\n"))
    assert "192.168.51.1" in walk(director, block(FIRST, "glb-director-cli lookup --live"))


def test_director_starts_at_boot_before_its_interface_exists(director, network):
    director.reboot()
    plug_director(director, network)
    wait_until(lambda: director.show(DIRECTOR, "ActiveState") == "active", lambda: director.log(DIRECTOR), BOOT_TIMEOUT_S)
    sent, received, _ = burst(director, network)
    assert received == sent


def test_edited_files_survive_a_new_installation(director):
    for path in EDITED:
        director.run(f"echo '# edited' >>{path}")
    kept = {path: director.read(path) for path in (*EDITED, *TABLES[:2])}
    director.run("apt-get install -y --reinstall glb-director glb-director-cli glb-healthcheck")
    assert {path: director.read(path) for path in kept} == kept
    assert director.show(DIRECTOR, "ActiveState") == "active"


def test_removal_keeps_configuration_tables_and_keys(director):
    """What apt removes are programs and units. The director stops."""
    kept = {path: director.path(path).read_bytes() for path in (*EDITED, *TABLES)}
    walk(director, block(INSTALLING, "apt-get remove"))
    assert director.output("pgrep --count glb-director || true") == "0"
    assert director.output("systemctl list-units --failed --no-legend") == ""
    assert {path: director.path(path).read_bytes() for path in kept} == kept
    assert [stat(director, path) for path in TABLES] == ["root:root 640"] * 3
    assert director.run("ls /usr/bin/glb-*", check=False).returncode != 0


def test_installation_after_a_removal_uses_the_old_configuration(director, network):
    walk(director, block(INSTALLING, "apt-get install -y glb-director\n"))
    walk(director, block(FIRST, "systemctl enable --now glb-director"))
    sent, received, _ = burst(director, network)
    assert received == sent


def test_purge_keeps_the_table_with_the_keys_and_names_what_it_deletes(director):
    kept = {path: director.read(path) for path in TABLES[:2]}
    # A file system of the operator, and what glb-announce leaves when it stops.
    director.run("apt-get install -y glb-announce; mkdir -p /var/lib/glb/mine /run/glb-announce; mount -t tmpfs mine /var/lib/glb/mine; touch /var/lib/glb/mine/file /run/glb-announce/status.json")
    printed = walk(director, block(INSTALLING, "apt-get purge"))
    assert director.output("ls -A /var/lib/glb/mine") == "file" and director.output("find /run -maxdepth 1 -name 'glb-*'") == ""
    director.run("umount /var/lib/glb/mine && rmdir -p --ignore-fail-on-non-empty /var/lib/glb/mine")
    assert {path: director.read(path) for path in TABLES[:2]} == kept
    assert "/var/lib/glb" in printed and "forwarding_table.bin" in printed
    assert sorted(director.output("ls /etc/glb").split()) == ["director.conf", "forwarding_table.json"]
    left = director.output("find / -xdev -path /srv -prune -o -path '*/doc/*' -prune -o -name '*glb[-_]*' -not -path '/var/lib/dpkg/*' "
                           "-not -path '/var/lib/apt/*' -not -path '/var/cache/*' -print | sort")
    assert left.splitlines() == ["/etc/apt/sources.list.d/glb-director.list"]


def test_installation_after_a_purge_works(director, network):
    walk(director, block(FIRST, "apt-get install -y glb-director\n"))
    walk(director, block(FIRST, "glb-director-cli build-config"))
    walk(director, block(FIRST, "/etc/default/glb-director"))
    walk(director, block(FIRST, "systemctl enable --now glb-director"))
    sent, received, _ = burst(director, network)
    assert received == sent
    walk(director, block(FIRST, "systemctl disable --now glb-director"))
    assert director.show(DIRECTOR, "ActiveState") == "inactive"
