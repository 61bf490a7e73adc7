# SPDX-License-Identifier: BSD-3-Clause
"""Each program does its usual work with the rights of its unit, and fails without any one of them.

The units deny groups of systemd, because another C library or kernel may use other calls of a group for the same work."""

import pytest
from conftest import Host
from etcd import Etcd
from work import WORK, Rights

from support import units
from support.folders import short_folder

GROUPS = sorted(word for word in units.groups()["@system-service"] if word.startswith("@") and word != "@default")
# What the usual work in a test does not need, and why the unit allows it.
KEPT = {
    **{(unit, "@timer"): "commands of operators: timeout, flock -w" for unit in ("glb-announce", "glb-fleet", "glb-healthcheck")},
    ("glb-bifurcate", "@process"): "prctl() forbids cores",
    ("glb-bifurcate", "@signal"): "threads block signals",
    ("glb-bifurcate@", "@signal"): "a child process gets the signals of a new process",
    ("glb-director", "@memlock"): "drivers lock memory: common_cnxk",
    ("glb-director", "@sync"): "drivers flush files of sysfs: net_vdev_netvsc",
    ("glb-director", "bpf"): "AF_XDP, see tests/service/test_af_xdp.py",
    ("glb-redirect-exporter", "@ipc"): "libmicrohttpd wakes its thread by a pipe if there is no eventfd()",
    ("glb-redirect-exporter", "@signal"): "threads block signals",
    ("glb-redirect-follow", "@io-event"): "without poll() it works, but never sleeps",
    ("glb-redirect-follow", "@process"): "prctl() forbids cores",
    ("glb-redirect-follow", "@signal"): "libbpf and the C library",
    ("glb-redirect@", "@io-event"): "systemctl of ExecStop=",
    ("glb-redirect@", "@signal"): "systemctl and the shell of ExecStop=",
}
# Capabilities that this file does not take away, and who needs them.
NOT_HERE = {
    ("glb-bifurcate@", "CAP_DAC_READ_SEARCH"): "tests/cli/bifurcate/test_faults.py",
    ("glb-bifurcate@", "CAP_SYS_PTRACE"): "tests/cli/bifurcate/test_faults.py",
    ("glb-director", "CAP_IPC_LOCK"): "VFIO, on cards that no test here has",
    ("glb-redirect-follow", "CAP_BPF"): "before Linux 5.19",
}


def left(unit):
    """The groups of which the unit allows something, and bpf."""
    allowed = units.allowed(unit) - units.calls(["@default"])
    return [group for group in [*GROUPS, "bpf"] if units.calls([group]) - {"times"} & allowed]  # times() is in two groups


@pytest.fixture(scope="module")
def etcd(tmp_path_factory):
    with Etcd(tmp_path_factory.mktemp("etcd")) as etcd:
        yield etcd


@pytest.fixture(scope="module")
def host():
    host = Host()
    yield host
    host.close()


@pytest.fixture
def work(host, etcd):
    with short_folder() as folder:
        yield lambda unit, **less: WORK[unit](Rights(unit, host, folder, etcd, **less))


def test_every_unit_has_its_work():
    assert sorted(WORK) == units.names()
    assert all(calls in left(unit) for unit, calls in KEPT)
    assert all(name in units.capabilities(unit) for unit, name in NOT_HERE)


@pytest.mark.parametrize("unit", units.names())
def test_usual_work(work, unit):
    work(unit)


@pytest.mark.parametrize("unit, calls", [(unit, calls) for unit in units.names() for calls in left(unit) if (unit, calls) not in KEPT])
def test_each_group_is_needed(work, unit, calls):
    with pytest.raises(Exception):
        work(unit, calls=calls)


@pytest.mark.parametrize("unit, capability", [(unit, name) for unit in units.names() for name in sorted(units.capabilities(unit))
                                              if (unit, name) not in NOT_HERE])
def test_each_capability_is_needed(work, unit, capability):
    with pytest.raises(Exception, match="(?i)not permitted|permission|cap_|may open it"):
        work(unit, capability=capability)
