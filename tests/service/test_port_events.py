# SPDX-License-Identifier: BSD-3-Clause
"""Events of ports: resets, removals and recoveries, which tests/driver/port_events.c reports in place of a driver or of the kernel."""

import os
import re
import socket
import subprocess
import time
import urllib.request

import pytest
from scapy.layers.inet import IP, TCP

from lab.net import Namespace
from lab.tools import TIMEOUT_S, wait_until
from support import pcap
from support import traffic
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, sum_of_verdicts, write_table
from support.health import wait_health
from support.ports import reserved_port
from support.tree import BUILD, CLI

LIBRARY = BUILD / "tests/driver/port_events.so"
FRAMES = [bytes(traffic.ETHER / IP(src=f"198.51.100.{i}", dst=traffic.VIP4[0]) / TCP(dport=80)) for i in range(97)]
LCORES = "0@0,1@0,2@1"  # one receives and distributes, and two work
NOT_READY = "not ready port"  # DPDK logs this when an lcore uses a port that is stopped


class Driver:
    """Reports events of the ports of the director that starts next."""

    def __init__(self, folder, monkeypatch):
        self.path = folder / "events"
        os.mkfifo(self.path)
        monkeypatch.setenv("LD_PRELOAD", str(LIBRARY))
        monkeypatch.setenv("GLB_TEST_EVENTS", str(self.path))
        self._fd = None

    def report(self, *lines):
        if self._fd is None:
            self._fd = os.open(self.path, os.O_WRONLY)
        os.write(self._fd, "".join(f"{line}\n" for line in lines).encode())

    def close(self):
        if self._fd is not None:
            os.close(self._fd)


@pytest.fixture
def driver(tmp_path, monkeypatch):
    driver = Driver(tmp_path, monkeypatch)
    yield driver
    driver.close()


@pytest.fixture
def start(driver, tmp_path):
    """A director whose ports receive without end. The frames are all zero, so they match nothing."""

    def start(ports=1, idle="poll", lcores="0@0", **config):
        vdevs = [f"net_null{i}" for i in range(ports)]
        return DirectorProcess(vdevs, {**CONFIG, "idle": idle, **config}, write_table(tmp_path / "table", traffic.TABLE), lcores=lcores)

    return start


def health(director):
    return director.telemetry.ask("/glb/health")


def port(director, number=0):
    return health(director)["ports"][str(number)]


def wait_port(director, number=0, **expected):
    """Waits until /glb/health shows these values. A port runs again some instructions before the reset is counted."""
    wait_until(lambda: expected.items() <= port(director, number).items(), lambda: f"{expected}: {health(director)} {director.log[-3000:]}")


def receives(director):
    """Waits until the director receives more packets than now."""
    before = director.stats()["received"]
    wait_until(lambda: director.stats()["received"] > before + 1000, lambda: f"more packets: {director.stats()}")


def polls(director):
    return sum(each["polls"] for each in director.stats()["lcores"].values())


def end(director):
    """Every received packet has a verdict, and no lcore has used a port while it was stopped."""
    counters = director.terminate()
    assert counters["received"] == sum_of_verdicts(counters)
    assert NOT_READY not in director.log, director.log


@pytest.mark.parametrize("idle, lcores", (("poll", "0@0"), ("poll", LCORES), ("sleep", LCORES)))
def test_port_is_set_up_again_after_a_reset(start, driver, idle, lcores):
    with start(idle=idle, lcores=lcores) as director:
        receives(director)
        mac = director.port_mac()
        for resets in (1, 2, 3):
            driver.report("reset 0")
            wait_until(lambda: port(director)["resets"] == resets, lambda: f"reset {resets}: {health(director)} {director.log[-3000:]}")
            receives(director)
        assert port(director)["state"] == "running"
        assert port(director)["reset_events"] == 3 and port(director)["reset_failures"] == 0
        assert director.port_mac() == mac
        wait_until(lambda: director.log.count("it was reset and set up again") == 3, "the messages")
        end(director)


