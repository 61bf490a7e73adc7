# SPDX-License-Identifier: BSD-3-Clause
"""Starts of glb-director that must fail with an error line that names the wrong value."""

import fcntl
import os
import re
import subprocess
from pathlib import Path

import pytest

from lab.tools import TIMEOUT_S
from support import pcap
from support import traffic
from support.cli import with_ipv6_backend
from support.director_conf import CONFIG, write_config
from support.director_process import NOBODY, on_cpus, write_table
from support.folders import open_to_all
from support.tree import DIRECTOR

EAL = "--no-huge -m256 --no-shconf --no-pci --no-telemetry --file-prefix=errors".split()


class Start:
    """Arguments of a start that would succeed. Each test makes one of them wrong."""

    def __init__(self, folder):
        self.folder = folder
        self.eal = [*EAL, "--lcores", on_cpus("0@0")]
        self.vdevs = [f"net_pcap0,rx_pcap={folder}/rx.pcap,tx_pcap={folder}/tx.pcap"]
        self.config = CONFIG
        self.config_file = folder / "director.conf"
        self.table = write_table(folder / "table", traffic.TABLE)
        self.user = None
        pcap.write(folder / "rx.pcap", [])

    def run(self):
        if self.config is not None:
            write_config(self.config_file, self.config)
        eal = [*self.eal, *(f"--vdev={vdev}" for vdev in self.vdevs)]
        own = ["--config-file", self.config_file, "--forwarding-table", self.table]
        return run(*eal, "--", *own, user=self.user, folder=self.folder)

    def assert_fails(self, *words):
        """The start must fail with exit code 1 and an error line that has all these words."""
        done = self.run()
        assert done.returncode == 1, done.stderr
        lines = done.stderr.splitlines()
        errors = [line for line in lines if line.startswith("glb-director: error: ")]
        assert any(all(str(word) in line for word in words) for line in errors), done.stderr


def run(*arguments, user=None, folder=None):
    command = [DIRECTOR, *arguments]
    if user is not None:
        open_to_all(folder)
        os.chown(folder, user, user)
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
    environment = {**os.environ, "RUNTIME_DIRECTORY": str(folder)} if folder else None
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment
    )
    assert done.returncode >= 0, f"the director died of signal {-done.returncode}:\n{done.stderr}"
    return done


@pytest.fixture
def start(tmp_path):
    return Start(tmp_path)


@pytest.mark.parametrize("arguments", (["--help"], ["-h"], ["--", "--help"], ["--no-huge", "-h"]))
def test_help(arguments):
    done = run(*arguments)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("usage: glb-director ")
    assert "--forwarding-table" in done.stdout and "--vdev" in done.stdout


@pytest.mark.parametrize("arguments", (["--version"], ["-V"], ["--", "--version"]))
def test_version(arguments):
    done = run(*arguments)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("glb-director ") and "DPDK" in done.stdout


@pytest.mark.parametrize(
    "arguments, offender",
    (
        ([], "--"),
        (["--no-huge", "-l", "0"], "--"),
        (["--", "--config-file"], "config-file"),
        (["--", "--config-file", "x", "--forwarding-table", "y", "--gateway"], "gateway"),
        (["--", "--config-file", "x", "--forwarding-table", "y", "z"], "unexpected operand 'z'"),
    ),
)
def test_usage(arguments, offender):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    first, rest = done.stderr.splitlines()
    assert first.startswith("glb-director: ") and offender in first and rest == "Try 'glb-director --help'."


@pytest.mark.parametrize("options, message", (
    (["--no-such-option"], "it does not know '--no-such-option', or that needs a value"),
    (["--no-such=option"], "it does not know '--no-such=option', or that needs a value"),
    (["--lcores=999"], "invalid parameter for --lcores"),
    (["-l", "999"], "lcore 999 "),
    (["--proc-type=x"], "Invalid process type specified"),
))
def test_wrong_eal_option_is_one_error(options, message, start):
    """EAL itself prints a hundred lines of usage. Advice about hugepages or permissions does not help either."""
    start.eal = [word for word in start.eal if word not in ("--no-huge", "--lcores", on_cpus("0@0"))] + options
    done = start.run()
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("glb-director: error: EAL refuses the options before --: ") and message in line


