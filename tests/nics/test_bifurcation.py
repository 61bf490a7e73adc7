# SPDX-License-Identifier: BSD-3-Clause
"""Flow bifurcation for real: the kernel keeps the PF of an 82576, with a web server and BIRD on its address, and the director has a VF that
glb-bifurcate makes. The router reaches the VF by its MAC, which it has as next hop from BGP. Step 3a of docs/howto/flow-bifurcation.md."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from cards import DEVICES, find, interface, read_cards
from lab.routing.bgp import Bird
from lab.topology import VIP4
from service import Service, UNIT
from site_network import DIRECTOR, HOST, ROUTER, ROUTER6
from support.guest import run, show, systemctl, wait

CARD = next((card for card in read_cards() if card.name == "igb-vf"), None)
NAME = CARD and interface(CARD.pf_mac)  # so that the unit starts whenever this interface appears
CONF = Path(f"/etc/glb/bifurcate.d/{NAME}.conf")
VF_UNIT = f"glb-bifurcate@{NAME}.service"
HOST6, PORT = "2001:db8:b:1::3", 8080
CONNECTIONS = 100
BGP = """\
router id {own};
log stderr all;
protocol device {{ scan time 1; }}
{routes}
protocol bgp peer {{
	local {own} as {own_as};
	neighbor {other} as {other_as};
	hold time 60; keepalive time 20;
	connect delay time 1; connect retry time 1; error wait time 1, 2;
	{channel}
}}
"""
# The next hop of the VIP is the address that belongs to the VF's MAC, not the one of this host.
HOST_BGP = {"own": HOST, "other": ROUTER, "own_as": 65001, "other_as": 65000,
            "routes": f"protocol static {{ ipv4; route {VIP4}/32 blackhole; }}",
            "channel": f"ipv4 {{ import none; export filter {{ bgp_next_hop = {DIRECTOR}; accept; }}; }};"}
ROUTER_BGP = {"own": ROUTER, "other": HOST, "own_as": 65000, "other_as": 65001,
              "routes": "protocol kernel { ipv4 { import none; export where source = RTS_BGP; }; }",
              "channel": "ipv4 { import all; export none; };"}


class Here:
    """This machine, where lab.routing wants a namespace."""

    name = "host"

    @staticmethod
    def start(*words, **options):
        return subprocess.Popen(words, text=True, **options)


class Host:
    """The kernel of the director's host."""

    def __init__(self, site, card):
        self.site, self.card = site, card
        self.pf, self.device = find(card.pf_mac), interface(card.pf_mac)
        CONF.parent.mkdir(exist_ok=True)
        CONF.write_text(f'device = "{self.pf}";\nmac = "{card.mac}";\nspoof_check = true;\n', encoding="ascii")
        site.plug(card)
        self.configure()
        self.web = subprocess.Popen(["/usr/bin/python3", "-m", "http.server", "--bind", HOST, "--directory", "/usr/share/doc", str(PORT)],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        site.router.ip(f"route del {VIP4}")
        self.birds = Bird(Here, BGP.format(**HOST_BGP)), Bird(site.router, BGP.format(**ROUTER_BGP))

    def configure(self):
        """What a boot does, and what the kernel forgets when the PF is switched off."""
        self.device = interface(self.card.pf_mac)
        run("ip", "link", "set", self.device, "up", "mtu", "1600")
        run("ip", "addr", "replace", f"{HOST}/28", "dev", self.device)
        run("ip", "addr", "replace", f"{HOST6}/64", "dev", self.device, "nodad")
        wait(lambda: self.link()["operstate"] == "UP", "the PF's link")
        run("ip", "route", "replace", "default", "via", ROUTER, "dev", self.device)
        run("ip", "-6", "route", "replace", "default", "via", ROUTER6, "dev", self.device)

    def link(self):
        return json.loads(run("ip", "-json", "link", "show", "dev", self.device).stdout)[0]

    def vf(self, *words):
        """ip link set dev PF vf 0 ..."""
        run("ip", "link", "set", "dev", self.device, "vf", "0", *words)

    def read(self, name):
        return (DEVICES / self.pf / name).read_text(encoding="ascii").strip()

    def route(self):
        return self.site.router.run("ip", "route", "show", VIP4).stdout

    def wait_bgp(self):
        """BIRD here loses its session with the interface. The router keeps the route until it hears of that, so the route alone is no proof."""
        def session():
            return run("birdc", "-s", self.birds[0].control, "show", "protocols", "peer").stdout

        wait(lambda: "Established" in session(), session)
        wait(lambda: DIRECTOR in self.route() and "proto bird" in self.route(), lambda: f"the route of the VIP by BGP: {self.route()}")

    def close(self):
        for process in (self.web, *(bird.process for bird in self.birds)):
            process.terminate()
            process.wait()
        run("ip", "addr", "flush", "dev", self.device)
        CONF.unlink()
        self.site.unplug(self.card)


def bifurcate(*words, code=0):
    done = run("glb-bifurcate", *words, NAME, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def state():
    """Of each property of the VF, by glb-bifurcate."""
    done = run("glb-bifurcate", "status", "--json", NAME, check=False)
    return {finding["check"]: finding["level"] for finding in json.loads(done.stdout)["findings"]}


@pytest.fixture(scope="module")
def host(site):
    if not CARD:
        pytest.skip("needs the card igb-vf")
    made = Host(site, CARD)
    yield made
    systemctl("disable", "--now", VF_UNIT, UNIT)
    bifurcate("undo")
    made.close()


@pytest.fixture(scope="module")
def service(host):
    return Service(host.card)


def connect(host):
    """Connections to the VIP and to the kernel's web server at the same time. None breaks."""
    kernel = host.site.client.start("ab", "-q", "-r", "-s", "30", "-n", str(CONNECTIONS), "-c", "5", f"http://{HOST}:{PORT}/", stdout=subprocess.PIPE)
    report = host.site.connect(CONNECTIONS)
    said = kernel.communicate()[0]
    assert report["Complete requests"] == CONNECTIONS and report["Failed requests"] == 0, report
    assert f"Complete requests:      {CONNECTIONS}" in said and "Failed requests:        0" in said, said


def wait_traffic(host, service):
    """The VIP and the kernel answer again."""
    def answer():
        return all(host.site.client.run("curl", "-s", "-m", "2", "-o", "/dev/null", f"http://{address}/", check=False).returncode == 0
                   for address in (f"{HOST}:{PORT}", VIP4))

    host.wait_bgp()
    wait(answer, lambda: f"answers of the kernel and of the VIP; the director says:\n{service.log()}")
    wait(lambda: service.health()["state"] == "ok", service.health)
    connect(host)


def port(service):
    return service.health()["ports"]["0"]


def test_apply_does_what_dry_run_said_and_then_nothing(host):
    planned = bifurcate("apply", "--dry-run").splitlines()
    assert host.read("sriov_numvfs") == "0"
    said = bifurcate("apply").splitlines()
    # The new VF has spoof check as configured, which nobody knows before there is a VF.
    assert said[:-1] == [line for line in planned if "spoofchk" not in line], said
    assert said[-1].endswith(f"bound to vfio-pci: {len(said) - 1} commands")
    assert set(state().values()) == {"ok"}
    assert bifurcate("apply").endswith(": 0 commands\n")
    vf = host.link()["vfinfo_list"][0]
    assert (vf["address"], vf["spoofchk"], vf["trust"], vf["vlan_list"]) == (host.card.mac, True, False, [{}])


def test_status_finds_a_change_by_hand_and_the_unit_mends_it(host):
    host.vf("mac", "02:00:00:00:03:99")
    host.vf("spoofchk", "off")
    assert {check for check, level in state().items() if level == "fail"} == {"mac", "spoof_check"}
    systemctl("start", VF_UNIT)
    assert set(state().values()) == {"ok"}


def test_undo_removes_what_apply_made(host):
    bifurcate("undo")
    assert host.read("sriov_numvfs") == "0" and host.read("sriov_drivers_autoprobe") == "1"
    assert not list(Path("/run/glb-bifurcate").glob("*.json"))
    assert bifurcate("undo") == ""


def test_director_starts_after_its_vf(host, service):
    service.write_table(host.site.table.json())
    host.card.address = "0000:" + host.pf[5:7] + ":10.0"
    service.configure({"outbound_gateway_mac": "auto", "outbound_src_ip": DIRECTOR, "outbound_mtu": 1600, "idle": "sleep",
                       "hash_fields": {"src_addr": True, "src_port": True}, "exception_path": "none"}, "0-2")
    systemctl("enable", VF_UNIT)
    service.mark()
    systemctl("start", UNIT)
    assert os.path.basename(os.readlink(DEVICES / host.pf / "virtfn0")) == host.card.address
    assert show(VF_UNIT, "Result") == "success" and set(state().values()) == {"ok"}
    assert int(show(VF_UNIT, "ExecMainExitTimestampMonotonic")) < int(show(UNIT, "ExecMainStartTimestampMonotonic"))
    print(service.log())


def test_kernel_and_director_share_the_card(host, service):
    """The steps of "Verify" in the how-to."""
    host.wait_bgp()
    with subprocess.Popen(["tcpdump", "-ni", host.device, "host", VIP4], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as dump:
        try:
            dump.stderr.readline()  # it listens
            connect(host)
            pings = host.site.client.run("ping", "-c", "3", VIP4, check=False).stdout
            # Two later fragments each. The director drops them, because it hashes ports.
            host.site.client.run("ping", "-c", "3", "-s", "4000", VIP4, check=False)
        finally:
            dump.terminate()
        seen, said = dump.communicate()
    assert not seen.strip(), f"the kernel has seen packets of the VIP: {seen}"
    assert "3 packets transmitted, 3 received" in pings
    print(said, run("glb-director-cli", "stats").stdout, run("ip", "neigh").stdout, run("birdc", "-s", host.birds[0].control, "show", "protocols").stdout)
    verdicts = service.verdicts()
    assert verdicts["forwarded"] > 4 * CONNECTIONS and (verdicts["drop_unmatched"], verdicts["drop_fragment"]) == (0, 6)
    assert f"{ROUTER} dev {host.device} lladdr {host.card.peer_mac}" in run("ip", "neigh").stdout
    refused = run("glb-bifurcate", "undo", "--force", NAME, check=False)
    assert refused.returncode == 1 and f"glb-director (pid {service.pid()}) uses this VF" in refused.stderr


def test_link_of_the_pf_flaps(host, service, monitor):
    pid = service.pid()
    service.mark()
    monitor.set_link(host.card.qdev, False)
    service.wait_log("the link is down")
    wait(lambda: service.health()["state"] != "ok", service.health)
    monitor.set_link(host.card.qdev, True)
    host.configure()
    service.wait_log("it was reset and set up again")
    wait_traffic(host, service)
    assert service.pid() == pid


def test_pf_is_switched_off_and_on(host, service):
    """The driver of the PF then resets the whole card, and the VF's queues with it."""
    pid = service.pid()
    resets = port(service)["resets"]
    service.mark()
    run("ip", "link", "set", host.device, "down")
    service.wait_log("the link is down")
    host.configure()
    service.wait_log("it was reset and set up again")
    wait_traffic(host, service)
    assert service.pid() == pid
    assert port(service)["resets"] == resets + 1
    print(service.log())


@pytest.mark.parametrize("change, back", [(["vlan", "7"], ["vlan", "0"]), (["spoofchk", "off"], ["spoofchk", "on"]), (["trust", "on"], ["trust", "off"]),
                                          (["mac", "52:54:00:00:02:99"], ["mac", "52:54:00:00:02:10"])], ids=lambda words: words[0])
def test_properties_of_the_vf_change_below_the_director(host, service, change, back):
    pid = service.pid()
    host.vf(*change)
    refused = run("glb-bifurcate", "apply", NAME, check=False)
    if change[0] in ("vlan", "mac"):
        assert refused.returncode == 1 and "a change of its MAC or VLAN would take it away" in refused.stderr
    host.vf(*back)
    assert set(state().values()) == {"ok"}
    wait_traffic(host, service)
    assert service.pid() == pid


def test_driver_of_the_pf_is_loaded_again(host, service):
    """The kernel takes the VF away, systemd starts glb-bifurcate, which makes it again, and the director takes it."""
    pid = service.pid()
    service.mark()
    driver = Path("/sys/bus/pci/drivers/igb")
    (driver / "unbind").write_text(host.pf, encoding="ascii")
    wait(lambda: port(service)["state"] == "removed", lambda: port(service))
    assert service.health()["state"] == "failing"
    assert not (DEVICES / host.card.address).exists()
    (driver / "bind").write_text(host.pf, encoding="ascii")
    wait(lambda: interface(host.card.pf_mac) == NAME, "udev to name the interface of the PF")
    host.configure()
    wait(lambda: port(service)["state"] == "running", lambda: port(service))
    wait_traffic(host, service)
    assert service.pid() == pid
    print(service.log())


def test_kernel_does_not_get_the_packets_of_a_director_that_is_stopped(host, service):
    service.stop()
    done = host.site.client.run("curl", "-s", "-m", "3", f"http://{VIP4}/", check=False)
    assert done.returncode == 28, "no answer at all"
    assert host.site.client.run("curl", "-s", "-m", "5", "-o", "/dev/null", f"http://{HOST}:{PORT}/", check=False).returncode == 0
    service.start()
    wait_traffic(host, service)