def test_driver_without_a_reset_resets_the_card_at_its_start(start, driver, monkeypatch):
    monkeypatch.setenv("GLB_TEST_DRIVER", "net_other_vf")
    with start() as director:
        receives(director)
        driver.report("reset 0")
        wait_until(lambda: port(director)["resets"] == 1, lambda: f"{health(director)} {director.log[-3000:]}")
        receives(director)
        assert port(director)["reset_failures"] == 0
        end(director)


@pytest.mark.parametrize("name, resets", [("net_e1000_igb_vf", 1), ("net_other_vf", 0)])
def test_port_whose_driver_may_not_tell_resets_is_set_up_again_when_its_link_is_back(start, driver, monkeypatch, name, resets):
    """Once for each time that the link comes back: a reset takes the link down, too."""
    monkeypatch.setenv("GLB_TEST_DRIVER", name)
    with start() as director:
        wait_health(director, "ok")
        receives(director)
        for flaps in (1, 2):
            driver.report("down 0")
            wait_health(director, "failing", "link_down")
            driver.report("up 0")
            wait_until(lambda: port(director)["resets"] == flaps * resets, lambda: f"{health(director)} {director.log[-3000:]}")
            wait_health(director, "ok")
            receives(director)
        evaluations = health(director)["now"]
        wait_until(lambda: health(director)["now"] > evaluations + 2, "more evaluations of the health")
        assert port(director)["resets"] == 2 * resets and port(director)["reset_events"] == 0
        assert director.log.count("the PF may have been reset while the link was down") == 2 * resets
        end(director)


def test_resets_that_take_the_link_down_become_rare(start, driver, monkeypatch):
    """The link of this VF is down at the first look after each reset. The director cannot tell that from another reset of the PF."""
    monkeypatch.setenv("GLB_TEST_DRIVER", "net_e1000_igb_vf")
    monkeypatch.setenv("GLB_TEST_SLOW_LINK", "1")
    with start() as director:
        driver.report("reset 0")
        for seconds in (3, 6, 12):
            director.wait_log(f"the port will be set up again in {seconds} seconds")
        wait_health(director, "ok")
        end(director)


def test_reset_that_fails_is_tried_again(start, driver):
    with start() as director:
        receives(director)
        driver.report("fail 1", "reset 0")
        wait_health(director, "failing", "port_reset")
        wait_until(lambda: "cannot be reset: Input/output error" in director.log, lambda: director.log)
        wait_health(director, "ok")
        receives(director)
        wait_port(director, resets=1, reset_failures=1)
        end(director)


def test_interrupts_are_tried_again_after_a_reset_that_failed(start, driver, monkeypatch):
    """A card that does not answer refuses the configuration without interrupts, too."""
    monkeypatch.setenv("GLB_TEST_INTERRUPTS", "1")
    with start(idle="sleep") as director:
        receives(director)
        driver.report("refuse 2", "reset 0")
        director.wait_log("the reset failed")
        # One line from the start, and one from the next attempt. Until this attempt, the health can be that of before the reset.
        assert [" with interrupts" in line for line in director.wait_log("rx queue of", 2)] == [True, True], director.log
        wait_health(director, "ok")
        end(director)


def test_statsd_gets_the_packets_of_a_queue_once(driver, tmp_path):
    """The counters of its queues are missing while the port is being reset, and this driver keeps them."""
    pcap.write(tmp_path / "rx.pcap", FRAMES)
    vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap={tmp_path}/tx.pcap"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(TIMEOUT_S)
        lines = []

        def wait_line(pattern):
            while not any(re.match(pattern, line) for line in lines):
                lines.extend(server.recv(65536).decode().split("\n"))

        def counted():
            return sum(int(line.split(":")[1].removesuffix("|c")) for line in lines if ".queue_received_packets." in line)

        config = {**CONFIG, "statsd": {"host": "127.0.0.1", "port": server.getsockname()[1]}}
        with DirectorProcess([vdev], config, write_table(tmp_path / "table", traffic.TABLE)) as director:
            while counted() < len(FRAMES):
                lines.extend(server.recv(65536).decode().split("\n"))
            driver.report("fail 1000", "reset 0")
            wait_line(".*port_running.*:0[|]g")
            seen = counted()
            driver.report("fail 0")
            while counted() < seen + len(FRAMES):
                lines.extend(server.recv(65536).decode().split("\n"))
            assert counted() == director.telemetry.ask("/ethdev/xstats,0")["rx_q0_packets"] == 2 * len(FRAMES)
            end(director)


