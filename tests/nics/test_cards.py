# SPDX-License-Identifier: BSD-3-Clause
"""What every card must do. The tests of a card run in this order: each starts where the one before ended."""

import collections
import json
import os
import signal

import pytest

from frames import by_model, frame
from lab.clients import Load
from lab.topology import VIP4, VIP6, VLAN
from service import UNIT
from site_network import DEVICE, DIRECTOR, Wire
from support.director_conf import OPEN
from support.guest import run, show, wait
from support.vectors import PACKETS, packet_groups

CONNECTIONS = int(os.environ["GLB_CONNECTIONS"])
FEW = 40  # connections, to see that traffic flows
LCORES = "0-2"  # one for the control thread, two workers
LARGEST = 1514
VLANS = [0, 100, 101]  # of the golden packets


def config(card, **more):
    return {"outbound_gateway_mac": card.peer_mac, "outbound_src_ip": DIRECTOR, "outbound_mtu": 1600, "idle": "sleep",
            "hash_fields": {"src_addr": True, "src_port": True}, "max_shrink": 100, **more}


def connect(site, count, vip=VIP4):
    report = site.connect(count, vip=vip)
    assert report["Complete requests"] == count and report["Failed requests"] == 0, report


def worked(service):
    """{lcore: how often it found packets}, of lcores that have found any."""
    found = {lcore: counters["polls"] - counters["empty_polls"] for lcore, counters in service.stats()["lcores"].items()}
    return {lcore: count for lcore, count in found.items() if count}


@pytest.mark.smoke
def test_director_starts(card, service, site):
    assert card.driver() == "vfio-pci"
    service.write_table(site.table.json())
    service.configure(config(card), LCORES)
    service.start()
    assert show(UNIT, "ActiveState") == "active"
    assert service.health()["state"] == "ok"
    assert service.ask("/ethdev/info,0")["mac_addr"].lower() == card.mac
    print(service.log())


