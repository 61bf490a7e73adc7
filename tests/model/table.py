# SPDX-License-Identifier: BSD-3-Clause
"""Forwarding tables: the JSON (docs/reference/table-json.md) and the rows (docs/reference/table-rows.md).

The model does not check the JSON, because glb-director-cli does. Addresses are bytes in network order: 4 for IPv4, 16 for IPv6.
"""

import ipaddress
import math
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal, localcontext
from functools import lru_cache
from itertools import repeat

from .quic import QuicConfig
from .siphash import siphash24, siphash24_many

ROWS = 65536
PROTOCOLS = {"tcp": 6, "udp": 17}


@dataclass(frozen=True)
class Bind:
    """A bind: prefix, protocol, and first and last port."""

    network: bytes
    prefix_length: int
    protocol: int
    port_start: int
    port_end: int
    quic: bool = False

    @classmethod
    def from_json(cls, bind):
        network = ipaddress.ip_network(bind["ip"], strict=False)  # without host bits
        return cls(
            network.network_address.packed,
            network.prefixlen,
            PROTOCOLS[bind["proto"]],
            bind.get("port_start", bind.get("port")),
            bind.get("port_end", bind.get("port")),
            bool(bind.get("quic")),
        )

    def covers(self, address):
        if len(address) != len(self.network):
            return False
        host_bits = 8 * len(address) - self.prefix_length
        difference = int.from_bytes(address, "big") ^ int.from_bytes(self.network, "big")
        return difference >> host_bits == 0

    def matches(self, address, protocol, port):
        in_range = self.port_start <= port <= self.port_end
        return self.protocol == protocol and in_range and self.covers(address)


def server_ids_of(backend):
    """The server IDs of an object in JSON, the shortest first."""
    ids = backend.get("server_id") or []
    return tuple(sorted(map(bytes.fromhex, [ids] if isinstance(ids, str) else ids), key=len))


@dataclass(frozen=True)
class Backend:
    address: bytes
    state: str = "active"
    healthy: bool = True
    weight: int = 100
    server_ids: tuple = ()  # of bytes

    def __hash__(self):
        return hash(self.address)

    @classmethod
    def from_json(cls, backend):
        address = ipaddress.ip_address(backend["ip"]).packed
        return cls(address, backend["state"], backend.get("healthy", True), backend.get("weight", 100), server_ids_of(backend))

    @property
    def good(self):
        return self.state in ("active", "filling") and self.healthy


@dataclass(frozen=True)
class State:
    """Who could be the first hop of a row: now, or in a previous state."""

    balance: Decimal  # None: no limit
    weights: dict  # of each address, in the order in which they are listed
    time: int = 0  # seconds since 1970; 0: now
    unhealthy: frozenset = frozenset()  # addresses
    server_ids: dict = field(default_factory=dict)  # of each address

    @classmethod
    def from_json(cls, previous):
        balance = previous.get("balance")
        backends = {ipaddress.ip_address(backend["ip"]).packed: backend for backend in previous["backends"] or []}
        weights = {address: backend.get("weight") or 100 for address, backend in backends.items()}
        unhealthy = frozenset(address for address, backend in backends.items() if backend.get("healthy") is False)
        time = datetime.fromisoformat(previous.get("time", "1970-01-01T00:00:00Z").replace("Z", "+00:00"))
        server_ids = {address: server_ids_of(backend) for address, backend in backends.items()}
        return cls(balance and Decimal(str(balance)), weights, int(time.timestamp()), unhealthy, server_ids)


def order_hops(natural, hops, holders=()):
    """The hops of a row (docs/reference/table-rows.md#hops).

    `natural` are its backends in natural order. `holders` are the holders of the row in each state, the present one first; None:
    none that can be a hop. Without balance and previous states it is empty.
    """
    good = [backend for backend in natural if backend.good]
    healthy = [backend for backend in natural if backend.healthy]
    matched = [backend for backend in holders[:1] if backend and backend.healthy]
    first = (matched or good or healthy or natural)[0]
    if not holders:
        return [first, *(backend for backend in natural[: hops + 1] if backend is not first)][:hops]
    held = [backend for backend in holders if backend]
    order = list(dict.fromkeys([first, *living_first(held), *living_first(natural)]))[:hops]
    return order[:1] + living_first(order[1:])


