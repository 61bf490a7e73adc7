# SPDX-License-Identifier: BSD-3-Clause
"""Each module is one scenario: lab/scenario.py says what it defines. NAMES is the order of `lab/lab list`."""

import importlib

NAMES = (
    "swap", "proxies", "directors", "both", "reloads", "skew", "hops", "proxy-killed", "path-mtu", "half-open", "time-wait",
    "syn-cookie", "unknown-ack", "icmp-quote", "syn-flood", "conntrack", "bgp", "bgp-flood", "small-underlay", "ecmp", "on-link", "unnumbered",
    "strangers", "corruption", "service-stopped", "all-failing", "checks-killed", "cut-off", "correlated",
)
SCENARIOS = {name: importlib.import_module(f"lab.scenarios.{name.replace('-', '_')}") for name in NAMES}