def test_packets_for_a_port_that_is_not_back_are_counted_at_the_end(start, driver):
    with start(lcores=LCORES) as director:
        receives(director)
        driver.report("fail 1000", "reset 0")
        wait_until(lambda: port(director)["reset_failures"], "a reset that fails")
        end(director)


def test_director_goes_on_without_a_removed_port(start, driver):
    """Each lcore has a path on both ports. A second removal, or an event of a port that is gone, changes nothing."""
    with start(ports=2, lcores="0@0,1@1") as director:
        wait_health(director, "ok")
        driver.report("absent 1000", "remove 1")
        wait_health(director, "degraded", "port_removed")
        wait_until(lambda: "goes on without it" in director.log, "the message")
        driver.report("remove 1", "reset 1")
        receives(director)
        assert [port(director, i)["state"] for i in (0, 1)] == ["running", "removed"]
        assert director.telemetry.ask("/glb/reload")["ok"] == 1
        driver.report("reset 0")
        wait_until(lambda: port(director)["resets"] == 1, "the reset of the other port")
        receives(director)
        end(director)


def test_device_that_the_kernel_asks_for_is_released_and_used_again(start, driver):
    """The kernel repeats its request until the device is released. Attempts to attach the device again fail until it is back."""
    with start(ports=2, lcores="0@0,1@1") as director:
        wait_health(director, "ok")
        driver.report("absent 1000", "unplug 1", "unplug 1", "unplug 1")
        wait_health(director, "degraded", "port_removed")
        wait_until(lambda: "the director has released the device" in director.log, lambda: director.log)
        assert director.telemetry.ask("/ethdev/list") == [0], "the device is not released"
        driver.report("unplug 1", "remove 1", "reset 1")
        receives(director)
        director.wait_log("DPDK cannot attach it: No such device")
        assert port(director, 1)["state"] == "removed" and director.telemetry.ask("/glb/reload")["ok"] == 1
        driver.report("absent 0")
        wait_health(director, "ok")
        assert director.log.count("released the device") == 1
        wait_port(director, 1, state="running", attaches=1)
        wait_until(lambda: "port 1 (net_null1): the MAC is now" in director.log, lambda: f"the new MAC: {director.log}")
        receives(director)
        driver.report("unplug 1")
        wait_health(director, "degraded", "port_removed")
        end(director)


def test_two_devices_are_removed_at_once_and_during_reloads(start, driver):
    """The device of port 0 is back later than that of port 1, which waits, because DPDK would give it the free number 0."""
    with start(ports=3, lcores="0@0,1@1") as director:
        wait_health(director, "ok")
        driver.report("absent 1", "unplug 0", "unplug 1")
        for _ in range(5):
            assert director.telemetry.ask("/glb/reload,force")["ok"] == 1
        wait_until(lambda: director.log.count("the director has released the device") == 2, lambda: director.log)
        receives(director)
        wait_health(director, "ok")
        for i, attaches in enumerate((1, 1, 0)):
            wait_port(director, i, attaches=attaches)
        assert "port 1 (net_null1): the device is back, but must wait until those of ports with lower numbers are" in director.log
        receives(director)
        end(director)


