# SPDX-License-Identifier: BSD-3-Clause
"""Random changes of a table: CURRENT, which the directors use, and WANTED."""

import ipaddress
import random
import struct

from model.table import ROWS
from model.table_v3 import BACKEND, HEADER, TABLE
from support.cli import as_ipv6, backend, run, table, write_tables

TIME = "2026-01-01T00:00:00Z"
WEIGHTS = (50, 100, 100, 100, 200, 400)


def state_of(members, with_health=True):
    """The entry that `previous` gets for these members of a table (docs/reference/table-json.md#previous-states)."""
    first = [{"ip": entry["ip"], "weight": entry.get("weight", 100), **({} if entry["healthy"] or not with_health else {"healthy": False})}
             for entry in members["backends"] if entry["state"] in ("active", "filling")]
    if "balance" not in members:
        first = [entry for entry in first if entry.get("healthy", True)]
    return {"time": TIME, **({"balance": members["balance"]} if "balance" in members else {}), "backends": first}


def change_backends(rand, backends, added):
    """Adds and removes proxies, and changes states and weights."""
    after = [dict(entry) for entry in backends]
    for _ in range(rand.randint(0, len(after) // 4)):
        kind, entry = rand.choice(("remove", "drain", "undrain", "weight", "inactive")), rand.choice(after)
        if kind == "remove" and len(after) > 3:
            after.remove(entry)
        elif kind == "weight":
            entry["weight"] = rand.choice(WEIGHTS)
        else:
            entry["state"] = {"drain": "draining", "inactive": "inactive"}.get(kind, "active")
    after += [{**backend(f"192.168.51.{i + 1}"), "weight": rand.choice(WEIGHTS)} for i in range(added)]
    if not any(entry["state"] == "active" and entry["healthy"] for entry in after):
        after[0].update(state="active", healthy=True)
    return after


def random_change(seed, most=32, ipv6=False):
    """(members of CURRENT, members of WANTED). most: proxies of CURRENT. ipv6: with other addresses"""
    rand = random.Random(f"change {seed}")
    count, balance = rand.randint(6, most), rand.choice((None, 1.02, 1.1))
    down = rand.choice((0, 0, 1, 2, 3))
    weights = WEIGHTS if rand.random() < 0.5 else (100,)
    current = {"hops": rand.randint(2, 4), **({"balance": balance} if balance else {}), "backends": [
        {**backend(f"192.168.50.{i + 1}", rand.choice(("active",) * 9 + ("draining",)), i >= down), "weight": rand.choice(weights)}
        for i in range(count)]}
    if all(entry["state"] == "draining" for entry in current["backends"][down:]):
        current["backends"][-1]["state"] = "active"
    rand.shuffle(current["backends"])
    history = rand.random() < 0.5
    if history:
        older = {**current, "backends": change_backends(rand, current["backends"], 0)}
        current["previous"] = [state_of(older)] if rand.random() < 0.5 else []
    wanted = {**current, "backends": change_backends(rand, current["backends"], rand.choice((0, 0, 1, 2, count // 4)))}
    health = rand.choice(("same", "same", "up", "any"))  # of WANTED; "up": nobody wrote the health into it
    for entry in wanted["backends"]:
        entry["healthy"] = entry["healthy"] if health == "same" else health == "up" or rand.random() < 0.9
    if not any(entry["state"] == "active" and entry["healthy"] for entry in wanted["backends"]):
        wanted["backends"][0].update(state="active", healthy=True)
    if rand.random() < 0.15:
        wanted["balance"] = rand.choice((1.02, 1.05, 1.2))
    if history:  # as `edit` writes it
        wanted["previous"] = [state_of(current), *current["previous"]]
    if wanted == current:
        wanted["backends"][0]["weight"] = 77
    return as_ipv6([current, wanted]) if ipv6 else (current, wanted)


def rows_of(members, folder):
    """The addresses of each row of a table with these members, as build-config makes them (docs/reference/table-binary.md)."""
    run("build-config", write_tables(folder / "rows.json", table(**members)), folder / "rows.bin", "--format", "3")
    data = (folder / "rows.bin").read_bytes()
    fields = TABLE.unpack_from(data, HEADER.size)
    backends, count, rows, hops = fields[3], fields[4], fields[7], fields[8]
    entries = [BACKEND.unpack_from(data, backends + i * BACKEND.size) for i in range(count)]
    ips = [str(ipaddress.ip_address(address[:4] if family == 1 else address)) for family, _, _, address in entries]
    numbers = struct.unpack_from(f"<{ROWS * hops}H", data, rows)
    return [tuple(ips[number] for number in numbers[i:i + hops]) for i in range(0, len(numbers), hops)]


def holders_of(members, folder):
    """The proxies that may have connections of each row, by the rule of docs/reference/cli.md#diff, for a table that has at most 8
    proxies, so that a row of 8 hops is its natural order."""
    backends = members["backends"]
    rows = rows_of(members, folder)
    taking = [entry for entry in backends if entry["state"] in ("active", "filling")]
    down = {entry["ip"] for entry in backends if not entry["healthy"] or entry["state"] == "draining"}
    everyone = [{**entry, "state": "active", "healthy": True} for entry in backends if entry["state"] != "inactive"]
    natural = rows_of({"hops": 8, "backends": everyone}, folder)
    states = []
    if members.get("previous") or "balance" in members:
        states = [{**members, "backends": [{**entry, "healthy": True} for entry in taking]}, *members.get("previous", [])]
    matched = []
    for state in states:
        entries = [{"state": "active", "healthy": True, **entry} for entry in state["backends"]]
        if any(entry["healthy"] for entry in entries):
            matched.append(rows_of({"backends": entries, **({"balance": state["balance"]} if "balance" in state else {})}, folder))
    held = []
    for number, row in enumerate(rows):
        order = natural[number]
        older = {hop for hop in row[1:] if hop in down and ("balance" in members or order.index(hop) < order.index(row[0]))}
        held.append({row[0]} | older | {state[number][0] for state in matched} & set(row))
    return held
