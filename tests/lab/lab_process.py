# SPDX-License-Identifier: BSD-3-Clause
"""Runs lab/lab, and finds what a lab left behind."""

import glob
import os
import re
import subprocess
import uuid

from lab.tools import TIMEOUT_S, wait_until
from support.tree import BUILD, TREE

LAB, DEMO = str(TREE / "lab/lab"), str(TREE / "script/demo")
MARK = "GLB_LAB_TEST"  # environment variable of a lab and of all its processes
END_S = 5  # limit for the end of killed processes; less than the duration of a scenario or the demo


def new_mark():
    return str(uuid.uuid4())


NAME = os.environ.get("GLB_TEST_LAB") or new_mark()  # of labs without --name. script/test sets it, and ends the lab of a leg that it ends


def environment(mark=""):
    return {**os.environ, "GLB_BUILD": str(BUILD), "GLB_LAB_NAME": NAME, MARK: mark}


def lab(*arguments, mark="", timeout=2 * TIMEOUT_S):
    return subprocess.run([LAB, *arguments], env=environment(mark), capture_output=True, text=True, timeout=timeout)


def start(command, mark):
    return subprocess.Popen(
        command, env=environment(mark), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def words(lines):
    """The part of the output that is the same in each run. ECMP decides which proxy answers, or that none does."""
    text = " ".join(re.sub(r"[\d.]+", "N", line) for line in lines)
    return re.sub(r"(proxy-N|no answer)( (proxy-N|no answer))*", "ANSWERS", re.sub(r" +", " ", text))


def started_by(mark):
    """{pid: command line} of the processes whose environment has the mark."""
    found = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/environ") as environ, open(f"/proc/{process}/cmdline") as cmdline:
                if f"{MARK}={mark}" in environ.read().split("\0"):
                    found[int(process)] = cmdline.read().replace("\0", " ")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass  # the process has ended, or belongs to another user
    return found


def left_behind():
    """Namespaces, links, mounts and files with a lab's names that are visible outside a capsule."""
    listed = [subprocess.run(command, capture_output=True, text=True, check=True).stdout
              for command in (["ip", "netns", "list"], ["ip", "link", "show"], ["findmnt", "-rno", "SOURCE,TARGET"])]
    everything = "\n".join([*listed, *glob.glob("/run/*")])
    return re.findall(r"to-director|proxy-\d|^capsule|/run/lab|/run/hosts", everything, re.MULTILINE)


def wait_for_process(mark, word):
    """Waits for processes with the mark and with the word in their command line. Returns their pids."""
    return wait_until(lambda: [pid for pid, command in started_by(mark).items() if word in command], word)


def assert_nothing_left(mark):
    wait_until(lambda: not started_by(mark), lambda: f"the end of {started_by(mark)}", END_S)
    assert left_behind() == []
