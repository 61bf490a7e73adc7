# SPDX-License-Identifier: BSD-3-Clause
"""What doctor and glb-redirect check say about a healthy host, and about each fault of a host, a fleet and a proxy that their tests plant."""

import contextlib
import os
import re

import pytest
import test_cli_doctor
import test_cli_fleet
import test_preflight
from golden import check, once, sections

from support.tree import REDIRECT


def text(findings):
    return "\n".join(f"{each['level']} {each['check']}: {each['object']}: {each['text']}" + (f" [{each['command']}]" if each["command"] else "")
                     for each in findings)


def test_doctor(tmp_path):
    found = {}

    def note(title, plant):
        root = tmp_path / str(len(found))
        host = test_cli_doctor.Host(root)
        plant(host)
        wrong = host.doctor()
        shown = wrong if found else host.report["findings"]
        lines = text(shown).replace(str(root), "")
        # The first depends on the user, the second on the version.
        lines = re.sub(r"(?m)^(\w+ privileges: ).*", r"\1...", lines)
        found[title] = re.sub(r"(glb-director-cli) \d[\d.]*", r"\1 VERSION", lines)

    note("a healthy host", lambda host: None)
    for fault in test_cli_doctor.FAULTS:
        note(fault.name, fault.plant)
    check("doctor.findings", sections(found))


def test_fleet():
    found = {}
    for name, (pages, *_) in test_cli_fleet.FAULTS.items():
        with contextlib.ExitStack() as stack:
            lines = [": ".join(each) for each in test_cli_fleet.Fleet(stack).pages(*pages)]
        # The ports are of the machine, and so is the order of hosts.
        found[name] = once(re.sub(r"127\.0\.0\.1:\d+", "HOST", "\n".join(lines)))
    check("fleet.findings", sections(found))


@pytest.mark.skipif(os.getuid() != 0, reason="network namespaces need root")
def test_proxy(tmp_path):
    found = {}
    healthy = test_preflight.Fault("a healthy proxy", "true", "ok", "", "", "")
    for fault in [healthy, *test_preflight.FAULTS]:
        folder = tmp_path / str(len(found))
        folder.mkdir()
        with contextlib.ExitStack() as stack:
            proxy = test_preflight.Proxy(str(REDIRECT), stack, folder)
            wrong = test_preflight.plant(proxy, fault)
            lines = text(wrong if found else proxy.report["findings"]).replace(str(folder), "FOLDER")
        # These depend on the kernel.
        lines = re.sub(r"(?m)^(ok (?:kernel|transmit|interface): ).*", r"\1...", lines)
        found[fault.name] = re.sub(r"\bid \d+", "id #", lines)
    check("proxy.findings", sections(found))
