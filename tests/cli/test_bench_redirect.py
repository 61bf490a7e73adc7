# SPDX-License-Identifier: BSD-3-Clause
"""script/bench --redirect: what it measures and writes. No test looks at a time."""

import json
import os
import subprocess

import pytest

from support.tree import BUILD, TREE


def bench(*options, **environment):
    return subprocess.run([TREE / "script/bench", "--redirect", *options, "--build", str(BUILD)], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


@pytest.fixture(name="measured", scope="module")
def quick_run(tmp_path_factory):
    file = tmp_path_factory.mktemp("bench") / "figures.json"
    done = bench("--quick", "--json", str(file))
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text())


def test_every_packet_is_measured_and_shown(measured):
    """The benchmark itself fails if glb-redirect counts a packet in another counter than expected."""
    shown, rows = measured
    packets = [row["what"] for row in rows if row["path"] == "redirect"]
    assert len(packets) == len(set(packets)) > 25 and [what for what in packets if f"\n| {what} |" not in shown] == []
    assert {"SYN", "TCP unknown here, 8 hops", "refused: a stranger", "QUIC for this host, no key", "no GUE: TCP"} <= set(packets)


def test_helpers_are_measured_in_the_same_run(measured):
    rows = measured[1]
    helpers = {row["what"]: {other["path"] for other in rows if other["what"] == row["what"]} - {"redirect"} for row in rows if row["path"] == "redirect"}
    assert helpers["TCP of a socket here"] == {"tcp", "checksum", "strip"}
    assert helpers["TCP unknown here, by route"] == {"tcp", "prefixes", "route"}
    assert helpers["corrupted: the GUE version"] == set()


def test_rates_of_other_traffic_are_measured(measured):
    rates = {row["what"]: row for row in measured[1] if row["path"] == "throughput"}
    assert list(rates) == ["no program", "native, pass", "native, glb-redirect", "generic, pass", "generic, glb-redirect"]
    assert rates["no program"]["relative"] == 1


def test_an_unknown_option_is_an_error():
    done = bench("--fast")
    assert done.returncode == 2 and "--fast" in done.stderr
