# SPDX-License-Identifier: BSD-3-Clause
"""The units under systemctl. The tests run in this order on one machine: each starts where the previous one ended."""

import json
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from conftest import OWN, PEER, VIP, capabilities, kill, log, run, show, stats, systemctl, table, wait

CAP_NET_ADMIN, CAP_NET_RAW, CAP_IPC_LOCK, CAP_BPF = 1 << 12, 1 << 13, 1 << 14, 1 << 39
DIRECTOR, HEALTHCHECK, REDIRECT = "glb-director.service", "glb-healthcheck.service", "glb-redirect@px0.service"
BIFURCATE, FOLLOW = "glb-bifurcate.service", "glb-redirect-follow.service"
ANNOUNCE = "glb-announce.service"
TABLE = Path("/var/lib/glb/forwarding_table.bin")
TOLD = Path("/run/glb-announce/told")
VIP6 = "2001:db8:113::10"  # of the same table as VIP


def forwards(peer):
    """Sends a SYN from the peer to the VIP. Returns the first hop of the GUE packet that comes back, or None."""
    with peer:
        sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        client = socket.socket()
    with sniffer, client:
        sniffer.bind(("lb1", 0x0800))
        sniffer.settimeout(1)
        client.setblocking(False)
        client.connect_ex((VIP, 80))
        try:
            while True:
                frame = sniffer.recv(2048)
                if frame[23] == 17 and frame[36:38] == (19523).to_bytes(2, "big"):
                    return socket.inet_ntoa(frame[30:34])
        except TimeoutError:
            return None


@pytest.fixture(scope="module")
def service(peer):
    """An HTTP server on the proxy, which tests can stop by a signal."""
    peer.run("glb-redirect", "attach", "px1", "--mode", "generic")
    with subprocess.Popen(peer.command("/usr/bin/python3", "-m", "http.server", "80"), cwd="/tmp", stderr=subprocess.DEVNULL) as server:
        wait(lambda: run("curl", "-s", f"{PEER}:80", check=False).returncode == 0, "http server")
        yield server
        server.kill()


def test_redirect_attaches_and_stays_attached_on_reload(peer):
    systemctl("start", REDIRECT)
    assert "attached, native mode" in run("glb-redirect", "status", "px0").stdout
    check = {"healthchecks": {"gue": 19523}}
    with open("/tmp/peer.json", "w", encoding="utf-8") as file:
        json.dump(table(OWN, **check), file)
    with open("/tmp/peer.conf", "w", encoding="ascii") as file:
        file.write('forwarding_table = { src = "/tmp/peer.json"; dst = "/tmp/peer.dst"; };\ntimeout_ms = 1900;\n')
    printed = peer.run("glb-healthcheck", "--config-file", "/tmp/peer.conf", "--check-once", check=False).stdout
    assert "echo reply" in printed, printed + run("glb-redirect", "stats", "px0").stdout
    counted = json.loads(run("glb-redirect", "stats", "--json", "px0").stdout)
    systemctl("reload", REDIRECT)
    assert "attached" in run("glb-redirect", "status", "px0").stdout
    assert json.loads(run("glb-redirect", "stats", "--json", "px0").stdout) == counted
    assert '"total": 0' not in json.dumps(counted)


def test_redirect_detaches_when_stopped(peer):
    systemctl("stop", REDIRECT)
    assert "attached, " not in run("glb-redirect", "status", check=False).stdout
    systemctl("start", REDIRECT)
    assert "attached, " in run("glb-redirect", "status", "px0").stdout


def program_id(interface):
    return json.loads(run("glb-redirect", "status", "--json", interface).stdout)[interface]["program_id"]


def link_id(interface):
    folder = "/sys/fs/bpf/glb-redirect"
    return json.loads(run("bpftool", "-j", "link", "show", "pinned", f"{folder}/{interface.replace('.', ':')}/link").stdout)["id"]


@pytest.fixture
def odd_interface():
    """An interface whose name systemd escapes."""
    run("ip", "link", "add", "lan-0", "type", "veth", "peer", "name", "lan-1")
    yield "glb-redirect@lan\\x2d0.service"
    run("ip", "link", "del", "lan-0", check=False)


def test_redirect_restarts_without_a_gap(odd_interface):
    """A restart replaces the program in its link, as a reload does, and keeps the counters."""
    systemctl("start", odd_interface)
    link, before = link_id("lan-0"), program_id("lan-0")
    systemctl("restart", odd_interface)
    assert link_id("lan-0") == link and program_id("lan-0") != before
    assert show(odd_interface, "ActiveState") == "active"
    systemctl("stop", odd_interface)
    assert "lan-0" not in run("glb-redirect", "status", check=False).stdout


