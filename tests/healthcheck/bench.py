# SPDX-License-Identifier: BSD-3-Clause
"""Measures glb-healthcheck with many proxies: CPU time of one core, file descriptors, memory. Needs root.

usage: PYTHONPATH=.:tests python3 tests/healthcheck/bench.py [BACKENDS] [SECONDS] [CHECKS]

CHECKS is a part of a row's name, for example https; without it, all rows are measured. Every backend has two checks every 2 s, and
one in the rows https, which trust as many certificates as a system does. The servers share the machine, but only the daemon's CPU time is counted. It includes
the kernel's work for the other end of the veth pair, which the kernel does in the context of the daemon.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import nginx
import peers
from daemon import Daemon, backend, table
from lab.tools import wait_until
from network import make_hosts

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) / TICKS, int(fields[12]) / TICKS


SERVERS = """
    server {{ listen 80 backlog=4096; return 200; }}
    server {{ listen 443 ssl backlog=4096; ssl_protocols TLSv1.3; ssl_certificate {folder}/cert.pem;
              ssl_certificate_key {folder}/key.pem; return 200; }}
    server {{ listen 444 ssl backlog=4096; ssl_protocols TLSv1.2; ssl_certificate {folder}/cert.pem;
              ssl_certificate_key {folder}/key.pem; return 200; }}
"""
SYSTEM = Path("/etc/ssl/certs/ca-certificates.crt")


def trust(folder):
    """Returns http settings that trust the certificate of the servers, and the system's certificates."""
    ca = folder / "ca.pem"
    ca.write_text((SYSTEM.read_text() if SYSTEM.exists() else "") + (folder / "nginx/cert.pem").read_text())
    return f'{{ tls = true; host = "{nginx.NAME}"; ca_file = "{ca}"; }}'


def measure(host, folder, name, count, seconds, network="10.78", http_settings="{ }", period_ms=30000, **checks):
    if not (len(sys.argv) < 4 or sys.argv[3] in name):
        return
    backends = [backend(f"{network}.{1 + i // 250}.{1 + i % 250}", **checks) for i in range(count)]
    folder.mkdir()
    daemon = Daemon(host, folder, table(*backends), interval_ms=2000, timeout_ms=1000, trigger=3, hold_ms=10000,
                    http=http_settings, full_handshake_ms=period_ms)
    daemon.start().wait_ready()
    wait_until(lambda: set(daemon.healthy().values()) == {True}, daemon.log)
    before, descriptors = cpu_s(daemon.pid()), 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        descriptors = max(descriptors, len(os.listdir(f"/proc/{daemon.pid()}/fd")))
        time.sleep(0.1)
    user, system = (b - a for a, b in zip(before, cpu_s(daemon.pid())))
    memory = next(line.split()[1] for line in Path(f"/proc/{daemon.pid()}/status").read_text().splitlines()
                  if line.startswith("VmRSS"))
    bad = daemon.log().count("unhealthy:")
    failed = sum(float(line.split()[1]) for line in daemon.get("/metrics")[2].splitlines()
                 if line.startswith("glb_healthcheck_probes_total") and 'result="passed"' not in line)
    handshakes, resumed = (sum(float(line.split()[1]) for line in daemon.get("/metrics")[2].splitlines()
                               if line.startswith(f"glb_healthcheck_tls_{name}_total")) for name in ("handshakes", "resumed"))
    daemon.stop()
    print(f"{count} x {name}: {100 * (user + system) / seconds:.1f} % of a core ({100 * user / seconds:.1f} user, "
          f"{100 * system / seconds:.1f} system), at most {descriptors} descriptors, {int(memory) // 1024} MiB, "
          f"{resumed:.0f} of {handshakes:.0f} TLS handshakes resumed, {failed:.0f} probes did not pass, {bad} transitions to unhealthy", flush=True)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    here, proxies = make_hosts()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "nginx").mkdir()
        nginx.make_certificate(folder / "nginx")
        servers = nginx.start(proxies, folder / "nginx", SERVERS)
        tunnels = peers.start(proxies)
        try:
            measure(here, folder / "1", "(http + gue)", count, seconds, http=80, gue=peers.GUE)
            measure(here, folder / "2", "(http + tcp)", count, seconds, http=80, tcp=80)
            measure(here, folder / "3", "(gue + fou)", count, seconds, gue=peers.GUE, fou=peers.FOU)
            measure(here, folder / "5", "https", count, seconds, http_settings=trust(folder), http=443)
            measure(here, folder / "6", "https, TLS 1.2", count, seconds, http_settings=trust(folder), http=444)
            measure(here, folder / "7", "https, every handshake full", count, seconds, http_settings=trust(folder), period_ms=0, http=443)
            measure(here, folder / "4", "(http + tcp) to hosts that never reply", count, seconds, "10.79", http=80, tcp=80)
        finally:
            for process in (servers, tunnels):
                process.kill()
                process.wait()
    here.close()
    proxies.close()


if __name__ == "__main__":
    main()
