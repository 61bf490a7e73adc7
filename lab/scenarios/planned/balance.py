# SPDX-License-Identifier: BSD-3-Clause
"""`balance` takes rows from the hottest proxies. It moves few rows, so most connections here are chosen to be of these rows."""

from lab.crowd import Crowd
from lab.foresee import Foresight
from lab.scenarios.planned.compare import make_plan
from lab.scenarios.planned.walk import Walk
from lab.table import WrittenTable
from lab.tools import cli_json

SUMMARY = "balance is turned on: connections of the rows that move continue, and a proxy that fails moves no other row"
SHAPE = {"proxies": 12, "balance": None}
BALANCE = 1.005
FAILED = "proxy-5"
CANDIDATES = 20000


def run(stage):
    fleet = stage.fleet
    director, *_ = fleet.running()
    plain = fleet.table
    # As `edit` writes it: with the state that it replaces. Without that, rows of proxies that are down forget who holds connections.
    before = {"time": "2026-01-01T00:00:00Z", "backends": [{"ip": proxy.address} for proxy in fleet.proxies.values()]}
    even = plain.with_members(balance=BALANCE, previous=[before])
    unhealthy = even.changed(fleet.proxies[FAILED].address, healthy=False)

    crowd = Crowd(fleet.client)
    flows = crowd.waiting[:CANDIDATES]
    first_plain, first_even = (first_hops(director, table, flows) for table in (plain, even))
    moved = [flow for flow in flows if first_plain[flow] != first_even[flow]]
    stage.expect("balance moves rows", len(moved) > CANDIDATES // 1000, len(moved))
    failed = first_hops(director, unhealthy, flows[: CANDIDATES // 4])
    others = [flow for flow, hop in failed.items() if first_even[flow] not in (hop, fleet.proxies[FAILED].address)]
    stage.expect("a proxy that fails moves no row of other proxies", not others, others[:3])

    crowd.prefer(moved)
    stage.start_capture()
    walk = Walk(stage, plain, len(moved) // 6, crowd)  # until both directors balance
    hottest = [hottest_share(director)]
    for step in make_plan(plain, even, 1)["steps"]:
        walk.to(WrittenTable(step["file"]))
    hottest.append(hottest_share(director))
    stage.say(f"the hottest proxy has {hottest[0]} times its fair share of rows, and {hottest[1]} times with balance {BALANCE}")
    stage.expect("balance bounds the hottest proxy", hottest[0] > 1.01 and hottest[1] <= BALANCE, hottest)
    walk.to(unhealthy)
    walk.to(even)
    ended = walk.end()
    stage.note("hottest", hottest)
    stage.note("planned", {**ended, "moved": len(moved)})
    stage.expect("no connection breaks", ended["broken"] == 0, ended)
    stage.say(f"it moves {len(moved)} of {len(flows)} flows; {ended['broken']} of {ended['connections']} connections break, most of which have these flows")
    stage.finish()


def first_hops(director, table, flows):
    return {flow: hops[0] for flow, hops in Foresight(director, table).hops(flows).items()}


def hottest_share(director):
    """The most rows in which a proxy is first, as a multiple of its fair share, with the table in use."""
    backends = cli_json("show", director.source)["tables"][0]["backends"]
    return round(max(each["first_hop_percent"] for each in backends) * len(backends) / 100, 3)