def test_redirect_keeps_the_program_if_a_restart_fails(odd_interface):
    """Wrong options are no reason to lose the program that works. The next start mends the unit."""
    environment = next(Path("/").glob("usr/local/etc/default"), Path("/etc/default")) / "glb-redirect.lan-0"
    systemctl("start", odd_interface)
    before = program_id("lan-0")
    environment.write_text('GLB_REDIRECT_OPTIONS="--udp all"\n', encoding="ascii")
    assert systemctl("restart", odd_interface, check=False).returncode != 0
    assert program_id("lan-0") == before
    environment.write_text('GLB_REDIRECT_OPTIONS="--udp connected"\n', encoding="ascii")
    systemctl("start", odd_interface)
    assert "udp connected" in run("glb-redirect", "status", "lan-0").stdout
    environment.unlink()
    systemctl("stop", odd_interface)


def test_redirect_follows_its_interface(odd_interface):
    systemctl("enable", odd_interface)
    systemctl("start", odd_interface)
    for _ in range(2):
        run("ip", "link", "del", "lan-0")
        wait(lambda: show(odd_interface, "ActiveState") == "inactive", "the unit to stop")
        assert "lan-0" not in run("glb-redirect", "status", check=False).stdout
        run("ip", "link", "add", "lan-0", "type", "veth", "peer", "name", "lan-1")
        wait(lambda: show(odd_interface, "ActiveState") == "active", "the unit to start")
        assert "lan-0: attached, native mode" in run("glb-redirect", "status", "lan-0").stdout
    systemctl("disable", "--now", odd_interface)
    assert "lan-0" not in run("glb-redirect", "status", check=False).stdout


def addresses_are_followed():
    return json.loads(run("glb-redirect", "status", "--json", "px0").stdout)["px0"]["addresses_followed"]


def test_follow_runs_while_a_program_is_attached(odd_interface):
    systemctl("start", odd_interface)
    assert show(FOLLOW, "ActiveState") == "active" and addresses_are_followed()
    assert capabilities(FOLLOW) == CAP_BPF
    kill(FOLLOW)
    wait(lambda: show(FOLLOW, "NRestarts") == "1" and show(FOLLOW, "ActiveState") == "active", "a restart")
    assert addresses_are_followed()
    systemctl("stop", odd_interface)
    assert show(FOLLOW, "ActiveState") == "active", "px0 still needs it"
    systemctl("stop", REDIRECT)
    wait(lambda: show(FOLLOW, "ActiveState") == "inactive", "the end of the last program")
    systemctl("start", REDIRECT)
    assert show(FOLLOW, "ActiveState") == "active" and addresses_are_followed()


def test_healthcheck_runs_as_its_user_and_writes_the_table(peer, service, director_files):
    src = director_files / "forwarding_table.json"
    src.write_text(json.dumps(table(PEER, healthchecks={"http": 80, "gue": 19523})), encoding="utf-8")
    run("chgrp", "glb-healthcheck", str(src), str(director_files / "healthcheck.conf"))
    src.chmod(0o640)
    conf = (director_files / "healthcheck.conf").read_text(encoding="ascii")
    conf += "panic_threshold = 0;\nhold_ms = 0;\n"
    (director_files / "healthcheck.conf").write_text(conf.replace("/etc/glb", str(director_files)), encoding="ascii")
    systemctl("start", HEALTHCHECK)
    assert show(HEALTHCHECK, "User") == "glb-healthcheck" and capabilities(HEALTHCHECK) == CAP_NET_RAW
    assert json.loads(run("curl", "-s", "127.0.0.1:19521/status").stdout)["ready"] is True
    wait(lambda: run("glb-director-cli", "show", "/var/lib/glb/forwarding_table.bin").stdout.count(" up ") == 1, lambda: log(HEALTHCHECK))


def test_director_starts_and_forwards(peer, director_files):
    systemctl("start", DIRECTOR)
    assert show(DIRECTOR, "ActiveState") == "active" and show(DIRECTOR, "StatusText")
    assert capabilities(DIRECTOR) == CAP_NET_ADMIN | CAP_NET_RAW | CAP_IPC_LOCK
    assert wait(lambda: forwards(peer), "a packet in GUE") == PEER


def reload_state():
    return json.loads(run("curl", "-s", "127.0.0.1:19521/status").stdout)["reload"]


