# SPDX-License-Identifier: BSD-3-Clause
"""glb-healthcheck keeps weights, balance and previous states of src byte for byte in dst, if it does not record any."""

import nginx
from lab.tools import wait_until
from network import ELSEWHERE, PROXY
from support.cli import run

# The doubles next to 1.005 and 1.115 have other digits when they are printed in full.
SRC = """{ "tables": [ {
  "name": "web", "hash_key": "11111111111111111111111111111112", "seed": "21111111111111111111111111111113",
  "hops":4, "balance" : 1.0050,
  "binds": [ { "ip": "203.0.113.10", "proto": "tcp", "port": 80 } ],
  "previous": [
    { "time": "2026-01-01T00:00:00Z", "balance":1.115, "_why": "\\u00fc",   "backends": [ { "ip": "192.0.2.70", "weight": 100 }, {"weight" : 1, "ip": "%(other)s"} ] },
    {"backends": [{"ip":"%(proxy)s"}], "time": "2025-12-31T23:59:59Z"}
  ],
  "backends": [
    { "ip": "%(proxy)s", "weight": 250, "state": "active", "healthy": %(first)s, "healthchecks": { "http": %(port)d } },
    { "ip": "%(other)s", "state": "active", "weight":1000 , "healthy": %(second)s, "healthchecks": { "tcp": 9 } }
  ]
} ] }
"""


def text(first, second):
    return SRC % {"proxy": PROXY, "other": ELSEWHERE, "port": nginx.OWN, "first": first, "second": second}


def test_weights_balance_and_previous_states_are_kept(daemon, own_nginx):
    own_nginx.start()
    made = daemon(panic_threshold=0, keep_previous_s=0)
    made.src.write_text(text("true", "true"))
    made.start().wait_ready().wait_healthy({PROXY: True, ELSEWHERE: False})
    assert made.dst.read_text() == text("true", "false")
    own_nginx.stop()
    made.wait_healthy({PROXY: False, ELSEWHERE: False})
    assert made.dst.read_text() == text("false", "false") and made.src.read_text() == text("true", "true")


def test_edit_changes_the_previous_states_of_src_and_dst_follows(daemon, own_nginx):
    own_nginx.start()
    made = daemon(keep_previous_s=0)
    made.src.write_text(text("true", "true"))
    made.start().wait_ready().wait_healthy({PROXY: True, ELSEWHERE: False})
    run("edit", made.src, "set", PROXY, "weight=100", "--keep", "87600h", "--max-broken", "100")
    edited = made.src.read_text().replace('"weight":1000 , "healthy": true', '"weight":1000 , "healthy": false')
    assert edited.count('"time"') == 3
    wait_until(lambda: made.dst.read_text() == edited, made.log)
