# SPDX-License-Identifier: BSD-3-Clause
"""Runs lab/lab, and finds what it may have left behind."""

import glob
import os
import re
import subprocess
import uuid

from lab.tools import wait_until
from support.tree import BUILD, TREE

LAB, DEMO = str(TREE / "lab/lab"), str(TREE / "script/demo")
MARK = "GLB_LAB_TEST"  # in the environment of a lab and all that it starts
UP_S = 60  # until a lab runs
END_S = 5  # until what was killed is gone; less than a scenario or the demo takes


def environment(mark=""):
    return {**os.environ, "GLB_BUILD": str(BUILD), MARK: mark}


def lab(*arguments, mark="", timeout=200):
    return subprocess.run([LAB, *arguments], env=environment(mark), capture_output=True, text=True, timeout=timeout)


def start(command, mark):
    return subprocess.Popen(
        command, env=environment(mark), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def new_mark():
    return str(uuid.uuid4())


def started_by(mark):
    """{pid: command line} of the processes whose environment has the mark."""
    found = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/environ") as environ, open(f"/proc/{process}/cmdline") as cmdline:
                if f"{MARK}={mark}" in environ.read().split("\0"):
                    found[int(process)] = cmdline.read().replace("\0", " ")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass  # ended meanwhile, or not ours
    return found


def left_behind():
    """A lab's names for its namespaces, links, mounts and files, where they are to be seen outside its capsule."""
    listed = [subprocess.run(command, capture_output=True, text=True, check=True).stdout
              for command in (["ip", "netns", "list"], ["ip", "link", "show"], ["findmnt", "-rno", "SOURCE,TARGET"])]
    everything = "\n".join([*listed, *glob.glob("/run/*")])
    return re.findall(r"to-director|proxy-\d|^capsule|/run/lab|/run/hosts", everything, re.MULTILINE)


def wait_for_process(mark, word):
    """The pids of processes that have the mark, and the word in their command line, once there are some."""
    return wait_until(lambda: [pid for pid, command in started_by(mark).items() if word in command], word, UP_S)


def assert_nothing_left(mark):
    wait_until(lambda: not started_by(mark), lambda: f"the end of {started_by(mark)}", END_S)
    assert left_behind() == []