def test_healthcheck_reloads_the_director_through_polkit(peer, service):
    """glb-healthcheck is not root; polkit allows its user the reload, and nothing else."""
    generation = stats()["generation"]
    service.send_signal(signal.SIGSTOP)  # the server stops answering
    wait(lambda: "healthy -> unhealthy" in log(HEALTHCHECK), "the transition to unhealthy")
    wait(lambda: stats()["generation"] > generation, "a reload of the director")
    service.send_signal(signal.SIGCONT)
    wait(lambda: "unhealthy -> healthy" in log(HEALTHCHECK), "the transition to healthy")
    wait(lambda: stats()["generation"] > generation + 1, "a second reload")
    state = wait(lambda: reload_state() if reload_state()["state"] == "done" else None, "the end of the reload")
    assert state["director"] == "current", state
    other = run("runuser", "-u", "glb-healthcheck", "--", "systemctl", "stop", DIRECTOR, check=False)
    assert other.returncode != 0 and show(DIRECTOR, "ActiveState") == "active"


def test_director_refuses_a_bad_table(peer):
    good = open("/var/lib/glb/forwarding_table.bin", "rb").read()
    generation = stats()["generation"]
    systemctl("stop", HEALTHCHECK)
    with open("/var/lib/glb/forwarding_table.bin", "wb") as file:
        file.write(good[:100])
    assert systemctl("reload", DIRECTOR, check=False).returncode != 0
    assert " code=exited ; status=3 " in show(DIRECTOR, "ExecReload")  # glb-fleet reads this
    assert show(DIRECTOR, "ActiveState") == "active" and stats()["generation"] == generation
    assert wait(lambda: forwards(peer), "a packet in GUE") == PEER
    with open("/var/lib/glb/forwarding_table.bin", "wb") as file:
        file.write(good)
    systemctl("reload", DIRECTOR)
    assert stats()["generation"] == generation + 1
    systemctl("start", HEALTHCHECK)


def test_watchdog_restarts_units_that_hang(peer):
    for unit in (DIRECTOR, HEALTHCHECK):
        before = show(unit, "MainPID")
        assert show(unit, "NRestarts") == "0", log(unit)  # no earlier restart
        kill(unit, signal.SIGSTOP)
        wait(lambda unit=unit: show(unit, "NRestarts") == "1", f"restart of {unit}")
        wait(lambda unit=unit: show(unit, "ActiveState") == "active", f"{unit} to be ready")
        assert show(unit, "MainPID") != before and "Watchdog timeout" in log(unit)
    assert wait(lambda: forwards(peer), "a packet in GUE") == PEER


def test_director_restarts_and_stops(peer):
    systemctl("restart", DIRECTOR)
    assert wait(lambda: forwards(peer), "a packet in GUE") == PEER
    assert show(HEALTHCHECK, "KillMode") == "mixed"  # else systemd kills the commands that check proxies, and they fail
    systemctl("stop", DIRECTOR, HEALTHCHECK)
    for unit in (DIRECTOR, HEALTHCHECK):
        assert show(unit, "Result") == "success", log(unit)
    assert forwards(peer) is None


@pytest.fixture(scope="module")
def announced(director_files):
    """glb-announce.service announces the VIP to a routing daemon that writes each command and its time (uptime in seconds) to TOLD."""
    commands = "".join(f'{word} = ["/bin/sh", "-c", "read up _ </proc/uptime; echo {word} {{prefix}} $up >>{TOLD}"];\n'
                       for word in ("announce", "withdraw"))
    (director_files / "announce.d/told.conf").write_text(commands, encoding="ascii")
    conf = director_files / "announce.conf"
    conf.write_text(f'driver = "{director_files}/announce.d/told.conf";\nvips = ["{VIP}"];\nrise = 1;\nhold_ms = 0;\n'
                    "reassert_ms = 3600000;\nwithdraw_ms = 1000;\n", encoding="ascii")
    systemctl("enable", ANNOUNCE)
    systemctl("start", DIRECTOR)  # starts glb-announce, too
    wait(lambda: told() == ["announce"], lambda: f"the announcement; {log(ANNOUNCE)}")
    yield conf
    systemctl("disable", ANNOUNCE)
    systemctl("stop", DIRECTOR)


def commands(prefix=f"{VIP}/32"):
    """What the routing daemon was told for this prefix so far: (command, monotonic time in microseconds, rounded down to 10 ms). Without
    `check` in the driver file glb-announce repeats commands; only the first one counts."""
    lines = [line.split() for line in (TOLD.read_text(encoding="ascii").splitlines() if TOLD.exists() else [])]
    mine = [(word, float(up) * 1e6) for word, line_prefix, up in lines if line_prefix == prefix]
    return [command for number, command in enumerate(mine) if number == 0 or mine[number - 1][0] != command[0]]


