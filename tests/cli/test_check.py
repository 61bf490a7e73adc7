# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli check: recognises each kind of file by its content, and says what it saw."""

import re
import subprocess

import pytest

from support.cli import CHECK_ERRORS, CHECK_WARNINGS, FAILED, OK, USAGE, backend, run, run_json, table, write_conf, write_tables
from support.numbers import BAD_NUMBERS
from support.tree import CLI, HEALTHCHECK as DAEMON, TREE

HEALTHCHECK = 'forwarding_table = { src = "/etc/glb/a.json"; dst = "/var/lib/glb/b.json"; };\n'
BIFURCATE = 'device = "0000:03:00.0";\nmac = "02:00:00:00:03:00";\n'
ENVIRONMENT = '# comment\nGLB_DIRECTOR_EAL_ARGS="-l 0-2 -a 0000:3b:02.0"\nGLB_DIRECTOR_CONFIG_FILE=/dev/null\n'


@pytest.fixture
def good(tmp_path):
    """{kind: a valid file}"""
    run("build-config", write_tables(tmp_path / "table.json", table()), tmp_path / "table.bin")
    (tmp_path / "healthcheck.conf").write_text(HEALTHCHECK)
    (tmp_path / "redirect.conf").write_text('allow_from = ["192.0.2.0/24"];\n')
    (tmp_path / "bifurcate.conf").write_text(BIFURCATE)
    (tmp_path / "fleet.conf").write_text('etcd = { endpoints = ["https://etcd1:2379"]; };\nprefix = "/glb/ams1";\n')
    (tmp_path / "glb-director").write_text(ENVIRONMENT)
    return {
        "JSON table": tmp_path / "table.json",
        "binary table": tmp_path / "table.bin",
        "director.conf": write_conf(tmp_path / "director.conf"),
        "healthcheck.conf": tmp_path / "healthcheck.conf",
        "redirect.conf": tmp_path / "redirect.conf",
        "bifurcate.conf": tmp_path / "bifurcate.conf",
        "fleet.conf": tmp_path / "fleet.conf",
        "environment file": tmp_path / "glb-director",
    }


NAMES = ["table.json", "table.bin", "director.conf", "healthcheck.conf", "redirect.conf", "bifurcate.conf", "fleet.conf", "glb-director", "x", "x.txt"]


@pytest.mark.parametrize("name", NAMES)
def test_content_decides_the_kind_whatever_the_name(name, good, tmp_path):
    for kind, path in good.items():
        (tmp_path / "other").mkdir(exist_ok=True)
        copy = tmp_path / "other" / name
        copy.write_bytes(path.read_bytes())
        done = run("check", copy)
        assert done.stdout.startswith(f"{copy}: valid {kind}") and done.stderr == ""
        assert run_json("check", copy)["files"] == [{"file": str(copy), "kind": kind, "errors": [], "warnings": []}]


def test_the_kind_of_a_faulty_file_is_printed(good, tmp_path):
    bad = tmp_path / "bad"
    for kind, old, new in (("JSON table", '"tcp"', '"sctp"'), ("director.conf", "outbound_src_ip", "outbound_source_ip"),
                           ("healthcheck.conf", "src", "source"), ("redirect.conf", "/24", "/33"),
                           ("bifurcate.conf", "mac", "mca"), ("fleet.conf", "https", "ftp"), ("environment file", "EAL_ARGS", "EAL_ARG")):
        bad.write_text(good[kind].read_text().replace(old, new, 1))
        done = run("check", bad, code=CHECK_ERRORS)
        assert done.stdout.startswith(f"{bad}: invalid {kind}, ") and done.stderr.startswith(f"glb-director-cli: {bad}:")
    bad.write_bytes(good["binary table"].read_bytes()[:-1])
    assert run("check", bad, code=CHECK_ERRORS).stdout == f"{bad}: invalid binary table, 1 error\n"


