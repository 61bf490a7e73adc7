# SPDX-License-Identifier: BSD-3-Clause
"""The installed units of the director, on a card."""

import json
import re
from pathlib import Path

from lab.tools import TIMEOUT_S
from support.director_conf import write_config
from support.director_process import VERDICTS, Telemetry
from support.guest import log, run, show, systemctl, wait

UNIT = "glb-director.service"
TABLE, SOURCE, CONF = Path("/var/lib/glb/forwarding_table.bin"), Path("/etc/glb/forwarding_table.json"), Path("/etc/glb/director.conf")
ENVIRONMENT = Path("/etc/default/glb-director")
TELEMETRY = "/run/dpdk/rte/dpdk_telemetry.v2"


class Service:
    def __init__(self, card):
        self.card = card
        self.cursor = ""

    def configure(self, config, lcores, eal=""):
        write_config(CONF, config)
        ENVIRONMENT.write_text(f'GLB_DIRECTOR_EAL_ARGS="-l {lcores} -a {self.card.address} {eal}"\n', encoding="ascii")

    def write_table(self, text):
        SOURCE.write_text(text, encoding="utf-8")
        run("glb-director-cli", "build-config", str(SOURCE), str(TABLE))

    def start(self, **config):
        """Starts the unit, or starts it again. systemd returns when the director can forward."""
        self.mark()
        systemctl("restart", UNIT)

    def mark(self):
        """log() shows what comes after this."""
        found = re.search(r"-- cursor: (.*)", run("journalctl", "--no-pager", "-n", "1", "--show-cursor").stdout)
        self.cursor = found[1] if found else ""

    def log(self):
        after = [f"--after-cursor={self.cursor}"] if self.cursor else []
        return run("journalctl", "--no-pager", "--output=cat", f"--unit={UNIT}", *after).stdout

    def wait_log(self, text):
        wait(lambda: text in self.log(), lambda: f"'{text}' in the log:\n{self.log()}")

    def stop(self):
        systemctl("stop", UNIT)

    def pid(self):
        return int(show(UNIT, "MainPID"))

    def ask(self, command):
        telemetry = Telemetry(TELEMETRY)
        try:
            return telemetry.ask(command)
        finally:
            telemetry.close()

    def stats(self):
        return self.ask("/glb/stats")

    def verdicts(self):
        found = self.stats()
        return {name: found[name] for name in VERDICTS}

    def health(self):
        done = run("glb-director-cli", "health", "--json", check=False)
        return json.loads(done.stdout)

    def queues(self):
        """How many packets each receive queue has received, by DPDK's own counters."""
        return self.ask("/ethdev/xstats,0")


__all__ = ["Service", "TIMEOUT_S", "UNIT", "log"]