def test_device_that_is_unplugged_while_its_resets_fail(start, driver):
    """Attempts become rare. When the device is back, the director begins anew."""
    with start(ports=2, lcores="0@0,1@1") as director:
        wait_health(director, "ok")
        driver.report("fail 1000", "reset 1")
        for seconds in (5, 10):
            wait_until(lambda: f"the reset failed; next attempt in {seconds} seconds" in director.log, lambda: director.log)
        driver.report("absent 1", "unplug 1")
        wait_health(director, "degraded", "port_removed")
        wait_until(lambda: "cannot be used; next attempt in 5 seconds" in director.log, lambda: director.log)
        wait_health(director, "ok")
        receives(director)
        end(director)


def test_other_card_that_cannot_have_as_many_queues_is_released(start, driver):
    with start(ports=2, lcores="0@0,1@1") as director:
        wait_health(director, "ok")
        driver.report("refuse 1000", "unplug 1")
        director.wait_log("try a lower num_worker_queues")
        director.wait_log("cannot be used; next attempt in")
        wait_health(director, "degraded", "port_removed")
        assert director.telemetry.ask("/ethdev/list") == [0], "the card is not released"
        receives(director)
        driver.report("refuse 0")
        wait_health(director, "ok")
        end(director)


def test_kernel_interface_that_returns_with_another_index_is_used(driver, tmp_path):
    with Namespace() as host:
        def plug(index):
            host.ip(f"link add director index {index} type veth peer name router", "link set director up", "link set router up")

        plug(100)
        table = write_table(tmp_path / "table", traffic.TABLE)
        with DirectorProcess(["net_af_packet0,iface=director"], CONFIG, table, prefix=host.command()) as director:
            wait_health(director, "ok")
            host.ip("link del director")
            wait_health(director, "failing", "port_removed")
            driver.report("unplug 0")
            wait_until(lambda: "the director has released the device" in director.log, lambda: director.log)
            plug(200)
            wait_health(director, "ok")
            wait_port(director, attaches=1)
            end(director)


def test_exception_path_of_a_port_that_returns(driver, tmp_path):
    """The kernel gets multicast again, which IPv6 needs to resolve addresses, and glb0 has the MTU that the port has now."""
    def shown(word, device):
        return re.search(rf" {word} (\d+)", host.run("ip", "-d", "link", "show", device).stdout)[1]

    with Namespace() as host:
        def plug(mtu):
            host.ip(f"link add director mtu {mtu} type veth peer name router", "link set director up", "link set router up")

        plug(2000)
        table = write_table(tmp_path / "table", traffic.TABLE)
        with DirectorProcess(["net_af_packet0,iface=director"], {**CONFIG, "exception_path": "tap"}, table, prefix=host.command()) as director:
            wait_health(director, "ok")
            assert (shown("allmulti", "director"), shown("mtu", "glb0")) == ("1", "2000")
            for mtu in ("1500", "1800"):
                host.ip("link del director")
                wait_health(director, "failing", "port_removed")
                driver.report("unplug 0")
                plug(mtu)
                wait_health(director, "ok")
                assert (shown("allmulti", "director"), shown("mtu", "glb0")) == ("1", mtu)
            assert "the MTU is now" not in director.log, "an interface that is gone has no new MTU"
            end(director)


def test_only_device_is_removed_while_a_capture_and_scrapes_run(start, driver, tmp_path):
    with reserved_port() as number, start(lcores=LCORES, metrics=f"127.0.0.1:{number}") as director:
        wait_health(director, "ok")
        command = [CLI, "capture", "--file-prefix", director.file_prefix, "--count", "1000000000", "-w", tmp_path / "kept.pcapng"]
        with subprocess.Popen(command, env=director.environment, stderr=subprocess.PIPE, text=True) as capture:
            wait_until(lambda: director.stats()["capture_matched"], "captured packets")
            driver.report("absent 1000", "unplug 0")
            scraped = []
            while not any('glb_director_port_running{port="0",device="net_null0"} 0' in text for text in scraped):
                with urllib.request.urlopen(f"http://127.0.0.1:{number}/metrics", timeout=TIMEOUT_S) as answer:
                    scraped.append(answer.read().decode())
            wait_health(director, "failing", "port_removed")
            wait_until(lambda: "the director has released the device" in director.log, lambda: director.log)
            assert director.telemetry.ask("/ethdev/list") == []
            received, before = director.stats()["received"], polls(director)
            wait_until(lambda: polls(director) > before, "lcores that go on")
            assert director.stats()["received"] == received
            end(director)
            # The director cannot tell why it ends if frames that the client has not read fill the socket.
            assert re.search("because the director stops|: the director has ended", capture.communicate(timeout=TIMEOUT_S)[1])