def test_configurations_of_glb_in_json_are_not_taken_for_tables(tmp_path):
    director, healthcheck = tmp_path / "director.conf", tmp_path / "x"
    director.write_text('{ "outbound_gateway_mac": "00:11:22:33:44:55", "lcores": {}, "flow_paths": [] }\n')
    healthcheck.write_text('{ "forwarding_table": { "src": "a", "dst": "b" }, "reload_command": "true" }\n')
    for path, kind in ((director, "director.conf"), (healthcheck, "healthcheck.conf")):
        done = run("check", path, code=CHECK_ERRORS)
        assert done.stdout == f"{path}: invalid {kind}, 1 error\n" and "looks like JSON" in done.stderr


@pytest.mark.parametrize("text, name, kind", [
    ("", "table.json", "JSON table"), ("", "healthcheck.conf", "healthcheck.conf"), ("# only a comment\n", "my.conf", "director.conf"),
    ("", "old-healthcheck-2.conf", "healthcheck.conf"), ("frob = 1;\n", "x", "director.conf"), ("[1]", "x", "JSON table"),
    ("GLB", "glb-director", "environment file"), ("x", "glb-redirect", "environment file"), ("x", "glb-redirect.eth0", "environment file"),
    ("", "x.bin", "binary table"), ("frob = 1;\n", "redirect.conf", "redirect.conf"), ("{}", "x.conf", "director.conf"), ("frob = 1;\n", "my-bifurcate.conf", "bifurcate.conf"),
])
def test_the_name_decides_if_the_content_does_not_tell(text, name, kind, tmp_path):
    (tmp_path / name).write_text(text)
    assert f": invalid {kind}, " in run("check", tmp_path / name, code=CHECK_ERRORS).stdout


@pytest.mark.parametrize("head, says", [
    ("d4c3b2a1020004000000000000000000ffff000001000000", "is a packet capture, neither a table nor a configuration: replay reads captures"),
    ("a1b23c4d000200040000000000000000ffff000000000001", "is a packet capture"),
    ("0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c000000", "is a packet capture"),
    ("1f8b0800", "is compressed with gzip: decompress it with gunzip"),
    ("fd377a585a00", "is compressed with xz"),
    ("28b52ffd04", "is compressed with zstd"),
    ("7f454c460201", "is a program or a library"),
])
@pytest.mark.parametrize("name", ["x.pcap", "x.json", "x"])
def test_a_file_of_another_kind_is_called_so(head, says, name, tmp_path):
    path = tmp_path / name
    path.write_bytes(bytes.fromhex(head))
    done = run("check", path, code=CHECK_ERRORS)
    assert done.stdout == f"{path}: invalid file of another kind, 1 error\n" and f"{path}: {says}" in done.stderr
    found, = run_json("check", path, code=CHECK_ERRORS)["files"]
    assert found["kind"] == "file of another kind" and len(found["errors"]) == 1


def test_option_kind_decides_for_all_files(good, tmp_path):
    for word, kind in (("json", "JSON table"), ("binary", "binary table"), ("director", "director.conf"), ("healthcheck", "healthcheck.conf"),
                       ("redirect", "redirect.conf"), ("bifurcate", "bifurcate.conf"), ("fleet", "fleet.conf"), ("environment", "environment file")):
        run("check", "--kind", word, good[kind])
        for other in good:
            if other != kind:
                # Both configurations consist of assignments, but of none that a unit knows.
                code = CHECK_WARNINGS if word == "environment" and other.endswith(".conf") else CHECK_ERRORS
                done = run("check", "--kind", word, good[other], code=code)
                assert f": {'invalid' if code == CHECK_ERRORS else 'valid'} {kind}, " in done.stdout
    done = run("check", "--kind", "table", good["JSON table"], code=USAGE)
    assert done.stderr.splitlines()[0] == (
        "glb-director-cli: check: --kind: 'table' is none of json, binary, director, healthcheck, redirect, bifurcate, fleet, environment")


