# SPDX-License-Identifier: BSD-3-Clause
"""Checks the sizes in docs/howto/mtu.md: against the reference, and against what glb-director-cli replay forwards and drops."""

import json
import re
import subprocess

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from support.tree import CLI, TREE

VIP, VIP6, CLIENT, CLIENT6 = "203.0.113.10", "2001:db8:113::10", "198.51.100.7", "2001:db8::7"
PAGE = (TREE / "docs/howto/mtu.md").read_text(encoding="utf-8")


def table(heading):
    """{hops: the other numbers} of the table whose header begins with this text."""
    rows = PAGE.split(f"| {heading}")[1].split("\n\n")[0]
    return {int(hops): [int(number) for number in rest.split(" | ")] for hops, rest in re.findall(r"^\| (\d+) \| ([\d |]+) \|$", rows, flags=re.MULTILINE)}


SIZES, LIMITS, SIZES6 = table("hops | outer headers"), table("hops | largest packet"), table("hops, outer IPv6 |")


def outer(hops, family=4):
    """Bytes of the outer headers, as docs/reference/gue.md says."""
    sizes = re.search(r"the outer headers have (\d+) \+ (\d+)n bytes, with outer IPv6 (\d+) \+ (\d+)n", (TREE / "docs/reference/gue.md").read_text()).groups()
    first, each = sizes[:2] if family == 4 else sizes[2:]
    return int(first) + int(each) * (hops - 1)


def test_tables_follow_from_the_reference():
    assert list(SIZES) == list(LIMITS) == [*range(1, 9), 16]
    for hops in SIZES:
        assert SIZES[hops] == [outer(hops), 1500 + outer(hops), 9000 + outer(hops), 1280 + outer(hops)]
        inner = 1500 - outer(hops)
        assert LIMITS[hops] == [inner, inner - 40, inner - 60]


def test_table_of_outer_ipv6_follows_from_the_reference():
    assert list(SIZES6) == [*range(1, 9)]
    for hops in SIZES6:
        size = outer(hops, 6)
        assert SIZES6[hops] == [size, 1500 + size, 9000 + size, 1280 + size, 1500 - size, 1500 - size - 40, 1500 - size - 60]
    assert "use 1700 instead of 1600: it has room for 8 hops" in PAGE and SIZES6[8][1] <= 1700


def test_values_in_the_text_fit_the_tables():
    """1600 has room for 16 hops, advmss on all pages is the MSS of four hops and IPv6, and the ping has the size of the MTU."""
    assert "1600 has room for 8 hops, also with `alt_hash_fields`" in PAGE and SIZES[16][1] <= 1600
    for page in sorted((TREE / "docs").glob("**/*.md")):
        assert set(re.findall(r"(?:advmss|maxseg size set) (\d+)", page.read_text(encoding="utf-8"))) <= {str(LIMITS[4][2])}, page
    assert re.findall(r"(?:advmss|maxseg size set) (\d+)", PAGE) == 2 * [str(LIMITS[4][2])]
    assert re.findall(r"ping -M do -c 1 -s (\d+)", PAGE) == [str(1600 - 28)]


def test_the_costs_of_hops_are_those_of_the_other_pages():
    explanation = TREE / "docs/explanation"
    section = (explanation / "connections.md").read_text(encoding="utf-8").split("\n## What hops cost\n")[1].split("\n## ")[0]
    first, *costs = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")]
    hops = [int(cell.split()[0]) for cell in first[1:]]
    rows = {name: cells for name, *cells in costs}
    bytes_of = [outer(each) for each in hops]
    assert rows["outer headers: bytes in each packet"] == [str(each) for each in bytes_of]
    assert rows["MTU for clients' packets of 1500 bytes"] == [str(SIZES[each][1]) for each in hops]
    assert rows["MSS of clients where the MTU is 1500: IPv4"] == [str(LIMITS[each][1]) for each in hops]
    assert rows["the same: IPv6"] == [str(LIMITS[each][2]) for each in hops]
    for name, size in (("frames of 64 bytes that fill 10 GbE behind the director, M/s", 64), ("IMIX that fills it, M/s", (7 * 64 + 4 * 594 + 1518) / 12)):
        assert rows[name] == [f"{1250 / (size + each + 20):.2f}" for each in bytes_of]
    assert rows["rows in the binary table, MB"] == [f"{65536 * 2 * each / 1e6:.2f}" for each in hops]
    performance = (explanation / "performance.md").read_text(encoding="utf-8")
    for name, column in (("cycles per packet more than with 2 hops, AVX-512", 2), ("the same, AVX2", 1), ("the same, plain C", 0)):
        measured = [re.search(rf"^\| rows of {each} hops \| \+(\S+) \| \+(\S+) \| \+(\S+) \|$", performance, flags=re.MULTILINE) for each in hops[1:]]
        assert rows[name] == ["", *(match[column + 1] for match in measured)]