def told(prefix=f"{VIP}/32"):
    return [word for word, _ in commands(prefix)]


def told_at(number):
    return commands()[number][1]


def time_of(unit, name):
    """Of a unit that runs. systemd forgets the times of a unit that nothing needs."""
    return int(show(unit, f"{name}TimestampMonotonic"))


def journal():
    """The messages of both units, with their monotonic times in microseconds."""
    run("journalctl", "--sync")
    lines = run("journalctl", "--output=json", f"--unit={DIRECTOR}", f"--unit={ANNOUNCE}").stdout.splitlines()
    return [(str(entry["MESSAGE"]), int(entry["__MONOTONIC_TIMESTAMP"])) for entry in map(json.loads, lines)]


def wait_told(before, *more):
    """Waits until the routing daemon was told `more` after `before`, and both units run."""
    wait(lambda: len(told()) >= len(before) + len(more), lambda: f"{more} after {before}: {told()}; {log(ANNOUNCE)}")
    for unit in (DIRECTOR, ANNOUNCE):
        wait(lambda unit=unit: show(unit, "ActiveState") == "active", f"{unit} to be ready")
    assert told() == [*before, *more]


def test_restart_of_the_director_withdraws_the_vips_first(announced):
    before, announcer = told(), show(ANNOUNCE, "MainPID")
    systemctl("restart", DIRECTOR)
    wait_told(before, "withdraw", "announce")
    assert show(ANNOUNCE, "MainPID") != announcer


def test_stop_of_the_director_withdraws_and_waits_first(announced):
    """The director still forwards while the routers learn of the withdrawal."""
    before, lines = told(), len(journal())
    assert show(ANNOUNCE, "KillMode") == "mixed"  # else systemd kills the commands that withdraw, too
    systemctl("stop", DIRECTOR)
    assert told() == [*before, "withdraw"]
    said = [(word, at) for message, at in journal()[lines:] for word in ("Stopping glb-a", "Stopped glb-a", "Stopping glb-d", "Stopped glb-d")
            if message.startswith(word)]
    assert [word for word, _ in said] == ["Stopping glb-a", "Stopped glb-a", "Stopping glb-d", "Stopped glb-d"]
    assert said[1][1] >= told_at(-1) + 1000000, "withdraw_ms"
    for unit in (ANNOUNCE, DIRECTOR):
        assert show(unit, "Result") == "success", log(unit)
    systemctl("start", DIRECTOR)
    wait_told(before, "withdraw", "announce")


def test_killed_director_is_withdrawn_at_once_and_announced_when_it_is_ready(announced):
    """systemd restarts the director by a restart job, which PartOf= passes on: glb-announce is a new process afterwards."""
    before, announcer, restarts = told(), show(ANNOUNCE, "MainPID"), show(ANNOUNCE, "NRestarts")
    kill(DIRECTOR)
    wait_told(before, "withdraw", "announce")
    assert told_at(-2) < time_of(DIRECTOR, "ExecMainStart")
    assert time_of(DIRECTOR, "ActiveEnter") <= time_of(ANNOUNCE, "ExecMainStart")
    assert show(ANNOUNCE, "MainPID") != announcer and show(ANNOUNCE, "NRestarts") == restarts


def test_killed_glb_announce_is_withdrawn_by_release(announced):
    before, director = told(), show(DIRECTOR, "MainPID")
    kill(ANNOUNCE)
    wait_told(before, "withdraw", "announce")
    assert told_at(-2) < time_of(ANNOUNCE, "ExecMainStart") and show(DIRECTOR, "MainPID") == director
    assert log(ANNOUNCE).count("withdrawn: glb-announce ended without withdrawing it") == 1


def test_release_withdraws_if_the_director_is_killed_too(announced):
    before = told()
    for unit in (ANNOUNCE, DIRECTOR):
        kill(unit)
    wait_told(before, "withdraw", "announce")
    assert told_at(-2) < time_of(DIRECTOR, "ExecMainStart")


def test_watchdog_restarts_a_glb_announce_that_hangs(announced):
    """The test does not wait for the unit's 60 seconds."""
    assert show(ANNOUNCE, "WatchdogUSec") == "1min"
    drop_in = Path(f"/run/systemd/system/{ANNOUNCE}.d/watchdog.conf")
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text("[Service]\nWatchdogSec=10s\n", encoding="ascii")
    systemctl("daemon-reload")
    before = told()
    systemctl("restart", ANNOUNCE)
    wait_told(before, "withdraw", "announce")
    kill(ANNOUNCE, signal.SIGSTOP)
    wait_told(before, "withdraw", "announce", "withdraw", "announce")
    assert "Watchdog timeout" in log(ANNOUNCE)
    drop_in.unlink()
    systemctl("daemon-reload")


