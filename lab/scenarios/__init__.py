# SPDX-License-Identifier: BSD-3-Clause
"""One scenario in each module: SUMMARY, perhaps SHAPE, and run(stage)."""

import importlib

NAMES = (
    "swap", "proxies", "directors", "both", "reloads", "skew", "hops", "proxy-killed", "path-mtu", "half-open", "time-wait",
    "syn-cookie", "unknown-ack", "icmp-quote", "syn-flood", "conntrack", "bgp",
    "service-stopped",
)
SCENARIOS = {name: importlib.import_module(f"lab.scenarios.{name.replace('-', '_')}") for name in NAMES}
