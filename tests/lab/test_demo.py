# SPDX-License-Identifier: BSD-3-Clause
"""script/demo: checks its output, and that it leaves nothing behind."""

import os
import re
import signal
import subprocess

import pytest
from lab_process import DEMO, NAME, assert_nothing_left, environment, lab, new_mark, start, wait_for_process
from support.pages import block
from support.tree import TREE


@pytest.fixture(scope="module")
def shown():
    """The standard output of a whole run."""
    mark = new_mark()
    process = start([TREE / block("docs/tutorial/lab.md", "script/demo\n").strip()], mark)
    output, errors = process.communicate()
    print(output)
    assert (process.returncode, errors) == (0, "")
    assert_nothing_left(mark)
    return output


def test_last_line_counts_connections(shown):
    counted = re.fullmatch(r"demo: 0 of (\d+) connections broken", shown.splitlines()[-1])
    assert counted and int(counted[1]) > 800


def test_output_fits_80_columns_and_has_no_colours_in_a_pipe(shown):
    assert "\033" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_output_has_shares_downloads_and_failures(shown):
    assert "200 of 200 reach the proxy that glb-director-cli lookup names" in shown
    shares = re.findall(r"proxy-(\d)  table +([\d.]+) %   seen +([\d.]+) %", shown)
    assert [number for number, _, _ in shares] == ["1", "2", "3"]
    assert all(abs(float(table) - float(seen)) < 10 for _, table, seen in shares)
    assert re.search(r"director-1 [1-9]\d*, director-2 [1-9]", shown)
    assert len(re.findall(r"/download: complete, with the right SHA-256", shown)) == 2
    assert re.search(r"Drain proxy-\d", shown) and "Kill director-1 (-9)" in shown
    assert "FAIL" not in shown


def test_output_shows_how_the_table_follows_a_service(shown):
    stopped, started = re.findall(
        r"Connection refused, 3 times in a row\n.*?(?=\n\n)|status 200, 3 times in a row\n.*?(?=\n\n)", shown, re.DOTALL)
    for part, health, share in ((stopped, "not healthy", r"down .* 0\.0"), (started, "healthy", r"up .* 3\d\.\d")):
        assert f"JSON table written, proxy-3 is {health}\n" in part and "in use by 2 directors" in part
        assert re.search(rf"proxy-3  {share} %$", part, re.MULTILINE)
    assert re.search(r"[1-9]\d* new connections refused before the tables changed, 0 of [1-9]\d+ since", stopped)
    assert re.search(r"long-lived connections to proxy-3 continue: [1-9]\d* answers since then", stopped)
    assert re.search(r"[1-9]\d* of \d+ new connections reach proxy-3", started)


def test_every_packet_is_as_lookup_predicts(shown):
    """Packets of curl and ping in both families. The end of each line describes the inner packet."""
    counted = re.search(r"ok   (\d+) of (\d+) packets are as lookup predicts", shown)
    lines = re.findall(r"^    (equal|WRONG)  .* {2}(tcp|ping) \d+$", shown, re.M)
    assert counted and int(counted[1]) == int(counted[2]) == len(lines) >= 12
    assert {what for _, what in lines} == {"tcp", "ping"} and {mark for mark, _ in lines} == {"equal"}
    assert "[2001:db8:f::10]:80" in shown and "203.0.113.10:80" in shown


def test_demo_with_proxies_that_have_ipv6_addresses():
    mark = new_mark()
    done = subprocess.run([DEMO, "--underlay", "ipv6"], env=environment(mark), capture_output=True, text=True)
    print(done.stdout)
    assert (done.returncode, done.stderr) == (0, "") and "FAIL" not in done.stdout
    assert done.stdout.startswith("client -> router (ECMP) -> 2 directors -> GUE over IPv6 -> 3 proxies -> client\n")
    assert re.search(r"^    equal  \[2001:db8:b:[12]::2\]:\d+ > 2001:db8:b:1[789]::2  0/2 2001:db8:b:1[789]::2 2001:db8:b:1[789]::2  tcp \d+$", done.stdout, re.M)
    counted = re.search(r"ok   (\d+) of (\d+) packets are as lookup predicts", done.stdout)
    assert int(counted[1]) == int(counted[2]) >= 12
    assert re.fullmatch(r"demo: 0 of \d+ connections broken", done.stdout.splitlines()[-1])
    assert_nothing_left(mark)


def words(line):
    """The line without numbers, bars and column widths, which differ from run to run."""
    return re.sub(r" +", " ", re.sub(r"#+", "#", re.sub(r"[\d.]+", "N", line)))


def demo_block(page):
    """The lines of the block that ends with the demo's last line. Another block of the tutorial has the demo of a roll-out."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", (TREE / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if "\ndemo: 0 of " in block and " rollout " not in block]
    return block.splitlines()


def test_tutorial_and_readme_show_this_output(shown):
    printed = set(map(words, shown.splitlines()))
    assert set(map(words, demo_block("docs/tutorial/lab.md"))) == printed
    assert set(map(words, demo_block("README.md"))) - {words("...")} < printed


def test_keep_leaves_the_lab_up():
    mark = new_mark()
    done = subprocess.run([DEMO, "--keep"], env=environment(mark), capture_output=True, text=True)
    try:
        assert (done.returncode, done.stderr) == (0, "")
        *_, last, director, checks = done.stdout.splitlines()
        assert last.startswith("demo: 0 of ")
        for line, what in ((director, "page of director-2"), (checks, "page of its health checks")):
            text, url = line.split(": ")
            page = subprocess.run(["curl", "-s", url], capture_output=True, text=True, check=True).stdout
            assert text == what and " on director-2</title>" in page and 'id="end"' in page
        assert "lab/lab shell proxy-1" in done.stdout
        again = subprocess.run([DEMO, "--keep"], env=environment(mark), capture_output=True, text=True)
        assert (again.returncode, again.stderr) == (1, f"lab: lab '{NAME}' is already up: run lab/lab down\n")
        status = lab("status").stdout
        assert re.search(r"director-1 .* not running", status) and re.search(r"director-2 .* forwarded [1-9]", status)
        assert lab("exec", "client", "curl", "-s", "http://203.0.113.10/").stdout.startswith("proxy-")
    finally:
        lab("down")
    assert_nothing_left(mark)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_interrupted_demo_leaves_nothing_behind(how):
    mark = new_mark()
    process = start([DEMO], mark)
    wait_for_process(mark, "load.py")  # the load starts last
    os.killpg(process.pid, how) if how == signal.SIGINT else process.send_signal(how)
    process.communicate()
    assert process.returncode != 0
    assert_nothing_left(mark)


def test_demo_needs_root():
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", DEMO], env=environment(), capture_output=True, text=True)
    assert done.returncode == 1
    assert "needs root" in done.stderr


def test_help_and_unknown_argument():
    assert "Usage: script/demo [--fleet] [--underlay ipv6] [--keep]" in subprocess.run([DEMO, "--help"], capture_output=True, text=True).stdout
    wrong = subprocess.run([DEMO, "--kepe"], capture_output=True, text=True)
    assert wrong.returncode == 1 and "'--kepe'" in wrong.stderr
