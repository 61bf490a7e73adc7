#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares packets a second and round trips through a director, and through the kernel's routing, on the same veth pairs.

script/bench --end-to-end runs it. The namespace `network` is client and router:

    client, router -- to-middle ---- eth0 -- middle: the director, or a kernel that routes
                   -- to-proxy ----- eth0 -- proxy: the echo, behind glb-redirect or not

A packet goes from the client to the middle, back to the router, and to the proxy, which replies past the middle.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / path) for path in ("", "tests", "tests/vectors", "bench/figures")]
os.environ.setdefault("GLB_LAB_TIMEOUT_S", "30")
import paths  # noqa: E402
from cases import frames as f  # noqa: E402
from lab.net import Namespace, connect, mac  # noqa: E402
from lab.tools import BUILD, LabError, program, wait_until  # noqa: E402
from support.director_process import DirectorProcess, write_table  # noqa: E402

CLIENT, VIP, ROUTER, MIDDLE, PROXY, PROXY_ROUTER = "198.51.100.11", "203.0.113.10", "192.0.2.1", "192.0.2.2", "192.0.2.6", "192.0.2.5"
PORT, GUE_PORT, CLIENT_PORT = 7000, 19523, 40000
MTU = 1600
TRAILER = 32  # bytes: struct trailer of load.c
WINDOW = 128  # packets on their way while the highest rate is looked for
LEAST = 1000  # packets a second, on a machine that is too busy for more
FRACTIONS = (1.1, 1, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)  # of the rate with this window
TRIES = 2  # the quieter one counts: the hypervisor and other programs disturb
SHARES = (10, 50, 90)  # percent of the load that passes without loss
SECONDS = {False: (0.5, 0.7, 1.0), True: (0.05, 0.05, 0.05)}  # with --quick; of the window, of a rate, and of a share
TABLE = {"tables": [{
    "name": "one", "hash_key": "01" * 16, "seed": "02" * 16, "binds": [{"ip": VIP, "proto": "udp", "port": PORT}],
    "backends": [{"ip": PROXY, "state": "active"}]}]}
VDEVS = {"AF_XDP": "net_af_xdp0,iface=eth0,busy_budget=0", "af_packet": "net_af_packet0,iface=eth0,qdisc_bypass=1"}


@dataclasses.dataclass(frozen=True)
class Contestant:
    driver: str = ""  # of VDEVS; "": the kernel routes
    idle: str = ""
    redirect: bool = False

    @property
    def name(self):
        middle = f"glb-director, {self.driver}, {self.idle}" if self.driver else "the kernel routes"
        return middle + (", glb-redirect" if self.redirect else "")


CONTESTANTS = [Contestant(driver, idle, redirect) for redirect in (False, True)
               for driver, idle in (("", ""), *((driver, idle) for driver in VDEVS for idle in ("poll", "sleep")))]


class Network:
    def __init__(self, stack):
        self.network, self.middle, self.proxy = (stack.enter_context(contextlib.closing(Namespace(name))) for name in ("network", "middle", "proxy"))
        connect(self.network, "to-middle", self.middle, "eth0", MTU)
        connect(self.network, "to-proxy", self.proxy, "eth0", MTU)
        self.gateway = mac(self.network, "to-middle")
        for namespace in (self.network, self.middle):
            namespace.sysctl({"net.ipv4.ip_forward": 1, "net.ipv4.conf.all.send_redirects": 0, "net.ipv4.conf.default.send_redirects": 0})
        self.network.sysctl({"net.ipv4.conf.to-middle.accept_local": 1, "net.ipv4.conf.to-middle.send_redirects": 0})
        self.middle.sysctl({"net.ipv4.conf.eth0.send_redirects": 0})
        self.network.ip(
            f"addr add {CLIENT}/32 dev lo", f"addr add {ROUTER}/30 dev to-middle", f"addr add {PROXY_ROUTER}/30 dev to-proxy",
            f"neigh add {MIDDLE} lladdr {mac(self.middle, 'eth0')} nud permanent dev to-middle",
            f"neigh add {PROXY} lladdr {mac(self.proxy, 'eth0')} nud permanent dev to-proxy",
            f"route add {VIP}/32 via {MIDDLE}", f"route add {PROXY}/32 via {MIDDLE}",
            # Packets that come back from the middle go to the proxy.
            "rule add iif to-middle lookup 100", f"route add {PROXY}/32 dev to-proxy table 100", f"route add {VIP}/32 via {PROXY} dev to-proxy table 100")
        self.middle.ip(f"addr add {MIDDLE}/30 dev eth0", f"neigh add {ROUTER} lladdr {self.gateway} nud permanent dev eth0", f"route add default via {ROUTER}")
        self.proxy.ip(
            f"addr add {PROXY}/30 dev eth0", f"addr add {VIP}/32 dev lo",
            f"neigh add {PROXY_ROUTER} lladdr {mac(self.network, 'to-proxy')} nud permanent dev eth0", f"route add default via {PROXY_ROUTER}")
        self.network.offloads_off("to-middle")
        self.middle.offloads_off("eth0")
        self.proxy.offloads_off("eth0")
        self.network.offload("to-proxy", "tx", "off", "gro", "on")