def replayed(folder, hops, mtu, packets):
    """{verdict: packets} of what the director would do. Above 8 hops, half of them are of the second hash."""
    document = json.loads((TREE / "config/forwarding_table.json").read_text(encoding="utf-8"))
    backends = [{"ip": f"10.0.{number // 250}.{1 + number % 250}", "state": "active"} for number in range(1000)]
    web = {**document["tables"][0], "hops": hops if hops <= 8 else hops // 2, "backends": backends}
    web["binds"] = [{"ip": ip, "proto": "tcp", "port": 80} for ip in (VIP, VIP6)]
    (folder / "table.json").write_text(json.dumps({"tables": [web]}))
    (folder / "director.conf").write_text(
        f'outbound_src_ip = "192.168.50.2";\noutbound_gateway_mac = "02:00:00:00:00:fe";\noutbound_mtu = {mtu};\nhash_fields = {{ src_addr = true; }};\n'
        + ("alt_hash_fields = { src_port = true; };\n" if hops > 8 else ""))
    wrpcap(str(folder / "in.pcap"), packets)
    done = subprocess.run([CLI, "replay", "table.json", "in.pcap", "--config", "director.conf", "--json"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name: number for name, number in json.loads(done.stdout)["verdicts"].items() if number}


@pytest.mark.parametrize("hops, alt, number", [(8, False, 8), (7, False, 7), (8, True, 16)])
def test_check_warns_below_the_smallest_mtu_for_ipv6(tmp_path, hops, alt, number):
    """The last column of the first table is enough, and one byte less is not."""
    replayed(tmp_path, hops, 1500, [packet(100)])
    file, conf = tmp_path / "table.json", tmp_path / "director.conf"
    document = json.loads(file.read_text())
    document["tables"][0] |= {"hash_key": "0123456789abcdef" * 2, "seed": "fedcba9876543210" * 2}  # not the published ones
    file.write_text(json.dumps(document))
    alone = conf.read_text() + ("alt_hash_fields = { src_port = true; };\n" if alt else "")
    for mtu, warned in ((SIZES[number][3], False), (SIZES[number][3] - 1, True)):
        conf.write_text(alone.replace("outbound_mtu = 1500", f"outbound_mtu = {mtu}"))
        done = subprocess.run([CLI, "check", "director.conf", "table.json"], cwd=tmp_path, capture_output=True, text=True)
        assert (f"has {SIZES[number][3]} with the outer headers for {number} hops" in done.stdout + done.stderr) == warned


def packet(size, version=4):
    """A client's packet with this number of bytes from its IP header on."""
    ip, header = (IP(src=CLIENT, dst=VIP, flags="DF"), 20) if version == 4 else (IPv6(src=CLIENT6, dst=VIP6), 40)
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / ip / TCP(sport=40000, dport=80, flags="A") / Raw(bytes(size - header - 20))


@pytest.mark.parametrize("hops", [2, 3, 4, 5, 6, 7, 8, 16])
def test_the_director_forwards_the_largest_packet_and_drops_a_larger_one(tmp_path, hops):
    inner, mss, mss6 = LIMITS[hops]
    packets = [packet(mss + 40), packet(mss6 + 60, 6), packet(inner + 1), packet(inner + 1, 6)]
    assert replayed(tmp_path, hops, 1500, packets) == {"forwarded": 2, "drop_too_big": 2}
    for size, mtu in ((1500, SIZES[hops][1]), (9000, SIZES[hops][2]), (1280, SIZES[hops][3])):
        assert replayed(tmp_path, hops, mtu, [packet(size), packet(size, 6)]) == {"forwarded": 2}
        assert replayed(tmp_path, hops, mtu - 1, [packet(size), packet(size, 6)]) == {"drop_too_big": 2}
