# SPDX-License-Identifier: BSD-3-Clause
"""The named configurations and forwarding tables of packets.json."""

import hashlib

FIELDS = ("src_addr", "dst_addr", "src_port", "dst_port")


def secret(name):
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def bind(ip, proto, start, end=None):
    if end is None:
        return {"ip": ip, "proto": proto, "port": start}
    return {"ip": ip, "proto": proto, "port_start": start, "port_end": end}


def backends(count, first=10, network="192.168.50", **members):
    return [
        {"ip": f"{network}.{first + n}", "state": "active", "healthy": True, **members}
        for n in range(count)
    ]


def table(name, binds, backend_list, hops=2):
    return {
        "name": name,
        "hash_key": secret("key of " + name),
        "seed": secret("seed of " + name),
        "hops": hops,
        "binds": binds,
        "backends": backend_list,
    }


def service_binds():
    """The table of the service to which most packets go."""
    return [
        bind(ip, proto, port)
        for ip in ("10.10.10.10", "fdb4::10")
        for proto, port in (("tcp", 80), ("tcp", 443), ("udp", 443))
    ]


def _every_state():
    states = ("active", "filling", "draining", "inactive")
    return [
        {"ip": f"192.168.60.{10 + n}", "state": state, "healthy": healthy}
        for n, (state, healthy) in enumerate((s, h) for s in states for h in (True, False))
    ]


# The last tables match packets that the earlier ones do not match.
OVERLAP = [
    ("wide", [bind("10.40.0.0/16", "tcp", 80, 89), bind("fd40::/32", "tcp", 80, 89)]),
    (
        "host",
        [
            bind("10.40.1.1", "tcp", 80),
            bind("10.40.1.1", "tcp", 90),
            bind("10.40.1.1", "udp", 80),
            bind("fd40::1", "tcp", 80),
            bind("fd40::1", "tcp", 90),
            bind("10.41.1.1", "tcp", 80),
            bind("fd41::1", "tcp", 80),
        ],
    ),
    (
        "wide-after-host",
        [bind("10.41.0.0/16", "tcp", 0, 65535), bind("fd41::/16", "tcp", 0, 65535)],
    ),
    ("same-again", [bind("10.41.0.0/16", "tcp", 85), bind("10.42.0.0/24", "udp", 53)]),
    ("everything", [bind("0.0.0.0/0", "tcp", 80, 100), bind("::/0", "tcp", 80, 100)]),
]

PREFIXES4 = (32, 31, 30, 25, 24, 23, 17, 16, 15, 9, 8, 7, 1, 0)
PREFIXES6 = (128, 127, 120, 65, 64, 63, 48, 33, 32, 31, 16, 7, 1, 0)
PREFIX_BASE4, PREFIX_BASE6 = "85.85.85.85", "5555:5555:5555:5555:5555:5555:5555:5555"

TABLES = {
    "main": {
        "tables": [
            table("web", service_binds(), backends(8)),
            table(
                "ranges",
                [
                    bind("10.20.0.0/16", "tcp", 1000, 1999),
                    bind("10.20.0.0/16", "udp", 2000, 2999),
                    bind("fdb5::/64", "udp", 1000, 1999),
                    bind("fdb5::/64", "tcp", 7),
                    bind("10.21.0.1", "tcp", 0, 65535),
                    bind("10.21.0.2", "udp", 0),
                    bind("10.21.0.2", "udp", 65535),
                ],
                backends(6, first=40),
                hops=3,
            ),
        ]
    },
    "overlap": {"tables": [table(name, binds, backends(4)) for name, binds in OVERLAP]},
    "prefixes": {
        "tables": [
            table(
                f"prefix-{p4}-{p6}",
                [
                    bind(f"{PREFIX_BASE4}/{p4}", "tcp", 80),
                    bind(f"{PREFIX_BASE6}/{p6}", "tcp", 80),
                ],
                backends(2, first=100 + n),
            )
            for n, (p4, p6) in enumerate(zip(PREFIXES4, PREFIXES6))
        ]
    },
    "hops2": {"tables": [table("hops2", service_binds(), backends(16))]},
    "hops3": {"tables": [table("hops3", service_binds(), backends(16), hops=3)]},
    "hops4": {"tables": [table("hops4", service_binds(), backends(16), hops=4)]},
    **{f"hops{n}": {"tables": [table(f"hops{n}", service_binds(), backends(16), hops=n)]} for n in (5, 6, 7, 8)},
    "three-of-eight": {"tables": [table("three-of-eight", service_binds(), backends(3), hops=8)]},
    "states8": {"tables": [table("states8", service_binds(), _every_state(), hops=8)]},
    "one": {"tables": [table("one", service_binds(), backends(1), hops=4)]},
    "two-of-four": {"tables": [table("two", service_binds(), backends(2), hops=4)]},
    "three": {"tables": [table("three", service_binds(), backends(3))]},
    "states": {"tables": [table("states", service_binds(), _every_state())]},
    "states4": {"tables": [table("states4", service_binds(), _every_state(), hops=4)]},
    "unhealthy": {
        "tables": [table("unhealthy", service_binds(), backends(5, healthy=False), hops=3)]
    },
    "no-binds": {"tables": [table("no-binds", [], backends(2))]},
    "empty": {"tables": []},
}