def test_device_that_is_removed_during_the_start(start, driver):
    """The kernel asks again and again."""
    with start() as director:
        def asked():
            driver.report("absent 1000", "unplug 0")
            return "the director has released the device" in director.log
        wait_until(asked, lambda: director.log)
        end(director)


def test_port_that_asks_for_a_reset_as_soon_as_it_is_started_is_reset(start, driver, monkeypatch):
    """At the start of the director, and when its device is back."""
    monkeypatch.setenv("GLB_TEST_EARLY", "1")
    with start() as director:
        wait_until(lambda: port(director)["resets"] == 1, lambda: f"{health(director)} {director.log[-3000:]}")
        wait_health(director, "ok")
        driver.report("early 1", "unplug 0")
        wait_until(lambda: port(director)["attaches"] == 1, lambda: f"{health(director)} {director.log[-3000:]}")
        wait_until(lambda: port(director)["resets"] == 2, lambda: f"{health(director)} {director.log[-3000:]}")
        receives(director)
        end(director)


def test_many_requests_for_resets_do_not_keep_the_director_from_its_work(start, driver):
    """After three resets the port waits for the next one. SIGTERM ends it meanwhile."""
    with start(ports=2, lcores="0@0,1@1") as director:
        wait_health(director, "ok")
        for resets in (1, 2, 3):
            driver.report("reset 1")
            wait_until(lambda: port(director, 1)["resets"] == resets, lambda: f"reset {resets}: {health(director)}")
        driver.report(*["reset 1"] * 1000)
        wait_until(lambda: port(director, 1)["reset_events"] == 1003, lambda: f"{port(director, 1)}")
        assert len(director.wait_log("the driver asks for a reset", 4)) == 4
        wait_port(director, 1, state="resetting")
        wait_health(director, "degraded", "port_reset")
        receives(director)
        assert (port(director, 1)["state"], port(director, 1)["resets"]) == ("resetting", 3)
        end(director)


def test_link_that_flaps_does_not_fill_the_log(start, driver):
    """The log has at most one such line a second, which tells how many changes there were, and the last line tells the state."""
    with start() as director:
        wait_health(director, "ok")
        before = time.monotonic()

        def flap():
            for state in ("down", "up"):
                driver.report(f"{state} 0")
                time.sleep(0.15)  # the director looks at links at most every 0.1 s
            return "changes" in director.log

        wait_until(flap, lambda: director.log)
        wait_until(lambda: "the link is up" in director.log[director.log.rfind("the link is") :], lambda: director.log)
        lines = re.findall(r": (?:warning|notice): port 0 .* the link is", director.log)
        assert len(lines) <= time.monotonic() - before + 2, director.log
        wait_health(director, "ok")
        end(director)


def test_recovery_of_the_driver_is_shown(start, driver):
    with start(ports=2, lcores="0@0,1@1") as director:
        wait_health(director, "ok")
        driver.report("recovering 0")
        wait_health(director, "degraded", "port_reset")
        assert port(director)["state"] == "recovering"
        driver.report("recovered 0")
        wait_health(director, "ok")
        driver.report("recovering 0", "unrecovered 0")
        wait_until(lambda: port(director)["resets"] == 1, "the reset after a recovery that failed")
        wait_health(director, "ok")
        assert [port(director)[f"{name}_events"] for name in ("recovering", "recovered", "recovery_failed")] == [2, 1, 1]
        end(director)


