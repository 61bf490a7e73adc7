# SPDX-License-Identifier: BSD-3-Clause
"""BGP routes instead of static ones: BIRD 2 on each director's host announces the VIPs, and BIRD on the router merges them.

BFD detects within 0.8 s that a host is gone. BGP alone would need its hold time.
"""

import os
import re
import signal
import subprocess

from lab.tools import LabError, read, wait_until, write
from lab.topology import VIP4, VIP6

TIMERS = """\
	bfd on;
	hold time 9; keepalive time 3;
	connect delay time 1; connect retry time 1; error wait time 1, 2;
"""
LOG = """\
log stderr all;
debug protocols {{ states }};
"""
BFD = """\
protocol device {{ scan time 10; }}
protocol bfd {{ interface "{interface}" {{ interval 200 ms; multiplier 4; }}; }}
"""
ROUTER = """\
router id {address};
""" + LOG + BFD + """\
protocol kernel {{ merge paths on; ipv4 {{ import none; export where source = RTS_BGP; }}; }}
protocol kernel {{ merge paths on; ipv6 {{ import none; export where source = RTS_BGP; }}; }}
template bgp director {{
	local as 65000;
""" + TIMERS + """\
	ipv4 {{ extended next hop on; import where net = {vip4}/32; export none; }};
	ipv6 {{ import where net = {vip6}/128; export none; }};
}}
{neighbors}
"""
NEIGHBOR = "protocol bgp {name} from director {{ neighbor {address} as 65001; }}"
# A "blackhole" route is announced, but it is not in the kernel of this host.
DIRECTOR = """\
router id {address4};
""" + LOG + BFD + """\
protocol static {{ ipv4; route {vip4}/32 blackhole; }}
protocol static {{ ipv6; route {vip6}/128 blackhole; }}
protocol bgp uplink {{
	local as 65001;
	neighbor {gateway} as 65000;
""" + TIMERS + """\
	ipv4 {{ extended next hop on; import none; export where source = RTS_STATIC; next hop self; }};
	ipv6 {{ import none; export filter {{ bgp_next_hop = {address6}; accept; }}; }};
}}
"""


def numbered(name):
    """The name without the characters that BIRD does not accept."""
    return name.replace("-", "_")


class Bird:
    def __init__(self, host, conf):
        folder = f"/run/lab/bird-{host.name}"
        os.makedirs(folder, exist_ok=True)
        self.conf, self.control, self.log = f"{folder}/bird.conf", f"{folder}/bird.ctl", f"{folder}/bird.log"
        self.host = host
        write(self.conf, conf)
        with open(self.log, "w") as log:
            self.process = host.start(
                "bird", "-f", "-c", self.conf, "-s", self.control, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def check(self):
        if self.process.poll() is not None:
            raise LabError(f"BIRD on {self.host.name} stopped:\n{read(self.log)}")

    def configure(self, conf):
        write(self.conf, conf)

        def done():
            self.check()
            return subprocess.run(
                ["birdc", "-s", self.control, "configure"], capture_output=True).returncode == 0

        wait_until(done, f"BIRD on {self.host.name} to take its configuration")

    def changes(self, session):
        """How often the state of a BGP session has changed."""
        return sum(f"{session}: State changed to" in line for line in read(self.log).splitlines())

    def is_established(self, session):
        shown = subprocess.run(["birdc", "-s", self.control, "show", "protocols", session], capture_output=True, text=True).stdout
        return shown.rstrip().endswith("Established")

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)


class BgpRoutes:
    """Has the methods of topology.StaticRoutes."""

    def __init__(self, router):
        self.router = router
        self.directors = []
        self.birds = {}
        self.bird = Bird(router, self._conf())

    def _conf(self):
        neighbors = "\n".join(
            NEIGHBOR.format(name=numbered(each.name), address=each.link.address) for each in self.directors)
        return ROUTER.format(
            address="198.51.100.1", interface="to-director-*", vip4=VIP4, vip6=VIP6, neighbors=neighbors)

    def announce(self, director):
        """Returns at once; wait_ready() waits for the routes."""
        link = director.link
        conf = DIRECTOR.format(
            address4=link.address4, address6=link.address6, gateway=link.gateway, interface=director.interface, vip4=VIP4, vip6=VIP6)
        self.birds[director.name] = Bird(director.host, conf)
        self.directors.append(director)
        self.bird.configure(self._conf())

    def add(self, director):
        self.announce(director)
        self.wait_ready()

    def withdraw(self, director):
        self.directors.remove(director)
        self.birds.pop(director.name).stop()
        self.wait_ready()

    def fail(self, director, how):
        """Sends a signal to the director's BIRD. The router is not told: BGP or BFD must detect it."""
        self.directors.remove(director)
        self.birds.pop(director.name).stop(how)

    def wait_ready(self):
        """Waits until the router's kernel has routes to the VIPs through exactly the directors that announce them."""
        def settled():
            for bird in [self.bird, *self.birds.values()]:
                bird.check()
            wanted = {each.link.device for each in self.directors}
            return all(set(re.findall(r"dev (\S+)", self.router.run("ip", family, "route", "show", vip).stdout)) == wanted
                       for family, vip in (("-4", VIP4), ("-6", VIP6)))

        wait_until(settled, "the BGP routes")
