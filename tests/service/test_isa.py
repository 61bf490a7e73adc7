# SPDX-License-Identifier: BSD-3-Clause
"""Which ISA the director chooses at its start, what it says about it, and settings that cannot be followed."""

import contextlib
import urllib.request
from pathlib import Path

import pytest

from lab.tools import TIMEOUT_S, wait_until
from support import traffic
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, usable_isas, write_table
from support.ports import reserved_port

OPTION = "--force-max-simd-bitwidth="
HAS_AVX2, HAS_AVX512 = (isa in usable_isas() for isa in ("avx2", "avx512"))
KEEPS_FREQUENCY = "avx512_vbmi2" in Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
# A CPU without AVX. The emulator's AVX2 is avoided, because some versions compute wrong results.
OLD_CPU = ("qemu-x86_64", "-cpu", "Nehalem")


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "table", traffic.TABLE)


def chosen(director):
    """(ISA, reason), which telemetry and the log agree about."""
    stats = director.stats()
    assert f"info: isa: {stats['packet_path']}, {stats['packet_path_why']}\n" in director.log
    assert f"ISA {stats['packet_path']}," in director.wait_log(" ready: ")[0]
    return stats["packet_path"], stats["packet_path_why"]


def start(table, *eal, isa=None, prefix=(), **keys):
    return DirectorProcess(["net_null0"], {**CONFIG, "idle": "sleep", **keys}, table, isa=isa, eal=eal, prefix=prefix)


def served(port, path):
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=TIMEOUT_S) as reply:
        return reply.read().decode()
    return None


def failed(director):
    """The log of a director that must not start."""
    try:
        assert director.process.wait(60) == 1
        return director.log
    finally:
        director.__exit__()


def test_auto_takes_the_widest_that_keeps_the_frequency(table):
    with reserved_port() as port, start(table, metrics=f"127.0.0.1:{port}") as director:
        isa, why = chosen(director)
        metrics, page = (wait_until(lambda at=path: served(port, at), path) for path in ("/metrics", "/"))
    assert isa == ("avx512" if HAS_AVX512 and KEEPS_FREQUENCY else "avx2" if HAS_AVX2 else "scalar")
    limit = "; the CPU may lower its frequency for avx512" if HAS_AVX512 and not KEEPS_FREQUENCY else ""
    assert why == ("the widest that can be used" if HAS_AVX2 else "no other is usable") + limit
    assert f'isa="{isa}",isa_by="cpu"' in metrics
    assert f'title="{why}">ISA {isa}<' in page


def test_the_option_of_eal_limits_auto(table):
    with start(table, OPTION + "256") as director:
        isa, why = chosen(director)
    assert isa != "avx512"
    assert why.endswith("; EAL's options forbid avx512") == HAS_AVX512


def test_a_key_that_the_option_of_eal_forbids_is_an_error(table):
    log = failed(start(table, OPTION + "64", isa="avx2"))
    if HAS_AVX2:
        assert f'error: isa = "avx2": EAL\'s option {OPTION}64 forbids its vectors of 256 bits; remove the option' in log
    else:
        assert 'error: isa = "avx2": this CPU has no ' in log


def test_without_avx_auto_takes_plain_c_and_the_key_avx2_is_an_error(table):
    refused = start(table, isa="avx2", prefix=OLD_CPU)
    with start(table, prefix=OLD_CPU) as director:
        assert chosen(director) == ("scalar", "no other is usable")
    log = failed(refused)
    assert ': isa: this CPU cannot run it, so a director does not start on this host; use "auto"\n' in log
    assert 'error: isa = "avx2": this CPU has no AVX2 and BMI2, or the hypervisor hides it; use "auto"\n' in log


def test_a_cpu_that_is_too_old_for_dpdk_is_an_error(table):
    """DPDK's libraries would end the director with an illegal instruction before main()."""
    log = failed(start(table, prefix=("qemu-x86_64", "-cpu", "Penryn")))
    assert log.startswith("glb-director: error: this CPU has no SSE4.2 and POPCNT, or the hypervisor hides them") and log.count("\n") == 1