def test_vfs_that_cannot_both_be_made_are_named(tmp_path):
    folder = tmp_path / "bifurcate.d"
    folder.mkdir()
    files = [folder / f"{name}.conf" for name in ("eth1", "eth2", "eth3")]
    for path, text in zip(files, (BIFURCATE, BIFURCATE.replace("03:00.0", "04:00.0"), BIFURCATE.replace('"02:', '"06:'))):
        path.write_text(text)
    said = run("check", *files, code=CHECK_ERRORS).stderr
    assert f"{files[1]}: mac: {files[0]} has the same: a PF has one configuration, and each VF has a MAC of its own" in said
    assert f"{files[2]}: device: {files[0]} has the same" in said and len(said.splitlines()) == 2
    run("check", files[0], files[0])


def test_file_in_bifurcate_d_configures_a_vf_even_if_no_key_is_right(tmp_path):
    path = tmp_path / "bifurcate.d/eth1.conf"
    path.parent.mkdir()
    path.write_text("# device = \"0000:03:00.0\";\n")
    done = run("check", path, code=CHECK_ERRORS)
    assert done.stdout == f"{path}: invalid bifurcate.conf, 2 errors\n" and "device: missing; write the PCI address" in done.stderr


def test_stdin_is_checked_like_a_file(good):
    for kind, path in good.items():
        for how in ({"stdin": open(path, "rb")}, {"input": path.read_bytes()}):
            done = subprocess.run([CLI, "check", "-"], capture_output=True, **how)
            assert done.returncode == OK and done.stdout.decode().startswith(f"stdin: valid {kind}")
    done = run("check", good["JSON table"], "-", input='{"tables": [1]}', code=CHECK_ERRORS)
    assert done.stderr.startswith("glb-director-cli: stdin:1:13: tables[0]: ")
    assert done.stdout.splitlines()[1].startswith("stdin: invalid JSON table, 1 error")


def test_stdin_that_cannot_be_checked_is_an_error(tmp_path):
    closed = subprocess.run(f"exec {CLI} check - <&-", shell=True, capture_output=True, text=True)
    assert (closed.returncode, closed.stdout) == (CHECK_ERRORS, "stdin: not checked\n")
    assert closed.stderr == "glb-director-cli: stdin: cannot be read: Bad file descriptor\n"
    assert "'-' is given twice" in run("check", "-", "-", code=USAGE, input="").stderr
    endless = subprocess.run(f"exec {CLI} check - </dev/zero", shell=True, capture_output=True, text=True, timeout=60)
    assert (endless.returncode, endless.stdout) == (CHECK_ERRORS, "stdin: not checked\n")
    assert "stdin: has more than 134217728 bytes; from stdin, a table has at most that" in endless.stderr


def test_healthcheck_conf_is_checked_as_glb_healthcheck_reads_it(tmp_path):
    path = tmp_path / "healthcheck.conf"
    path.write_text(HEALTHCHECK.replace("/var/lib/glb/b.json", "/etc/glb/a.json") + 'watch = yes;\n')
    assert run("check", path, code=CHECK_ERRORS).stderr.startswith(f"glb-director-cli: {path}:2: watch: 'yes' is not a number, true, ")
    path.write_text(path.read_text().replace("yes", "true"))
    assert "forwarding_table.dst: '/etc/glb/a.json' is also src" in run("check", path, code=CHECK_ERRORS).stderr
    run("check", TREE / "config" / "healthcheck.conf")


def test_faults_go_to_stderr_and_json_to_stdout(tmp_path):
    warned = write_tables(tmp_path / "warned.json", table("a"), table("b", hash_key=2))
    done = run("check", warned, code=CHECK_WARNINGS)
    assert done.stdout == f"{warned}: valid JSON table, 2 tables, 2 binds, 6 backends, 1 warning\n"
    assert done.stderr.startswith(f"glb-director-cli: warning: {warned}:")
    done = run("check", "--json", warned, code=CHECK_WARNINGS)
    assert done.stderr == ""