def test_counters_of_a_port_stay_while_its_driver_recovers(start, driver):
    """If they were 0 meanwhile, Prometheus would count all packets since the start once more."""
    def counters(director):
        with urllib.request.urlopen(f"http://127.0.0.1:{number}/metrics", timeout=TIMEOUT_S) as answer:
            metrics = re.search(r"^glb_director_port_received_packets_total\S* (\d+)$", answer.read().decode(), re.M)
        return int(metrics[1]), director.stats()["ports"]["0"]["rx_packets"]

    with reserved_port() as number, start(metrics=f"127.0.0.1:{number}") as director:
        wait_health(director, "ok")
        receives(director)
        before = counters(director)
        driver.report("recovering 0")
        wait_health(director, "failing", "port_reset")
        meanwhile = counters(director)
        assert meanwhile[0] >= before[0] > 1000 and meanwhile[1] >= before[1] > 1000
        driver.report("recovered 0")
        wait_health(director, "ok")
        wait_until(lambda: counters(director) > meanwhile, "more packets")
        end(director)


def test_reset_of_a_director_that_stops(start, driver):
    with start(stop_delay_ms=60000) as director:
        receives(director)
        director.process.terminate()
        wait_health(director, "stopping")
        driver.report("reset 0")
        wait_until(lambda: port(director)["resets"] == 1, "the reset")
        receives(director)
        end(director)


SILENT = "port 0 (net_null0): the card does not answer its driver net_null, so the director "


def ends_without_the_card(director, began):
    """The end of a director whose card does not answer: a failure, in less time than systemd gives it (10 s)."""
    assert director.process.wait(TIMEOUT_S) == 1, director.log
    assert 4 < time.monotonic() - began < 9, director.log
    wait_until(lambda: SILENT + "ends without closing its ports" in director.log, lambda: director.log)


def test_director_that_starts_and_is_told_to_stop_ends_although_a_card_does_not_answer(start, monkeypatch):
    """It is told twice: the second signal changes nothing. Nobody but systemd waits for the start."""
    monkeypatch.setenv("GLB_TEST_SILENT", "1")
    director = start()
    try:
        wait_until(lambda: " steers port 0" in director.log, lambda: director.log)
        began = time.monotonic()
        director.process.terminate()
        time.sleep(0.5)
        director.process.terminate()
        ends_without_the_card(director, began)
    finally:
        director.__exit__()


def test_director_that_stops_ends_although_a_card_does_not_answer(start, driver):
    """It has printed its counters before."""
    with start() as director:
        receives(director)
        driver.report("hang 1")
        assert director.telemetry.ask("/glb/reload,force")["ok"] == 1  # so that the driver has read the line
        began = time.monotonic()
        director.process.terminate()
        ends_without_the_card(director, began)
        counters = director.printed_counters()
        assert counters["received"] == sum_of_verdicts(counters) > 0


def test_director_works_and_stops_while_a_card_does_not_answer_a_reset(start, driver):
    """The other port forwards, the table is reloaded, and what the other port reports is taken."""
    with start(ports=2, lcores="0@0,1@1", stop_delay_ms=60000) as director:
        wait_health(director, "ok")
        driver.report("hang 1", "reset 0")
        wait_health(director, "degraded", "port_reset")
        wait_until(lambda: SILENT + "goes on without the port" in director.log, lambda: director.log)
        receives(director)
        assert director.telemetry.ask("/glb/reload,force")["ok"] == 1
        driver.report("down 1")
        wait_health(director, "failing", "port_reset", "link_down")
        driver.report("up 1")
        wait_health(director, "degraded", "port_reset")
        director.process.terminate()
        wait_health(director, "stopping", "port_reset")
        began = time.monotonic()
        director.process.terminate()
        ends_without_the_card(director, began)
        counters = director.printed_counters()
        assert counters["received"] == sum_of_verdicts(counters)