def living_first(backends):
    """Healthy ones, then the others, each in their order."""
    return [backend for backend in backends if backend.healthy] + [backend for backend in backends if not backend.healthy]


@lru_cache(1)
def all_row_seeds(seed):
    return siphash24_many(seed, [row.to_bytes(4, "big") for row in range(ROWS)])


def label(seed, address):
    """What a score hashes behind the row seed: an IPv4 address, or 7 bytes of the digest of an IPv6 address."""
    return address if len(address) == 4 else siphash24(seed, address)[1:]


@lru_cache(16)  # tests compare tables that share most of their backends
def all_scores(seed, address):
    """The score of a backend in each row."""
    backend = label(seed, address)
    return siphash24_many(seed, [row_seed + backend for row_seed in all_row_seeds(seed)])


def _knots():
    """L(i) of table-rows.md."""
    with localcontext() as context:
        context.prec = 60
        return [int((Decimal(256 + i) / 256).ln() / Decimal(2).ln() * 2**40) for i in range(257)]


KNOTS = _knots()


def weighted_key(score, weight):
    """The key of a backend, from its score, 8 bytes (docs/reference/table-rows.md#natural-order)."""
    x = max(2**64 - 1 - int.from_bytes(score, "big"), 1)
    zeros = 64 - x.bit_length()
    m = x << zeros
    i, r = (m >> 55) - 256, (m >> 24) % 2**31
    exponential = ((zeros + 1) << 40) - KNOTS[i] - ((KNOTS[i + 1] - KNOTS[i]) * r >> 31)
    return exponential // weight


@lru_cache(16)  # states share their natural orders
def natural_orders(seed, weights):
    """The addresses of each row in natural order. `weights`: (address, weight) of each backend."""
    addresses = [address for address, _ in weights]
    if not addresses:
        return [[]] * ROWS
    return [[addresses[i] for i in sorted(range(len(addresses)), key=ranks.__getitem__)] for ranks in zip(*ranks_of(seed, weights))]


def ranks_of(seed, weights):
    """What sorts each of these backends in each row."""
    if len({weight for _, weight in weights}) == 1:  # then scores and keys have the same order
        return [all_scores(seed, address) for address, _ in weights]
    return [all_ranks(seed, address, weight) for address, weight in weights]


@lru_cache(256)  # tables that differ in their hops share it, and so do the previous states of tables that follow each other
def match_rows(seed, balance, weights):
    """The address to which each row is matched (docs/reference/table-rows.md#matching): all free rows propose in turns.

    `weights`: (address, weight) of each backend. A tuple of addresses; None: there is no address.
    """
    if not weights:
        return (None,) * ROWS
    orders = natural_orders(seed, weights)
    if not balance:
        return tuple(order[0] for order in orders)
    total = sum(weight for _, weight in weights)
    scores = {address: all_scores(seed, address) for address, _ in weights}
    caps = {address: math.ceil(balance * ROWS * weight / total) for address, weight in weights}
    held = {address: [] for address, _ in weights}
    tried, free = [0] * ROWS, range(ROWS)
    while free:
        for row in free:
            held[orders[row][tried[row]]].append(row)
            tried[row] += 1
        free = []
        for address, rows in held.items():
            rows.sort(key=lambda row: (scores[address][row], row))
            free += rows[caps[address]:]
            del rows[caps[address]:]
    matched = [None] * ROWS
    for address, rows in held.items():
        for row in rows:
            matched[row] = address
    return tuple(matched)


def hold_rows(seed, state):
    """The address that was the first hop of each row in a previous state (docs/reference/table-rows.md#holders); None: none."""
    return living_holders(seed, state.balance, tuple(state.weights.items()), state.unhealthy)


