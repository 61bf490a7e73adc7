# SPDX-License-Identifier: BSD-3-Clause
"""glb-bifurcate: the map of VIPs of a director on AF_XDP, and each way in which a table, the map or the machine can be wrong."""

import json
import re
import subprocess
import threading

import pytest

from lab.net import Namespace
from locks import locked
from support.tree import BIFURCATE, BIFURCATE_OBJECT, CLI, REDIRECT_OBJECT, TREE

MAP = "/sys/fs/bpf/glb_vips"
CREATE = f"map create {MAP} type lpm_trie key 20 value 1 entries 4096 name glb_vips flags 1"
ROOM = 4096


def table(*binds, name="web"):
    binds = [bind if isinstance(bind, dict) else {"ip": bind, "proto": "tcp", "port": 80} for bind in binds]
    return {"name": name, "hash_key": "00112233445566778899aabbccddeeff", "seed": "f" * 32,
            "binds": binds, "backends": [{"ip": f"10.0.0.{n}", "state": "active"} for n in (1, 2)]}


class Host:
    def __init__(self, folder):
        self.namespace, self.path = Namespace(), folder / "table.json"

    def __call__(self, *words, code=0):
        done = self.namespace.run(BIFURCATE, *words, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    def write(self, *tables):
        self.path.write_text(json.dumps({"tables": list(tables)}), encoding="utf-8")
        return str(self.path)

    def sync(self, *binds, **more):
        return self("sync", self.write(table(*binds)), **more)

    def vips(self):
        return self("show").splitlines()

    def bpftool(self, *words):
        return self.namespace.run("/usr/sbin/bpftool", *words).stdout

    def keys(self):
        return {bytes(int(byte, 16) for byte in item["key"]) for item in json.loads(self.bpftool("-j", "map", "dump", "pinned", MAP))}


@pytest.fixture
def host(tmp_path):
    host = Host(tmp_path)
    yield host
    host.namespace.close()


def test_sync_creates_the_map_and_show_prints_addresses(host):
    said = host.sync("203.0.113.10", "198.51.100.0/24", "2001:db8:f::10", "2001:db8:e::/64")
    assert said == "4 VIPs in the map: 4 added, 0 removed\n"
    assert host.vips() == ["198.51.100.0/24", "203.0.113.10", "2001:db8:e::/64", "2001:db8:f::10"]
    mapped = bytes(10) + b"\xff\xff"
    assert host.keys() == {
        (128).to_bytes(4, "little") + mapped + bytes((203, 0, 113, 10)),
        (120).to_bytes(4, "little") + mapped + bytes((198, 51, 100, 0)),
        (128).to_bytes(4, "little") + bytes.fromhex("20010db8000f00000000000000000010"),
        (64).to_bytes(4, "little") + bytes.fromhex("20010db8000e00000000000000000000"),
    }


def test_map_is_the_one_that_the_program_uses(host):
    host.sync("203.0.113.10")
    identifier = json.loads(host.bpftool("-j", "map", "show", "pinned", MAP))["id"]
    # libbpf uses a pinned map only if its definition is the same.
    host.bpftool("prog", "load", str(BIFURCATE_OBJECT), "/sys/fs/bpf/program", "type", "xdp")
    maps = json.loads(host.bpftool("-j", "prog", "show", "pinned", "/sys/fs/bpf/program"))["map_ids"]
    assert identifier in maps


def test_sync_changes_only_what_differs(host):
    host.sync("203.0.113.10", "203.0.113.11")
    assert host.sync("203.0.113.11", "203.0.113.12") == "2 VIPs in the map: 1 added, 1 removed\n"
    assert host.vips() == ["203.0.113.11", "203.0.113.12"]
    assert host.sync("203.0.113.11", "203.0.113.12") == "2 VIPs in the map: 0 added, 0 removed\n"
    assert host.sync("203.0.113.12") == "1 VIP in the map: 0 added, 1 removed\n"


def test_ports_protocols_and_tables_of_one_address_are_one_vip(host):
    binds = [{"ip": "203.0.113.10", "proto": proto, "port": port} for proto in ("tcp", "udp") for port in (80, 443)]
    path = host.write(table(*binds), table("203.0.113.10/31", name="wide"))
    assert host("sync", path) == "2 VIPs in the map: 2 added, 0 removed\n"
    assert host.vips() == ["203.0.113.10/31", "203.0.113.10"]


@pytest.mark.parametrize("version", ["2", "3"])
def test_binary_table(host, version):
    binary = str(host.path.with_suffix(".bin"))
    subprocess.run([CLI, "build-config", host.write(table("203.0.113.10", "2001:db8::/32")), binary, "--format", version],
                   check=True, capture_output=True)
    host("sync", binary)
    assert host.vips() == ["203.0.113.10", "2001:db8::/32"]


def test_clear_empties_the_map_and_says_what_that_means(host):
    host.sync("203.0.113.10", "203.0.113.11")
    assert host("clear") == "2 VIPs removed: the kernel receives all packets\n"
    done = host.namespace.run(BIFURCATE, "show")
    assert (done.stdout, done.stderr) == ("", "glb-bifurcate: note: the map has no VIP, so the kernel receives all packets\n")
    assert host("clear") == "0 VIPs removed: the kernel receives all packets\n"


def full(first):
    return [f"10.{first}.{n // 256}.{n % 256}" for n in range(ROOM)]


def test_full_map_is_replaced(host):
    assert host.sync(*full(1)) == "4096 VIPs in the map: 4096 added, 0 removed\n"
    assert host.sync(*full(2)) == "4096 VIPs in the map: 4096 added, 4096 removed\n"
    assert set(host.vips()) == set(full(2))


def test_more_vips_than_the_map_holds_are_refused(host):
    host.sync("203.0.113.10")
    path = host.write(table(*full(1)), table("203.0.113.11", name="more"))
    assert f"{path}: the binds have 4097 different prefixes, but the map has room for 4096: merge some" in host("sync", path, code=1)
    assert host.vips() == ["203.0.113.10"]


@pytest.mark.parametrize("bind", ["0.0.0.0/0", "::/0", "::/8", "::ffff:0.0.0.0/96"])
def test_prefix_of_all_traffic_is_refused(host, bind):
    """With ::/8 the map would also match IPv4 addresses, which it holds as ::ffff:0:0/96."""
    host.sync("203.0.113.10")
    said = host.sync("203.0.113.11", bind, code=1)
    assert f"table web: bind {bind} would take all traffic from the kernel, SSH included: give it a longer prefix" in said
    assert host.vips() == ["203.0.113.10"]


def test_address_of_the_host_itself_is_warned_about(host):
    host.namespace.ip("link add eth0 type veth peer name eth1", "addr add 192.0.2.2/24 dev eth0", "addr add 203.0.113.10/32 dev lo", "link set eth0 up")
    host.write(table("192.0.2.0/28", "203.0.113.10"))
    done = host.namespace.run(BIFURCATE, "sync", str(host.path))
    assert done.stderr == ("glb-bifurcate: warning: VIP 192.0.2.0/28 covers 192.0.2.2, an address of this host's eth0: "
                           "the director takes its packets, SSH included\n")
    assert host.vips() == ["192.0.2.0/28", "203.0.113.10"]


def test_table_without_binds_does_not_empty_the_map(host):
    host.sync("203.0.113.10")
    for tables in ((), (table(),)):
        said = host("sync", host.write(*tables), code=1)
        assert said.startswith(f"glb-bifurcate: {host.path}: ") and len(said.splitlines()) >= 1
    assert host.vips() == ["203.0.113.10"]


@pytest.mark.parametrize("content", [None, b"", b"{", b"GLBD\2\0\0\0", b'{"tables": 5}'], ids=["missing", "empty", "cut", "binary", "type"])
def test_bad_table_does_not_change_the_map(host, content):
    host.sync("203.0.113.10")
    host.path.unlink() if content is None else host.path.write_bytes(content)
    assert host("sync", str(host.path), code=1).startswith(f"glb-bifurcate: {host.path}")
    assert host.vips() == ["203.0.113.10"]


def test_folder_and_other_files_are_not_tables(host):
    for path in ("/tmp", "/dev/null", "/etc/passwd"):
        assert f"glb-bifurcate: {path}" in host("sync", path, code=1)
    assert "there is no map of VIPs" in host("show", code=1)


def test_table_of_the_installation_is_the_default(host):
    words = " ".join(host("sync", "--help").split())  # --help breaks lines
    path = words.split("(default: ")[1].split(")")[0]
    assert path.endswith("/glb/forwarding_table.bin")
    done = host.namespace.run(BIFURCATE, "sync", check=False)
    assert done.returncode == 0 or f"glb-bifurcate: {path}" in done.stderr


def test_without_a_map(host):
    for subcommand in ("show", "clear"):
        assert host(subcommand, code=1) == f"glb-bifurcate: {MAP}: there is no map of VIPs: run glb-bifurcate sync TABLE\n"


def test_without_bpffs(host):
    host.namespace.run("umount", "/sys/fs/bpf")
    host.namespace.run("mount", "-t", "tmpfs", "tmpfs", "/sys/fs/bpf")
    for words in (("sync", host.write(table("203.0.113.10"))), ("show",), ("clear",)):
        assert host(*words, code=1) == "glb-bifurcate: there is no bpffs on /sys/fs/bpf: run mount -t bpf bpf /sys/fs/bpf\n"


@pytest.mark.parametrize(
    "create",
    [
        f"map create {MAP} type hash key 20 value 1 entries 4096 name other",
        CREATE.replace("4096", "64"),
        CREATE.replace("key 20", "key 8"),
        CREATE.replace("value 1", "value 4"),
        f"prog load {REDIRECT_OBJECT} {MAP}",
    ],
    ids=["type", "size", "key", "value", "program"],
)
def test_another_object_with_the_name_stays(host, create):
    host.bpftool(*create.split())
    for words in (("sync", host.write(table("203.0.113.10"))), ("show",), ("clear",)):
        said = host(*words, code=1)
        assert said == f"glb-bifurcate: {MAP}: it is not a map of VIPs: if no other program needs it, stop the director and run rm {MAP}\n"
    assert "glb_vips" in host.namespace.run("ls", "/sys/fs/bpf").stdout


def test_without_privileges(host):
    host.sync("203.0.113.10")
    for words in (("sync", str(TREE / "config/forwarding_table.json")), ("show",), ("clear",)):
        done = host.namespace.run("setpriv", "--reuid=nobody", "--clear-groups", BIFURCATE, *words, check=False)
        # Kernels that allow unprivileged eBPF look at the file's mode. The others say "Operation not permitted".
        says = f"glb-bifurcate: {MAP}: cannot open it: (Permission denied|Operation not permitted): run as root, or as root with CAP_BPF\n"
        assert done.returncode == 1 and re.fullmatch(says, done.stderr), done.stderr
    assert host.vips() == ["203.0.113.10"]


def test_privileges_that_are_enough(host):
    """The capability of the systemd unit suffices, for a new map and for an old one."""
    host.write(table("203.0.113.10"))
    for _ in range(2):
        host.namespace.run("setpriv", "--bounding-set=-all,+bpf", "--inh-caps=-all", BIFURCATE, "sync", str(host.path))
    assert host.vips() == ["203.0.113.10"]


def test_two_at_once_leave_one_of_both_tables(host):
    """The map holds one table or the other, never a mixture."""
    paths = []
    for number in (1, 2):
        path = host.path.with_name(f"{number}.json")
        path.write_text(json.dumps({"tables": [table(*full(number)[:500])]}), encoding="utf-8")
        paths.append(str(path))
    for _ in range(5):
        threads = [threading.Thread(target=host, args=("sync", path)) for path in paths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(host.vips()) in (set(full(1)[:500]), set(full(2)[:500]))


@pytest.mark.parametrize("mode", ["700", "1777"])
def test_another_user_cannot_hold_up_a_sync(host, mode):
    """Without an option `mode`, everybody may open the folder of bpffs. Then flock(2) needs no other right."""
    host.namespace.run("chmod", mode, "/sys/fs/bpf")
    with locked(host.namespace, "/sys/fs/bpf", "--reuid=nobody"):
        assert host.sync("203.0.113.10") == "1 VIP in the map: 1 added, 0 removed\n"


def test_a_sync_names_the_process_that_it_waited_for(host):
    host.namespace.run("mkdir", "-m", "700", f"{MAP}_lock")
    with locked(host.namespace, f"{MAP}_lock") as process:
        said = host.sync("203.0.113.10", code=1)
        assert said == f"glb-bifurcate: {MAP}: process {process.pid} (python3) changes it: try again\n"
    host.sync("203.0.113.10")


def test_a_lock_that_another_user_made_is_refused(host):
    host.namespace.run("chmod", "1777", "/sys/fs/bpf")
    host.namespace.run("setpriv", "--reuid=nobody", "--clear-groups", "mkdir", f"{MAP}_lock")
    assert f"cannot lock it by the folder {MAP}_lock: Operation not permitted" in host.sync("203.0.113.10", code=1)


@pytest.mark.parametrize(
    "words, says",
    [
        ((), "a subcommand is missing"),
        (("sync", "a", "b"), "unexpected operand 'b'"),
        (("show", "eth0"), "unexpected operand 'eth0'"),
        (("fill",), "unknown subcommand 'fill'"),
        (("sync", "--force", "a"), "unknown option '--force'"),
    ],
)
def test_wrong_usage(host, words, says):
    assert says in host(*words, code=2)
