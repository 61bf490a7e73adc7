# SPDX-License-Identifier: BSD-3-Clause
"""docs/howto/roll-out.md: its commands, on three glb-fleet with stand-ins for their directors. After a change of what they print:
GLB_GOLDEN=write /usr/bin/python3 -m pytest tests/fleet/test_roll_out_page.py
"""

import json
import os
import subprocess

import pytest
from agent import PREFIX

from lab.tools import TIMEOUT_S, wait_until
from support.cli import CLI, backend, table
from support.pages import commands, marked
from support.rollout_text import ends, plain, story
from support.tree import TREE

PAGE = TREE / "docs/howto/roll-out.md"
LOOK, START, RESUME, STOPPED, ABORT, PLAN, JOB = marked("docs/howto/roll-out.md", "host")


def text(*numbers):
    return json.dumps({"tables": [table(hops=4, balance=1.02, backends=[backend(f"192.168.50.{number}") for number in numbers])]})


class Operator:
    """A shell whose glb-director-cli has the fleet.conf of lb1."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, command):
        """What a command prints, and its exit code."""
        own = f'glb-director-cli() {{ case $1 in plan) {CLI} "$@" ;; *) {CLI} "$@" --config lb1/fleet.conf ;; esac; }}\n'
        done = subprocess.run(["bash", "-c", own + command], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=4 * TIMEOUT_S, check=False)
        return done.stdout, done.returncode

    def walk(self, shown):
        """Runs the commands of a block, and compares what they print. Returns the exit codes."""
        codes, printed = [], []
        for command, lines in commands(shown):
            output, code = self.run(command)
            codes.append(code)
            printed.append("\n".join(["$ " + command, *output.splitlines()]) + "\n")
            if os.environ.get("GLB_GOLDEN") != "write":
                follows = command.split()[1:3] in (["rollout", "start"], ["rollout", "resume"], ["rollout", "abort"])
                same = (story, ends) if follows else (lambda all_lines: list(map(plain, all_lines)),)
                for part in same:
                    assert part(output.splitlines()) == part(lines), f"$ {command}\n{output}"
        if os.environ.get("GLB_GOLDEN") == "write":
            PAGE.write_text(PAGE.read_text().replace(shown, "".join(printed)))
        return codes


@pytest.fixture
def operator(folder):
    return Operator(folder)


@pytest.fixture
def agents(make_agent, etcd, operator):
    """Three directors that use the table of the page."""
    made = [make_agent(f"lb{i}").__enter__() for i in (1, 2, 3)]
    etcd.put(f"{PREFIX}/table", text(10, 11, 12, 13))
    wait_current(operator)
    return made


def wait_current(operator):
    wait_until(lambda: operator.run("glb-director-cli fleet")[0].count(" current ") == 3, lambda: operator.run("glb-director-cli fleet")[0])


def test_page(agents, operator, etcd):
    wanted = operator.folder / "wanted.json"
    wanted.write_text(text(11, 12, 13, 14))
    assert operator.walk(LOOK) == [0]
    assert operator.walk(START) == [1]
    assert operator.walk(RESUME) == [0]
    assert etcd.get(f"{PREFIX}/table") == wanted.read_text()
    refuse(agents[2], operator)
    wanted.write_text(text(13, 14, 15, 16))
    follow(operator, "start wanted.json", "paused")
    assert operator.walk(ABORT) == [0, 0]
    assert etcd.get(f"{PREFIX}/table") == text(12, 13, 14, 15)
    assert operator.run(f"etcdctl() {{ command etcdctl --endpoints {etcd.endpoints[0]} \"$@\"; }}\n" + PLAN.replace("$ ", "").replace("/glb/ams1", PREFIX))[1] == 0
    assert (operator.folder / "current.json").read_text() == text(12, 13, 14, 15) + "\n"
    output, code = operator.run(JOB.replace("$ ", "").replace(" --proxies proxies", "").replace("2h", "1s"))
    assert code == 0 and ends(output.splitlines())[-1][0] == "done", output
    assert etcd.get(f"{PREFIX}/table") == wanted.read_text()


def refuse(agent, operator):
    """The guard of the agent refuses the last step of the next roll-out, until somebody mends fleet.conf."""
    restart(agent, operator, max_shrink=10)
    (operator.folder / "next.json").write_text(text(12, 13, 14, 15))
    follow(operator, "start next.json --drained-after 1s", "stopped")
    assert operator.walk(STOPPED) == [0, 0]
    restart(agent, operator)
    follow(operator, "resume", "done")


def restart(agent, operator, **settings):
    agent.stop()
    agent.configure(**settings)
    agent.start()
    wait_current(operator)


def follow(operator, words, state):
    output, code = operator.run(f"glb-director-cli rollout {words}")
    assert (code, ends(output.splitlines())[-1][0]) == (int(state != "done"), state), output
