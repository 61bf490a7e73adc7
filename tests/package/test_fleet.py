# SPDX-License-Identifier: BSD-3-Clause
"""From packages to a pair of directors with BGP, by the pages: a proxy is drained, the directors are upgraded and go back, all under load.
The pages' example addresses are replaced by those of the fleet, as a reader does it. The tests run in this order."""

import pytest

from conftest import version
from fleet import ECHO_PORT, HOSTS, Fleet, reader
from lab.tools import wait_until
from machine import BOOT_TIMEOUT_S, NEW, OLD
from support.pages import block
from traffic import forwarded
from walk import walk

INSTALLING = "docs/howto/installing.md"
FIRST = "docs/howto/first-director.md"
PROXY = "docs/howto/set-up-a-proxy.md"
CHECKS = "docs/howto/health-checks.md"
BGP = "docs/howto/bgp.md"
UPGRADE = "docs/howto/upgrading.md"
DIRECTORS, PROXIES = ("director-1", "director-2"), ("proxy-1", "proxy-2")


@pytest.fixture(scope="module")
def fleet(work):
    made = Fleet(f"{work}/fleet")
    yield made
    made.close()


@pytest.fixture(scope="module")
def load(fleet):
    """It starts when a test first needs it, and runs until the last one."""
    return fleet.load()


def each(fleet, names):
    return [fleet.machines[name] for name in names]


def wait(condition, machine, unit):
    return wait_until(condition, lambda: f"{machine.name}: {machine.log(unit)}", BOOT_TIMEOUT_S)


def test_proxies_are_set_up(fleet):
    for machine in each(fleet, PROXIES):
        walk(machine, block(INSTALLING, "sources.list.d/glb-director.list"))
        walk(machine, block(INSTALLING, "apt-get install -y glb-redirect"))
        fleet.serve(machine.name)
        walk(machine, reader(block(PROXY, "sysctl -w net.ipv4.conf.all.arp_ignore=1")))
        machine.write("/etc/glb/redirect.conf", reader(block(PROXY, "allow_from = [")))
        walk(machine, block(PROXY, "glb-director-cli check /etc/glb/redirect.conf"))
        walk(machine, block(PROXY, "systemctl enable --now glb-redirect@eth0"))
        assert "allow_to 203.0.113.10" in machine.output("glb-redirect status eth0")
        assert machine.run("glb-redirect check eth0 | grep -A 3 ^fail", check=False).stdout == ""


def test_first_director_starts(fleet):
    machine = fleet.machines["director-1"]
    walk(machine, block(INSTALLING, "sources.list.d/glb-director.list"))
    walk(machine, block(INSTALLING, "apt-get install -y glb-director\n"))
    for part in ("glb-director-cli new --dir /etc/glb", "glb-director-cli build-config"):
        walk(machine, block(FIRST, part).replace(":80/tcp ", f":80/tcp,203.0.113.10:{ECHO_PORT}/tcp ").replace("1 bind,", "2 binds,"))
    for part in ("/etc/default/glb-director", "sysctl -w net.ipv4.ip_forward=0", "systemctl enable --now glb-director"):
        walk(machine, block(FIRST, part))


def test_second_director_has_the_same_table(fleet):
    first, machine = each(fleet, DIRECTORS)
    walk(machine, block(INSTALLING, "sources.list.d/glb-director.list"))
    walk(machine, block(INSTALLING, "apt-get install -y glb-director\n"))
    for name in ("forwarding_table.json", "director.conf"):  # as scp does
        machine.write(f"/etc/glb/{name}", first.read(f"/etc/glb/{name}"))
    walk(machine, block(FIRST, "s/192.168.50.2/192.168.50.3/"))
    for part in ("glb-director-cli build-config", "/etc/default/glb-director", "sysctl -w net.ipv4.ip_forward=0",
                 "systemctl enable --now glb-director"):
        walk(machine, block(FIRST, part))
    digests = {each.output("glb-director-cli show --live | grep -o 'digest [0-9a-f]*' | head -n 1") for each in (first, machine)}
    assert len(digests) == 1 and digests != {""}


def test_health_checks_write_the_table(fleet):
    for machine in each(fleet, DIRECTORS):
        machine.run("DEBIAN_FRONTEND=noninteractive apt-get install -y polkitd")
        walk(machine, reader(block(CHECKS, "http=80 http_uri=/ gue=19523")))
        walk(machine, block(CHECKS, "systemd-sysusers"))
        walk(machine, block(CHECKS, "systemctl enable --now glb-healthcheck\n"))
        wait(lambda m=machine: "the director uses the new table" in " ".join(m.run("glb-healthcheck status", check=False).stdout.split()),
             machine, "glb-healthcheck")


