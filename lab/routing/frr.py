# SPDX-License-Identifier: BSD-3-Clause
"""FRR on a director and on the router, as docs/howto/bgp.md configures it. The page shows these configurations for director-1."""

import json
import os
import re
import signal
import subprocess

from lab.tools import LabError, read, wait_until
from lab.topology import VIP4, VIP6

DRIVER = "frr.conf"
FOLDER = "/usr/lib/frr"
TOOLS = ("vtysh", f"{FOLDER}/zebra", f"{FOLDER}/bgpd", f"{FOLDER}/bfdd")
MOUNTS = """
mkdir -p /run/frr
for each in /etc/frr /run/frr; do mount -t tmpfs frr $each; chown frr:frr $each; done
touch /etc/frr/vtysh.conf
"""
GRACEFUL_OFF = " bgp graceful-restart-disable\n"
BFD = """\
bfd
 profile vips
  detect-multiplier 4
  receive-interval 200
  transmit-interval 200
"""
FILTERS = """\
ip prefix-list vips permit 203.0.113.10/32
ipv6 prefix-list vips permit 2001:db8:f::10/128
route-map vips permit 10
 match ip address prefix-list vips
route-map vips permit 20
 match ipv6 address prefix-list vips
route-map nothing deny 10
"""
DIRECTOR = "frr defaults datacenter\n" + BFD + FILTERS + """\
router bgp 65001
 bgp router-id {address4}
""" + GRACEFUL_OFF + """\
 no bgp network import-check
 neighbor upstream peer-group
 neighbor upstream remote-as 65000
 neighbor upstream bfd profile vips
 neighbor upstream ttl-security hops 1
 neighbor upstream timers connect 1
 neighbor {gateway} peer-group upstream
 neighbor {gateway6} peer-group upstream
 address-family ipv4 unicast
  no neighbor {gateway6} activate
  neighbor upstream route-map nothing in
  neighbor upstream route-map vips out
 address-family ipv6 unicast
  neighbor {gateway6} activate
  neighbor upstream route-map nothing in
  neighbor upstream route-map vips out
"""
ROUTER = "frr defaults datacenter\n" + BFD + FILTERS + """\
router bgp 65000
 bgp router-id 198.51.100.1
""" + GRACEFUL_OFF + """\
 neighbor director peer-group
 neighbor director remote-as 65001
 neighbor director bfd profile vips
 neighbor director ttl-security hops 1
 neighbor director timers connect 1
{neighbors} address-family ipv4 unicast
  maximum-paths 16
  neighbor director maximum-prefix 16
  neighbor director route-map vips in
  neighbor director route-map nothing out
{families4} address-family ipv6 unicast
  maximum-paths 16
  neighbor director maximum-prefix 16
  neighbor director route-map vips in
  neighbor director route-map nothing out
{families6}"""


def for_links(text, links):
    """Makes sessions over IPv6 have the routes of both families, if the links have only IPv6 addresses."""
    if not any(link.only_ipv6 for link in links):
        return text
    text = text.replace("  no neighbor ", "  neighbor ")
    return re.sub(r"( neighbor (?:upstream|director)) remote-as .*\n", r"\g<0>\1 capability extended-nexthop\n", text)


def director_conf(link):
    return for_links(DIRECTOR.format(address4=link.address4, gateway=link.gateway, gateway6=link.gateway6), [link])


def router_conf(links):
    def lines(form):
        return "".join(form.format(address=link.address, address6=link.address6) for link in links)

    return for_links(ROUTER.format(
        neighbors=lines(" neighbor {address} peer-group director\n neighbor {address6} peer-group director\n"),
        families4=lines("  no neighbor {address6} activate\n"), families6=lines("  neighbor {address6} activate\n")), links)


class Daemon:
    """FRR with its files in the usual places, which are mounts of this host, so that vtysh needs no options."""

    def __init__(self, host, conf):
        self.host = host
        host.run("sh", "-ec", MOUNTS)
        self.log = f"/run/lab/frr-{host.name}.log"
        self.conf, self.processes, self.fresh = conf, [], True
        self.start("zebra", "--v6-rr-semantics")  # otherwise it deletes an IPv6 route before it adds the changed one

    def start(self, name, *options):
        with open(self.log, "a") as log:
            self.processes.append(self.host.start(
                f"{FOLDER}/{name}", "-A", "127.0.0.1", *options, "--log", "stdout", stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def wait_sockets(self, *names):
        wait_until(lambda: all(self.host.run("test", "-S", f"/run/frr/{name}", check=False).returncode == 0 for name in names),
                   lambda: f"FRR on {self.host.name}:\n{read(self.log)}")

    def wait_ready(self):
        if self.fresh:
            self.configure(self.conf)

    def check(self):
        if any(process.poll() is not None for process in self.processes):
            raise LabError(f"FRR on {self.host.name} stopped:\n{read(self.log)}")

    def configure(self, conf):
        """Adds what is new in `conf`. FRR refuses to turn graceful restart off when it is off."""
        if self.fresh:
            self.wait_sockets("zserv.api")  # the others try again only after seconds
            self.start("bfdd")
            self.start("bgpd")
            self.wait_sockets("zebra.vty", "bfdd.vty", "bgpd.vty")
            self.fresh = False
        else:
            conf = conf.replace(GRACEFUL_OFF, "")
        self.host.run("tee", "/etc/frr/frr.conf", input=conf)
        self.host.run("vtysh", "-b")

    def bfd_up(self):
        """The number of BFD sessions that are up."""
        self.check()
        return sum(peer["status"] == "up" for peer in json.loads(self.host.run("vtysh", "-c", "show bfd peers json").stdout or "[]"))

    def kill(self):
        for process in self.processes:
            os.kill(process.pid, signal.SIGKILL)


assert VIP4 in DIRECTOR and VIP6 in DIRECTOR
