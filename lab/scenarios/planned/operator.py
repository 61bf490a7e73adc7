# SPDX-License-Identifier: BSD-3-Clause
"""What operators run: `glb-director-cli edit` on the host of each director, which reaches the metrics of the proxies."""

from lab.proxy import EXPORTER_PORT
from lab.tools import endpoint, program, write

HOSTS = "/run/lab/proxies.txt"  # the file of --proxies
REFUSED = 3  # exit code of edit


def start_exporters(fleet):
    for proxy in fleet.proxies.values():
        proxy.start_exporter()
    write(HOSTS, "".join(endpoint(proxy.address, EXPORTER_PORT) + "\n" for proxy in fleet.proxies.values()))


def edit(director, *words, **options):
    return director.host.run(
        program("glb-director-cli"), "edit", director.source, *words, f"--build={director.table}", "--reload", "--file-prefix", director.name, **options)


def edit_all(fleet, *words):
    for director in fleet.running():
        edit(director, *words)