REDIRECT_ERROR = "not an option of glb-redirect attach"
ENVIRONMENT_FAULTS = [
    ('GLB_DIRECTOR_EAL_ARGS="-l 0 -- -d"', "1: GLB_DIRECTOR_EAL_ARGS: '--' ends the EAL options; the unit adds it"),
    ("GLB_DIRECTOR_EAL_ARGS=--config-file=/x", "'--config-file=/x' is not an EAL option; set GLB_DIRECTOR_CONFIG_FILE"),
    ("GLB_DIRECTOR_EAL_ARGS='-l 0 --forwarding-table x'", "is not an EAL option; set GLB_DIRECTOR_FORWARDING_TABLE"),
    ("GLB_DIRECTOR_CONFIG_FILE=director.conf", "'director.conf' is not a full path, but the unit runs in /"),
    ("GLB_DIRECTOR_CONFIG_FILE=", "'' is not a full path"),
    ("GLB_DIRECTOR_CONFIG=/dev/null", "1: GLB_DIRECTOR_CONFIG: unknown variable; known here: GLB_DIRECTOR_EAL_ARGS, "),
    ("export GLB_DIRECTOR_EAL_ARGS=-l", "systemd ignores this line; remove export"),
    ("GLB_DIRECTOR_EAL_ARGS", "'GLB_DIRECTOR_EAL_ARGS' is not an assignment NAME=VALUE"),
    ('GLB_DIRECTOR_EAL_ARGS="-l 0\nX=1\n', "1: GLB_DIRECTOR_EAL_ARGS: its value has no closing quote"),
    ("GLB_DIRECTOR_EAL_ARGS=-l \\\n 0 \\\n --\nGLB_X=1", "4: GLB_X: unknown variable"),
    ("GLB_REDIRECT_OPTIONS=--mode fast", "GLB_REDIRECT_OPTIONS: --mode: 'fast' is neither native nor generic"),
    ("GLB_REDIRECT_OPTIONS=--mode=fast", "--mode: 'fast' is neither native nor generic"),
    ("GLB_REDIRECT_OPTIONS=--port", "--port needs an argument"),
    ("GLB_REDIRECT_OPTIONS=--frob", f"'--frob' is {REDIRECT_ERROR}"),
    ("GLB_REDIRECT_OPTIONS=eth0", f"'eth0' is {REDIRECT_ERROR}"),
    ("GLB_REDIRECT_OPTIONS=--debug=1", f"'--debug=1' is {REDIRECT_ERROR}"),
    ("GLB_REDIRECT_OPTIONS=--", f"'--' is {REDIRECT_ERROR}"),
    ("; GLB\n\n GLB_REDIRECT_OPTIONS = '--udp both'", "3: GLB_REDIRECT_OPTIONS: --udp: 'both' is neither first-hop nor connected"),
    ("GLB_DIRECTOR_EAL_ARGS=-l\0", "it has a NUL byte"),
]


@pytest.mark.parametrize("text, fault", ENVIRONMENT_FAULTS)
def test_faults_of_an_environment_file(text, fault, tmp_path):
    path = tmp_path / "glb-director"
    path.write_text(text)
    done = run("check", path, code=CHECK_ERRORS)
    assert any(line.startswith(f"glb-director-cli: {path}:") and fault in line for line in done.stderr.splitlines()), done.stderr
    assert done.stdout.startswith(f"{path}: invalid environment file, ")


@pytest.mark.parametrize("bad", BAD_NUMBERS)
def test_port_in_an_environment_file_is_a_strict_number(bad, tmp_path):
    path = tmp_path / "glb-redirect"
    path.write_text(f"GLB_REDIRECT_OPTIONS='--port={bad}'\n")
    run("check", path, code=OK if bad == "80 " else CHECK_ERRORS)


