# SPDX-License-Identifier: BSD-3-Clause
"""The whole load balancer: network, directors, proxies, and the changes that operators make."""

import ipaddress
from pathlib import Path

from lab import proxy as proxy_module
from lab.director import Director
from lab.etcd import Agent, Cluster
from lab.healthcheck import Healthcheck
from lab.monitor import Monitor, check_monitor
from lab.proxy import Proxy
from lab.routing.announce import AnnouncedRoutes
from lab.routing.bgp import BgpRoutes
from lab.table import Table
from lab.tools import BUILD, check_programs, wait_until
from lab.topology import Network, StaticRoutes


class Fleet:
    """Can only be made in a capsule."""

    def __init__(self, shape):
        self.shape = shape
        self.build = Path(shape.previous) if shape.previous else BUILD  # of the programs on new hosts
        for build in {BUILD, self.build}:
            check_programs(shape, build)
        if shape.metrics:
            check_monitor()
        self.network = Network(shape)
        self.directors, self.proxies = {}, {}
        self.table = Table(hops=shape.hops, balance=shape.balance)
        self.routes = self._routes(shape, self.network.router)
        self.retired = []  # last counters of stopped directors
        self.monitor = self.etcd = None
        self.agents = {}  # glb-fleet by director

    @staticmethod
    def _routes(shape, router):
        if shape.announce:
            return AnnouncedRoutes(router, shape.announce)
        return (BgpRoutes if shape.bgp else StaticRoutes)(router)

    @property
    def client(self):
        return self.network.client

    def up(self):
        """Starts all programs at the same time, and waits for them."""
        proxy_module.make_download()
        if self.shape.etcd:
            self.etcd = Cluster(self.network)
        proxies = [self.start_proxy() for _ in range(self.shape.proxies)]
        for proxy in proxies:
            self.table = self.table.with_backend(proxy.address)
        directors = [self.start_director() for _ in range(self.shape.directors)]
        for each in [*proxies, *directors]:
            each.wait_ready()
        self.start_healthchecks(directors)
        for director in directors:
            self.routes.announce(director)
        self.routes.wait_ready()
        self._start_agents()
        self._start_monitor()
        return self

    def _start_agents(self):
        """Gives the table that all directors use to etcd, and starts a glb-fleet on each director."""
        if not self.etcd:
            return
        self.etcd.wait_ready()
        self.etcd.put("table", self.table.json())
        self.agents = {name: Agent(director) for name, director in self.directors.items()}

        def revisions():
            return [each["table"]["revision"] for each in self.etcd.directors().values()]

        wait_until(lambda: sum(map(bool, revisions())) == len(self.agents), lambda: f"the table of etcd on all directors: {revisions()}")

    def _start_monitor(self):
        if self.shape.metrics:
            self.monitor = Monitor(self.network)
            self.monitor.start(self.directors.values(), self.proxies.values(), self.shape.healthcheck)
            self.monitor.wait_ready()

    def hosts(self):
        return {host.name: host for host in (
            self.network.client, self.network.router,
            *(each.host for each in [*self.directors.values(), *self.proxies.values(), *([self.monitor] if self.monitor else []), *(self.etcd.members if self.etcd else [])]))}

    def start_proxy(self):
        """Starts a proxy that is in no table yet."""
        proxy = Proxy(self.network, self.shape.proxy_link(len(self.proxies) + 1), self.build, self.shape.haproxy)
        self.proxies[proxy.name] = proxy
        proxy.start()
        return proxy

    def start_director(self):
        """Starts a director with the current table, but without a route to it."""
        director = Director(self.network, self.shape.director_link(len(self.directors) + 1), self.shape, self.build)
        self.directors[director.name] = director
        director.write_table(self.table)
        director.start()
        return director

    def start_healthchecks(self, directors):
        """Starts a glb-healthcheck for each director. The directors must run, as SIGHUP ends one that is still starting."""
        if not self.shape.healthcheck:
            return
        for director in directors:
            director.healthcheck = Healthcheck(director)
            director.healthcheck.start(self.table)
        for director in directors:
            director.healthcheck.wait_ready()

    def healthchecks(self):
        return [director.healthcheck for director in self.running() if director.healthcheck]

    def add_proxy(self, state="active"):
        proxy = self.start_proxy()
        proxy.wait_ready()
        self.publish(self.table.with_backend(proxy.address, state))
        return proxy

    def add_director(self):
        director = self.start_director()
        director.wait_ready()
        self.start_healthchecks([director])
        self.routes.add(director)
        return director

    def stop_director(self, name):
        """Withdraws a director's route and then stops it, as for maintenance."""
        director = self.directors[name]
        self.routes.withdraw(director)
        self.retired.append(director.stop())

    def publish(self, table):
        """Publishes a table to all directors, one after the other, and then to proxies that read it."""
        self.table = table
        for director in self.running():
            director.publish(table)
        for proxy in self.proxies.values():
            proxy.learn(table)

    def change(self, name, **values):
        """Publishes a table with another state= of a proxy, or healthy= if no health checks set it."""
        self.publish(self.table.changed(self.proxies[name].address, **values))

    def running(self):
        return [director for director in self.directors.values() if director.running()]

    def proxy_at(self, address):
        """The name of the proxy with an address."""
        wanted = str(ipaddress.ip_address(address))
        return next(name for name, proxy in self.proxies.items() if proxy.address == wanted)

    def owner(self, client, port, vip, vip_port):
        """The name of the proxy that gets a new connection, by the table of the first director."""
        return self.proxy_at(self.running()[0].hops(client, port, vip, vip_port)[0])

    def redirect_totals(self):
        """{proxy: counters of glb-redirect}"""
        return {name: proxy.stats() for name, proxy in self.proxies.items()}
