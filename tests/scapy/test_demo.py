# SPDX-License-Identifier: BSD-3-Clause
"""script/demo: what it prints, that it notices a wrong packet, and that it leaves nothing behind."""

import glob
import io
import os
import re
import signal
import subprocess
import sys
import time
import uuid

import pytest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GLB_BUILD", os.path.join(TREE, "build"))
sys.path.insert(0, TREE)

from lab import demo  # noqa: E402
from lab.packet import inner_of, read_pcap, write_pcap  # noqa: E402
from lab.report import Printer, summary  # noqa: E402

MARK = "GLB_DEMO_TEST"  # in the environment of the demo and all that it starts
PATIENCE_S = 30

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


def start(mark, *arguments):
    environment = {**os.environ, "GLB_BUILD": BUILD, MARK: mark}
    return subprocess.Popen(
        [os.path.join(TREE, "script/demo"), *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True)


def started_by(mark):
    """The commands of the processes whose environment has the mark."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/environ") as environ, open(f"/proc/{process}/cmdline") as cmdline:
                if f"{MARK}={mark}" in environ.read().split("\0"):
                    found.append(cmdline.read().replace("\0", " "))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass  # ended meanwhile, or not ours
    return found


def left_behind():
    """The demo's names for its namespaces, links, mounts and files, where they are to be seen outside its capsule."""
    listed = [subprocess.run(command, capture_output=True, text=True, check=True).stdout
              for command in (["ip", "netns", "list"], ["ip", "link", "show"], ["findmnt", "-rno", "SOURCE,TARGET"])]
    everything = "\n".join([*listed, *glob.glob("/run/*")])
    return re.findall(r"to-director|proxy-\d|^capsule|/run/lab", everything, re.MULTILINE)


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """(standard output, folder with what was kept) of one whole run"""
    kept, mark = tmp_path_factory.mktemp("kept"), str(uuid.uuid4())
    process = start(mark, "--keep", str(kept))
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert started_by(mark) == [] == left_behind()
    return output, kept


def test_last_line_counts_packets_that_are_all_as_predicted(shown):
    counted = re.fullmatch(r"demo: (\d+) packets forwarded, (\d+) of (\d+) as lookup predicted", shown[0].splitlines()[-1])
    assert counted and len(set(counted.groups())) == 1
    lines = [line for line in shown[0].splitlines() if line.startswith("   sent ")]
    assert len(lines) == int(counted[1]) >= 100
    assert all(line.endswith(" equal") for line in lines)


def test_fits_a_terminal_and_has_no_colours_off_it(shown):
    assert "\033" not in shown[0]
    assert max(map(len, shown[0].splitlines())) <= 80


def test_shows_both_families_and_every_kind_of_packet(shown):
    for kind in ("v4 .* echo", "v6 .* echo", "v4 .* SYN", "v6 .* SYN", "v4 .* FIN,ACK", "v4 .* datagram", "v6 .* datagram",
                 "v4 .* ICMP too big", "v6 .* ICMP too big"):
        assert re.search(f"^   sent .* {kind} ", shown[0], flags=re.MULTILINE), kind


def test_clients_are_answered_by_the_proxies_that_lookup_names(shown):
    answers = re.search(r"what the clients saw\n(.*)what the director counted", shown[0], flags=re.DOTALL)[1].splitlines()
    assert len(answers) == 18 and all(line.endswith(" equal") for line in answers)
    assert {"proxy-1", "proxy-2"} == set(re.findall(r"proxy-\d", "\n".join(answers)))


def damaged(kept, tmp_path, change):
    """The run that was kept, with change(frames) done to its capture."""
    files = demo.Files(str(tmp_path))
    for path in (files.source, files.conf):
        os.link(os.path.join(kept, os.path.basename(path)), path)
    frames = read_pcap(os.path.join(kept, "demo.pcap"))
    change(frames)
    write_pcap(files.capture, frames)
    flows = demo.compare(demo.Tools(BUILD), files)
    return [sent for _, sents in flows.values() for sent in sents], flows


def set_byte(offset, value):
    """Changes one byte of the third packet that the director sent."""

    def change(frames):
        third = [number for number, frame in enumerate(frames) if inner_of(frame)][2]
        frames[third] = frames[third][:offset] + bytes([value]) + frames[third][offset + 1 :]

    return change


def test_an_undamaged_capture_is_equal(shown, tmp_path):
    sents, _ = damaged(shown[1], tmp_path, lambda frames: None)
    assert all(sent.equal for sent in sents)


@pytest.mark.parametrize(
    "offset", [29, 33, 35, 53, 60], ids=["source", "first hop", "source port", "later hop", "inner packet"])
def test_a_wrong_byte_is_noticed(shown, tmp_path, offset):
    sents, flows = damaged(shown[1], tmp_path, set_byte(offset, 0xEE))
    assert [sent.equal for sent in sents].count(False) == 1
    assert summary(sents) == f"demo: {len(sents)} packets forwarded, {len(sents) - 1} of {len(sents)} as lookup predicted"
    printer = Printer(io.StringIO())
    assert not demo.show(printer, flows, [], {"received": len(sents), "forwarded": len(sents), "drop_unmatched": 0})
    assert printer.stream.getvalue().count("WRONG") == 1


def test_packets_may_be_captured_in_another_order(shown, tmp_path):
    def swap(frames):
        numbers = [number for number, frame in enumerate(frames) if not inner_of(frame)]
        frames[numbers[10]], frames[numbers[11]] = frames[numbers[11]], frames[numbers[10]]

    sents, _ = damaged(shown[1], tmp_path, swap)
    assert all(sent.equal for sent in sents)


def test_a_lost_packet_is_noticed(shown, tmp_path):
    def lose(frames):
        frames.remove([frame for frame in frames if inner_of(frame)][5])

    with pytest.raises(demo.DemoError, match="packets for the VIP, but sent"):
        damaged(shown[1], tmp_path, lose)


def test_malformed_gue_is_noticed(shown, tmp_path):
    with pytest.raises(demo.DemoError, match="well-formed GUE"):
        damaged(shown[1], tmp_path, set_byte(44, 1))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_leaves_nothing_behind_when_it_is_stopped(how):
    mark = str(uuid.uuid4())
    process = start(mark)
    wait_until(lambda: any("lab.traffic" in command for command in started_by(mark)))  # everything runs by now
    os.killpg(process.pid, how) if how == signal.SIGINT else process.send_signal(how)
    process.communicate()
    assert process.returncode != 0
    wait_until(lambda: started_by(mark) == [])
    assert left_behind() == []


def test_says_that_it_needs_root():
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/python3", "-B", "-m", "lab.demo", BUILD],
        cwd=TREE, capture_output=True, text=True)
    assert done.returncode == 1
    assert "needs root: run script/demo as root" in done.stderr


def test_usage():
    script = os.path.join(TREE, "script/demo")
    assert "Usage: script/demo [--keep FOLDER]" in subprocess.run([script, "--help"], capture_output=True, text=True).stdout
    wrong = subprocess.run([script, "--kepe"], capture_output=True, text=True)
    assert wrong.returncode == 1 and "'--kepe'" in wrong.stderr
