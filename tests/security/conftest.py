# SPDX-License-Identifier: BSD-3-Clause
import sys

from lab.net import Namespace, connect
from support.tree import TREE

# The programs' own tests start them and their peers.
sys.path += [str(TREE / "tests" / folder) for folder in ("announce", "fleet", "cli/bifurcate")]


class Host:
    """eth0 leads to a neighbour, which is the gateway."""

    def __init__(self):
        self.namespace, self.network = Namespace(), Namespace()
        connect(self.namespace, "eth0", self.network, "net0")
        self.namespace.ip("addr add 192.0.2.1/24 dev eth0", "addr add 203.0.113.10/32 dev lo", "addr add 203.0.113.241/32 dev lo")
        self.network.ip("addr add 192.0.2.10/24 dev net0")

    def close(self):
        self.namespace.close()
        self.network.close()