def test_warnings_about_an_environment_file(tmp_path):
    path = tmp_path / "x"
    path.write_text(f"GLB_DIRECTOR_CONFIG_FILE={tmp_path}/none\nGLB_DIRECTOR_EAL_ARGS=--file-prefix=b\nGLB_DIRECTOR_EAL_ARGS=\n")
    done = run("check", path, code=CHECK_WARNINGS)
    assert [line.split(": ", 3)[3] for line in done.stderr.splitlines()] == [
        f"GLB_DIRECTOR_CONFIG_FILE: '{tmp_path}/none' cannot be read: No such file or directory",
        "GLB_DIRECTOR_EAL_ARGS: '--file-prefix=b': the unit reloads the director with the prefix rte",
        "GLB_DIRECTOR_EAL_ARGS: set before, in line 2, which has no effect",
    ]


def test_environment_files_of_the_packages_and_of_the_units_comments_are_valid(tmp_path):
    units = TREE / "packaging" / "systemd"
    example = re.search(r'GLB_REDIRECT_OPTIONS=".*?"', (units / "glb-redirect@.service.in").read_text())[0]
    director = (units / "glb-director.env.in").read_text().replace("@sysconfdir@", str(tmp_path)).replace("/var/lib/", f"{tmp_path}/")
    for name in re.findall(r"/glb/(\w+\.\w+)\"$", director, re.M):
        (tmp_path / "glb").mkdir(exist_ok=True)
        (tmp_path / "glb" / name).write_text("")
    for text in (example + "\n", director, director.replace("#GLB", "GLB").replace('GLB_DIRECTOR_EAL_ARGS=""\n', "")):
        run("check", "-", input=text)


def test_without_operands_the_installed_files_are_checked(good, tmp_path):
    """A mount namespace replaces the folders of the installation."""
    folder = re.search(r"such as (\S+)/glb/director\.conf", run_in(tmp_path / "none", "check", code=USAGE).stderr)[1]
    etc = tmp_path / "etc"
    (etc / "glb").mkdir(parents=True)
    (etc / "default").mkdir()
    for kind, name in (("director.conf", "glb/director.conf"), ("JSON table", "glb/forwarding_table.json"),
                       ("environment file", "default/glb-redirect.eth0")):
        (etc / name).write_bytes(good[kind].read_bytes())
    done = run_in(etc, "check")
    assert [line.split(",")[0] for line in done.stdout.splitlines()] == [
        f"{folder}/glb/director.conf: valid director.conf", f"{folder}/glb/forwarding_table.json: valid JSON table",
        f"{folder}/default/glb-redirect.eth0: valid environment file"]
    (etc / "glb/forwarding_table.bin").write_bytes(b"GLBD")
    assert "forwarding_table.bin: invalid binary table" in run_in(etc, "check", code=CHECK_ERRORS).stdout
    assert "--kind needs a FILE" in run_in(etc, "check", "--kind", "json", code=USAGE).stderr


def run_in(etc, *words, code=OK):
    """Runs the CLI with `etc` as /etc, and with its folder glb as /var/lib/glb, too."""
    (etc / "glb").mkdir(parents=True, exist_ok=True)
    script = f'mkdir -p /var/lib/glb && mount --bind {etc}/glb /var/lib/glb && mount --bind {etc} /etc && exec "$@"'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", CLI, *words],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize("key, line, content, says", [
    ("dst", 1, "notes of the operator\n", "forwarding_table.dst: '{out}' contains text"),
    ("dst", 1, b"GLBD\3\0\0\0", "forwarding_table.dst: '{out}' contains a binary table"),
    ("state_file", 0, b"\xd4\xc3\xb2\xa1\2\0\4\0", "state_file: '{out}' contains a capture"),
    ("build", 2, '{"tables": []}', "reload.build: '{out}' contains a JSON table"),
])
def test_glb_healthcheck_does_not_replace_files_of_another_kind(tmp_path, key, line, content, says):
    source, out, conf = write_tables(tmp_path / "src.json", table()), tmp_path / "out", tmp_path / "healthcheck.conf"
    out.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = out.read_bytes()
    conf.write_text(f'forwarding_table = {{ src = "{source}"; dst = "{out if key == "dst" else tmp_path / "dst.json"}"; }};\n' + {
        "dst": "", "state_file": f'state_file = "{out}";', "build": f'reload = {{ build = "{out}"; }};'}[key])
    text = f"{conf}{f':{line}' * bool(line)}: " + says.format(out=out) + (
        ", which would be lost: name another file, or move it away" if "text" not in says else ", such as a configuration file, which")
    assert text in run("check", conf, code=CHECK_ERRORS).stderr
    done = subprocess.run([DAEMON, "-c", conf], capture_output=True, text=True, timeout=60)
    assert done.returncode == FAILED and text in done.stderr and out.read_bytes() == before
    out.write_bytes(bytes(100))  # what a crash of the machine may leave
    run("check", conf)