@lru_cache(64)
def living_holders(seed, balance, weights, unhealthy):
    held, ranks = list(match_rows(seed, balance, weights)), ranks_of(seed, weights)
    healthy = [i for i, (address, _) in enumerate(weights) if address not in unhealthy]
    for row, address in enumerate(held):
        if address in unhealthy:
            held[row] = weights[min(healthy, key=lambda i, row=row: ranks[i][row])][0] if healthy else None
    return held


@lru_cache(64)
def all_ranks(seed, address, weight):
    """What sorts a backend in each row, among backends with other weights."""
    return [(weighted_key(score, weight), score) for score in all_scores(seed, address)]


@dataclass
class Table:
    """A table that computes rows on demand.

    A table from a binary file has all its rows, but no seed.
    """

    name: str
    hash_key: bytes
    seed: bytes
    hops: int
    binds: list
    backends: list
    _rows: dict = field(default_factory=dict, repr=False)
    balance: Decimal = None
    previous: list = field(default_factory=list)  # of State, newest first
    _holders: list = field(default_factory=list, repr=False)
    quic: list = field(default_factory=list)  # of QuicConfig

    @classmethod
    def from_json(cls, table):
        return cls(
            table.get("name") or "",
            bytes.fromhex(table["hash_key"]),
            bytes.fromhex(table["seed"]),
            table.get("hops", 2),
            [Bind.from_json(bind) for bind in table["binds"] or []],
            [Backend.from_json(backend) for backend in table["backends"]],
            balance=State.from_json({"balance": table.get("balance"), "backends": []}).balance,
            previous=[State.from_json(previous) for previous in table.get("previous") or []],
            quic=[QuicConfig.of(config) for config in table.get("quic") or []],
        )

    @property
    def serving(self):
        """The backends that can be in rows."""
        return [backend for backend in self.backends if backend.state != "inactive"]

    def holder_addresses(self):
        """The address of the holder of each row, for each state, now and in the previous ones; None: none. Empty if that changes no hop."""
        if not self._holders and (self.balance or self.previous):
            taking = {backend.address: backend.weight for backend in self.backends if backend.state in ("active", "filling")}
            listed = {backend.address: backend.weight for backend in self.serving}
            mentions = list(dict.fromkeys(pair for weights in (listed, *(state.weights for state in self.previous)) for pair in weights.items()))
            self._holders.append(match_rows(self.seed, self.balance, tuple(taking.items())))
            for state in self.previous:  # equal scores keep the order of the first mentions
                weights = dict(sorted(state.weights.items(), key=mentions.index))
                self._holders.append(hold_rows(self.seed, replace(state, weights=weights)))
        return self._holders

    def holders(self, row):
        """The holders of a row, now and in the previous states; None: none that can be a hop. Empty if that changes no hop."""
        serving = {backend.address: backend for backend in self.serving}
        return [serving.get(addresses[row]) for addresses in self.holder_addresses()]

    def natural_order(self, row):
        row_seed = siphash24(self.seed, row.to_bytes(4, "big"))

        def rank(backend):
            score = siphash24(self.seed, row_seed + label(self.seed, backend.address))
            return weighted_key(score, backend.weight), score

        return sorted(self.serving, key=rank)

    def row(self, row):
        """The backends of a row, first hop first."""
        if row not in self._rows:
            self._rows[row] = order_hops(self.natural_order(row), self.hops, self.holders(row))
        return self._rows[row]

    def each_row(self):
        """Yields all rows in order. Hashes many messages per call, so a table takes well under a second."""
        serving = {backend.address: backend for backend in self.serving}
        orders = natural_orders(self.seed, tuple((backend.address, backend.weight) for backend in self.serving))
        made = {}  # rows with the same order and holders have the same hops
        for case in zip(map(tuple, orders), zip(*self.holder_addresses()) if self.holder_addresses() else repeat(())):
            if case not in made:
                order, holders = case
                made[case] = order_hops([serving[address] for address in order], self.hops, list(map(serving.get, holders)))
            yield made[case]

    def all_rows(self):
        if len(self._rows) < ROWS:
            self._rows.update(enumerate(self.each_row()))
        return [self._rows[row] for row in range(ROWS)]


def load_tables(document):
    """The tables of a JSON document from json.load()."""
    return [Table.from_json(table) for table in document["tables"] or []]
