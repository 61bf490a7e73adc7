# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli: a command that writes a file destroys no other file of the user."""

import os
import stat
import subprocess

import pytest

from support import pcap
from support.cli import FAILED, OK, run, table, tcp_frame, write_conf, write_tables
from support.tree import CLI

COMMANDS = ["build-config", "replay"]
KINDS = {
    "table.json": "a JSON table",
    "2.bin": "a binary table",
    "3.bin": "a binary table",
    "director.conf": "text, such as a configuration file",
    "in.pcap": "a capture",
    "in.pcapng": "a capture",
    "package.json": "JSON",
    "list.json": "JSON",
    "notes": "text, such as a configuration file",
    "spaces": "text, such as a configuration file",
    "program": "data of an unknown kind",
    "zeros": "data of an unknown kind",
    "latin1": "data of an unknown kind",
}
WRITES = {"build-config": "a binary table", "replay": "a capture"}


@pytest.fixture
def folder(tmp_path):
    """A folder with a file of each kind."""
    write_tables(tmp_path / "table.json", table())
    for version in "23":
        run("build-config", tmp_path / "table.json", tmp_path / f"{version}.bin", "--format", version)
    write_conf(tmp_path / "director.conf")
    pcap.write(tmp_path / "in.pcap", [tcp_frame()])
    pcap.write_ng(tmp_path / "in.pcapng", [tcp_frame()])
    (tmp_path / "package.json").write_text('\n\t {"name": "glb"}')
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "notes").write_text("ein Zug f\u00e4hrt\r\n" * 9999)
    (tmp_path / "spaces").write_text(" \n")
    (tmp_path / "program").write_bytes(b"\x7fELF" + bytes(100))
    (tmp_path / "zeros").write_bytes(bytes(100))
    (tmp_path / "latin1").write_bytes(b"f\xe4hrt\n")
    return tmp_path


def write(command, folder, out, *options, code=OK, **kwargs):
    operands = [folder / "table.json", out] if command == "build-config" else [
        folder / "table.json", folder / "in.pcap", out, "--config", folder / "director.conf"]
    return run(command, *operands, *options, code=code, **kwargs)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("options", [[], ["--force"]])
@pytest.mark.parametrize("command, name", [
    ("build-config", "table.json"), ("replay", "table.json"), ("replay", "in.pcap"), ("replay", "director.conf")])
def test_an_input_is_never_replaced(folder, command, name, options):
    (folder / "sub").mkdir()
    os.link(folder / name, folder / "hard")
    (folder / "soft").symlink_to(name)
    (folder / "chain").symlink_to("soft")
    before = contents(folder)
    spellings = [name, "hard", "soft", "chain", f"./{name}", f"sub/../{name}", f"sub//..//{name}"]
    for out in [folder / spelling for spelling in spellings] + [f"{folder}/{text}" for text in spellings[4:]]:
        error = write(command, folder, out, *options, code=FAILED).stderr
        assert error == (f"glb-director-cli: {out}: the output is the same file as the input {folder / name}: "
                         "name another file for the output\n")
        assert contents(folder) == before


def test_an_input_is_not_replaced_if_the_input_is_the_link(folder):
    (folder / "link.json").symlink_to("table.json")
    before = (folder / "table.json").read_bytes()
    for options in [[], ["--force"]]:
        error = run("build-config", folder / "link.json", folder / "table.json", *options, code=FAILED).stderr
        assert f"{folder / 'table.json'}: the output is the same file as the input {folder / 'link.json'}: " in error
    assert (folder / "table.json").read_bytes() == before


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", KINDS)
def test_only_a_file_of_the_same_kind_is_replaced_without_force(folder, command, name):
    out = folder / "out"
    before = (folder / name).read_bytes()
    out.write_bytes(before)
    if KINDS[name] == WRITES[command]:
        write(command, folder, out)
    else:
        done = write(command, folder, out, code=FAILED)
        assert done.stderr == (f"glb-director-cli: {out}: contains {KINDS[name]}, not {WRITES[command]}: "
                               "name another file, or give --force to replace it\n")
        assert done.stdout == ""
        assert out.read_bytes() == before
        write(command, folder, out, "--force")
    written = out.read_bytes()
    out.unlink()
    write(command, folder, out)
    assert written == out.read_bytes()
    assert not list(folder.glob(".glb-*"))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_name_does_not_tell_the_kind(folder, command):
    out = folder / ("table.bin" if command == "build-config" else "out.pcap")
    out.write_bytes((folder / "director.conf").read_bytes())
    assert "contains text" in write(command, folder, out, code=FAILED).stderr
    out = folder / "odd.conf"
    write(command, folder, out)
    write(command, folder, out)


