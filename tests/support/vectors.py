# SPDX-License-Identifier: BSD-3-Clause
"""The golden vectors; tests/vectors/README.md describes them."""

import collections
import json

from support.tree import TREE

FOLDER = TREE / "tests/vectors"
GUE = json.loads((FOLDER / "gue.json").read_text())
PACKETS = json.loads((FOLDER / "packets.json").read_text())


def packet_groups():
    """{(config, table): packets}. At most 50 packets of a group get a too-big reply, which is the burst of a source prefix."""
    groups = collections.defaultdict(list)
    for packet in PACKETS["packets"]:
        groups[packet["config"], packet["table"]].append(packet)
    return groups