def test_glb_healthcheck_does_not_replace_its_own_configuration(tmp_path):
    conf = tmp_path / "healthcheck.conf"
    text = f'forwarding_table = {{ src = "{tmp_path}/src.json"; dst = "{tmp_path}/./healthcheck.conf"; }};\n'
    conf.write_text(text)
    done = subprocess.run([DAEMON, "-c", conf], capture_output=True, text=True, timeout=60)
    assert done.returncode == FAILED and "is also this configuration file; use different files" in done.stderr
    assert conf.read_text() == text


# tables together with director.conf


def warnings_together(tmp_path, mtu, *tables, binary=False, code=None, **keys):
    """The warnings of `check` about a table file beside a director.conf."""
    path = write_tables(tmp_path / "table.json", *tables)
    if binary:
        run("build-config", path, tmp_path / "table.bin")
        path = tmp_path / "table.bin"
    conf = write_conf(tmp_path / "director.conf", outbound_mtu=mtu, **keys)
    found = run_json("check", conf, path, code=code)["files"]
    assert found[0]["warnings"] == [] and found[0]["errors"] == found[1]["errors"] == []
    return found[1]["warnings"]


def v6_table(*args, **members):
    return table(*args, binds=[{"ip": f"fdb4::{n}", "proto": "tcp", "port": 443} for n in (1, 2, 3)], **members)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("backends, hops, alt, needed", [
    (8, 2, None, 1320), (8, 4, None, 1328), (8, 4, {"src_port": True}, 1344), (3, 4, {"src_port": True}, 1324), (1, 2, None, 1316)])
def test_outbound_mtu_has_room_for_1280_bytes_of_ipv6(tmp_path, backends, hops, alt, needed, binary):
    keys = {"alt_hash_fields": alt} if alt else {}
    one, code = v6_table(backends=backends, hops=hops), CHECK_WARNINGS if alt else OK
    slow = warnings_together(tmp_path, needed, one, binary=binary, code=code, **keys)
    assert ["alt_hash_fields is set" in line for line in slow] == [True] * bool(alt)
    warning, *others = warnings_together(tmp_path, needed - 1, one, binary=binary, code=CHECK_WARNINGS, **keys)
    assert others == slow
    assert "tables[0].binds[0]: 'tcp fdb4::1 port 443' (and 2 more in this table)" in warning
    assert f"outbound_mtu is {needed - 1}, but an IPv6 packet of 1280 bytes has {needed} with" in warning
    assert warning.endswith(f"set outbound_mtu to {needed} or more")


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("backends, hops, alt, needed", [
    (8, 2, None, 1352), (8, 4, None, 1384), (8, 2, {"src_port": True}, 1384), (8, 4, {"src_port": True}, 1448), (8, 8, {"src_port": True}, 1448), (1, 2, None, 1336)])
def test_outbound_mtu_has_room_for_longer_outer_headers_with_ipv6(tmp_path, backends, hops, alt, needed, binary):
    """With alt_hash_fields, a packet has at most 8 hops. Tables of the other family have a warning of their own."""
    keys = {"outbound_src_ip6": "2001:db8::d", **({"alt_hash_fields": alt} if alt else {})}
    six = v6_table("six", backends=[backend(f"2001:db8::{n + 1}") for n in range(backends)], hops=hops)
    four = table("four", backends=backends, hops=hops, binds=[{"ip": "fdb4::9", "proto": "tcp", "port": 443}])
    slow = warnings_together(tmp_path, needed, six, four, binary=binary, code=CHECK_WARNINGS if hops > 2 and alt else OK, **keys)
    assert all("alt_hash_fields is set" in line for line in slow)
    warning, *others = warnings_together(tmp_path, needed - 1, six, four, binary=binary, code=CHECK_WARNINGS, **keys)
    assert others == slow
    assert "tables[0].binds[0]: 'tcp fdb4::1 port 443' (and 2 more in this table)" in warning
    assert f"an IPv6 packet of 1280 bytes has {needed} with the outer headers for" in warning
    assert warning.endswith(f"set outbound_mtu to {needed} or more")


