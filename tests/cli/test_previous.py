# SPDX-License-Identifier: BSD-3-Clause
"""Files of the previous release are read by this one, and back. tests/vectors/previous has them, and its README says how to renew them.

GLB_PREVIOUS names the build folder of another version, as script/upgrade-test does. Then its programs and those of this build also read
each other's files. Without it, both are this build.
"""

import json
import lzma
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from model import load_tables, write_v3
from support.tree import BUILD, PROGRAMS, TREE

PREVIOUS = Path(os.environ.get("GLB_PREVIOUS") or BUILD)
FILES = TREE / "tests/vectors/previous"
TABLES = [("two-hops", 2), ("two-hops", 3), ("all-members", 3), ("eight-hops", 3), ("remembered-health", 3)]
FLOWS = ["198.51.100.11:40001 203.0.113.10:80", "[2001:db8:c::11]:40002 [2001:db8:113::7]:443", "198.51.100.12:40003 203.0.113.65:22"]
CONFS = ["director.conf", "healthcheck.conf", "redirect.conf"]
WAYS = pytest.mark.parametrize("writer, reader", [(PREVIOUS, BUILD), (BUILD, PREVIOUS)], ids=["upgrade", "rollback"])


def run(build, *arguments):
    return subprocess.run([build / PROGRAMS["glb-director-cli"], *map(str, arguments)], capture_output=True, text=True)


def output(build, *arguments):
    done = run(build, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def percentage(text):
    """A number of JSON. Versions print 15 or 17 digits; a row is more than 0.001 %."""
    return round(float(text), 6)


def seen(build, path):
    """What decides where packets go: digest, fingerprint, tables with their backends, and the hops of FLOWS."""
    shown = json.loads(output(build, "show", path, "--json"), parse_float=percentage)
    tables = [{"name": each["name"], "row_hops": each["row_hops"], "binds": each["binds"],
               "backends": [[backend[key] for key in ("ip", "state", "healthy", "first_hop_percent")] for backend in each["backends"]]}
              for each in shown["tables"]]
    found = [json.loads(output(build, "lookup", path, *flow.split(), "--config", FILES / "director.conf", "--json")) for flow in FLOWS]
    hops = [[hop["ip"] for hop in each.get("hops") or []] for each in found]
    return {"digest": shown["digest"], "fingerprint": shown["fingerprint"], "tables": tables, "hops": hops}


def unpacked(name, version, folder):
    path = folder / f"{name}.{version}.bin"
    path.write_bytes(lzma.decompress((FILES / f"{path.name}.xz").read_bytes()))
    return path


def expected():
    return json.loads((FILES / "expected.json").read_text(), parse_float=percentage)


@pytest.mark.parametrize("name, version", TABLES)
def test_binary_tables_are_read_as_the_previous_release_read_them(name, version, tmp_path):
    path = unpacked(name, version, tmp_path)
    assert seen(BUILD, path) == expected()[path.name]


@pytest.mark.parametrize("name", dict(TABLES))
def test_json_tables_are_read_as_the_previous_release_read_them(name):
    assert seen(BUILD, FILES / f"{name}.json") == expected()[f"{name}.json"]


@pytest.mark.parametrize("name, version", TABLES)
def test_the_same_bytes_are_written(name, version, tmp_path):
    built = tmp_path / "built.bin"
    output(BUILD, "build-config", FILES / f"{name}.json", built, "--format", version)
    assert built.read_bytes() == unpacked(name, version, tmp_path).read_bytes()


@pytest.mark.parametrize("name", ["all-members", "eight-hops", "remembered-health"])
def test_the_model_writes_the_same_bytes(name, tmp_path):
    document = json.loads((FILES / f"{name}.json").read_text())
    written = write_v3(load_tables(document), int(document.get("replaces", "0"), 16))
    assert written == unpacked(name, 3, tmp_path).read_bytes()


@pytest.mark.parametrize("name", CONFS)
def test_configurations_are_accepted(name, tmp_path):
    for file in ("ca.pem", "client.pem", "client.key"):
        (tmp_path / file).write_text("")
    path = tmp_path / name
    path.write_text((FILES / name).read_text().replace("@folder@", str(tmp_path)))
    for build in (PREVIOUS, BUILD):
        done = run(build, "check", path)
        assert done.returncode <= 1, done.stderr  # 1: warnings


@WAYS
@pytest.mark.parametrize("name, version", TABLES)
def test_each_version_reads_the_tables_of_the_other(writer, reader, name, version, tmp_path):
    source, built = tmp_path / "table.json", tmp_path / "table.bin"
    shutil.copyfile(FILES / f"{name}.json", source)
    output(writer, "build-config", source, built, "--format", version)
    assert seen(reader, built) == seen(writer, built)
    output(writer, "edit", source, "drain", "192.0.2.70" if name == "two-hops" else "192.0.2.80", "--max-broken", 100, *(["--all-tables"] if name == "eight-hops" else []))
    assert seen(reader, source) == seen(writer, source)
    assert run(reader, "diff", built, source).stdout == run(writer, "diff", built, source).stdout != ""


@pytest.mark.parametrize("build", {PREVIOUS, BUILD}, ids=str)
def test_a_new_member_is_refused_by_name_and_the_binary_table_stays(build, tmp_path):
    """A table of a newer release can have members that this one does not know. Comments of any kind are allowed."""
    document = json.loads((FILES / "two-hops.json").read_text())
    source, built = tmp_path / "table.json", tmp_path / "table.bin"
    document["tables"][0]["backends"][1]["x-colour"] = {"of": ["any", 1, None]}
    source.write_text(json.dumps(document))
    output(build, "build-config", source, built)
    before = built.read_bytes()
    document["tables"][0]["backends"][1]["colour"] = 2
    source.write_text(json.dumps(document))
    done = run(build, "build-config", source, built)
    assert done.returncode == 1 and "tables[0].backends[1].colour: unknown key" in done.stderr
    assert built.read_bytes() == before


@pytest.mark.parametrize("name, line", [("director.conf", "lcore_colour = 1;"), ("healthcheck.conf", "moon_phase = true;"), ("redirect.conf", "max_hoops = 3;")])
@pytest.mark.parametrize("build", {PREVIOUS, BUILD}, ids=str)
def test_a_new_key_of_a_configuration_is_refused_by_name(build, name, line, tmp_path):
    path = tmp_path / name
    path.write_text(f"{(FILES / name).read_text()}{line}\n")
    done = run(build, "check", path)
    assert done.returncode == 2 and f"{line.split()[0]}: unknown key" in done.stderr


def test_a_newer_binary_version_is_refused_with_advice(tmp_path):
    path = unpacked("two-hops", 3, tmp_path)
    content = bytearray(path.read_bytes())
    content[4] = 4
    path.write_bytes(content)
    done = run(BUILD, "show", path)
    assert done.returncode == 1
    assert "byte 4 (version): 4; expected 2 or 3: build the file with glb-director-cli of this release" in done.stderr


if __name__ == "__main__":
    wanted = {}
    for table, number in TABLES:
        file = FILES / f"{table}.{number}.bin"
        output(BUILD, "build-config", FILES / f"{table}.json", file, "--format", number)
        wanted[file.name] = seen(BUILD, file)
        wanted[f"{table}.json"] = seen(BUILD, FILES / f"{table}.json")
        (FILES / f"{file.name}.xz").write_bytes(lzma.compress(file.read_bytes(), preset=9))
        file.unlink()
    (FILES / "expected.json").write_text(json.dumps(wanted, indent=1) + "\n")