@pytest.mark.smoke
def test_no_connection_breaks(card, service, site):
    before = service.verdicts()
    load = Load(site.client, held=20, short=1)
    connect(site, CONNECTIONS // 2)
    connect(site, CONNECTIONS // 2, VIP6)
    last = load.stop()
    assert last["held_broken"] + last["short_broken"] == [], last
    after = service.verdicts()
    assert after["forwarded"] - before["forwarded"] > 4 * CONNECTIONS
    dropped = {name: count - before[name] for name, count in after.items() if count != before[name] and name.startswith("drop_") and name != "drop_not_for_us"}
    assert not dropped, dropped
    assert last["held"] == 20 and last["fewest_exchanges"] > 1
    assert len(worked(service)) == (2 if card.rss else 1), "an lcore has nothing to do"
    print(f"{card.name}: {CONNECTIONS + last['held'] + last['short']} connections, 0 broken; bursts by lcore: {worked(service)}")


def send_some(service, wire, card, packets):
    """Sends the frames of vectors, and compares frames and counters with them."""
    mac = bytes.fromhex(card.mac.replace(":", ""))
    before = service.verdicts()
    names, verdicts = collections.defaultdict(list), collections.Counter()
    for packet in packets:
        wire.send(mac + bytes.fromhex(packet["frame"])[6:])
        verdicts[packet["verdict"].replace("exception", "drop_unmatched")] += 1
        if packet["out"]:
            out = bytes.fromhex(packet["out"])
            names[out[:6] + mac + out[12:]].append(packet["name"])
    got = collections.Counter(wire.receive(sum(map(len, names.values()))))
    wrong = {", ".join(of): got[each] for each, of in names.items() if got[each] != len(of)}
    unknown = [each.hex() for each in got if each not in names]
    assert (wrong, unknown) == ({}, [])

    def given():
        return {name: count - before[name] for name, count in service.verdicts().items() if count != before[name]}

    wait(lambda: sum(given().values()) >= len(packets), lambda: f"verdicts of all frames: {given()} instead of {dict(verdicts)}")
    assert given() == verdicts


def test_golden_packets_are_forwarded_as_in_the_vectors(card, service, site):
    """Frames of less than 60 bytes are left out, because cards pad them."""
    count = 0
    for name in ("default", "udp checksum"):
        service.configure({**PACKETS["configs"][name], **OPEN, "accept_vlans": VLANS, "idle": "sleep", "max_shrink": 100}, LCORES)
        groups = {table: packets for (group, table), packets in packet_groups().items() if group == name}
        with Wire(site, card) as wire:
            for number, (table, packets) in enumerate(groups.items()):
                service.write_table(json.dumps(PACKETS["tables"][table]))
                if number:
                    run("glb-director-cli", "reload", "--force")
                else:
                    service.start()
                packets = [packet for packet in packets if 60 <= len(packet["frame"]) // 2 <= LARGEST]
                for at in range(0, len(packets), 100):
                    send_some(service, wire, card, packets[at : at + 100])
                count += len(packets)
    print(f"{card.name}: {count} golden packets")
    assert count > 1300


def exchange(card, service, site, conf, frames):
    """Sends frames, and compares what comes back with the model."""
    document = json.loads(site.table.json())
    expected = collections.Counter(by_model(card, conf, document, frames))
    assert None not in expected
    with Wire(site, card) as wire:
        for each in frames:
            wire.send(each)
        got = collections.Counter(wire.receive(len(frames)))
    assert got == expected, (sorted(map(len, got)), sorted(map(len, expected)))


def test_jumbo_frames_pass(card, service, site):
    """Frames of one and of several buffers, up to the largest that the port's driver can do."""
    conf = config(card, outbound_mtu=9000)
    site.router.ip(f"link set {DEVICE} mtu 9000")
    card.set_pf_mtu(9000)
    service.write_table(site.table.json())
    service.configure(conf, LCORES)
    service.start()
    mtu = service.ask("/ethdev/info,0")["mtu"]
    print(f"{card.name}: MTU {mtu}")
    largest = mtu + 14 - 40 if card.buffers else 2000
    sizes = [size for size in (60, 1000, 1514, 1518, 2000, 2100, 4000, 6000, largest) if size <= largest]
    exchange(card, service, site, conf, [frame(card, size, 1000 + at) for at, size in enumerate(sizes)])
    assert mtu >= 1600


def test_vlan_tags_in_frames(card, service, site):
    """1518 bytes: 1500 of IP, the Ethernet header and a tag."""
    conf = config(card, accept_vlans=[VLAN], outbound_vlan=VLAN)
    service.configure(conf, LCORES)
    service.start()
    exchange(card, service, site, conf, [frame(card, size, 2000 + size, VLAN) for size in (60, 100, 1000, 1514)])
    site.tagged(card)
    connect(site, FEW)
    site.untagged(card)


def test_port_vlan(card, service, site):
    """The card adds the tag to each frame of the director, and removes it from received frames. The driver reports it beside a frame."""
    if not card.is_vf:
        pytest.skip("only a VF has a port VLAN")
    card.set_port_vlan(VLAN)
    service.configure(config(card, accept_vlans=[VLAN], outbound_vlan="untagged"), LCORES)
    service.start()
    site.tagged(card)
    connect(site, FEW)
    site.untagged(card)
    card.set_port_vlan(0)


def test_one_lcore_polls(card, service, site):
    service.configure(config(card, idle="poll"), "0-1")
    service.start()
    connect(site, FEW)
    assert len(worked(service)) == 1


def test_link_goes_down_and_comes_back(card, service, site, monitor):
    service.configure(config(card), LCORES)
    service.start()
    monitor.set_link(card.qdev, False)
    service.wait_log("the link is down")
    wait(lambda: service.health()["state"] != "ok", service.health)
    service.mark()
    monitor.set_link(card.qdev, True)
    service.wait_log("the link is up")
    wait(lambda: service.health()["state"] == "ok", service.health)
    connect(site, FEW)


def test_stop_and_start(card, service, site):
    service.stop()
    assert show(UNIT, "Result") == "success"
    service.start()
    connect(site, FEW)


def test_systemd_starts_it_again_after_kill_9(card, service, site):
    pid = service.pid()
    service.mark()
    os.kill(pid, signal.SIGKILL)
    service.wait_log("ready: port 0")
    assert service.pid() not in (0, pid)
    connect(site, FEW)