V6_BACKENDS = [backend("2001:db8::1"), backend("2001:db8::2")]
NO_SOURCE = ("tables[1].backends[0].ip: '{0}' of table second is an {1} address, but director.conf has no {2}: add the director's own {1} "
             "address there and restart the director (1 more table needs it, too)")


@pytest.mark.parametrize("binary", [False, True])
def test_tables_need_a_source_address_of_their_family(tmp_path, binary):
    """The director refuses them with the same error."""
    tables = [table(name, backends=backends, binds=[{"ip": f"10.0.0.{n}", "proto": "tcp", "port": 80}])
              for n, (name, backends) in enumerate((("first", 3), ("second", V6_BACKENDS), ("third", V6_BACKENDS)))]
    path = write_tables(tmp_path / "table.json", *tables)
    if binary:
        run("build-config", path, tmp_path / "table.bin")
        path = tmp_path / "table.bin"
    both = {"outbound_src_ip": "192.0.2.1", "outbound_src_ip6": "2001:db8::d"}
    for keys, errors in ((both, []), ({"outbound_src_ip6": None}, [NO_SOURCE.format("2001:db8::1", "IPv6", "outbound_src_ip6")]),
                         ({"outbound_src_ip": None}, ["tables[0].backends[0].ip: '192.168.50.1' of table first is an IPv4 address, but "
                          "director.conf has no outbound_src_ip: add the director's own IPv4 address there and restart the director"])):
        conf = tmp_path / "director.conf"
        write_conf(conf, **{**both, **keys})
        found = run_json("check", conf, path, code=CHECK_ERRORS if errors else OK)["files"]
        assert [line.partition(": ")[2] for line in found[1]["errors"]] == errors and found[0]["errors"] == []


@pytest.mark.parametrize("key, address, bind", [("outbound_src_ip", "192.0.2.1", "192.0.2.0/24"), ("outbound_src_ip6", "2001:db8::d", "2001:db8::/64")])
def test_a_bind_with_the_directors_own_address_is_a_warning(tmp_path, key, address, bind):
    warning, = warnings_together(tmp_path, 1500, table(binds=[{"ip": bind, "proto": "tcp", "port": 443}]), code=CHECK_WARNINGS, **{key: address})
    assert f"tables[0].binds[0]: contains {key} {address}: the director sends packets for itself to a proxy" in warning


def test_tables_that_need_the_same_outbound_mtu_have_one_warning(tmp_path):
    def numbered(n, **members):
        return table(f"t{n}", binds=[{"ip": f"fdb4:{n:x}::{k}", "proto": "tcp", "port": 443} for k in (1, 2)], **members)

    tables = [table("v4"), *(numbered(n, backends=8, hops=4 if n == 40 else 2) for n in range(1, 65))]
    first, second = warnings_together(tmp_path, 1300, *tables, code=CHECK_WARNINGS)
    assert "tables[1].binds[0]: 'tcp fdb4:1::1 port 443' (and 125 more in 63 tables): outbound_mtu is 1300" in first
    assert "has 1320 with" in first
    assert "tables[40].binds[0]: 'tcp fdb4:28::1 port 443' (and 1 more in this table): outbound_mtu is 1300" in second
    assert "has 1328 with" in second


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("backends, hops, named", [(8, 2, None), (8, 3, 3), (8, 4, 4), (3, 4, 3), (2, 4, None)])
def test_tables_that_alt_hash_fields_slow_down_are_named(tmp_path, backends, hops, named, binary):
    code, one = CHECK_WARNINGS if named else OK, table(backends=backends, hops=hops)
    told = warnings_together(tmp_path, 1500, one, binary=binary, code=code, alt_hash_fields={"src_port": True})
    assert [line.partition(": ")[2] for line in told] == ([
        f"tables[0]: rows have {named} hops, and alt_hash_fields is set: the packets of this table take the slower general path; "
        'set "hops" to 2 or remove alt_hash_fields'] if named else [])


