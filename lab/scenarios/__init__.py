# SPDX-License-Identifier: BSD-3-Clause
"""Each module in a folder is one scenario: lab/scenario.py says what it defines. FOLDERS has the order of `lab/lab list`."""

import importlib

FOLDERS = {
    "changes": ("swap", "proxies", "directors", "both", "reloads", "skew", "hops", "upgrade", "redirect-upgrade", "haproxy", "quic"),
    "planned": ("behind", "add", "restart", "reweigh", "mixed", "weights", "balance", "drained", "forgotten"),
    "packets": (
        "path-mtu", "half-open", "time-wait", "port-reuse", "syn-cookie", "unknown-ack", "icmp-quote", "syn-flood", "conntrack", "strangers",
        "corruption", "jumbo", "vlan",
    ),
    "routes": ("bgp", "bgp-flood", "announce-bird", "announce-frr", "small-underlay", "ecmp", "on-link", "unnumbered"),
    "fleet": ("rollout",),
    "failures": ("proxy-killed", "service-stopped", "all-failing", "checks-killed", "cut-off", "correlated", "fail-and-return", "rollout-failure"),
}
SCENARIOS = {
    name: importlib.import_module(f"lab.scenarios.{folder}.{name.replace('-', '_')}") for folder, names in FOLDERS.items() for name in names}
