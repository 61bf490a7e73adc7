# SPDX-License-Identifier: BSD-3-Clause
"""script/chaos with something that it must report as a fault: the environment variable CHAOS_SABOTAGE names it."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.chaos import command  # noqa: E402
from lab.director import Director  # noqa: E402
from lab.fleet import Fleet  # noqa: E402
from lab.tools import read, write  # noqa: E402

DROP = """\
table netdev sabotage {
	chain in {
		type filter hook ingress device "to-proxy-2" priority -10;
		udp dport 19523 drop
	}
}
"""


def steering():
    """One director hashes other fields than the model knows."""
    begin = Director.__init__

    def begin_wrong(self, *arguments):
        begin(self, *arguments)
        if self.name == "director-2":
            write(self.conf, read(self.conf).replace("src_port = true", "src_port = false"))

    Director.__init__ = begin_wrong


def forwarding():
    """One proxy counts packets as passed on, and they are lost before anybody else counts them."""
    up = Fleet.up

    def up_wrong(self):
        up(self)
        self.network.router.run("nft", "-f", "-", input=DROP)
        return self

    Fleet.up = up_wrong


{"steering": steering, "forwarding": forwarding}[os.environ["CHAOS_SABOTAGE"]]()
sys.exit(command.main())