def test_card_that_answers_late_is_used_again(start, driver):
    """Meanwhile the driver asks for another reset, which follows."""
    with start() as director:
        receives(director)
        driver.report("hang 1", "reset 0")
        wait_health(director, "failing", "port_reset")
        driver.report("reset 0")
        wait_until(lambda: port(director)["reset_events"] == 2, lambda: f"{port(director)}")
        driver.report("hang 0")
        wait_until(lambda: port(director)["resets"] == 2, lambda: f"{port(director)} {director.log}")
        wait_health(director, "ok")
        receives(director)
        end(director)


def test_link_events_are_counted(start, driver):
    with start() as director:
        wait_health(director, "ok")
        driver.report("link 0")
        wait_until(lambda: port(director)["link_events"] == 1, lambda: f"{port(director)}")
        wait_health(director, "ok")
        end(director)


def test_link_is_known_although_the_driver_loses_its_events(start, driver):
    with start(ports=2, lcores="0@0,1@1") as director:
        wait_health(director, "ok")
        for state, *reasons in (("down", "degraded", "link_down"), ("up", "ok")):
            driver.report(f"silent-{state} 1")
            wait_health(director, *reasons)
            assert director.stats()["ports"]["1"]["link"] == state
            wait_until(lambda: f"port 1 (net_null1): the link is {state}" in director.log, lambda: director.log)
        assert port(director, 1)["link_events"] == 0
        end(director)


def test_packets_after_a_reset_are_forwarded(driver, tmp_path):
    """The driver reads its capture again from the beginning when it starts again."""
    table = write_table(tmp_path / "table", traffic.TABLE)
    pcap.write(tmp_path / "rx.pcap", FRAMES)
    vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap={tmp_path}/tx.pcap"
    with DirectorProcess([vdev], CONFIG, table, lcores=LCORES) as director:
        director.wait_received(len(FRAMES))
        before = pcap.read(tmp_path / "tx.pcap")
        driver.report("reset 0")
        assert director.wait_received(2 * len(FRAMES))["forwarded"] == 2 * len(FRAMES)
        end(director)
    assert sorted(pcap.read(tmp_path / "tx.pcap")) == sorted(before) and len(before) == len(FRAMES)


def test_resets_a_reload_and_the_stop_leave_the_file_of_a_capture_readable(driver, tmp_path):
    table = write_table(tmp_path / "table", traffic.TABLE)
    pcap.write(tmp_path / "rx.pcap", FRAMES)
    vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap={tmp_path}/tx.pcap"
    path = tmp_path / "kept.pcapng"
    with DirectorProcess([vdev], CONFIG, table, lcores=LCORES) as director:
        director.wait_received(len(FRAMES))
        capture = subprocess.Popen([CLI, "capture", "--file-prefix", director.file_prefix, "-w", path], env=director.environment,
                                   stderr=subprocess.PIPE, text=True)
        wait_until(lambda: director.stats()["capture"], "the capture")
        for rounds in (2, 3):
            driver.report("reset 0")
            director.wait_received(rounds * len(FRAMES))
            assert director.telemetry.ask("/glb/reload,force")["ok"] == 1
        wait_until(lambda: director.stats()["capture_matched"] == 2 * len(FRAMES), lambda: f"all packets: {director.stats()}")
        end(director)
        assert "the capture ended, because the director stops" in capture.communicate(timeout=TIMEOUT_S)[1]
    _, packets = pcap.read_ng(path.read_bytes())
    received = [packet for packet in packets if packet.direction == "in"]
    assert sorted(packet.frame for packet in received) == sorted(2 * FRAMES) and len(packets) == 2 * len(received)
    generations = [packet.comment.split("generation ")[1].split(",")[0] for packet in received]
    assert sorted(generations) == ["1"] * len(FRAMES) + ["2"] * len(FRAMES)