def test_vips_are_announced_by_bgp(fleet):
    for machine in each(fleet, DIRECTORS):
        machine.run("DEBIAN_FRONTEND=noninteractive apt-get install -y bird2 glb-announce")
        machine.write("/etc/bird/bird.conf", fleet.addresses(machine.name, block(BGP, "protocol static glb_203_0_113_10")))
        machine.run("systemctl enable bird; systemctl restart bird")
        # The exit code is that of status: the VIP is announced a moment later.
        assert "director: " in machine.run(block(BGP, "glb-announce check\n"), check=False).stdout
    fleet.route(block(BGP, "protocol bgp director_1_4 from director"))
    wait_until(lambda: all(HOSTS[name][1] in fleet.routes() for name in DIRECTORS), lambda: fleet.explain(DIRECTORS), BOOT_TIMEOUT_S)


def test_both_directors_forward(fleet, load):
    before = [forwarded(machine) for machine in each(fleet, DIRECTORS)]
    wait_until(lambda: all(forwarded(machine) > count for machine, count in zip(each(fleet, DIRECTORS), before)), lambda: load.ask("report"))
    assert set(load.ask("report")["held_by_proxy"]) == set(PROXIES)


def edit(fleet, words):
    """Publishes the same change on all directors, as change-proxies.md says: the health checks of each read src again."""
    for machine in each(fleet, DIRECTORS):
        generation = machine.output("glb-director-cli stats | grep -o 'generation [0-9]*' | head -n 1")
        machine.run(f"glb-director-cli edit /etc/glb/forwarding_table.json {words}")
        wait(lambda m=machine, g=generation: m.output("glb-director-cli stats | grep -o 'generation [0-9]*' | head -n 1") != g, machine, "glb-healthcheck")


def test_drained_proxy_gets_no_new_connection(fleet, load):
    edit(fleet, "drain 192.168.51.10")
    load.ask("mark settling")
    load.ask("mark drained")
    wait_until(lambda: sum(load.ask("report")["short_by_label"].get("drained", {}).values()) > 50, lambda: load.ask("report"))
    report = load.ask("report")
    assert report["short_by_label"]["drained"].get("proxy-1", 0) <= 2  # those that were being opened
    assert report["held_by_proxy"]["proxy-1"] > 0
    edit(fleet, "undrain 192.168.51.10")
    load.ask("mark back")
    wait_until(lambda: load.ask("report")["short_by_label"].get("back", {}).get("proxy-1", 0) > 10, "new connections to the proxy")


def ready(fleet, machine):
    """The next machine is not touched before this one is announced again."""
    wait_until(lambda: HOSTS[machine.name][1] in fleet.routes(), lambda: fleet.explain([machine.name]), BOOT_TIMEOUT_S)
    assert "(deleted)" not in machine.output("readlink /proc/$(systemctl show --value --property=MainPID glb-director)/exe")


def installed(machine, package):
    return machine.output(f"dpkg-query -W -f '${{Version}}' {package}")


def test_proxies_are_upgraded(fleet, load):
    for machine in each(fleet, PROXIES):
        machine.repository(OLD, NEW)
        walk(machine, block(UPGRADE, "--only-upgrade glb-redirect"))
        assert installed(machine, "glb-redirect") == version(NEW, "glb-redirect")


def test_directors_are_upgraded_one_after_the_other(fleet, load):
    for machine in each(fleet, DIRECTORS):
        machine.repository(OLD, NEW)
        walk(machine, block(UPGRADE, "--only-upgrade glb-director "))
        assert installed(machine, "glb-announce") == version(NEW)
        ready(fleet, machine)
        walk(machine, block(UPGRADE, "glb-director-cli stats"))


def test_directors_go_back(fleet, load):
    for machine in each(fleet, DIRECTORS):
        walk(machine, "cd /srv/glb-director\n" + block(UPGRADE, "--allow-downgrades").replace("_OLD_", f"_{version(OLD)}_"))
        assert installed(machine, "glb-announce") == version(OLD)
        ready(fleet, machine)


def test_no_connection_broke(fleet, load):
    report = load.stop()
    broken = report["held_broken"] + report["short_broken"]
    assert broken == [], f"{len(broken)} of {report['held'] + report['short']} connections broke\n{fleet.explain_broken(broken)}"
    assert report["held"] > 50 and report["short"] > 200
    print(f"0 of {report['held'] + report['short']} connections broke")
