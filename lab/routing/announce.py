# SPDX-License-Identifier: BSD-3-Clause
"""glb-announce on each director announces the VIPs through BIRD or FRR, and a router with the same daemon merges the routes."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

from lab.routing import bird, frr
from lab.tools import INSTALLED, TIMEOUT_S, TREE, LabError, check_tools, program, read, wait_until, write
from lab.topology import VIP4, VIP6

DRIVERS = Path("/etc/glb/announce.d") if INSTALLED else TREE / "config/announce.d"
DAEMONS = {"bird": bird, "frr": frr}
# Shorter than the defaults, so that scenarios are short. fail is the default.
CONF = """\
driver = "{driver}";
file_prefix = "{name}";
status_file = "{folder}/announce.json";
switch_file = "{folder}/withdrawn.json";
interval_ms = 100;
timeout_ms = 300;
rise = 2;
fall = 2;
hold_ms = 500;
reassert_ms = 1000;
withdraw_ms = 500;
"""


class Announcer:
    """A glb-announce on a director's host. Its unit starts it after the director, and stops it before."""

    def __init__(self, director, module):
        self.director, self.host = director, director.host
        self.conf, self.status_file, self.log = (
            f"{director.folder}/{name}" for name in ("announce.conf", "announce.json", "announce.log"))
        write(self.conf, CONF.format(driver=DRIVERS / module.DRIVER, name=director.name, folder=director.folder))
        self.process = None
        self.start()

    def start(self):
        with open(self.log, "a") as log:
            self.process = self.host.start(
                program("glb-announce", self.director.build), "run", "--config-file", self.conf,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def check(self):
        if self.process.poll() is not None:
            raise LabError(f"glb-announce on {self.director.name} stopped:\n{read(self.log)}")

    def tell(self, command):
        """`withdraw` or `announce`, as an operator."""
        return self.host.run(program("glb-announce", self.director.build), command, "--config-file", self.conf).stdout

    def vips(self):
        """{prefix: state}"""
        self.check()
        status = json.loads(read(self.status_file)) if os.path.exists(self.status_file) else {"vips": []}
        return {each["prefix"]: each["state"] for each in status["vips"]}

    def stop(self):
        """Returns when it has withdrawn the VIPs and waited for the routers."""
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(TIMEOUT_S) != 0:
            raise LabError(f"glb-announce on {self.director.name} ended with exit code {self.process.returncode}:\n{read(self.log)}")


class AnnouncedRoutes:
    """Has the methods of topology.StaticRoutes."""

    def __init__(self, router, name):
        self.module = DAEMONS[name]
        check_tools(self.module.TOOLS)
        self.router, self.links = router, []
        self.daemon = self.module.Daemon(router, self.module.router_conf([]))
        self.daemons, self.announcers = {}, {}

    def announce(self, director):
        """Starts a routing daemon and glb-announce for a new director. Returns at once; wait_ready() waits for the routes."""
        self.links.append(director.link)
        self.daemons[director.name] = self.module.Daemon(director.host, self.module.director_conf(director.link))
        self.announcers[director.name] = Announcer(director, self.module)

    def add(self, director):
        if director.name in self.announcers:
            self.announcers[director.name].start()
        else:
            self.announce(director)
            self._configure()
        self.wait_for(*set.union(*self.used()), director.name)
        self._wait_bfd()

    def withdraw(self, director):
        """Stops glb-announce, as systemd does before it stops the director."""
        self.announcers[director.name].stop()
        self.wait_for(*(set.union(*self.used()) - {director.name}))

    def used(self):
        """For each VIP the names of the directors that the router's kernel uses."""
        routes = [self.router.run("ip", family, "route", "show", vip).stdout for family, vip in (("-4", VIP4), ("-6", VIP6))]
        return [set(re.findall(r"dev to-(\S+)", route)) for route in routes]

    def wait_for(self, *names):
        """Waits until the router's kernel uses exactly these directors for both VIPs."""
        def settled():
            self.daemon.check()
            return self.used() == [set(names)] * 2

        wait_until(settled, lambda: f"routes through {sorted(names)}; the router uses {self.used()}")

    def wait_ready(self):
        """Waits for the routes of all directors that run."""
        self._configure()
        self.wait_for(*self.announcers)
        self._wait_bfd()

    def _wait_bfd(self):
        """BGP does not wait for BFD. A path that is lost before BFD is up is noticed after the hold time only."""
        each_has = [1 if link.only_ipv6 else 2 for link in self.links]
        wait_until(lambda: self.daemon.bfd_up() == sum(each_has) and
                   all(each.bfd_up() == each_has[0] for each in self.daemons.values()), "the BFD sessions")

    def _configure(self):
        """Configures the router's neighbors, and waits until all routing daemons have read their configurations."""
        self.daemon.configure(self.module.router_conf(self.links))
        for each in self.daemons.values():
            each.wait_ready()
