# SPDX-License-Identifier: BSD-3-Clause
"""glb-healthcheck as a daemon: verdicts, writes of dst, its own files, the service manager."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import nginx
import peers
import pytest
from daemon import PROGRAM, backend, table, wait_probes
from lab.tools import wait_until
from network import ELSEWHERE, PROXY
from support.service_manager import ServiceManager
from support.tree import CLI

OWN = nginx.OWN


def writes(daemon):
    return daemon.status()["dst"]["writes"]


def test_only_healthy_changes(daemon):
    made = daemon()
    made.write_src(
        {**table(backend(PROXY, http=nginx.OK), backend(ELSEWHERE, tcp=9), backend("10.77.0.98", "inactive", tcp=9),
                 backend("10.77.0.97", "draining")), "x-owner": ["ü", {"b": 1, "a": 1.5}]}, _about="me")
    made.start().wait_ready()
    made.wait_healthy({PROXY: True, ELSEWHERE: False, "10.77.0.98": True, "10.77.0.97": True})
    document, source = json.loads(made.dst.read_text()), json.loads(made.src.read_text())
    for one in document["tables"][0]["backends"]:
        del one["healthy"]
    assert document == source
    assert list(document) == list(source) and list(document["tables"][0]) == list(source["tables"][0])
    assert subprocess.run([CLI, "check", made.dst], check=False).returncode == 0


def test_tables_as_glb_writes_them(daemon):
    """No names, and null for all that is not set."""
    nulls = [{"ip": "10.77.0.98", "state": "inactive", "healthchecks": None}]
    tables = [table(backend(PROXY, http=nginx.OK), backend(ELSEWHERE, tcp=9), *nulls, name="", healthchecks=None),
              table(backend(PROXY, http=nginx.OK), backend(ELSEWHERE, tcp=9), name=None, vips=("203.0.113.11",)),
              table(backend(PROXY, tcp=9), backend(ELSEWHERE, tcp=9), vips=("203.0.113.12",),
                    healthchecks={"interval_ms": 100})]
    del tables[2]["name"]
    made = daemon(*tables)
    made.write_conf(tables='({ name = "#1"; http = { status = "404"; }; })', state_file=f'"{made.folder}/state"',
                    reload=f'{{ build = "{made.folder}/table.bin"; }}')
    made.write_src(*tables, healthchecks=None)
    made.start().wait_ready().wait_healthy({PROXY: True, ELSEWHERE: False, "10.77.0.98": True})
    made.wait_healthy({PROXY: True, ELSEWHERE: True}, index=1)  # panic: the status is 200, not 404
    made.logged(f"warning: table #0, #1: backend {ELSEWHERE}: tcp {ELSEWHERE}:9 of #0: ")
    made.logged("error: table #1: panic: ")
    assert [entry["name"] for entry in made.status()["tables"]] == ["#0", "#1", "#2"]
    assert 'glb_healthcheck_table_panic{table="#1"} 1\n' in made.get("/metrics")[2]
    assert f'glb_healthcheck_backend_healthy{{table="#0",backend="{PROXY}"}} 1\n' in made.get("/metrics")[2]
    wait_until(lambda: made.status()["reload"]["state"] == "done", "reload")
    assert subprocess.run([CLI, "check", made.folder / "table.bin"], check=False).returncode in (0, 1)
    assert made.status()["src"]["error"] == "" and "has no table" not in made.log()
    kept = json.loads(made.dst.read_text())
    assert kept["healthchecks"] is None and kept["tables"][0]["name"] == "" and "name" not in kept["tables"][2]
    made.stop()
    made.start().wait_ready().wait_healthy({PROXY: True, ELSEWHERE: False, "10.77.0.98": True})


def test_service_stops_and_comes_back(daemon, own_nginx):
    own_nginx.start()
    made = daemon(table(backend(PROXY, http=OWN), backend(ELSEWHERE, http=nginx.OK)))
    made.start().wait_ready().wait_healthy({PROXY: True, ELSEWHERE: True})
    own_nginx.stop()
    made.wait_healthy({PROXY: False, ELSEWHERE: True})
    made.logged(f"warning: table web: backend {PROXY}: http {PROXY}:{OWN}/: healthy -> unhealthy: Connection refused, ")
    own_nginx.start()
    made.wait_healthy({PROXY: True, ELSEWHERE: True})
    made.logged(f"notice: table web: backend {PROXY}: http {PROXY}:{OWN}/: unhealthy -> healthy: status 200, ")


def test_host_vanishes_and_comes_back(daemon, proxies):
    proxies.ip("address add 10.77.0.50/24 dev wire")
    made = daemon(table(backend("10.77.0.50", http=80, gue=peers.GUE), backend(PROXY, http=80)))
    made.start().wait_ready().wait_healthy({"10.77.0.50": True, PROXY: True})
    proxies.ip("address del 10.77.0.50/24 dev wire")
    made.wait_healthy({"10.77.0.50": False, PROXY: True})
    proxies.ip("address add 10.77.0.50/24 dev wire")
    made.wait_healthy({"10.77.0.50": True, PROXY: True})
    made.stop()
    proxies.ip("address del 10.77.0.50/24 dev wire")


def test_long_interval_does_not_delay_the_first_write(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK), backend(ELSEWHERE, tcp=9), backend("10.78.0.1", tcp=80)),
                  interval_ms=3600000).start().wait_ready()
    made.wait_healthy({PROXY: True, ELSEWHERE: False, "10.78.0.1": True})


def test_table_is_not_rewritten_while_nothing_changes(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK), backend(ELSEWHERE, tcp=9))).start().wait_ready()
    before = made.dst.stat()
    wait_probes(made, 20)
    assert writes(made) == 1 and made.dst.stat() == before
    assert made.log().count(" -> ") == 2  # and nothing for each probe


def test_local_failure_changes_no_verdict(daemon, here):
    here.ip("address add 10.77.0.3/24 dev wire")
    made = daemon(table(backend(PROXY, tcp=nginx.OK)), source_ip='"10.77.0.3"', panic_threshold=0).start().wait_ready()
    made.wait_healthy({PROXY: True})
    here.ip("address del 10.77.0.3/24 dev wire")
    made.logged(f"error: check tcp {PROXY}:80 could not be run on this host, its verdict stays: Cannot assign requested address")
    wait_probes(made, 10)
    assert made.healthy() == {PROXY: True} and "unhealthy:" not in made.log()
    check, = made.status()["tables"][0]["backends"][0]["checks"]  # its age shows that the verdict is old
    assert (check["verdict"], check["result"]) == ("healthy", "not_run") and check["age_ms"] >= 10 * 200
    assert "glb_healthcheck_checks_frozen 1\n" in made.get("/metrics")[2]
    shown = made.host.run(PROGRAM, "status", "--config-file", str(made.conf), check=False).stdout
    assert re.search(r"\n    its last result is [0-9]+ s old\n", shown), shown


def test_stall_of_the_daemon_is_not_a_timeout(daemon):
    """The reply arrives while the daemon is stopped for longer than the timeout."""
    made = daemon(table(backend(PROXY, gue=peers.GUE_LATE)), interval_ms=4000, timeout_ms=3000).start()

    def metric(name):
        return next(line.split()[1] for line in made.get("/metrics")[2].splitlines() if line.startswith(name + " "))

    def running():
        try:
            return metric("glb_healthcheck_probes_running") == "1"
        except OSError:
            return False

    wait_until(running, "a probe")
    made.kill(signal.SIGSTOP)
    time.sleep(3.5)
    made.kill(signal.SIGCONT)
    wait_until(lambda: metric("glb_healthcheck_tunnel_replies_total") != "0", "the reply")
    assert metric('glb_healthcheck_probes_total{kind="gue",result="timeout"}') == "0"


def test_log_probes(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)), log_probes=True).start().wait_ready()
    made.logged(f"info: http {PROXY}:80/: passed: status 200, ", times=3)


def test_flapping_below_the_trigger_changes_nothing(daemon, proxies):
    """One probe of five passes, and the verdict needs three in a row."""
    made = daemon(table(backend(PROXY, http=8090), backend(ELSEWHERE, http=nginx.OK)),
                  trigger_healthy=3, trigger_unhealthy=10)
    script = ("import http.server as h\nclass H(h.BaseHTTPRequestHandler):\n n=0\n def do_GET(s):\n"
              "  H.n+=1; s.send_response(500 if H.n%5 else 200); s.end_headers()\n def log_message(s,*a): pass\n"
              "print('ready',flush=True); h.HTTPServer(('',8090),H).serve_forever()")
    server = proxies.start("/usr/bin/python3", "-c", script, stdout=subprocess.PIPE)
    assert server.stdout.readline() == "ready\n"
    made.start().wait_ready()
    wait_probes(made, 60)
    assert made.healthy() == {PROXY: False, ELSEWHERE: True} and writes(made) == 1
    server.kill()
    server.wait()


def test_panic_when_all_fail_at_once(daemon, own_nginx):
    own_nginx.start()
    proxies = [PROXY, ELSEWHERE, "10.78.0.1", "10.78.0.2"]
    made = daemon(table(*(backend(ip, http=OWN) for ip in proxies)), hold_ms=600)
    made.start().wait_ready().wait_healthy(dict.fromkeys(proxies, True))
    own_nginx.stop()
    made.logged("error: table web: panic: less than 50 % of its backends are healthy (0 of 4); it keeps 4 unhealthy backends in service\n")
    made.wait_healthy(dict.fromkeys(proxies, True))
    web = made.status()["tables"][0]
    assert web["panic"] is True and web["kept_by_panic"] == 4
    assert 'glb_healthcheck_table_kept_by_panic{table="web"} 4\n' in made.get("/metrics")[2]
    assert 'glb_healthcheck_table_panic{table="web"} 1\n' in made.get("/metrics")[2]
    own_nginx.start()
    made.logged("table web: panic is over")
    assert made.status()["tables"][0]["kept_by_panic"] == 0


def test_panic_at_start_is_reported_with_the_write(daemon):
    """Draining and inactive backends get no new connections, so panic does not keep them in service."""
    made = daemon(table(backend(PROXY, tcp=9), backend(ELSEWHERE, tcp=9), backend("10.78.0.1", "draining", tcp=9),
                        backend("10.78.0.2", "inactive", tcp=9))).start().wait_ready()
    made.logged("panic: less than 50 % of its backends are healthy (0 of 3); it keeps 2 unhealthy backends in service\n")
    made.logged(f"table {made.dst} written, 3 unhealthy backends, panic keeps 2 of them in service\n")


def test_panic_can_be_turned_off(daemon):
    made = daemon(table(backend(PROXY, tcp=9), backend(ELSEWHERE, tcp=9)), panic_threshold=0).start().wait_ready()
    made.wait_healthy({PROXY: False, ELSEWHERE: False})


def test_proxy_that_flaps_stays_out_until_its_hold_ends_or_sighup(daemon, own_nginx):
    own_nginx.start()
    made = daemon(table(backend(PROXY, http=OWN), backend(ELSEWHERE, http=nginx.OK)), hold_ms=3600000, hold_max_ms=7200000)
    made.start().wait_ready().wait_healthy({PROXY: True, ELSEWHERE: True})

    def check():
        return made.status()["tables"][0]["backends"][0]["checks"][0]

    own_nginx.stop()
    made.wait_healthy({PROXY: False, ELSEWHERE: True})  # a failure does not wait for a hold
    own_nginx.start()
    wait_until(lambda: check()["against_verdict"] == 2, "enough results to change the verdict")
    wait_probes(made, 6)
    assert made.healthy() == {PROXY: False, ELSEWHERE: True} and writes(made) == 2
    assert (check()["verdict"], check()["flaps"]) == ("unhealthy", 0) and 3500000 < check()["held_ms"] <= 3600000
    made.kill(signal.SIGHUP)  # an operator who has repaired the proxy need not wait
    made.wait_healthy({PROXY: True, ELSEWHERE: True})
    own_nginx.stop()
    made.wait_healthy({PROXY: False, ELSEWHERE: True})
    made.logged("; it flaps, so it stays unhealthy for 7200 s\n")
    assert check()["flaps"] == 1 and "glb_healthcheck_checks_flapping 1\n" in made.get("/metrics")[2]
    status = made.host.run(PROGRAM, "status", "--config-file", str(made.conf), check=False).stdout
    assert "    it flaps: stays unhealthy for 71" in status


def test_proxies_that_fail_together_leave_in_one_write(daemon, own_nginx):
    """Their checks run at different times of an interval."""
    own_nginx.start()
    sick, well = [f"10.78.0.{i}" for i in range(1, 5)], [f"10.78.1.{i}" for i in range(1, 7)]
    made = daemon(table(*(backend(ip, http=OWN) for ip in sick), *(backend(ip, http=nginx.OK) for ip in well)),
                  interval_ms=1000, timeout_ms=500, trigger=3, hold_ms=100).start().wait_ready()
    made.wait_healthy(dict.fromkeys(sick + well, True))
    before = writes(made)
    own_nginx.stop()
    made.wait_healthy({**dict.fromkeys(sick, False), **dict.fromkeys(well, True)})
    assert writes(made) == before + 1


# --- src ---


def test_reload_storm(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK))).start().wait_ready()
    for i in range(300):
        made.write_src(table(*(backend(f"10.78.0.{1 + (i + j) % 20}", http=nginx.OK, gue=peers.GUE) for j in range(10))),
                       _storm=i)
        made.kill(signal.SIGHUP)
    wait_until(lambda: json.loads(made.dst.read_text()).get("_storm") == 299, "the last table")
    made.wait_healthy({f"10.78.0.{1 + (299 + j) % 20}": True for j in range(10)})
    assert "unhealthy" not in made.log().replace("0 unhealthy backends", "")
    assert len(os.listdir(f"/proc/{made.pid()}/fd")) < 60


def test_sighup_repairs_damaged_files(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    binary = made.folder / "table.bin"
    made.write_conf(reload=f'{{ build = "{binary}"; }}')
    made.start().wait_ready()
    wait_until(binary.exists, "table.bin")
    whole = made.dst.read_text()
    for damage in (made.dst.unlink, lambda: made.dst.write_text("{}"), binary.unlink, lambda: binary.write_text("")):
        wait_until(lambda: made.status()["reload"]["state"] == "done", "the reload before")
        damage()
        made.kill(signal.SIGHUP)
        wait_until(lambda: made.dst.exists() and made.dst.read_text() == whole, "dst")
        wait_until(lambda: binary.exists() and binary.stat().st_size, "table.bin")


# --- Its own files ---


def test_folder_of_dst_is_missing_and_comes_back(daemon, tmp_path):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    made.dst = tmp_path / "gone" / "dst.json"
    made.write_conf()
    made.start()
    made.logged("error: table not written (1 in a row), next attempt in 1 s: ")
    made.logged(f"{made.dst}: cannot be created: there is no folder '{made.dst.parent}'")
    made.dst.parent.mkdir()
    wait_until(made.dst.exists, "dst")
    assert made.status()["dst"]["error"] == ""


def test_disk_full(daemon, here, own_nginx, tmp_path):
    own_nginx.start()
    disk = tmp_path / "disk"
    disk.mkdir()
    here.run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk))
    made = daemon(table(backend(PROXY, http=OWN), backend(ELSEWHERE, http=nginx.OK)))
    made.dst = disk / "dst.json"
    made.write_conf()
    made.start()
    made.dst = Path(f"/proc/{here.pid}/root{made.dst}")  # as this process sees the host's mounts
    made.wait_ready().wait_healthy({PROXY: True, ELSEWHERE: True})
    here.run("sh", "-c", f"cat /dev/zero > {disk}/filler || true")
    own_nginx.stop()
    made.logged("dst.json: the new file cannot be written: No space left on device; the file is unchanged")
    made.logged("state not saved: ")
    assert made.healthy() == {PROXY: True, ELSEWHERE: True}
    assert "glb_healthcheck_write_failing 1\n" in made.get("/metrics")[2]
    here.run("rm", f"{disk}/filler")
    made.wait_healthy({PROXY: False, ELSEWHERE: True})
    made.stop()
    here.run("umount", str(disk))


def test_restart_causes_no_flap(daemon, own_nginx):
    own_nginx.start()
    made = daemon(table(backend(PROXY, http=OWN), backend(ELSEWHERE, tcp=9), backend("10.78.0.1", tcp=80)))
    made.start().wait_ready()
    expected = {PROXY: True, ELSEWHERE: False, "10.78.0.1": True}
    made.wait_healthy(expected)
    wait_until(lambda: "unhealthy" in (made.folder / "dst.json.state").read_text(), "state")
    before, transitions = made.dst.stat(), made.log().count(" -> ")
    made.stop(signal.SIGKILL)
    own_nginx.stop()  # without the state, the first result would change the verdict at once
    made.start().wait_ready()
    assert made.healthy() == expected and made.dst.stat() == before
    own_nginx.start()
    wait_probes(made, 20)
    assert made.log().count(" -> ") <= transitions + 2 and made.healthy()[ELSEWHERE] is False


def test_restart_with_two_tables_that_check_a_proxy_differently(daemon):
    """The tables expect different statuses. Each check keeps its own state."""
    made = daemon(table(backend(PROXY, http=nginx.OK), name="git"), table(backend(PROXY, http=nginx.OK)),
                  tables='( { name = "web"; http = { status = "204"; }; } )', panic_threshold=0)
    made.start().wait_ready()
    for _ in range(2):
        made.wait_healthy({PROXY: True})
        made.wait_healthy({PROXY: False}, index=1)
        series = [line.split("} ")[0] for line in made.get("/metrics")[2].splitlines() if line.startswith("glb_")]
        assert len(series) == len(set(series))
        assert f'glb_healthcheck_check_healthy{{check="http {PROXY}:80/ of git"' in series
        transitions = made.log().count(" -> ")
        made.stop()
        made.start().wait_ready()
        wait_probes(made, 6)
        assert made.log().count(" -> ") == transitions


def test_unusable_state_file_is_named(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    (made.folder / "dst.json.state").write_text("{")
    made.start().wait_ready()
    made.logged("dst.json.state: ignored, so all checks start without a verdict: ")


def test_kill_during_a_write_leaves_a_whole_table(daemon):
    """300 kills at different moments after the start: dst is always a whole table, from one src or the other."""
    tables = [table(*(backend(f"10.78.{i}.{j}") for i in range(4) for j in range(1, 250)), name=name)
              for name in ("odd", "even")]
    made = daemon(tables[0], listen='"none"', watch=False)
    sources = [json.dumps({"tables": [one]}) for one in tables]

    def leftovers():
        return [name for name in os.listdir(made.folder) if name.startswith(".glb-")]

    def start(source):
        made.src.write_text(source)
        return subprocess.Popen([PROGRAM, "--config-file", str(made.conf)], stderr=subprocess.DEVNULL)

    def seconds_to_write(source):
        made.dst.unlink(missing_ok=True)
        began, process = time.monotonic(), start(source)
        wait_until(made.dst.exists, "the write")
        took = time.monotonic() - began
        process.kill()
        process.wait()
        return took

    # The moments of the kills are spread from the start to some time after the write, on slow and fast machines.
    took = max(seconds_to_write(source) for source in sources)
    changed = left = 0
    last = made.dst.stat().st_ino
    for i in range(300):
        process = start(sources[i % 2])
        time.sleep((i * 7 % 100) / 100 * 1.3 * took)
        process.kill()
        process.wait()
        document = json.loads(made.dst.read_text())
        assert len(document["tables"][0]["backends"]) == 996
        assert all(one["healthy"] is True for one in document["tables"][0]["backends"])
        inode = made.dst.stat().st_ino
        changed += inode != last
        last = inode
        left += bool(leftovers())
        assert len(leftovers()) <= 1  # the next write removes them
    # The test is only good if some were killed before the write, some during it, and some after it.
    assert 15 < changed < 300 and left, (changed, left)
    made.src.write_text(json.dumps({"tables": [table(backend("10.79.0.9"))]}))  # an address that dst does not have yet
    made.start()
    wait_until(lambda: "10.79.0.9" in made.dst.read_text(), "last write")
    made.stop()  # it still writes the state file
    assert not leftovers()


def test_reload_tells_whether_src_was_refused(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))

    def reload():
        run = made.host.run(PROGRAM, "reload", "--config-file", str(made.conf), check=False)
        return run.returncode, run.stderr + run.stdout

    assert reload() == (1, f"glb-healthcheck: no glb-healthcheck that writes {made.dst} runs\n")
    made.start().wait_ready()
    assert reload() == (0, "")
    made.write_conf(watch=False)
    made.src.write_text("{")
    code, text = reload()
    assert code == 1 and text.startswith(f"glb-healthcheck: src is refused, the last good table stays in use: {made.src}:1:1: not JSON")
    made.write_conf(listen='"127.0.0.1:9"')  # edited, but the daemon was not restarted
    code, text = reload()
    assert code == 1 and f"process {made.pid()} got SIGHUP, but does not tell the result: see its log" in text
    made.write_conf(listen='"none"')
    assert reload() == (0, "")
    made.write_conf()
    made.write_src(table(backend(PROXY, http=nginx.OK)))
    assert reload() == (0, "") and made.status()["src"]["signals"] == 5


def test_reload_signals_no_process_that_the_lock_file_only_names(daemon):
    """The lock file belongs to the daemon's user, and root believes no number in it."""
    made = daemon(table(backend(PROXY, http=nginx.OK))).start().wait_ready()
    with subprocess.Popen(["sleep", "1000"]) as other:
        Path(f"{made.dst}.lock").write_text(f"{other.pid}\n")
        run = made.host.run(PROGRAM, "reload", "--config-file", str(made.conf), check=False)
        assert run.returncode == 1 and run.stderr == f"glb-healthcheck: no glb-healthcheck that writes {made.dst} runs\n"
        assert other.poll() is None
        other.kill()