def test_other_errors_of_eal_follow_its_messages(start):
    start.eal.append("--vdev=net_nonesuch0")
    lines = start.run().stderr.splitlines()
    assert lines[0].startswith("EAL: Detected CPU lcores") and lines[-1].startswith("glb-director: error: ")


def test_file_prefix_in_use_by_another_process_is_named(start):
    """EAL reports this without an errno. The message must not end in strerror(0), which is "Success"."""
    start.eal.remove("--no-shconf")
    config = start.folder / "dpdk" / "errors" / "config"
    config.parent.mkdir(parents=True)
    with config.open("w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        done = start.run()
    assert done.returncode == 1
    assert "another primary process" in done.stderr and "Success" not in done.stderr
    assert "glb-director: error: DPDK's EAL does not start" in done.stderr


def test_missing_port_is_an_error(start):
    start.vdevs = []
    start.assert_fails("no port")


@pytest.mark.parametrize(
    "vdev",
    ("net_af_packet7,iface=nonesuch", "net_pcap7,rx_pcap=/nonexistent.pcap,tx_iface=nonesuch"),
)
def test_vdev_that_does_not_start_is_an_error(start, vdev):
    """EAL itself would continue with the other vdev."""
    start.vdevs.append(vdev)
    start.assert_fails(vdev)


def test_two_vdevs_of_one_name_are_an_error(start):
    """EAL itself would ignore the second one."""
    start.vdevs.append("net_pcap0,rx_iface=nonesuch")
    start.assert_fails("--vdev net_pcap0,rx_iface=nonesuch", "same device name")


def test_missing_permission_is_named(start):
    """As root, the test runs the director as nobody. Other users lack the permission anyway."""
    start.vdevs = ["net_af_packet0,iface=lo"]
    if os.getuid() == 0:
        start.user = NOBODY
    start.assert_fails("net_af_packet0,iface=lo", "may")


def test_too_little_memory_is_an_error(start):
    start.eal = ["-m8" if word.startswith("-m") else word for word in start.eal]
    start.assert_fails("memory", "-m")


@pytest.mark.skipif(
    int(re.search(r"HugePages_Free: +(\d+)", Path("/proc/meminfo").read_text())[1]) > 0,
    reason="this machine has free hugepages",
)
def test_missing_hugepages_are_named(start):
    start.eal.remove("--no-huge")
    start.assert_fails("hugepages", "--no-huge")


def test_config_syntax_error_names_the_file(start):
    start.config = None
    start.config_file.write_text("outbound_src_ip = \n", encoding="ascii")
    start.assert_fails(start.config_file)


@pytest.mark.parametrize(
    "key, value",
    (
        ("outbound_gatewaymac", "02:00:00:00:00:fe"),
        ("outbound_gateway_mac", "02:00:00:00:00"),
        ("outbound_src_ip", "192.0.2.256"),
        ("hash_fields", {"src_address": True}),
        ("hash_fields", {"src_addr": False}),
        ("outbound_mtu", 9217),
        ("exception_path", "kni"),
        ("idle", "nap"),
    ),
)
def test_bad_key_or_value_is_named(start, key, value):
    start.config = {**CONFIG, key: value}
    start.assert_fails(start.config_file, key)


@pytest.mark.parametrize("key", CONFIG)
def test_missing_key_is_named(start, key):
    start.config = {name: value for name, value in CONFIG.items() if name != key}
    start.assert_fails(start.config_file, key)


def test_more_worker_queues_than_the_port_has_are_an_error(start):
    start.config = {**CONFIG, "num_worker_queues": 3}
    start.assert_fails("num_worker_queues", 3)


def test_too_few_mbufs_name_the_key_and_the_number_that_is_needed(start):
    start.config = {**CONFIG, "mbufs": 100}
    start.assert_fails("mbufs: port 0 (net_pcap0) needs at least ", " frame buffers for 1 rx and 1 tx queues, but mbufs is 100")


def test_memory_that_does_not_suffice_for_the_mbufs_names_the_keys(start):
    start.config = {**CONFIG, "mbufs": 16777216}
    start.assert_fails("no memory for 16777216 frame buffers", "mbufs", "rx_descriptors", "tx_descriptors")


def group(**members):
    """A configuration with `lcores` and one flow path."""
    path = {"rx_port": 0, "rx_queue": 0, "tx_port": 0, "tx_queue": 0}
    return {"flow_paths": [{**path, **members.pop("path", {})}], "lcores": members}


def test_lcore_that_eal_does_not_have_is_named(start):
    members = {"lcore-7": {"rx": True, "tx": True, "flow_paths": [0]}}
    start.config = {**CONFIG, **group(**members)}
    start.assert_fails("lcore-7")


@pytest.mark.parametrize("path", ({"rx_port": 5}, {"tx_port": 5}, {"rx_queue": 5}, {"tx_queue": 5}))
def test_flow_path_with_a_missing_port_or_queue_is_named(start, path):
    members = {"lcore-0": {"rx": True, "tx": True, "flow_paths": [0]}}
    start.config = {**CONFIG, **group(path=path, **members)}
    start.assert_fails("flow_paths[0]", *path, 5)


def test_missing_table_is_named(start):
    start.table = start.folder / "nonesuch.bin"
    start.assert_fails("nonesuch.bin", "No such file")
    start.assert_fails("there is no forwarding table yet", "glb-healthcheck", "build-config /", f" {start.table}")


def test_missing_configuration_has_an_exit_code_of_its_own(start):
    """The unit does not restart the director then, and the last line says what to do."""
    start.config, start.config_file = None, start.folder / "nonesuch.conf"
    done = start.run()
    first, last = done.stderr.splitlines()
    assert done.returncode == 6 and first.endswith("nonesuch.conf: cannot be opened: No such file or directory")
    assert "not configured yet: glb-director-cli new" in last and last.endswith("/doc/glb-director/howto/first-director.md")


@pytest.mark.parametrize("broken", ("", "\0", "outbound_src_ip ="))
def test_faulty_configuration_has_the_exit_code_of_errors(start, broken):
    start.config = None
    start.config_file.write_text(broken)
    assert start.run().returncode == 1


def test_folder_as_table_is_an_error(start):
    start.table = start.folder
    start.assert_fails(start.folder, "directory")


@pytest.mark.parametrize("size", (-1, 100, 0))
def test_truncated_table_is_an_error(start, size):
    start.table.write_bytes(start.table.read_bytes()[:size])
    start.assert_fails(start.table)


def test_table_with_a_wrong_digest_is_an_error(start):
    data = bytearray(start.table.read_bytes())
    data[len(data) // 2] ^= 1
    start.table.write_bytes(data)
    start.assert_fails(start.table)


def test_bad_value_of_a_json_table_is_named(start):
    document = traffic.document(hops=2)
    document["tables"][1]["backends"][3]["ip"] = "10.0.0.300"
    write_table(start.table, document, "json")
    start.assert_fails(start.table, "tables[1].backends[3].ip", "'10.0.0.300'")


@pytest.mark.parametrize("version", ["json", "3"])
def test_table_of_a_family_without_a_source_address_is_an_error(start, version):
    document = traffic.document(hops=2)
    document["tables"][1]["backends"] = [{"ip": f"2001:db8::{n}", "state": "active"} for n in (1, 2)]
    write_table(start.table, document, version)
    start.assert_fails(start.table, "tables[1].backends[0].ip", "'2001:db8::1' of table range", "has no outbound_src_ip6")
    start.config = {"outbound_gateway_mac": CONFIG["outbound_gateway_mac"], "outbound_src_ip6": "2001:db8::d"}
    start.assert_fails(start.table, "tables[0].backends[0].ip", "has no outbound_src_ip:", "1 more table needs it, too")


@pytest.mark.parametrize("version", ["json", "2", "3"])
def test_backend_of_another_family(start, version):
    document = traffic.document(hops=2)
    backend = document["tables"][0]["backends"][1]
    old, new = backend["ip"], "2001:db8::1"
    if version == "json":
        backend["ip"] = new
    write_table(start.table, document, version)
    if version != "json":
        start.table.write_bytes(with_ipv6_backend(start.table.read_bytes(), old, new))
    start.assert_fails(start.table, *(("tables[0].backends[1].family", "expected 1 (IPv4)") if version == "2" else
                                      ("tables[0].backends[1].ip", "'2001:db8::1'", "need addresses of one family")))
