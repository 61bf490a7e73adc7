# SPDX-License-Identifier: BSD-3-Clause
"""One receive queue and several lcores: no packet is lost or wrong, and each flow keeps its order."""

import collections

import pytest
from scapy.layers.inet import IP, TCP

from lab.tools import wait_until
from support import traffic
from support.director_conf import CONFIG
from support import pcap
from support.director_process import DirectorProcess, run_capture, sum_of_verdicts, write_table
from model import Director
from support.compare import count

LCORES = "0@0,1@0,2@1,3@1"  # the main one, and three that work, on two cores
PATH = {"rx_port": 0, "rx_queue": 0, "tx_port": 0, "tx_queue": 0}
GROUPS = {
    "flow_paths": [PATH],
    "lcores": {
        "lcore-1": {"rx": True, "tx": True, "flow_paths": [0], "dist": True, "num_dist_workers": 2},
        "lcore-2": {"work": True, "work_source": 1},
        "lcore-3": {"work": True, "work_source": 1},
    },
}


def flow_heads(flows):
    """A frame for each flow, without the number at its end."""
    room = bytes(4)
    for client in range(flows):
        ip = IP(src=f"198.51.100.{client}", dst=traffic.VIP4[0])
        yield bytes(traffic.ETHER / ip / TCP(sport=1024, dport=80) / room)[:-4]


def numbered(heads, packets):
    """Frames of all flows in turn. The last four bytes of a frame are its number in the flow."""
    for number in range(packets):
        yield heads[number % len(heads)] + (number // len(heads)).to_bytes(4, "big")


def sequences(frames):
    found = collections.defaultdict(list)
    for frame in frames:
        found[frame[:-4]].append(frame[-4:])
    return found


@pytest.mark.parametrize("extra", ({}, GROUPS), ids=("derived", "configured"))
@pytest.mark.parametrize("idle", ("poll", "sleep"))
def test_flows_keep_their_order(extra, idle, tmp_path):
    config = {**CONFIG, **extra, "idle": idle, "hash_fields": {"src_addr": True, "src_port": True}}
    heads = list(flow_heads(97))
    frames = list(numbered(heads, 20000))
    table = write_table(tmp_path / "table", traffic.TABLE)
    sent, counters, mac = run_capture(tmp_path, frames, config, table, lcores=LCORES)
    model = Director(config, traffic.TABLE, port_mac=mac)
    steered = [model.process(head + bytes(4)).out[:-4] for head in heads]
    expected = numbered(steered, len(frames))
    assert counters["forwarded"] == len(frames) == len(sent)
    assert sequences(sent) == sequences(expected)  # which also says that the bytes are equal


def test_mixed_traffic_has_the_same_verdicts(tmp_path):
    frames = traffic.random_frames(3, 3000)
    table = write_table(tmp_path / "table", traffic.TABLE)
    sent, counters, mac = run_capture(tmp_path, frames, CONFIG, table, lcores=LCORES)
    model = Director(CONFIG, traffic.TABLE, port_mac=mac)
    results = [model.process(frame) for frame in frames]
    assert counters == count(result.verdict for result in results)
    assert sorted(sent) == sorted(result.out for result in results if result.out)


def test_each_packet_is_counted_for_one_backend(tmp_path):
    """
    The lcore that steers counts the backend, another one may send. A capture arrives as fast as the lcore reads it: with more
    frames, the lcores would only estimate (docs/reference/counters.md).
    """
    frames = list(numbered(list(flow_heads(97)), 900))
    pcap.write(tmp_path / "rx.pcap", frames)
    table = write_table(tmp_path / "table", traffic.TABLE)
    vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap={tmp_path}/tx.pcap"
    with DirectorProcess([vdev], {**CONFIG, **GROUPS, "idle": "sleep"}, table, lcores=LCORES) as director:
        stats = director.wait_received(len(frames))
        pages = [director.telemetry.ask(f"/glb/tables,{index}") for index in range(len(traffic.TABLE["tables"]))]
        director.terminate()
    assert stats["forwarded"] == len(frames)
    counted = {backend["ip"]: backend["packets"] for page in pages for backend in page["backends"].values()}
    sent = collections.Counter(IP(frame[14:]).dst for frame in pcap.read(tmp_path / "tx.pcap"))
    assert {ip: packets for ip, packets in counted.items() if packets} == sent



@pytest.mark.parametrize(
    "extra, lcores",
    (
        ({}, "0@0"),
        ({}, "0@0,1@0,2@1"),
        ({"idle": "sleep"}, LCORES),
        ({**GROUPS}, LCORES),
        ({**GROUPS, "idle": "sleep", "exception_path": "tap"}, LCORES),
    ),
    ids=("one lcore", "distributor that works", "sleep", "configured", "exception path"),
)
def test_packets_held_at_the_end_are_sent_or_counted(extra, lcores, tmp_path):
    """SIGTERM arrives while packets are in bursts and rings. Each received packet gets a verdict, and each sent one is in the capture."""
    heads = [*flow_heads(97), bytes(traffic.ETHER / IP(src="198.51.100.1", dst="203.0.113.99") / TCP(dport=1)) + bytes(4)]
    pcap.write(tmp_path / "rx.pcap", list(numbered(heads, 1000)))
    table = write_table(tmp_path / "table", traffic.TABLE)
    vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap={tmp_path}/tx.pcap,infinite_rx=1"
    prefix = ("unshare", "--net") if "exception_path" in extra else ()
    with DirectorProcess([vdev], {**CONFIG, **extra}, table, lcores=lcores, prefix=prefix) as director:
        wait_until(lambda: director.stats()["forwarded"] > 20000, "20000 packets")
        counters = director.terminate()
    assert counters["received"] == sum_of_verdicts(counters) > 20000
    assert counters["tx_packets"] == len(pcap.read(tmp_path / "tx.pcap"))