def test_second_daemon_on_one_output_refuses_to_start(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    folder, build = made.folder, f'{{ build = "{made.folder}/table.bin"; }}'
    (folder / "link.json").symlink_to("dst.json")
    made.write_conf(reload=build)
    made.start().wait_ready()
    for dst, options, text in (
            ("dst.json", {}, f"error: {folder}/dst.json: another glb-healthcheck writes this file: process {made.pid()} (glb-healthcheck): "),
            ("link.json", {}, f"error: {folder}/link.json: another glb-healthcheck writes this file: process {made.pid()} (glb-healthcheck): "),
            ("other.json", {"reload": build}, f"error: {folder}/table.bin: another glb-healthcheck writes this file: process "),):
        made.write_conf(forwarding_table=f'{{ src = "{made.src}"; dst = "{folder}/{dst}"; }}', listen='"none"', **options)
        run = made.host.run(PROGRAM, "--config-file", str(made.conf), check=False)
        assert run.returncode == 1 and text in run.stderr, run.stderr
    assert not (folder / "other.json").exists()
    made.kill(signal.SIGKILL)
    made.process.wait()
    made.write_conf(reload=build)
    made.start().wait_ready()


def test_outputs_that_are_links_stay_links(daemon, tmp_path):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    release = tmp_path / "release"
    release.mkdir()
    for name in ("dst.json", "dst.json.state", "table.bin"):
        (made.folder / name).symlink_to(release / name)
    made.write_conf(reload=f'{{ build = "{made.folder}/table.bin"; }}')
    made.start().wait_ready()
    wait_until(lambda: made.status()["reload"]["state"] == "done", "reload")
    for name in ("dst.json", "dst.json.state", "table.bin"):
        assert (made.folder / name).is_symlink() and (release / name).stat().st_size > 0


def test_lock_that_cannot_be_made_is_a_warning(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    (made.folder / "dst.json.lock").symlink_to("elsewhere")
    made.start().wait_ready()
    made.logged(f"warning: {made.dst}: cannot be locked against a second glb-healthcheck, by {made.dst}.lock: Too many levels")
    assert not (made.folder / "elsewhere").exists()


def test_state_file_that_is_a_fifo_does_not_block(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    os.mkfifo(made.folder / "dst.json.state")
    made.start().wait_ready()
    made.logged("dst.json.state: ignored, so all checks start without a verdict: is a FIFO; expected a regular file")


def test_empty_state_file_is_named(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    (made.folder / "dst.json.state").touch()
    made.start().wait_ready()
    made.logged("dst.json.state: ignored, so all checks start without a verdict: is empty")


# --- As a service ---


@pytest.fixture
def manager():
    with ServiceManager() as manager:
        yield manager


def test_notifies_the_service_manager(daemon, manager):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    made.start(NOTIFY_SOCKET=manager.path)
    assert manager.next()[0] == "READY=1"
    made.kill(signal.SIGHUP)
    assert manager.next()[0] == "RELOADING=1"
    assert manager.next()[0] == "READY=1"
    made.process.terminate()
    assert manager.next()[0] == "STOPPING=1"
    assert made.process.wait() == 0


def test_feeds_the_watchdog(daemon, manager):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    made.start(NOTIFY_SOCKET=manager.path, WATCHDOG_USEC="300000")
    got = [manager.next()[0] for _ in range(4)]
    assert got.count("WATCHDOG=1") >= 2


def test_status_and_metrics(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK, gue=peers.GUE), backend(ELSEWHERE, tcp=9), name='q"\\')).start()
    made.wait_ready()
    status, kind, body = made.get("/status")
    assert (status, kind) == (200, "application/json")
    first, second = json.loads(body)["tables"][0]["backends"]
    assert first["verdict"] == "healthy" and second["verdict"] == "unhealthy"
    assert [check["reason"] for check in first["checks"]] == ["status 200", "echo reply"]
    status, kind, body = made.get("/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert status == 200 and kind.startswith("application/openmetrics-text; version=1.0.0")
    assert body.endswith("# EOF\n")
    assert f'glb_healthcheck_backend_healthy{{table="q\\"\\\\",backend="{ELSEWHERE}"}} 0\n' in body
    families = {line.split()[2] for line in body.splitlines() if line.startswith("# TYPE")}
    for line in body.splitlines():
        if not line.startswith("#"):
            name = line.split("{")[0].split(" ")[0]
            assert any(name == f or name in (f + "_total", f + "_sum", f + "_count") for f in families), line
    assert made.get("/other")[::2] == (
        404, "There is no such page. The pages are:\n/\n/tables/N (N is the number of a table; the first table is 0)\n/status\n/metrics\n")
    assert (made.get("/status", "HEAD")[::2], made.get("/status", "POST")[0]) == ((200, ""), 405)


@pytest.mark.parametrize("headers", [{}, {"Accept": "*/*"}, {"Accept": "text/plain"}], ids=["none", "any", "text"])
def test_client_that_does_not_ask_for_openmetrics_gets_the_text_format_of_prometheus(daemon, headers):
    made = daemon(table(backend(PROXY, gue=peers.GUE))).start().wait_ready()
    status, kind, body = made.get("/metrics", **headers)
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert "# TYPE glb_healthcheck_writes_total counter\n" in body and "# EOF" not in body
    run = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_address_in_use(daemon, here):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    with here:
        taken = socket.create_server(("127.0.0.1", 19521))
    made.start()
    assert made.process.wait() == 1
    assert "error: listen: cannot serve on 127.0.0.1 port 19521: Address already in use" in made.log()
    taken.close()


@pytest.mark.parametrize("arguments, code, text", [
    (("-c", "x", "y"), 2, "glb-healthcheck: unexpected operand 'y'\nTry 'glb-healthcheck --help'.\n"),
    (("--help",), 0, "usage: glb-healthcheck [status | reload] [OPTIONS]\n"),
    (("-c", "/nonexistent"), 6, "glb-healthcheck: error: /nonexistent: cannot be opened: No such file or directory\n"),
])
def test_command_line(arguments, code, text):
    run = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    printed, silent = (run.stderr, run.stdout) if code else (run.stdout, run.stderr)
    assert run.returncode == code and printed.startswith(text) and not silent


def test_levels_are_for_the_journal_only(tmp_path):
    """JOURNAL_STREAM names the journal's pipe by device and inode. A process that inherits it may have another stderr."""
    with open(tmp_path / "log", "w+") as log:
        own = os.fstat(log.fileno())
        for stream in (f"{own.st_dev}:{own.st_ino}", f"{own.st_dev}:{own.st_ino + 1}", "", None):
            environment = {"JOURNAL_STREAM": stream} if stream is not None else {}
            subprocess.run([PROGRAM, "-c", "/nonexistent"], stderr=log, env=environment, check=False)
        log.seek(0)
        text = "/nonexistent: cannot be opened: No such file or directory"
        assert log.read().splitlines()[::2] == ["<3>" + text, *3 * ["glb-healthcheck: error: " + text]]


def test_binary_table_gets_version_3_and_a_replaced_version_2_is_named(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    binary = made.folder / "table.bin"
    made.write_conf(reload=f'{{ build = "{binary}"; }}')
    subprocess.run([CLI, "build-config", "--format", "2", made.src, binary], check=True)
    made.start().wait_ready()
    made.logged(f"{binary}: was version 2 and is now version 3, which GLB's directors cannot read; for them use reload_command")
    assert binary.read_bytes()[:8] == b"GLBD\x03\0\0\0"
    wait_until(lambda: made.status()["reload"]["state"] == "done", "reload")
    made.write_src(table(backend(PROXY, http=nginx.OK), backend(ELSEWHERE, http=nginx.OK)))
    wait_until(lambda: made.status()["reload"]["runs"] == 2 and made.status()["reload"]["state"] == "done", "second reload")
    assert made.log().count("was version 2") == 1


def test_dst_keeps_its_mode(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    made.dst.write_text("{}")  # other text is not replaced
    made.dst.chmod(0o640)
    made.start().wait_ready()
    wait_until(lambda: made.dst.read_text() != "{}", "the first write, which may come a moment after it is ready")
    made.wait_healthy({PROXY: True})
    assert stat.S_IMODE(made.dst.stat().st_mode) == 0o640


def test_new_files_are_readable_by_no_more_users_than_src(daemon):
    """src, dst and the binary table all contain the secret keys of the tables."""
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    binary = made.folder / "table.bin"
    made.src.chmod(0o600)
    made.write_conf(reload=f'{{ build = "{binary}"; }}')
    made.start().wait_ready()
    wait_until(binary.exists, "table.bin")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (made.dst, binary)] == [0o600, 0o600]
    subprocess.run([CLI, "build-config", made.src, made.folder / "other.bin"], check=True)
    assert stat.S_IMODE((made.folder / "other.bin").stat().st_mode) == 0o600
