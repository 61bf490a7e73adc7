# SPDX-License-Identifier: BSD-3-Clause
"""BIRD on a director and on the router, as docs/howto/bgp.md configures it. The page shows these configurations for director-1."""

import re
import signal
import subprocess

from lab.routing.bgp import numbered
from lab.tools import LabError, read, wait_until
from lab.topology import VIP4, VIP6

DRIVER = "bird.conf"
TOOLS = ("bird", "birdc")
BFD = "interval 200 ms; multiplier 4;"
DIRECTOR = """\
router id {address4};
protocol device {{ }}
protocol bfd {{ interface "eth0" {{ """ + BFD + """ }}; }}

# One for each VIP. glb-announce enables and disables them.
protocol static glb_203_0_113_10 {{ disabled; ipv4; route 203.0.113.10/32 blackhole; }}
protocol static glb_2001_db8_f__10 {{ disabled; ipv6; route 2001:db8:f::10/128 blackhole; }}

template bgp upstream {{
	local as 65001;
	bfd on;
	ttl security on;
	graceful restart off;
	hold time 9; keepalive time 3;
	connect delay time 1; connect retry time 5; error wait time 1, 5;
}}
protocol bgp upstream4 from upstream {{
	neighbor {gateway} as 65000;
	ipv4 {{ import none; export where source = RTS_STATIC; next hop self; }};
}}
protocol bgp upstream6 from upstream {{
	neighbor {gateway6} as 65000;
	ipv6 {{ import none; export where source = RTS_STATIC; next hop self; }};
}}
"""
ROUTER = """\
router id 198.51.100.1;
protocol device {{ }}
protocol bfd {{ interface "to-director-*" {{ """ + BFD + """ }}; }}
protocol kernel {{ merge paths on limit 16; ipv4 {{ import none; export where source = RTS_BGP; }}; }}
protocol kernel {{ merge paths on limit 16; ipv6 {{ import none; export where source = RTS_BGP; }}; }}

template bgp director {{
	local as 65000;
	bfd on;
	ttl security on;
	graceful restart off;
	hold time 9; keepalive time 3;
	connect delay time 1; connect retry time 5; error wait time 1, 5;
}}
{neighbors}"""
NEIGHBOR = """\
protocol bgp {name}_4 from director {{
	neighbor {address} as 65001;
	ipv4 {{ import where net = 203.0.113.10/32; import limit 16 action block; export none; }};
}}
protocol bgp {name}_6 from director {{
	neighbor {address6} as 65001;
	ipv6 {{ import where net = 2001:db8:f::10/128; import limit 16 action block; export none; }};
}}
"""


def for_link(text, link):
    """Makes one session with the routes of both families of the two sessions in `text`, if the link has only IPv6 addresses."""
    if not link.only_ipv6:
        return text
    text = re.sub(r"\}\nprotocol bgp \S+6 from .*\n\tneighbor .*\n", "", text)
    return text.replace("ipv4 { ", "ipv4 { extended next hop on; ")


def director_conf(link):
    return for_link(DIRECTOR.format(address4=link.address4, gateway=link.gateway, gateway6=link.gateway6), link)


def router_conf(links):
    return ROUTER.format(neighbors="".join(
        for_link(NEIGHBOR.format(name=numbered(link.name), address=link.address, address6=link.address6), link) for link in links))


class Daemon:
    """BIRD with its files in the usual places, which are mounts of this host, so that birdc needs no options."""

    def __init__(self, host, conf):
        self.host = host
        host.run("sh", "-ec", "for each in /etc/bird /run/bird; do mkdir -p $each; mount -t tmpfs bird $each; done")
        self.write(conf)
        self.log = f"/run/lab/bird-{host.name}.log"
        with open(self.log, "w") as log:
            self.process = host.start("bird", "-f", stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def write(self, conf):
        self.host.run("tee", "/etc/bird/bird.conf", input=conf)

    def check(self):
        if self.process.poll() is not None:
            raise LabError(f"BIRD on {self.host.name} stopped:\n{read(self.log)}")

    def wait_ready(self):
        self.check()

    def configure(self, conf):
        wait_until(lambda: self.host.run("birdc", "show", "status", check=False).returncode == 0, f"BIRD on {self.host.name}")
        self.write(conf)
        self.host.run("birdc", "configure")

    def bfd_up(self):
        """The number of BFD sessions that are up."""
        self.check()
        return len(re.findall(r"^\S+ +\S+ +Up ", self.host.run("birdc", "show", "bfd", "sessions", check=False).stdout, re.MULTILINE))

    def kill(self):
        self.process.send_signal(signal.SIGKILL)


assert VIP4 in DIRECTOR and VIP6 in DIRECTOR