def test_reload_of_glb_announce(announced):
    """Configuration with errors changes nothing. With another VIP, only that one is announced or withdrawn."""
    before, announcer, good = told(), show(ANNOUNCE, "MainPID"), announced.read_text(encoding="ascii")
    announced.write_text(good + "vip = 1;\n", encoding="ascii")
    assert systemctl("reload", ANNOUNCE, check=False).returncode != 0
    assert told() == before
    announced.write_text(good.replace(f'"{VIP}"', f'"{VIP}", "{VIP6}"'), encoding="ascii")
    systemctl("reload", ANNOUNCE)
    wait(lambda: told(f"{VIP6}/128") == ["announce"], lambda: f"the second VIP; {log(ANNOUNCE)}")
    announced.write_text(good, encoding="ascii")
    systemctl("reload", ANNOUNCE)
    wait(lambda: told(f"{VIP6}/128") == ["announce", "withdraw"], lambda: f"the end of the second VIP; {log(ANNOUNCE)}")
    assert told() == before and show(ANNOUNCE, "MainPID") == announcer and show(ANNOUNCE, "ActiveState") == "active"


def install_table(*vips):
    document = table(PEER)
    document["tables"][0]["binds"] = [{"ip": vip, "proto": "tcp", "port": 80} for vip in vips]
    Path("/tmp/af_xdp.json").write_text(json.dumps(document), encoding="utf-8")
    run("glb-director-cli", "build-config", "--force", "/tmp/af_xdp.json", str(TABLE))


def vips():
    return run("glb-bifurcate", "show").stdout.split()


@pytest.fixture(scope="module")
def af_xdp(director_files):
    """The director's unit with an AF_XDP port, as docs/howto/flow-bifurcation.md says."""
    systemctl("disable", "--now", ANNOUNCE)
    systemctl("stop", DIRECTOR)
    (program,) = Path("/usr").glob("**/glb-director/bifurcate.bpf.o")
    environment = director_files.parent / "default/glb-director"
    text = environment.read_text(encoding="ascii")
    environment.write_text(text.replace("net_af_packet0,iface=lb0", f"net_af_xdp0,iface=lb0,xdp_prog={program}"), encoding="ascii")
    drop_in = Path(f"/etc/systemd/system/{DIRECTOR}.d/af_xdp.conf")
    drop_in.parent.mkdir(parents=True, exist_ok=True)
    drop_in.write_text("[Service]\nCapabilityBoundingSet=CAP_SYS_ADMIN\n", encoding="ascii")
    systemctl("daemon-reload")
    install_table(VIP)


def test_director_on_af_xdp_without_the_map_names_the_unit(af_xdp):
    assert systemctl("start", DIRECTOR, check=False).returncode != 0
    systemctl("stop", DIRECTOR)
    assert "run systemctl enable --now glb-bifurcate" in log(DIRECTOR)


def test_bifurcate_fills_the_map_and_the_director_starts_after_each_kill(peer, af_xdp):
    systemctl("start", BIFURCATE)
    assert vips() == [VIP]
    systemctl("start", DIRECTOR)
    for number in (1, 2):
        assert wait(lambda: forwards(peer), "a packet in GUE") == PEER
        systemctl("kill", "--signal=KILL", DIRECTOR)
        wait(lambda number=number: show(DIRECTOR, "NRestarts") == str(number), "a restart")
        wait(lambda: show(DIRECTOR, "ActiveState") == "active", "the director to be ready")
    assert wait(lambda: forwards(peer), "a packet in GUE") == PEER
    assert log(DIRECTOR).count("removed the XDP program that a killed director left") == 2


def test_map_of_vips_follows_each_reload_that_the_director_accepts(af_xdp):
    install_table(VIP, "203.0.113.11")
    systemctl("reload", DIRECTOR)
    assert vips() == [VIP, "203.0.113.11"]
    TABLE.write_bytes(TABLE.read_bytes()[:100])
    assert systemctl("reload", DIRECTOR, check=False).returncode != 0
    assert vips() == [VIP, "203.0.113.11"]
    install_table(VIP)
    run("glb-director-cli", "reload", "--force")
    assert vips() == [VIP]


def test_reload_of_bifurcate_fills_a_map_that_was_cleared(af_xdp):
    run("glb-bifurcate", "clear")
    systemctl("reload", DIRECTOR)
    assert vips() == []
    systemctl("reload", BIFURCATE)
    assert vips() == [VIP]
    systemctl("stop", DIRECTOR, BIFURCATE)
    assert vips() == [VIP]
