# SPDX-License-Identifier: BSD-3-Clause
"""Makes events happen. begin_KIND() and, for events that last, end_KIND() do what plan.py decided, and note the facts for the judge."""

import os
import signal
import subprocess
import sys
import time

from lab import quic
from lab.chaos.judge import EVERYWHERE, Fact
from lab.chaos.plan import DISK_MB
from lab.scenarios.packets import syn_flood
from lab.tools import LabError, cli, program, read, wait_until
from lab.topology import QUIC_PORT, VIPS
from lab.wire import Cable, ip_packet

BURN = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end:\n    pass\n"
UDP, CLOCK_SPARE_S, FLOOD_SOURCES = 17, 10, 2000


def method(kind):
    return kind.replace(" ", "_").lower()


class Events:
    def __init__(self, fleet, links, ledger, other=None):
        self.fleet, self.links, self.ledger, self.other = fleet, links, ledger, other
        self.facts, self._open = [], {}  # facts that have ended; (event, kind, subject): start
        self.down = set()  # what does not run, because of an event: (part, host)
        self.published = [fleet.table]
        self._running = {}  # event: process
        self._frames = None

    def do(self, step):
        getattr(self, f"{'begin' if step.begins else 'end'}_{method(step.event.kind)}")(step.event)

    # Facts

    def _begin(self, event, subject, *kinds):
        for kind in kinds:
            self._open[event.number, kind, subject] = time.monotonic()

    def _end(self, event):
        now = time.monotonic()
        for key in [key for key in self._open if key[0] == event.number]:
            self.facts.append(Fact(key[1], key[2], self._open.pop(key), now))

    def all_facts(self):
        now = time.monotonic()
        return self.facts + [Fact(kind, subject, start, now) for (_, kind, subject), start in self._open.items()]

    # Directors

    def _director(self, event):
        return self.fleet.directors[event.subject]

    def begin_kill_director(self, event):
        director = self._director(event)
        self._begin(event, director.name, "away")
        self.down.add(("director", director.name))
        before, stats = self.ledger.before(director.name), director.stats()
        director.kill()
        self.ledger.director_ended(director.name, before, stats)
        time.sleep(event.detail["withdrawn_after"])
        self.fleet.routes.withdraw(director)
        self._end(event)

    def end_kill_director(self, event):
        director = self._director(event)
        director.start()
        director.wait_ready()
        self.fleet.routes.add(director)
        self.down.discard(("director", director.name))

    def begin_stop_director(self, event):
        director = self._director(event)
        self.down.add(("director", director.name))
        self.fleet.routes.withdraw(director)
        before = self.ledger.before(director.name)
        self.ledger.director_ended(director.name, before, director.stop())

    end_stop_director = end_kill_director

    def begin_freeze_director(self, event):
        self._begin(event, event.subject, "away")
        self._director(event).process.send_signal(signal.SIGSTOP)

    def end_freeze_director(self, event):
        self._director(event).process.send_signal(signal.SIGCONT)
        self._end(event)

    def begin_reload_storm(self, event):
        for _ in range(event.detail["signals"]):
            self._director(event).process.send_signal(signal.SIGHUP)
            time.sleep(0.005)

    def begin_corrupt_table(self, event):
        """As a clumsy copy does it: in place. The director must refuse it, or glb-healthcheck has built it again."""
        director = self._director(event)
        with open(director.table, "rb") as file:
            data = file.read()
        damaged = {
            "empty": b"", "truncated": data[: len(data) // 2], "text": b"\xff" * 4096,
            "flipped": data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]}[event.detail["damage"]]
        with open(director.table, "r+b") as file:
            file.truncate(0)
            file.write(damaged)
        try:
            director.reload()
        except LabError:
            pass
        # build-config does not replace what may be somebody's text, unless it is told so.
        self._build_again(director, *["--force"] * (event.detail["damage"] == "text"))

    @staticmethod
    def _build_again(director, *options):
        def built():
            try:
                cli("build-config", *options, director.source, director.table, build=director.build)
                director.reload()
                return True
            except LabError:
                return False  # glb-healthcheck has the lock, or the disk is full

        wait_until(built, f"{director.name} to have its table again")

    def begin_cut_director(self, event):
        self._begin(event, event.subject, "away")
        self.links.cut(event.subject)

    def end_cut_director(self, event):
        self.links.mend(event.subject)
        self._end(event)

    def begin_other_version(self, event):
        self._change_version(event, self.other)

    def end_other_version(self, event):
        self._change_version(event, self.fleet.build)

    def _change_version(self, event, build):
        director = self._director(event)
        self.begin_stop_director(event)
        director.build = build
        self.end_stop_director(event)
        for part in (director.healthcheck, self.fleet.agents[director.name]):
            if part.process.poll() is None:
                part.kill()
                part.start()

    # Programs beside a director

    def begin_kill_checks(self, event):
        self.down.add(("checks", event.subject))
        self._director(event).healthcheck.kill()

    def end_kill_checks(self, event):
        self._director(event).healthcheck.start()
        self.down.discard(("checks", event.subject))

    def begin_kill_agent(self, event):
        self.down.add(("agent", event.subject))
        self.fleet.agents[event.subject].kill()

    def end_kill_agent(self, event):
        self.fleet.agents[event.subject].start()
        self.down.discard(("agent", event.subject))

    def begin_step_clock_of_checks(self, event):
        self._step(self._director(event).healthcheck, event)

    def end_step_clock_of_checks(self, event):
        self._step_back(self._director(event).healthcheck)

    def begin_step_clock_of_agent(self, event):
        self._step(self.fleet.agents[event.subject], event)

    def end_step_clock_of_agent(self, event):
        self._step_back(self.fleet.agents[event.subject])

    @staticmethod
    def _step(part, event):
        """The program starts again where the monotonic clock shows another time, as after a reboot."""
        seconds = max(event.detail["seconds"], CLOCK_SPARE_S - int(time.clock_gettime(time.CLOCK_BOOTTIME)))
        part.kill()
        part.before = ("unshare", "--time", "--fork", "--kill-child=KILL", f"--monotonic={seconds}", f"--boottime={seconds}")
        part.start()

    @staticmethod
    def _step_back(part):
        part.before = ()
        part.kill()
        part.start()

    def begin_cut_agent(self, event):
        self.fleet.etcd.cut(self._director(event))

    def end_cut_agent(self, event):
        self.fleet.etcd.mend(self._director(event))

    def begin_fill_disk(self, event):
        """No file of the director's host can grow."""
        folder = self._director(event).folder

        def full():
            now = os.statvfs(folder)
            used = (now.f_blocks - now.f_bfree) * now.f_frsize
            return self._resize(folder, f"{used // 1024}k").returncode == 0

        wait_until(full, f"{folder} to be full")

    def end_fill_disk(self, event):
        self._resize(self._director(event).folder, f"{DISK_MB}m")

    @staticmethod
    def _resize(folder, size):
        return subprocess.run(["mount", "-o", f"remount,size={size}", folder], capture_output=True, check=False)

    # Proxies

    def _proxy(self, event):
        return self.fleet.proxies[event.subject]

    def begin_cut_proxy(self, event):
        self._begin(event, event.subject, "away")
        self.links.cut(event.subject)

    end_cut_proxy = end_cut_director

    def begin_crash_proxy(self, event):
        self._begin(event, event.subject, "away", "dead", "off")
        self.down |= {("nginx", event.subject), ("echo", event.subject)}
        self.links.cut(event.subject)
        self._proxy(event).lose_connections()

    def end_crash_proxy(self, event):
        self._proxy(event).start_services()
        self.links.mend(event.subject)
        self._end(event)
        self.down -= {("nginx", event.subject), ("echo", event.subject)}

    def begin_stop_nginx(self, event):
        self._begin(event, event.subject, "off")
        self.down.add(("nginx", event.subject))
        self._proxy(event).stop_nginx()

    def end_stop_nginx(self, event):
        self._proxy(event).start_nginx()
        self._wait_listening(self._proxy(event))
        self._end(event)
        self.down.discard(("nginx", event.subject))

    @staticmethod
    def _wait_listening(proxy):
        wait_until(lambda: len(proxy.host.run("ss", "-tlnH", "sport = :80").stdout.splitlines()) >= 2, f"nginx on {proxy.name}")

    def begin_kill_service(self, event):
        self._begin(event, event.subject, "dead", "off")
        self.down.add(("echo", event.subject))
        self._proxy(event).echo.kill()
        self._proxy(event).echo.wait()

    def end_kill_service(self, event):
        proxy = self._proxy(event)
        proxy.start_echo()
        proxy.wait_echo()
        self._end(event)
        self.down.discard(("echo", event.subject))

    def begin_fail_checks(self, event):
        self._proxy(event).pass_checks(False)

    def end_fail_checks(self, event):
        self._proxy(event).pass_checks(True)

    def begin_kill_loader(self, event):
        """glb-redirect is attached again, and dies in the middle. Packets must pass on as before."""
        proxy = self._proxy(event)
        before, old = self.ledger.before(proxy.name), proxy.stats()
        loader = proxy.host.start(program("glb-redirect", proxy.build), "attach", "eth0", "--config-file", proxy.redirect_conf,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(event.detail["after_ms"] / 1000)
        loader.kill()
        loader.wait()
        proxy.stats()
        proxy.attach()
        self.ledger.proxy_replaced(proxy.name, before, old, proxy.stats())

    def begin_other_redirect(self, event):
        self._change_redirect(event, self.other)

    def end_other_redirect(self, event):
        self._change_redirect(event, self.fleet.build)

    def _change_redirect(self, event, build):
        proxy = self._proxy(event)
        before, old = self.ledger.before(proxy.name), proxy.stats()
        proxy.build = build
        proxy.attach()
        self.ledger.proxy_replaced(proxy.name, before, old, proxy.stats(), other=True)

    def begin_impair_link(self, event):
        self._begin(event, event.subject, "hurt")
        self.links.impair(event.subject, event.detail["how"], event.detail["percent"])

    def end_impair_link(self, event):
        self.links.repair(event.subject, event.detail["how"])
        self._end(event)

    # etcd

    def _member(self, event):
        return next(each for each in self.fleet.etcd.members if each.name == event.subject)

    def begin_kill_etcd(self, event):
        self.down.add(("etcd", event.subject))
        self._member(event).kill()

    def end_kill_etcd(self, event):
        self._member(event).start()
        self.down.discard(("etcd", event.subject))

    def begin_cut_etcd(self, event):
        self.links.cut(event.subject)

    def end_cut_etcd(self, event):
        self.links.mend(event.subject)

    # The operator

    def publish(self, table):
        self.fleet.table = table
        self.published.append(table)
        self.fleet.etcd.put("table", table.json())
        for proxy in self.fleet.proxies.values():
            proxy.learn(table)

    def begin_operator(self, event):
        name, verb, table = event.detail["proxy"], event.detail["verb"], self.fleet.table
        if verb == "add":
            self._add(name)
            return
        address = self.fleet.proxies[name].address
        if verb == "remove":
            self.publish(table.without(address))
        else:
            values = {"weigh": {"weight": event.detail.get("weight")}, "drain": {"state": "draining"}, "undrain": {"state": "active"}}[verb]
            self.publish(table.changed(address, **values))

    def _add(self, name):
        if name not in self.fleet.proxies:
            proxy = self.fleet.start_proxy()
            proxy.wait_ready()
            self.links.add(proxy.host, proxy.link)
        proxy = self.fleet.proxies[name]
        self.publish(self.fleet.table.with_backend(proxy.address, **self.members_of(name)))
        if proxy.quic and self.fleet.table.members.get("quic"):
            directors = self.fleet.running()
            wait_until(lambda: any(proxy.address in read(each.source) for each in directors), f"the table with {name}")
            source = next(each.source for each in directors if proxy.address in read(each.source))
            proxy.quic.configure(source, proxy.address, quic.CONFIG["id"])

    def members_of(self, name):
        return {"server_id": quic.server_id(name)} if self.fleet.shape.quic else {}

    def begin_table_storm(self, event):
        table = self.fleet.table
        address = self.fleet.proxies[event.detail["proxy"]].address
        for number in range(event.detail["tables"]):
            other = table.changed(address, weight=50 + 10 * number)
            self.published.append(other)
            self.fleet.etcd.put("table", other.json())
        self.publish(table)

    def begin_corrupt_value(self, event):
        text = self.fleet.table.json()
        self.fleet.etcd.put("table", {
            "empty": "", "truncated": text[: len(text) // 2], "no table": '{"tables": []}', "a list": "[]",
            "no proxy": self.fleet.table.emptied().json()}[event.detail["value"]])

    def end_corrupt_value(self, event):
        self.fleet.etcd.put("table", self.fleet.table.json())

    # Load

    def begin_syn_flood(self, event):
        if not self._frames:
            self._frames = syn_flood.frames(Cable(self.fleet.network), FLOOD_SOURCES)
        self._flood(event, self._frames)

    def begin_udp_flood(self, event):
        """Datagrams to the port of HTTP/3, most of which name no server."""
        ethernet = Cable(self.fleet.network).ethernet
        lines = []
        for number in range(FLOOD_SOURCES):
            for vip in VIPS:
                data = bytes([0x40]) + number.to_bytes(20, "big")
                head = (1024 + number).to_bytes(2, "big") + QUIC_PORT.to_bytes(2, "big") + (8 + len(data)).to_bytes(2, "big") + bytes(2)
                packet = ip_packet(syn_flood.source(vip, number), vip, UDP, head + data)
                lines.append((ethernet + (b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd") + packet).hex())
        self._flood(event, "\n".join(lines))

    def _flood(self, event, lines):
        self._begin(event, EVERYWHERE, "hurt")
        rate = event.detail["per_second"]
        self._running[event.number] = syn_flood.Flood(self.fleet.client, lines, int(rate * event.length), rate).process

    def end_syn_flood(self, event):
        process = self._running.pop(event.number)
        process.kill()
        process.wait()
        self._end(event)

    end_udp_flood = end_syn_flood

    def begin_busy_cpu(self, event):
        code = BURN.format(event.length)
        self._running[event.number] = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(event.detail["processes"])]

    def end_busy_cpu(self, event):
        for process in self._running.pop(event.number):
            process.kill()
            process.wait()
