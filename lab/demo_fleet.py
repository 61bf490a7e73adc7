# SPDX-License-Identifier: BSD-3-Clause
"""The demo of a roll-out: a proxy is replaced on all directors through etcd, and one director refuses the last step."""

import json
import subprocess
import time

from lab.demo import Demo
from lab.fleet import Fleet
from lab.stage import Result, Stage
from lab.tools import COMMAND, program, wait_until, write
from lab.topology import ETCD_MEMBERS, Shape

OLD, NEW = "proxy-1", "proxy-4"
OPERATOR = "director-1"  # the host on which the operator works
STRICT = "director-3"  # its glb-fleet has a guard that refuses the last step
GUARD = "max_shrink = 20;\n"
PAUSED_OR_STOPPED = 1  # exit code of `rollout`
CLI = "glb-director-cli"

KEPT = f"""\
The lab is still up. Try:

  {COMMAND} exec {OPERATOR} {CLI} fleet --config fleet.conf
  {COMMAND} exec {OPERATOR} {CLI} rollout history --config fleet.conf
  {COMMAND} exec {STRICT} glb-fleet status --config-file fleet.conf
  {COMMAND} status
  {COMMAND} down
"""


class FleetDemo(Demo):
    kept = KEPT

    def up(self):
        self.introduce(3, 4)
        start = time.monotonic()
        self.fleet = Fleet(Shape(directors=3, proxies=3, healthcheck=True, etcd=True, **self.shape)).up()
        self.fleet.start_proxy().wait_ready()
        strict = self.fleet.agents[STRICT]
        strict.configure(GUARD)
        strict.restart()
        self.voice.step(f"Up in {time.monotonic() - start:.1f} s: {len(self.fleet.hosts())} hosts, of which {ETCD_MEMBERS} run etcd")
        self.voice.say("   glb-fleet on each director takes the table from etcd; glb-healthcheck uses it\n"
                       f"   {NEW} is not in the table yet")
        self.stage = Stage(self.fleet, Result("demo", __doc__), lambda text: self.check(False, text))

    # Commands, as an operator runs them

    def command(self, name, *words):
        return self.fleet.directors[OPERATOR].host.command(program(CLI), name, *words, "--config", "fleet.conf")

    def operator(self, *words, code=0):
        """Runs a command in the folder of the operator's director, and prints each line when it comes."""
        self.voice.say(f"   $ {CLI} {' '.join(words)} --config fleet.conf")
        with subprocess.Popen(self.command(*words), cwd=self.fleet.directors[OPERATOR].folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as process:
            for line in process.stdout:
                self.voice.say(f"   {line.rstrip()}")
        if process.returncode != code:
            self.check(False, f"{words[0]}: exit code {process.returncode}, not {code}")

    def directors(self):
        """The list of the fleet; empty while etcd does not reply."""
        done = subprocess.run(self.command("fleet", "--json"), cwd=self.fleet.directors[OPERATOR].folder, capture_output=True, text=True, check=False)
        return json.loads(done.stdout)["directors"] if done.returncode == 0 else []

    def wait_good(self):
        """Waits until all directors are healthy and use the table in etcd."""
        def good():
            return [each["standing"] == "current" and each["healthy"] for each in self.directors()] == [True] * len(self.fleet.directors)

        wait_until(good, lambda: f"all directors to be current and healthy: {self.directors()}")

    # The story

    def look(self):
        self.voice.step(f"The operator works on {OPERATOR}. Look at the fleet")
        self.wait_good()
        self.operator("fleet")

    def start(self):
        self.voice.step(f"Replace {OLD} by {NEW}")
        wanted = self.fleet.table.without(self.fleet.proxies[OLD].address).with_backend(self.fleet.proxies[NEW].address)
        write(f"{self.fleet.directors[OPERATOR].folder}/wanted.json", wanted.json())
        self.operator("rollout", "start", "wanted.json", code=PAUSED_OR_STOPPED)
        new = self.stage.new_connections("switched", at_least=100)
        self.check(OLD not in new and new.get(NEW, 0) > 0,
                   f"{new.get(NEW, 0)} of {sum(new.values())} new connections reach {NEW}, {new.get(OLD, 0)} reach {OLD}")
        held = self.stage.load.report()["held_by_proxy"].get(OLD, 0)
        self.check(held > 0, f"{held} long-lived connections to {OLD} continue")

    def drain(self):
        self.voice.step(f"The clients of {OLD} end their connections. Prove it on {OLD}")
        ended = self.stage.load.finish(OLD)
        self.voice.say("   # glb-redirect drained --wait 1m")
        done = self.fleet.proxies[OLD].host.run(program("glb-redirect"), "drained", "--wait", "1m", check=False)
        for line in done.stdout.splitlines():
            self.voice.say(f"   {line}")
        self.check(done.returncode == 0, f"{ended} connections have ended, and none is left")

    def refuse(self):
        self.voice.step(f"Go on. {STRICT} refuses the last step, because somebody has set `{GUARD.strip()}` there")
        self.operator("rollout", "resume", code=PAUSED_OR_STOPPED)
        self.operator("fleet")
        before = self.stage.load.report()["exchanges"]
        self.stage.settle(1)
        report = self.stage.load.report()
        broken = len(report["held_broken"]) + len(report["short_broken"])
        self.check(broken == 0 and report["exchanges"] > before,
                   f"all directors forward: {report['exchanges'] - before} answers since then, {broken} connections broken")

    def mend(self):
        self.voice.step(f"Mend fleet.conf on {STRICT}, restart its glb-fleet, and go on")
        strict = self.fleet.agents[STRICT]
        strict.configure()
        strict.restart()
        self.wait_good()
        self.operator("rollout", "resume")
        self.operator("rollout", "history")
        standing = [each["standing"] for each in self.directors()]
        self.check(standing == ["current"] * len(self.fleet.directors), f"{len(standing)} directors use the new table")
        new = self.stage.new_connections("done", at_least=100)
        self.check(OLD not in new and NEW in new, f"{sum(new.values())} new connections, all answered by {', '.join(sorted(new))}")

    def play(self):
        self.up()
        self.long_lived()
        self.look()
        self.start()
        self.drain()
        self.refuse()
        self.mend()