@pytest.mark.parametrize("magic", ["a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "a1b2cd34", "34cdb2a1", "0a0d0d0a"])
def test_every_kind_of_capture_is_recognised(folder, magic):
    (folder / "out").write_bytes(bytes.fromhex(magic) + bytes(20))
    assert "contains a capture, not a binary table" in write("build-config", folder, folder / "out", code=FAILED).stderr
    write("replay", folder, folder / "out")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("content", [b"GLBD", b"GLBD\x04\0\0\0", b"GLB", b"\xa1\xb2", b"G"])
def test_a_file_that_ends_early_is_recognised_by_the_magic_alone(folder, command, content):
    (folder / "out").write_bytes(content)
    ours = command == "build-config" and content.startswith(b"GLBD")
    write(command, folder, folder / "out", code=OK if ours else FAILED)
    assert ((folder / "out").read_bytes() == content) is not ours


@pytest.mark.parametrize("command", COMMANDS)
def test_an_empty_file_is_replaced(folder, command):
    (folder / "out").touch()
    write(command, folder, folder / "out")
    assert (folder / "out").stat().st_size > 0


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_to_a_file_of_another_kind_is_refused(folder, command):
    (folder / "out").symlink_to("notes")
    before = contents(folder)
    assert f"{folder / 'out'}: contains text" in write(command, folder, folder / "out", code=FAILED).stderr
    assert contents(folder) == before and (folder / "out").is_symlink()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_dangling_link_loses_nothing(folder, command):
    (folder / "out").symlink_to("missing")
    before = contents(folder)
    write(command, folder, folder / "out")
    after = contents(folder)
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_a_loop_of_links_and_a_missing_folder_are_named(folder, command):
    (folder / "sub").mkdir()
    (folder / "loop").symlink_to("loop")
    for out in (folder / "sub", folder / "loop", folder / "none" / "out"):
        for options in [], ["--force"]:
            assert write(command, folder, out, *options, code=FAILED).stderr.startswith(f"glb-director-cli: {out}: ")
    assert (folder / "sub").is_dir() and (folder / "loop").is_symlink()


def test_replay_writes_to_devices_and_fifos_as_it_always_did(folder):
    write("replay", folder, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    os.mkfifo(folder / "fifo")
    with subprocess.Popen(["cat", folder / "fifo"], stdout=subprocess.PIPE) as reader:
        write("replay", folder, folder / "fifo")
        assert reader.communicate()[0][:4] == bytes.fromhex("4d3cb2a1")
    done = subprocess.run([CLI, "replay", folder / "table.json", folder / "in.pcap", "/dev/stdout", "--config",
                           folder / "director.conf"], stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout[:4]) == (OK, bytes.fromhex("4d3cb2a1"))


@pytest.mark.parametrize("options", [[], ["--force"]])
def test_build_config_never_replaces_a_device_or_fifo(folder, options):
    os.mkfifo(folder / "fifo")
    for out, kind in (("/dev/null", "a device"), (folder / "fifo", "a FIFO")):
        done = write("build-config", folder, out, *options, code=FAILED)
        assert done.stderr == f"glb-director-cli: {out}: is {kind}; only a regular file can be replaced\n"
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode) and stat.S_ISFIFO(os.stat(folder / "fifo").st_mode)


def test_replay_with_the_same_fifo_as_input_and_output_does_not_hang(folder):
    os.mkfifo(folder / "fifo")
    error = run("replay", folder / "table.json", folder / "fifo", folder / "fifo", "--config", folder / "director.conf",
                code=FAILED).stderr
    assert f"{folder / 'fifo'}: the output is the same file as the input {folder / 'fifo'}: " in error


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_cannot_be_read_needs_force(folder, command):
    # Without these capabilities, the mode of a file also binds root.
    out = folder / "out"
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    operands = [folder / "table.json", out] if command == "build-config" else [
        folder / "table.json", folder / "in.pcap", out, "--config", folder / "director.conf"]
    (folder / "secret").write_text("secret")
    out.write_text("secret")
    out.chmod(0o200)
    done = subprocess.run([*drop, CLI, command, *operands], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        FAILED, f"glb-director-cli: {out}: exists and cannot be read, so its kind is unknown: Permission denied; "
        "name another file, or give --force to replace it\n")
    out.chmod(0o600)
    assert out.read_text() == "secret"
    out.chmod(0o200)
    assert subprocess.run([*drop, CLI, command, *operands, "--force"]).returncode == OK


def test_inputs_are_checked_before_the_output_is_touched(folder):
    (folder / "bad.json").write_text("{")
    (folder / "bad.conf").write_text("idle = 1;")
    out = folder / "out.pcap"
    write("replay", folder, out)
    before = out.read_bytes()
    for operands in (["bad.json", "in.pcap", "director.conf"], ["table.json", "notes", "director.conf"],
                     ["table.json", "in.pcap", "bad.conf"], ["table.json", "none", "director.conf"]):
        source, capture, conf = (folder / name for name in operands)
        run("replay", source, capture, out, "--config", conf, code=FAILED)
        assert out.read_bytes() == before
