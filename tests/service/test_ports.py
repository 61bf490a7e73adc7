# SPDX-License-Identifier: BSD-3-Clause
"""A director with two ports: each port sends what it received, or flow_paths make the other port send it."""

import pytest

from support import pcap
from support import traffic
from support.director_conf import CONFIG, write_config
from support.director_process import DirectorProcess, verdicts, write_table
from model import Director
from support.compare import count

CROSSED = {
    "flow_paths": [
        {"rx_port": 0, "rx_queue": 0, "tx_port": 1, "tx_queue": 0},
        {"rx_port": 1, "rx_queue": 0, "tx_port": 0, "tx_queue": 0},
    ],
}
ONE_LCORE = {"lcores": {"lcore-1": {"rx": True, "tx": True, "flow_paths": [0, 1]}}}
TWO_LCORES = {"lcores": {f"lcore-{n + 1}": {"rx": True, "tx": True, "flow_paths": [n]} for n in range(2)}}
PORTS = (0, 1)
MACS = [bytes.fromhex(f"02706361700{port}") for port in PORTS]  # net_pcap counts its ports


@pytest.mark.parametrize("idle", ("poll", "sleep"))
@pytest.mark.parametrize(
    "lcores, extra, leaves_by",
    (
        ("0@0", {}, (0, 1)),
        ("0@0,1@0", {}, (0, 1)),
        ("0@0,1@0,2@1,3@1", {}, (0, 1)),
        ("0@0,1@0", {**CROSSED, **ONE_LCORE}, (1, 0)),
        ("0@0,1@0,2@1", {**CROSSED, **TWO_LCORES}, (1, 0)),
    ),
    ids=("main lcore", "a worker", "three workers", "crossed", "crossed, an lcore each"),
)
def test_packets_leave_by_the_port_of_their_flow_path(lcores, extra, leaves_by, idle, tmp_path):
    config = {**CONFIG, **extra, "idle": idle, "accept_vlans": "any", "outbound_vlan": "untagged"}
    table = write_table(tmp_path / "table", traffic.TABLE)
    conf = write_config(tmp_path / "director.conf", config)
    # A quarter of the frames is to the other port's MAC, so it is not for the port that receives it.
    frames = [
        [MACS[port ^ (number % 4 == 0)][: len(frame)] + frame[6:] for number, frame in enumerate(traffic.random_frames(port, 1000))]
        for port in PORTS
    ]
    vdevs = []
    for port in PORTS:
        pcap.write(tmp_path / f"rx{port}", frames[port])
        vdevs.append(f"net_pcap{port},rx_pcap={tmp_path}/rx{port},tx_pcap={tmp_path}/tx{port}")
    with DirectorProcess(vdevs, conf, table, lcores=lcores) as director:
        macs = [director.port_mac(port) for port in PORTS]
        director.wait_received(2000)
        counters = director.terminate()
    results = {}
    for port in PORTS:
        out = leaves_by[port]
        model = Director({**config, "accept_macs": [], "drop_martians": True}, traffic.TABLE, port_mac=macs[out], rx_mac=macs[port])
        results[port] = [model.process(frame) for frame in frames[port]]
        wanted = [result.out for result in results[port] if result.out]
        assert sorted(pcap.read(tmp_path / f"tx{out}")) == sorted(wanted)
    assert [bytes.fromhex(mac.replace(":", "")) for mac in macs] == MACS
    assert counters["drop_not_for_us"] > 400
    assert verdicts(counters) == count(result.verdict for port in PORTS for result in results[port])