def _with_ipv6(document):
    """The document with proxies that have IPv6 addresses instead."""
    def address(text):
        return "fd00:{}:{}:{}::{}".format(*text.split("."))

    return {"tables": [{**one, "backends": [{**backend, "ip": address(backend["ip"])} for backend in one["backends"]]}
                       for one in document["tables"]]}


TABLES.update({f"{name} ipv6": _with_ipv6(document) for name, document in list(TABLES.items()) if document["tables"]})


def _config(**keys):
    return {
        "outbound_gateway_mac": "02:00:00:00:00:fe",
        "outbound_src_ip": "192.0.2.1",
        "outbound_src_ip6": "2001:db8:2::1",
        **keys,
    }


def _fields(names):
    return {name: True for name in names}


def hash_config(subset):
    """The name of the configuration that hashes the fields whose bits are set in `subset`."""
    return "hash " + "+".join(name for n, name in enumerate(FIELDS) if subset >> n & 1)


CONFIGS = {
    "default": _config(),
    "exception": _config(exception_path="tap"),
    "exception no echo": _config(
        exception_path="virtio-user", forward_icmp_ping_responses=False
    ),
    "no echo": _config(forward_icmp_ping_responses=False),
    **{
        hash_config(subset): _config(
            hash_fields=_fields(name for n, name in enumerate(FIELDS) if subset >> n & 1)
        )
        for subset in range(1, 16)
    },
    "false fields": _config(
        hash_fields={"src_addr": False, "dst_addr": True, "src_port": False, "dst_port": False}
    ),
    "alt ports": _config(
        hash_fields=_fields(["src_addr"]), alt_hash_fields=_fields(["src_addr", "src_port"])
    ),
    "alt address": _config(
        hash_fields=_fields(["src_addr"]), alt_hash_fields=_fields(["src_addr", "dst_addr"])
    ),
    "alt same": _config(
        hash_fields=_fields(["src_addr"]), alt_hash_fields=_fields(["src_addr"])
    ),
    "alt from ports": _config(
        hash_fields=_fields(FIELDS), alt_hash_fields=_fields(["src_addr"])
    ),
    "mtu 576": _config(outbound_mtu=576),
    "mtu 9216": _config(outbound_mtu=9216),
    "udp checksum": _config(outbound_udp_checksum=True),
    "udp checksum alt": _config(outbound_udp_checksum=True, alt_hash_fields=_fields(["src_addr", "src_port"])),
    "udp checksum answer 576": _config(outbound_udp_checksum=True, outbound_mtu=576, send_icmp_too_big=True),
    "answer": _config(send_icmp_too_big=True),
    "answer 576": _config(
        outbound_mtu=576, send_icmp_too_big=True, send_icmp_too_big_without_df=True
    ),
    "mtu 576 alt": _config(outbound_mtu=576, alt_hash_fields=_fields(["src_addr", "src_port"])),
    "answer 576 alt": _config(
        outbound_mtu=576,
        send_icmp_too_big=True,
        alt_hash_fields=_fields(["src_addr", "src_port"]),
    ),
    "answer 576 exception": _config(
        outbound_mtu=576, send_icmp_too_big=True, exception_path="tap"
    ),
}
