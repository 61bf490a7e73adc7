# SPDX-License-Identifier: BSD-3-Clause
"""Random tables with balance, previous states and health: build-config writes the bytes of the model, so all rows are the same.

GLB_RANDOM_TABLES=SEED,COUNT compares other tables, and more of them.
"""

import json
import os
import random

import pytest

from model import load_tables, write_v3
from support.cli import as_ipv6, run, table, write_tables

SEED, COUNT = map(int, os.environ.get("GLB_RANDOM_TABLES", "31,4").split(","))
STATES = ["active"] * 6 + ["filling", "draining", "draining", "inactive"]


def sometimes(dice, chance, key, values):
    return {key: dice.choice(values)} if dice.random() < chance else {}


def random_past(dice, ips, newest):
    """A state of most proxies, and of one or two that have left."""
    left = [f"192.168.60.{dice.randint(1, 3)}"] * (dice.random() < 0.3)
    listed = [ip for ip in ips if dice.random() < 0.8] + left
    dice.shuffle(listed)
    ill = dice.choice([0, 0.2, 0.5, 1])
    backends = [{"ip": ip, **sometimes(dice, 0.3, "weight", [1, 50, 100, 300, None]),
                 **({"healthy": False} if dice.random() < ill else sometimes(dice, 0.2, "healthy", [True, None]))} for ip in listed]
    return {"time": f"2026-01-{newest:02}T00:00:00Z", "backends": backends, **sometimes(dice, 0.5, "balance", [1.005, 1.01, 1.1, 2, None]),
            **sometimes(dice, 0.3, "by_health", [True, False, None])}


def add_quic(dice, made):
    """One or two lengths of server IDs, and proxies with both, one or none. Previous states have server IDs, too."""
    lengths = dice.sample(range(2, 16), dice.choice([1, 2]))
    keyed = {length: dice.random() < 0.7 for length in lengths}
    made["quic"] = []
    for number in dice.sample(range(7), dice.randint(1, 7)):
        length = dice.choice(lengths)
        config = {"id": number, "server_id_length": length, "nonce_length": dice.randint(4, min(18, 19 - length))}
        made["quic"].append({**config, **({"key": f"{dice.getrandbits(128):032x}"} if keyed[length] else sometimes(dice, 0.2, "key", [None]))})
    lengths = sorted({config["server_id_length"] for config in made["quic"]})
    ids = {}
    for backend in [*made["backends"], *(each for state in made["previous"] for each in state["backends"])]:
        if backend["ip"] not in ids:
            own = [f"{len(ids):02x}{dice.getrandbits(8 * length - 8):0{2 * length - 2}x}" for length in lengths]
            ids[backend["ip"]] = dice.choice([{}, {"server_id": own[0]}, {"server_id": own[0] if len(own) == 1 else own[::-1]}, {"server_id": own[-1]}])
        backend.update(ids[backend["ip"]])
    made["binds"] = [{"ip": "10.10.10.10", "proto": "udp", "port": 443 + i, **sometimes(dice, 0.8, "quic", [True, True, False, None])} for i in range(3)]


def random_table(dice):
    ips = [f"192.168.50.{i}" for i in range(1, dice.choice([1, 2, 3, 4, 6, 8, 12]) + 1)]
    ill, weights = dice.choice([0, 0.15, 0.5, 1]), dice.choice([[100], [100, 100, 300, 50], [1, 7, 1000]])
    backends = [{"ip": ip, "state": dice.choice(STATES), "healthy": dice.random() >= ill, "weight": dice.choice(weights)} for ip in ips]
    if all(backend["state"] == "inactive" for backend in backends):
        backends[0]["state"] = "draining"
    previous = [random_past(dice, ips, 16 - i) for i in range(dice.choice([0, 1, 2, 3, 6]))]
    made = table(backends=backends, hops=dice.randint(2, 8), previous=previous, seed=f"{dice.getrandbits(128):032x}",
                 **({"balance": dice.choice([1.005, 1.02, 1.3])} if not previous or dice.random() < 0.5 else {}))
    if dice.random() < 0.5:
        add_quic(dice, made)
    return {**as_ipv6(made), "hops": min(made["hops"], 5)} if dice.random() < 0.5 else made


@pytest.mark.parametrize("seed", range(SEED, SEED + COUNT))
def test_a_random_table_has_the_bytes_of_the_model(seed, tmp_path):
    source, target = tmp_path / "table.json", tmp_path / "table.bin"
    write_tables(source, random_table(random.Random(seed)))
    run("build-config", source, target)
    assert target.read_bytes() == write_v3(load_tables(json.loads(source.read_text())))