@pytest.mark.parametrize("vlans, warned", (("any", True), ([0, 100], True), ("untagged", False), ([0], False)))
def test_tagged_frames_are_slow(tmp_path, vlans, warned):
    conf = write_conf(tmp_path / "director.conf", accept_vlans=vlans, outbound_vlan="untagged")
    done = run("check", conf, code=CHECK_WARNINGS if warned else OK)
    assert ("accept_vlans: admits tagged frames, which take the slower general path; where you can, let" in done.stderr) == warned


def test_outbound_mtu_has_room_for_576_bytes_of_ipv4(tmp_path):
    assert warnings_together(tmp_path, 616, table(), code=OK) == []
    (warning,) = warnings_together(tmp_path, 615, table(), code=CHECK_WARNINGS)
    assert "tcp 10.10.10.10 port 80" in warning and "an IPv4 packet of 576 bytes has 616 with" in warning


def test_inactive_backends_are_no_hops(tmp_path):
    backends = [{"ip": f"192.168.50.{n}", "state": "inactive" if n > 2 else "active", "healthy": True} for n in range(1, 9)]
    assert warnings_together(tmp_path, 1320, v6_table(backends=backends, hops=4), code=OK) == []


def test_bind_of_outbound_src_ip_is_a_fault_beside_director_conf(tmp_path):
    own = table(binds=[{"ip": "192.0.2.1", "proto": "tcp", "port": 80}])
    path = write_tables(tmp_path / "table.json", own)
    assert run("check", path).stderr == ""
    done = run("check", path, write_conf(tmp_path / "director.conf"), code=CHECK_WARNINGS)
    assert "192.0.2.1" in done.stderr


def test_order_of_files_does_not_matter_and_two_director_confs_are_not_compared(tmp_path):
    path = write_tables(tmp_path / "table.json", v6_table())
    small, other = (write_conf(tmp_path / f"{mtu}.conf", outbound_mtu=mtu) for mtu in (1300, 1310))
    for files in ((path, small), (small, path)):
        assert "outbound_mtu is 1300" in run("check", *files, code=CHECK_WARNINGS).stderr
    assert run("check", small, path, other).stderr == ""
    small.write_text(small.read_text() + "outbound_mtu = 1;\n")
    assert "outbound_mtu is" not in run("check", small, path, code=CHECK_ERRORS).stderr
    stdin = write_conf(tmp_path / "stdin.conf", outbound_mtu=1300)
    with open(stdin, encoding="ascii") as file:
        assert "outbound_mtu is 1300" in run("check", "-", path, stdin=file, code=CHECK_WARNINGS).stderr


@pytest.mark.parametrize("source6, director, checks, warned", [
    ("2001:db8::1", True, False, True), ("2001:db8::1", False, True, True), ("2001:db8::1", True, True, False), ("2001:db8::1", False, False, False),
    (None, True, False, False),
])
def test_checks_have_a_udp_checksum_if_the_directors_packets_have_one(tmp_path, source6, director, checks, warned):
    conf = write_conf(tmp_path / "director.conf", outbound_src_ip6=source6, outbound_udp_checksum=director)
    (tmp_path / "healthcheck.conf").write_text(f"{HEALTHCHECK}outbound_udp_checksum = {str(checks).lower()};\n")
    done = run("check", conf, tmp_path / "healthcheck.conf", code=CHECK_WARNINGS if warned else OK)
    assert done.stderr.count("outbound_udp_checksum: ") == int(warned)