def gue_prefix():
    """What stands before the trailer in a packet as a director sends it: for glb-redirect behind a kernel that only routes."""
    datagram = f.udp(CLIENT_PORT, PORT, b"", 8 + TRAILER)
    inner = f.ipv4(CLIENT, VIP, f.UDP, datagram, total_length=20 + 8 + TRAILER)
    return struct.pack(">BBHHBB", 1, 4, 0, 0, 0, 0) + inner


class Bench:
    def __init__(self, stack, cpus, folder):
        self.net = Network(stack)
        self.load_cpu, self.director_cpu = cpus
        self.folder = Path(folder)
        self.table = write_table(self.folder / "table", TABLE)
        self.conf = self.folder / "redirect.conf"
        self.conf.write_text(f'allow_from = ["{MIDDLE}", "{CLIENT}"];\nallow_to = ["{VIP}"];\n')

    def load(self, contestant, seconds, *pace):
        """Runs glb-load, and returns what it prints."""
        gue = contestant.redirect and not contestant.driver
        to = (PROXY, GUE_PORT) if gue else (VIP, PORT)
        # Without glb-redirect, the echo takes what a director sends from a socket of the port of GUE.
        at = (PROXY, GUE_PORT) if contestant.driver and not contestant.redirect else (VIP, PORT)
        done = subprocess.run(
            ["setpriv", "--pdeathsig", "KILL", "taskset", "-c", str(self.load_cpu), str(BUILD / "bench/glb-load"),
             "--client", f"/proc/{self.net.network.pid}/ns/net", "--proxy", f"/proc/{self.net.proxy.pid}/ns/net",
             "--from", f"{CLIENT}:{CLIENT_PORT}", "--to", "%s:%d" % to, "--listen", "%s:%d" % at, "--seconds", str(seconds),
             *(["--prefix", gue_prefix().hex()] if gue else []), *pace],
            stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise LabError(f"{contestant.name}: glb-load ended with exit code {done.returncode}, see the message above")
        return json.loads(done.stdout)

    @contextlib.contextmanager
    def running(self, contestant):
        """The director and glb-redirect of a contestant."""
        with contextlib.ExitStack() as stack:
            redirect = program("glb-redirect")
            if contestant.redirect:
                self.net.proxy.run(redirect, "attach", "eth0", "--config-file", str(self.conf))
                stack.callback(self.net.proxy.run, redirect, "detach", "eth0")
            self.net.middle.sysctl({"net.ipv4.ip_forward": int(not contestant.driver)})
            if contestant.driver:
                config = {"outbound_gateway_mac": self.net.gateway, "outbound_src_ip": MIDDLE, "outbound_mtu": MTU, "idle": contestant.idle}
                stack.enter_context(DirectorProcess(
                    [VDEVS[contestant.driver]], config, self.table, lcores=f"0@{self.director_cpu}", memory=64,
                    prefix=[*self.net.middle.command(), "setpriv", "--pdeathsig", "KILL"]))
            wait_until(lambda: self.load(contestant, 0.02, "--window", "1")["received"], f"a reply ({contestant.name})")
            yield

    def measure(self, contestant, quick):
        """A row of the figures."""
        row = {"path": paths.PATH, "what": contestant.name, "noisy": False}
        window, rate, share = SECONDS[quick]
        try:
            with self.running(contestant):
                most = max(self.load(contestant, window, "--window", str(WINDOW))["received"] / window, LEAST)
                for fraction in [each for each in FRACTIONS for _ in range(TRIES)]:
                    done = self.load(contestant, rate, "--rate", f"{most * fraction:.0f}")
                    if 0 < done["received"] == done["sent"]:
                        break
                row |= {"rate": round(done["sent"] / rate), "lossless": 0 < done["received"] == done["sent"], "shares": []}
                for percent in SHARES:
                    tries = [self.load(contestant, share, "--rate", f"{max(row['rate'] * percent / 100, LEAST):.0f}") for _ in range(TRIES)]
                    row["shares"].append({"percent": percent, **min(tries, key=lambda each: (each["sent"] - each["received"], each["p99"]))})
                # A rate that passed once and loses later was disturbed.
                row["noisy"] = not row["lossless"] or any(each["received"] < each["sent"] for each in row["shares"])
        except AssertionError as error:  # the director did not start
            row["why"] = str(error).strip().splitlines()[-1]
        return row


def machine():
    cpu = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "unknown")
    return {"path": "machine", "what": cpu, "p10": os.cpu_count(), "how": f"Linux {os.uname().release.partition('-')[0]}", "noisy": False}


def main():
    parser = argparse.ArgumentParser(prog="script/bench --end-to-end", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="measures for a shorter time, which says little")
    parser.add_argument("--json", metavar="FILE", help="writes the figures for bench/figures/publish.py")
    options = parser.parse_args()
    if os.geteuid():
        raise LabError("needs root (network namespaces, XDP programs)")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise LabError("needs two CPUs: one for the load and one for the director")
    rows = [machine()]
    with contextlib.ExitStack() as stack:
        bench = Bench(stack, (cpus[0], cpus[-1]), stack.enter_context(tempfile.TemporaryDirectory(prefix="glb-bench-")))
        for contestant in CONTESTANTS:
            rows.append(bench.measure(contestant, options.quick))
            print(f"measured: {contestant.name}", file=sys.stderr, flush=True)
    print("\n\n".join(block(paths.Figures(rows)) for block in paths.BLOCKS.values()))
    if options.json:
        Path(options.json).write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except (LabError, OSError) as error:
        sys.exit(f"script/bench --end-to-end: {error}")
