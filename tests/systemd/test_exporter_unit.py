# SPDX-License-Identifier: BSD-3-Clause
"""The unit that serves the metrics of a proxy. It attaches a program to an interface of its own."""

from pathlib import Path

import pytest

from conftest import capabilities, kill, run, show, systemctl, wait

UNIT = "glb-redirect-exporter.service"
CAP_BPF = 1 << 39


@pytest.fixture
def interface(installed):
    run("ip", "link", "add", "exp0", "type", "veth", "peer", "name", "exp1")
    yield "exp0"
    systemctl("stop", UNIT)
    run("glb-redirect", "detach", "exp0", check=False)
    run("ip", "link", "del", "exp0")


def scrape(address="127.0.0.1:19522"):
    return run("curl", "-sS", "--max-time", "60", f"http://{address}/metrics").stdout


def test_exporter_is_not_enabled_and_needs_one_capability(interface):
    assert systemctl("is-enabled", UNIT, check=False).stdout.strip() == "disabled"
    run("glb-redirect", "attach", interface)
    systemctl("start", UNIT)
    text = scrape()
    for name in ("attached", "tc_program_attached", "open_to_any_sender", "counters_readable"):
        assert f'glb_redirect_{name}{{interface="exp0"}} 1\n' in text, text
    assert 'glb_redirect_packets_total{interface="exp0",result="accepted_syn"} 0\n' in text
    assert "glb_redirect_programs_readable 1\n" in text and "glb_redirect_sockets_readable 1\n" in text
    assert capabilities(UNIT) == CAP_BPF


def test_exporter_starts_again_unless_its_options_are_wrong(interface):
    systemctl("start", UNIT)
    kill(UNIT)
    wait(lambda: show(UNIT, "NRestarts") == "1" and show(UNIT, "ActiveState") == "active", "a restart")
    prefix = Path("/usr/local/etc")
    file = (prefix if (prefix / "glb").exists() else Path("/etc")) / "default/glb-redirect-exporter"
    file.parent.mkdir(exist_ok=True)
    file.write_text('GLB_REDIRECT_EXPORTER_OPTIONS="--listen [::1]:19599"\n', encoding="ascii")
    systemctl("restart", UNIT)
    assert "glb_redirect_build_info" in scrape("[::1]:19599")
    file.write_text('GLB_REDIRECT_EXPORTER_OPTIONS="--listen here"\n', encoding="ascii")
    assert systemctl("restart", UNIT, check=False).returncode != 0
    assert show(UNIT, "ActiveState") == "failed" and show(UNIT, "NRestarts") == "0"
    file.unlink()
    systemctl("reset-failed", UNIT)
