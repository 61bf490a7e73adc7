# SPDX-License-Identifier: BSD-3-Clause
"""What glb-announce prints about itself, and the errors about its configuration. It has no metrics."""

import json

import pytest
from announcer import Announcer, FakeDirector
from golden import check, errors_about_keys, reflowed, sections, shape

from lab.tools import wait_until
from support.folders import short_folder

@pytest.fixture
def announcer():
    with short_folder() as folder:
        made = Announcer(folder)
        made.environment["SUDO_USER"] = "alice"
        yield made
        made.__exit__()


def status(announcer, state, by, code):
    """Waits until all VIPs are in a state because of what a text names. Returns the text of `status`, and the documents."""
    def reached():
        vips = (announcer.folder / "status.json").exists() and announcer.status()["vips"]
        return vips and all(vip["state"] == state and by in vip["reason"] for vip in vips)

    wait_until(reached, lambda: f"{state}, {by}: {announcer.status()}\n{announcer.log}")
    text = announcer.call("status", code=code).stdout
    return reflowed(text), [json.loads(announcer.call("status", "--json", code=code).stdout), announcer.status()]


def test_outputs(announcer):
    texts, documents = {}, []
    with FakeDirector(announcer.folder) as director, announcer:
        for title, change, *expected in (
            ("announced", lambda: None, "announced", "good backend", 0),
            ("the director fails", director.fail, "withdrawn", "link_down", 1),
            ("an operator withdrew", lambda: announcer.call("withdraw", "--reason", "new memory"), "withdrawn", "alice", 1),
        ):
            change()
            texts[f"status: {title}"], more = status(announcer, *expected)
            documents += more
    check("glb-announce.output", sections({**texts, "status --json": shape(*documents)}))


@pytest.mark.parametrize("name", ["announce.conf", "driver.conf"])
def test_keys_of_configurations(announcer, name):
    def errors(text):
        (announcer.folder / name).write_text(text)
        return announcer.call("check", code=1).stderr.replace(f"{announcer.folder}/", "")

    check(f"{name}.errors", sections(errors_about_keys(errors)))
