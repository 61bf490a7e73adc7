# SPDX-License-Identifier: BSD-3-Clause
"""Compares what the director sent with what lookup predicted, and prints both within 80 columns."""

import sys
from dataclasses import dataclass

HEADER = f"{'':8}{'outer IPv4 and UDP':28}  {'GUE next/n hop':14}  inner packet"


@dataclass(frozen=True)
class Outer:
    """All that the director adds before a packet and that depends on the packet."""

    source: str
    source_port: int
    first_hop: str
    next_hop: int  # index of the hop that comes next
    later_hops: tuple

    def __str__(self):
        outer = f"{self.source}:{self.source_port} > {self.first_hop}"
        gue = " ".join([f"{self.next_hop}/{len(self.later_hops)}", *self.later_hops])
        return f"{outer:28}  {gue:14}"


@dataclass(frozen=True)
class Sent:
    """One packet that left the director, beside what was expected of it."""

    packet: object  # packet.Packet, as it came to the director
    outer: Outer
    predicted: Outer
    inner_unchanged: bool

    @property
    def equal(self):
        return self.outer == self.predicted and self.inner_unchanged


class Printer:
    """Colours only on a terminal."""

    def __init__(self, stream=sys.stdout):
        self.stream = stream
        self.colours = stream.isatty()

    def line(self, text=""):
        print(text.rstrip(), file=self.stream, flush=True)

    def colour(self, number, text):
        return f"\033[{number}m{text}\033[0m" if self.colours else text

    def verdict(self, equal):
        return self.colour(32, "equal") if equal else self.colour("1;31", "WRONG")

    def title(self, text):
        self.line(self.colour(1, text))


def print_flow(printer, flow, found, sents):
    """A flow: what lookup found for it, then each packet of it that was sent."""
    printer.title(f"{flow}, row {found['row']}")
    printer.line(f" lookup {sents[0].predicted}")
    printer.line(f"        {found['hops'][0]['reason']}")
    for sent in sents:
        packet = sent.packet
        inner = f"v{packet.family} {packet.size:4} {packet.summary}"
        printer.line(f"   sent {sent.outer}  {inner:20} {printer.verdict(sent.equal)}")
        if sent.outer != sent.predicted:
            printer.line(f"   not  {sent.predicted}")
        if not sent.inner_unchanged:
            printer.line("        the inner packet is not the one that the director received")


def summary(sents):
    equal = sum(sent.equal for sent in sents)
    return f"demo: {len(sents)} packets forwarded, {equal} of {len(sents)} as lookup predicted"
