# SPDX-License-Identifier: BSD-3-Clause
"""What glb-director-cli doctor says about a healthy host, and about each fault of a host and of a fleet that its tests plant."""

import contextlib
import re

import test_cli_doctor
import test_cli_fleet
from golden import check, once, sections


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
