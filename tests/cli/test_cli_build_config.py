# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli build-config: what it writes, refuses and prints."""

import json
import re

import pytest

from model import load_tables, write_v2
from support.cli import CHECK_ERRORS, FAILED, backend, run, run_json, table, write_tables


def test_build_config_is_quiet_and_version_2_has_the_bytes_of_the_model(tmp_path):
    source, target = write_tables(tmp_path / "table.json", table()), tmp_path / "table.bin"
    for options in ([], ["--format", "2"]):
        done = run("build-config", source, target, *options)
        assert (done.stdout, done.stderr) == ("", "")
    assert target.read_bytes() == write_v2(load_tables(json.loads(source.read_text())))


def test_build_config_warns_when_version_3_replaces_version_2_unasked(tmp_path):
    source, target = write_tables(tmp_path / "table.json", table()), tmp_path / "table.bin"
    run("build-config", source, target, "--format", "2")
    source.write_text("{}")
    assert "version" not in run("build-config", source, target, code=FAILED).stderr
    write_tables(source, table())
    assert run("build-config", source, target, "--format", "2").stderr == ""
    assert run("build-config", source, target).stderr == (
        f"glb-director-cli: warning: {target}: was version 2 and is now version 3, which GLB's directors cannot read; "
        "for them use --format 2\n")
    assert run("build-config", source, target).stderr == ""
    run("build-config", source, target, "--format", "2")
    assert run("build-config", source, target, "--format", "3").stderr == ""


@pytest.mark.parametrize("damage", ["half overwritten in place", "one bit of hash_key"])
def test_only_version_3_reveals_damage(tmp_path, damage):
    """Every value of the damaged file is valid. docs/reference/table-binary.md says so."""
    source, target = write_tables(tmp_path / "table.json", table()), tmp_path / "table.bin"
    other = write_tables(tmp_path / "other.json", table(seed=f"{7:032x}"))
    for version, hash_key_at in (("2", 24 + 13320), ("3", 40)):
        run("build-config", other, target, "--format", version)
        rest = target.read_bytes()
        run("build-config", source, target, "--format", version)
        data = bytearray(target.read_bytes())
        digest = run_json("show", target)["digest"]
        if damage == "one bit of hash_key":
            data[hash_key_at] ^= 1
        else:
            assert len(rest) == len(data)
            data[len(data) // 2:] = rest[len(data) // 2:]
        target.write_bytes(data)
        if version == "2":
            assert run_json("show", target)["digest"] != digest
            run("check", target)
        else:
            assert "(digest): " in run("show", target, code=FAILED).stderr
            assert "(digest): " in run("check", target, code=CHECK_ERRORS).stderr


@pytest.mark.parametrize("member", [{"hops": 3}, {"backends": 257}, {"binds": 257}])
def test_version_2_is_refused_if_it_cannot_hold_the_table(tmp_path, member):
    if "binds" in member:
        member = {"binds": [{"ip": f"10.0.{i // 256}.{i % 256}", "proto": "udp", "port": 53} for i in range(257)]}
    source, target = write_tables(tmp_path / "table.json", table(**member)), tmp_path / "table.bin"
    assert "version 3" in " ".join(run("build-config", source, target, "--verbose").stdout.split())
    assert target.read_bytes()[:8] == b"GLBD\x03\0\0\0"
    target.unlink()
    assert "version 2" in run("build-config", source, target, "--format", "2", code=FAILED).stderr
    assert not target.exists()


def test_verbose_prints_version_size_and_the_digest_of_show(tmp_path):
    source, target = write_tables(tmp_path / "table.json", table()), tmp_path / "table.bin"
    for version in (2, 3):
        told = run("build-config", source, target, "--format", version, "--verbose").stdout
        digest = run_json("show", target)["digest"]
        assert " ".join(told.split()) == f"{target}: version {version}, {target.stat().st_size} bytes, digest {digest}"
        assert run_json("show", target)["version"] == version
        assert digest == run_json("show", source)["digest"]


def test_bad_source_keeps_the_old_output_and_lists_every_fault(tmp_path):
    target = tmp_path / "table.bin"
    run("build-config", write_tables(tmp_path / "table.json", table()), target)
    before = target.read_bytes()
    bad = table(backends=[backend("10.0.0.300"), backend("10.0.0.1", state="lazy")], hash_key=1, color="red")
    source = write_tables(tmp_path / "bad.json", bad)
    lines = run("build-config", source, target, code=FAILED).stderr.splitlines()
    assert len(lines) == 3
    found = {}
    for line in lines:
        column, path, found[path] = re.fullmatch(rf"glb-director-cli: {source}:1:(\d+): (\S+): (.*)", line).groups()
        assert source.read_text()[int(column) - 1:].startswith({
            "tables[0].backends[0].ip": '"10.0.0.300"', "tables[0].backends[1].state": '"lazy"', "tables[0].color": '"color"'}[path])
    assert "10.0.0.300" in found["tables[0].backends[0].ip"] and "lazy" in found["tables[0].backends[1].state"]
    assert target.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.json", "table.bin", "table.json"]


def test_build_config_prints_warnings_and_succeeds(tmp_path):
    source = write_tables(tmp_path / "table.json", table("a"), table("b", hash_key=2))
    done = run("build-config", source, tmp_path / "table.bin")
    assert done.stderr.startswith(f"glb-director-cli: warning: {source}:1:")
    assert (tmp_path / "table.bin").exists()


def test_build_config_names_files_that_it_cannot_read_or_write(tmp_path):
    source = write_tables(tmp_path / "table.json", table())
    missing = tmp_path / "missing" / "table"
    assert str(missing) in run("build-config", missing, tmp_path / "x", code=FAILED).stderr
    assert str(missing.parent) in run("build-config", source, missing, code=FAILED).stderr
