# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli migrate, with the files of GitHub's GLB Director. No test knows how the program does it."""

import json
import os
import re
import stat
import subprocess

import pytest

from lab.tools import TIMEOUT_S
from model import read_v2
from support import glb
from support.cli import FAILED, OK, USAGE, backend, run, table, write_conf, write_tables
from support.tree import CLI, HEALTHCHECK, TREE

DIRECTORS = ["packaged-director.conf", "vagrant-director.conf", "test-config-director.json"]
ENVIRONMENTS = ["packaged-default-glb-director.env", "vagrant-default-glb-director.env"]
DOCUMENTED = ["documented-table.json", "healthcheck-test-table.json"]
EVERY_FILE = [*DIRECTORS, *ENVIRONMENTS, *DOCUMENTED, *glb.TABLES, "packaged-healthcheck.conf", "packaged-forwarding_table.json"]


def migrate(file, *options, code=OK, **kwargs):
    """The result as text, and the notes and errors as text."""
    done = run("migrate", file, *options, code=code, **kwargs)
    return done.stdout, done.stderr


def write(tmp_path, content, name="file"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def director(**changes):
    document = {**glb.load("vagrant-director.conf"), **changes}
    return {key: value for key, value in document.items() if value is not None}


def without_notes(text):
    """The result without the comments at its end, which are the notes."""
    head, title, _ = text.partition("\n# Notes of the conversion:\n")
    assert title, text
    return head


def errors_of(path):
    """The errors that `check` reports, except for GLB's example keys: migrate cannot change keys."""
    done = subprocess.run([CLI, "check", "--json", path], capture_output=True, text=True)
    (file,) = json.loads(done.stdout)["files"]
    return [error for error in file["errors"] if "is published as an example" not in error]


def rows(binary):
    """The two addresses of each row, for each table of a version 2 file."""
    return [[(row[0].address, row[-1].address) for row in one.all_rows()] for one in read_v2(binary.read_bytes())]


def build(tmp_path, document):
    binary = tmp_path / "table.bin"
    run("build-config", document, binary, "--format", "2")
    return rows(binary)


# --- The files of GLB ---


def test_every_file_of_glb_is_covered():
    assert {path.name for path in glb.FILES.iterdir()} - {"README.md"} == set(EVERY_FILE)


@pytest.mark.parametrize("name", DIRECTORS)
def test_result_of_director_conf_passes_check(tmp_path, name):
    out = tmp_path / "director.conf"
    assert migrate(glb.FILES / name, out)[0] == f"{out}: written, a valid director.conf\n"
    assert run("check", out).stdout == f"{out}: valid director.conf\n"


def test_packaged_director_conf(tmp_path):
    text, notes = migrate(glb.FILES / "packaged-director.conf")
    assert without_notes(text) == """\
# Converted from a director.conf of GitHub's GLB Director. glb-director.conf(5) has all keys.

outbound_gateway_mac = "00:11:22:33:44:55";
outbound_src_ip = "1.2.3.4";
forward_icmp_ping_responses = true;
accept_macs = "any";
exception_path = "tap";
num_worker_queues = 1;
flow_paths = (
\t{ rx_port = 0; rx_queue = 0; tx_port = 0; tx_queue = 0; }
);
lcores = {
\tlcore-5 = { rx = true; tx = true; flow_paths = [0]; dist = true; num_dist_workers = 2; };
\tlcore-6 = { work = true; work_source = 5; };
\tlcore-7 = { work = true; work_source = 5; };
};
"""
    assert [line.split(": ")[3] for line in notes.splitlines()] == ["accept_macs", "kni", "lcores.lcore-5", "statsd_port", "lcores"]
    assert "lcores.lcore-5: num_dist_workers is written as 2" in notes


def test_packaged_healthcheck_conf(tmp_path):
    text, notes = migrate(glb.FILES / "packaged-healthcheck.conf")
    assert without_notes(text).split("\n\n", 1)[1] == """\
forwarding_table = {
\tsrc = "/etc/glb/forwarding_table.src.json";
\tdst = "/etc/glb/forwarding_table.checked.json";
};
reload = {
\tbuild = "/etc/glb/forwarding_table.checked.bin";
\tnotify = "glb-director.service";
};

# The health checks of GLB put a GRE header into fou checks.
fou_gre = true;
"""
    assert [line.split(": ")[3] for line in notes.splitlines()] == [
        "reload_command", "forwarding_table.dst", "panic_threshold", "max_shrink", "listen"]


@pytest.mark.parametrize("name", [*DIRECTORS, "packaged-healthcheck.conf"])
def test_result_ends_with_the_notes(tmp_path, name):
    """So that nobody has to keep what the terminal showed."""
    text, notes = migrate(glb.FILES / name)
    lines = [line.removeprefix(f"glb-director-cli: note: {glb.FILES / name}: ") for line in notes.splitlines()]
    assert text == without_notes(text) + "\n# Notes of the conversion:\n" + "".join(f"# - {line}\n" for line in lines) and len(lines) >= 3


def test_keys_without_counterpart_stay_as_comments_with_their_value(tmp_path):
    document = director(statsd_port="28125", kni_ip="192.0.2.9", frob={"a": [1, "x"]}, lcores=lcores(**{"lcore-3": {"kni": True}}))
    out = tmp_path / "out.conf"
    migrate(write(tmp_path, document), out)
    for line in ('statsd_port: is written as statsd', '# - kni_ip: "192.0.2.9" is left out',
                 'its value is {"a":[1,"x"]}', 'lcores.lcore-3: is left out: it has no work that exists here; its value is {"kni":true}'):
        assert any(each.startswith("# - ") and line in each for each in out.read_text().splitlines()), line
    assert errors_of(out) == []


@pytest.mark.parametrize("bad", ["x\naccept_vlans = [1];", "x\r\naccept_vlans = [1];", "x\x1b[31m", "\u2028x", "x" * 5000, "*/ x"])
def test_no_text_of_the_file_becomes_a_setting(tmp_path, bad):
    document = director(lcores=lcores(**{bad: {"kni": True}}), flow_paths=[{"rx_port": 0, "rx_queue": 0, "tx_port": 0, "tx_queue": 0, bad: bad}],
                        **{bad: bad, "kni_ip": bad, "statsd_port": bad, "hash_fields": {"src_addr": True, bad: bad}})
    out = tmp_path / "out.conf"
    _, notes = migrate(write(tmp_path, document), out)
    assert "\x1b" not in out.read_text() + notes and max(map(len, out.read_text().splitlines())) < 1000
    known = {"outbound_gateway_mac", "outbound_src_ip", "hash_fields", "accept_macs", "exception_path", "num_worker_queues", "flow_paths",
             "lcores", "forward_icmp_ping_responses", "rx_drop_en"}
    assert set(re.findall(r"^(\w+) =", out.read_text(), re.M)) <= known
    assert errors_of(out) == []


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment(name):
    text, notes = migrate(glb.FILES / name)
    assert text == (glb.FILES / name).read_text().replace("--master-lcore", "--main-lcore")
    assert "--master-lcore is written as --main-lcore" in notes and "vfio-pci" in notes and "warning" not in notes


@pytest.mark.parametrize("name", glb.TABLES)
def test_tables_of_glb_need_no_change_and_keep_their_rows(tmp_path, name):
    out = tmp_path / "table.json"
    _, notes = migrate(glb.FILES / name, out)
    assert out.read_bytes() == (glb.FILES / name).read_bytes()
    assert [line for line in notes.splitlines() if ": note: " in line] == [
        f"glb-director-cli: note: {glb.FILES / name}: needs no change: the result is a copy"]
    assert errors_of(out) == []
    assert build(tmp_path, out) == [glb.rows_of(one) for one in glb.load(name)["tables"]]


def test_rows_of_glb_change_with_a_backend_that_is_down():
    """The tests above would prove nothing if GLB's rule did not move a first hop in their tables."""
    up, draining, down = (glb.rows_of(glb.load(name)["tables"][0]) for name in ("table.json", "table2.json", "table3.json"))
    moved = sum(one != other for one, other in zip(up, draining))
    assert draining == down and 65536 / 3 - 500 < moved < 65536 / 3 + 500


@pytest.mark.parametrize("name", DOCUMENTED)
def test_tables_without_healthy_count_all_backends_as_healthy(tmp_path, name):
    out, document = tmp_path / "table.json", glb.load(name)
    _, notes = migrate(glb.FILES / name, out)
    for one in document["tables"]:
        for each in one["backends"]:
            each["healthy"] = True
    assert json.loads(out.read_text()) == document
    assert notes.count("healthy = true is written for all backends") == len(document["tables"])
    assert "follow no redirects" in notes
    assert errors_of(out) == []
    assert build(tmp_path, out) == [glb.rows_of(one) for one in document["tables"]]


@pytest.mark.parametrize("states", [
    ["active", "active", "active", None],
    ["active", None, "active", "inactive"],
    [None, "active", "active", "active", "active"],
])
def test_missing_healthy_beside_others_is_what_glb_reads(tmp_path, states):
    """None is a backend without the member, which GLB reads as false."""
    backends = [backend(f"192.168.50.{i}", state or "active") for i, state in enumerate(states, 1)]
    for i, state in enumerate(states):
        if state is None:
            del backends[i]["healthy"]
    source, out = write_tables(tmp_path / "glb.json", table(backends=backends)), tmp_path / "table.json"
    _, notes = migrate(source, out)
    assert "tables[0]: healthy = false is written for 1 backend without true or false" in notes
    assert [each["healthy"] for each in json.loads(out.read_text())["tables"][0]["backends"]] == [state is not None for state in states]
    assert build(tmp_path, out) == [glb.rows_of(json.loads(source.read_text())["tables"][0])]


@pytest.mark.parametrize("value", ["true", 1, None, "yes"])
def test_healthy_that_is_no_boolean_is_false_as_in_glb(tmp_path, value):
    source = write_tables(tmp_path / "glb.json", table(backends=[backend("192.168.50.1"), backend("192.168.50.2", healthy=value)]))
    text, notes = migrate(source)
    assert [each["healthy"] for each in json.loads(text)["tables"][0]["backends"]] == [True, False]
    assert "for 1 backend without true or false" in notes


# Backends as on the page: G good, D draining, U not healthy, F filling.
STATES = {"G": ("active", True), "D": ("draining", True), "U": ("active", False), "F": ("filling", True)}


@pytest.mark.parametrize("states, equal", [
    ("GGGG", True), ("DGGG", True), ("GUGG", True), ("FGGG", True), ("FFGG", True),
    ("DUGG", False), ("DDGG", False), ("UUGG", False), ("DFGG", False), ("UFGG", False), ("FDGG", False),
])
def test_rows_equal_those_of_glb_exactly_when_the_page_says_so(tmp_path, states, equal):
    """docs/howto/migrate-from-glb.md#2-compare-the-rows"""
    one = table(backends=[backend(f"192.168.50.{i}", *STATES[state]) for i, state in enumerate(states, 1)])
    built = build(tmp_path, write_tables(tmp_path / "t.json", one))[0]
    assert (built == glb.rows_of(one)) == equal
    usable = {bytes([192, 168, 50, i]) for i, state in enumerate(states, 1) if state in "GF"}
    assert {first for first, _ in built} == usable  # new connections never go to a proxy that is out of service
    assert equal or not {first for first, _ in glb.rows_of(one)} <= usable


# --- Behind GLB's own health checks ---


@pytest.mark.parametrize("name", [*DOCUMENTED, "table.json"])
def test_build_behind_the_health_checks_of_glb(tmp_path, name):
    """GLB's daemon writes "healthchecks": null without timing, "" for a missing name, and null for a backend without checks."""
    source = glb.load(name)
    backends = source["tables"][0]["backends"]
    if len(backends) > 2:
        backends[-1] = {"ip": backends[-1]["ip"], "state": "inactive"}
    text = glb.written_by_healthcheck(source, lambda ip: ip != backends[0]["ip"])
    assert text.startswith('{\n  "healthchecks": null,\n  "tables": [\n')
    assert ('"healthchecks": null\n        }' in text) == (len(backends) > 2)
    assert ('"name": ""' in text) == any("name" not in one for one in source["tables"])
    written = write(tmp_path, text, "checked.json")
    assert errors_of(written) == []
    for version in "23":
        run("build-config", written, tmp_path / f"{version}.bin", "--format", version)
    assert rows(tmp_path / "2.bin") == [glb.rows_of(one) for one in json.loads(text)["tables"]]
    assert run("diff", tmp_path / "2.bin", tmp_path / "3.bin").returncode == OK
    assert migrate(written)[0] == text


# --- Details of director.conf ---


@pytest.mark.parametrize("key", ["forward_icmp_ping_responses", "rx_drop_en"])
@pytest.mark.parametrize("value, result, noted", [
    (False, "false", False), (True, "true", False), ("false", "true", True), (0, "true", True), ("no", "true", True)])
def test_only_false_is_false(tmp_path, key, value, result, noted):
    text, notes = migrate(write(tmp_path, director(**{key: value})))
    assert f"\n{key} = {result};\n" in text
    assert (f": {key}: is written as true" in notes) == noted


def test_hash_fields(tmp_path):
    document = director(hash_fields={"src_addr": True, "dst_addr": False, "src_port": 1},
                        alt_hash_fields={"dst_port": True, "vlan": True})
    text, notes = migrate(write(tmp_path, document))
    assert "\nhash_fields = { src_addr = true; };\nalt_hash_fields = { dst_port = true; };\n" in text
    assert "alt_hash_fields: 'vlan' is left out" in notes


@pytest.mark.parametrize("changes, note", [
    ({"statsd_port": "28125"}, "statsd_port: is written as statsd; the metrics have other names"),
    ({"statsd_port": "many"}, 'statsd_port: GLB always sends its metrics to statsd, this director only with statsd = { port = 8125; }; this value of GLB is no port: "many"'),
    ({}, "statsd_port: GLB always sends its metrics to statsd"),  # also without the key
    ({"kni_ip": "192.0.2.9"}, 'kni_ip: "192.0.2.9" is left out: give the address to the interface'),
    ({"frob": 1}, "'frob' is left out: GLB does not know this key, and ignores it; its value is 1\n"),
    ({"flow_paths": [{"rx_port": 0, "rx_queue": 0, "tx_port": 0, "vlan": 3}]}, "flow_paths[0].tx_queue: is written as 0"),
    ({"flow_paths": [{"rx_port": 0, "rx_queue": 0, "tx_port": 0, "vlan": 3}]}, "flow_paths[0]: 'vlan' is left out"),
])
def test_everything_that_is_left_out_has_a_note(tmp_path, changes, note):
    text, notes = migrate(write(tmp_path, director(**changes)))
    assert note in notes
    assert not any(f"{key} =" in text for key in ("statsd_port", "kni_ip", "frob", "vlan", "kni"))


@pytest.mark.parametrize("value, written", [
    ("28125", "statsd = { port = 28125; };\n"), (28125, "statsd = { port = 28125; };\n"), ("1", "statsd = { port = 1; };\n"),
    ("0", ""), (0, ""), (-1, ""), (65536, ""), ("65536", ""), ("", ""), ("8125; x", ""), (8125.5, ""), (True, ""), (None, "")])
def test_port_of_statsd_is_kept(tmp_path, value, written):
    out = tmp_path / "out.conf"
    migrate(write(tmp_path, director(statsd_port=value)), out)
    text = out.read_text()
    assert [line + "\n" for line in text.splitlines() if line.startswith("statsd")] == ([written] if written else [])
    assert errors_of(out) == []


def lcores(**more):
    return {"lcore-1": {"rx": True, "tx": True, "flow_paths": [0], "dist": True, "num_dist_workers": 1},
            "lcore-2": {"work": True, "work_source": 1}, **more}


def test_lcores(tmp_path):
    more = {"lcore-3": {"kni": True}, "lcore-4": {"rx": False, "flow_paths": [0]}, "core-5": {"work": True},
            "lcore-6": {"work": True, "work_source": 1, "dist": False, "num_dist_workers": 4, "cpu": 3}}
    out = tmp_path / "out.conf"
    _, notes = migrate(write(tmp_path, director(lcores=lcores(**more))), out)
    text = out.read_text()
    assert re.findall(r"lcore-\d+ = .*", text) == [
        "lcore-1 = { rx = true; tx = true; flow_paths = [0]; dist = true; num_dist_workers = 2; };",
        "lcore-2 = { work = true; work_source = 1; };", "lcore-6 = { work = true; work_source = 1; };"]
    assert 'exception_path = "tap";' in text
    for note in ("lcores.lcore-3: is left out", "lcores.lcore-4: is left out", "'core-5' is left out", "lcores.lcore-6: 'cpu' is left out"):
        assert note in notes
    assert errors_of(out) == []


def test_distributor_without_workers_runs_to_completion(tmp_path):
    text, notes = migrate(write(tmp_path, director(lcores={"lcore-1": {**lcores()["lcore-1"]}})))
    assert "lcore-1 = { rx = true; tx = true; flow_paths = [0]; };" in text and "lcores.lcore-1: is no distributor any more" in notes


def test_default_of_glb_is_written_where_it_differs(tmp_path):
    assert "\nnum_worker_queues = 1;\n" in migrate(write(tmp_path, director(num_worker_queues=None)))[0]
    without = director(num_worker_queues=None, flow_paths=None, lcores=None)  # as for GLB's director on XDP
    assert "num_worker_queues" not in migrate(write(tmp_path, without))[0]


@pytest.mark.parametrize("changes, error", [
    ({"outbound_gateway_mac": "00:11:22:33:44"}, "outbound_gateway_mac: '00:11:22:33:44' is neither"),
    ({"outbound_gateway_mac": None}, "outbound_gateway_mac: missing"),
    ({"outbound_src_ip": ["192.0.2.1"]}, "outbound_src_ip: is neither a text nor a number, true or false"),
    ({"num_worker_queues": 1 << 40}, "'1099511627776' does not fit an integer"),
    ({"num_worker_queues": -1}, "num_worker_queues: '-1' is not an integer"),
    ({"hash_fields": {}}, "hash_fields: no field is true"),
    ({"hash_fields": 1}, "hash_fields: no field is true"),
    ({"flow_paths": []}, "flow_paths: '()' is not a list"),
    ({"flow_paths": {"rx_port": 0}}, "flow_paths: '()' is not a list"),
    ({"flow_paths": None}, "lcores: needs flow_paths, too"),
    ({"lcores": []}, "lcores: '{}' is not a group"),
    ({"lcores": lcores(**{"lcore-2": {"work": True, "work_source": 9}})}, "lcores.lcore-2.work_source: '9' is not an lcore with dist"),
    ({"lcores": lcores(**{"lcore-2": {"work": True}})}, "lcores.lcore-2.work_source: missing"),
    ({"lcores": lcores(**{"lcore-1": {"rx": True, "flow_paths": [0]}})}, "lcores.lcore-1: rx and tx go together"),
    ({"lcores": lcores(**{"lcore-1": {"rx": True, "tx": True, "flow_paths": ["0"]}})}, "flow_paths[0]: '0' (in quotes) is not an integer"),
    ({"lcores": lcores(**{"lcore-1": {"rx": True, "tx": True, "flow_paths": [7]}})}, "flow_paths[0]: '7', but flow_paths has 1 element"),
    ({"lcores": lcores(**{"lcore-0200": {"work": True, "work_source": 1}})}, "lcores.lcore-0200: is not named lcore-0 to lcore-127"),
])
def test_value_that_cannot_be_converted_is_named_and_nothing_is_written(tmp_path, changes, error):
    source, out = write(tmp_path, director(**changes)), tmp_path / "out.conf"
    text, errors = migrate(source, out, code=FAILED)
    assert text == "" and error in errors and f"glb-director-cli: {source}" in errors
    assert not out.exists()


# --- Details of healthcheck.conf ---


def healthcheck(tmp_path, **members):
    return {"forwarding_table": {"src": str(tmp_path / "src.json"), "dst": str(tmp_path / "dst.json")}, **members}


@pytest.mark.parametrize("command", [
    "true",
    "glb-director-cli build-config {dst} /x/t.bin",
    "glb-director-cli build-config /other.json /x/t.bin && systemctl reload glb-director",
    "glb-director-cli build-config {dst} /x/t.bin && systemctl reload glb-director && logger reloaded",
    "glb-director-cli build-config {dst} /x/t.bin && systemctl restart glb-director",
    "glb-director-cli build-config {dst} \"/x/t.bin\" && systemctl reload glb-director",
    "glb-director-cli build-config {dst} $TABLE && systemctl reload glb-director",
    "printf '%s\\n' \"a\tb\" 'c\\d' >> /tmp/x; # \u00fc\n\x01",
])
def test_reload_command_is_kept_as_it_is(tmp_path, command):
    command = command.format(dst=tmp_path / "dst.json")
    text, _ = migrate(write(tmp_path, healthcheck(tmp_path, reload_command=command)))
    written = re.search(r'^reload_command = (".*");$', text, re.M)[1]
    assert re.sub(r"\\x(..)|\\(.)", lambda match: chr(int(match[1], 16)) if match[1] else match[2], written[1:-1]) == command


@pytest.mark.parametrize("command, build, notify", [
    ("glb-director-cli build-config {dst} /x/t.bin && systemctl reload glb-director", "/x/t.bin", "glb-director.service"),
    (" /usr/bin/glb-director-cli  build-config {dst} t.bin  && /bin/systemctl reload glb@eth0.service ", "t.bin", "glb@eth0.service"),
])
def test_packaged_reload_command_becomes_reload(tmp_path, command, build, notify):
    text, notes = migrate(write(tmp_path, healthcheck(tmp_path, reload_command=command.format(dst=tmp_path / "dst.json"))))
    assert f'\tbuild = "{build}";\n\tnotify = "{notify}";\n' in text and "reload_command =" not in text
    assert "reload_command: `reload` takes its place" in notes


@pytest.mark.parametrize("members, error", [
    ({"forwarding_table": {"src": "/a"}}, "forwarding_table.dst: missing"),
    ({"forwarding_table": {"src": 1, "dst": "/b"}}, "forwarding_table.src: missing, or not the path"),
    ({"forwarding_table": "x"}, "forwarding_table.src: missing"),
    ({"forwarding_table": {"src": "/a", "dst": "/a"}}, "forwarding_table.dst: '/a' is also src"),
    ({"reload_command": 1}, "reload_command: is not a text"),
    ({"reload_command": ""}, "reload_command: '' is not a non-empty text"),
])
def test_faulty_healthcheck_conf(tmp_path, members, error):
    text, errors = migrate(write(tmp_path, healthcheck(tmp_path, **members)), code=FAILED)
    assert text == "" and error in errors


def test_glb_healthcheck_takes_the_result(tmp_path):
    write_tables(tmp_path / "src.json", table())
    conf = tmp_path / "healthcheck.conf"
    migrate(write(tmp_path, healthcheck(tmp_path, reload_command=None, debug=True)), conf)
    assert errors_of(conf) == []
    done = subprocess.run([HEALTHCHECK, "--config-file", conf, "--check-once"], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0 and "error" not in done.stderr, done.stderr


def test_notes_of_healthcheck_conf(tmp_path):
    document = healthcheck(tmp_path, debug=True)
    document["forwarding_table"] |= {"dst": "/var/lib/glb/dst.json", "mode": 1}
    _, notes = migrate(write(tmp_path, document))
    assert "forwarding_table.dst" not in notes and "'debug' is left out" in notes and "forwarding_table: 'mode' is left out" in notes


# --- Details of the environment ---


@pytest.mark.parametrize("before, after", [
    ("-w 0000:3b:02.0 --pci-whitelist=0000:3b:02.1", "-a 0000:3b:02.0 --allow=0000:3b:02.1"),
    ("-w0000:3b:02.0 -l 0-2", "-a0000:3b:02.0 -l 0-2"),
    ("--pci-blacklist 0000:3b:02.0 -b 0000:3b:02.1", "--block 0000:3b:02.0 -b 0000:3b:02.1"),
    ("--vdev net_pcap0,rx_pcap=-w --file-prefix=a-w", "--vdev net_pcap0,rx_pcap=-w --file-prefix=a-w"),
    ("--master-lcores --wait", "--master-lcores --wait"),
])
@pytest.mark.parametrize("quote", ['"', "'", ""])
def test_options_of_eal(tmp_path, before, after, quote):
    frame = "# old: --master-lcore\n\nFOO=--master-lcore\n  GLB_DIRECTOR_EAL_ARGS={0}--master-lcore 0 {1}{0}\nGLB_DIRECTOR_CONFIG_FILE=/etc/x"
    text, _ = migrate(write(tmp_path, frame.format(quote, before)))
    assert text == frame.format(quote, after).replace("--master-lcore 0", "--main-lcore 0")


def test_continued_line(tmp_path):
    text, _ = migrate(write(tmp_path, 'GLB_DIRECTOR_EAL_ARGS = "--master-lcore 0"\nGLB_DIRECTOR_CONFIG_FILE =/etc/x\n'))
    assert text == 'GLB_DIRECTOR_EAL_ARGS = "--main-lcore 0"\nGLB_DIRECTOR_CONFIG_FILE =/etc/x\n'
    text, _ = migrate(write(tmp_path, 'GLB_DIRECTOR_EAL_ARGS="-l 0-2 \\\n  --master-lcore 0 \\\n-w 1:0.0"\nA="-w 1"\n'))
    assert text == 'GLB_DIRECTOR_EAL_ARGS="-l 0-2 \\\n  --main-lcore 0 \\\n-a 1:0.0"\nA="-w 1"\n'


def test_variables_that_no_program_reads_become_comments(tmp_path):
    text = 'GLB_DIRECTOR_XDP_ROOT_PATHS="--xdp-root-path=\\\nGLB_X=1"\n GLB_DIRECTOR_EXTRA=1\n\nHOME=/root\nGLB_DIRECTOR_CONFIG_FILE=/etc/x'
    out = tmp_path / "out"
    _, notes = migrate(write(tmp_path, text), out)
    assert out.read_text() == text.replace("GLB_DIRECTOR_XDP", "#GLB_DIRECTOR_XDP").replace(" GLB_DIRECTOR_EXTRA", "# GLB_DIRECTOR_EXTRA").replace("GLB_X", "#GLB_X")
    assert "GLB_DIRECTOR_XDP_ROOT_PATHS is written as a comment" in notes and "AF_XDP" in notes
    assert errors_of(out) == []
    assert migrate(out)[0] == out.read_text()


def test_environment_that_the_unit_would_refuse(tmp_path):
    _, errors = migrate(write(tmp_path, 'GLB_DIRECTOR_EAL_ARGS="-l 0 -- --config-file /x"'), code=FAILED)
    assert "GLB_DIRECTOR_EAL_ARGS: '--' ends the EAL options" in errors


# --- Details of tables ---


def documented_members():
    """{kind: members} of docs/reference/table-json.md."""
    page = (TREE / "docs/reference/table-json.md").read_text()
    sections = {"The document": "document", "A table": "table", "A bind": "bind", "A backend": "backend",
                "A backend's checks": "checks", "Timing": "timing", "HTTP settings": "http"}
    return {kind: [name for line in re.findall(r"^\| (`[^|]*) \|", page.split(f"\n### {title}\n")[1].split("\n### ")[0].split("\n## ")[0], re.M)
                   for name in re.findall(r"`(\w+)`", line)] for title, kind in sections.items()}


def test_no_member_of_the_reference_becomes_a_comment(tmp_path):
    members = documented_members()
    states = {"active", "filling", "draining", "inactive"}
    full = {kind: {name: None for name in names if name not in states} for kind, names in members.items()}
    assert full["backend"].pop("weight", "absent") is None  # GLB ignores it, so it becomes a comment
    defaults, checks = {**full["timing"], **full["http"]}, {**full["checks"], **full["http"]}
    document = {**full["document"], "healthchecks": defaults, "tables": [{
        **full["table"], "healthchecks": defaults, "binds": [full["bind"]],
        "backends": [{**full["backend"], "healthchecks": checks}]}]}
    assert len(full["table"]) >= 7 and len(checks) >= 14 and len(defaults) == 13
    _, errors = migrate(write(tmp_path, document), code=FAILED)
    assert "is written as 'x-" not in errors and "unknown key" not in errors


def test_members_that_glb_ignores_become_comments(tmp_path):
    one = table(backends=[{**backend("192.168.50.1"), "cost": 3, "x-rack": "a", "healthchecks": {"http": 80, "smtp": 25}}], Owner="me")
    one["binds"][0]["vrf"] = "red"
    one["healthchecks"] = {"interval_ms": 100, "jitter": 1}
    document = {"version": 1, "tables": [one], "_comment": "kept", "healthchecks": {"retries": 2}}
    out = tmp_path / "table.json"
    _, notes = migrate(write(tmp_path, document), out)
    text = json.dumps(document)
    for name in ("version", "cost", "smtp", "Owner", "vrf", "jitter", "retries"):
        text = text.replace(f'"{name}"', f'"x-{name}"')
        assert f"'{name}' is written as 'x-{name}' everywhere, a comment" in notes
    assert json.dumps(json.loads(out.read_text())) == text  # order and values are the same
    assert errors_of(out) == []
    assert migrate(out)[0] == out.read_text()  # the second time there is nothing to do


def test_every_other_byte_of_a_table_stays(tmp_path):
    source = glb.FILES / "documented-table.json"
    assert migrate(source)[0] == source.read_text().replace('"gue": 19523} }', '"gue": 19523}, "healthy": true }')
    text = '{"tables" : [\r\n  {"hash_key": "%s", "we\\u0069ght":1e3, "seed": "%s",\r\n   "binds": [], "backends": [{"ip":"192.0.2.1","state":"active"},' \
        '\r\n{\r\n\t"state": "active",\r\n\t"ip": "192.0.2.2"\r\n}]}]}' % ("1f" * 16, "2e" * 16)
    path = tmp_path / "odd.json"
    path.write_bytes(text.encode())
    done = subprocess.run([CLI, "migrate", path, "--names"], capture_output=True, check=True)
    assert done.stdout.decode() == text.replace('"we', '"x-we').replace('{"hash', '{"name": "table-0","hash').replace(
        '"state":"active"}', '"state":"active","healthy": true}').replace('"192.0.2.2"', '"192.0.2.2",\r\n\t"healthy": true')


def test_largest_table_takes_no_quadratic_time(tmp_path):
    one = table(backends=[backend(f"10.{i >> 8}.{i & 255}.1") for i in range(4096)])
    for each in one["backends"]:
        del each["healthy"]
        each["cost"] = 1
    text, notes = migrate(write_tables(tmp_path / "t.json", *({**one, "name": f"t{i}"} for i in range(8))), "--names")
    assert notes.count("is written as 'x-cost'") == 1
    assert text.count('"healthy": true') == text.count('"x-cost": 1') == 8 * 4096


@pytest.mark.parametrize("place, name, value", [("tables[0].backends[0]", "weight", 3), ("tables[0]", "balance", 1.02),
                                                ("tables[0]", "previous", [])])
def test_tables_with_members_that_decide_about_rows_are_refused(tmp_path, place, name, value):
    one = table()
    (one["backends"][0] if "backends" in place else one)[name] = value
    one["backends"] += [{**each, "ip": "192.168.50.77"} for each in one["backends"][:1]]
    out = tmp_path / "out.json"
    _, errors = migrate(write_tables(tmp_path / "t.json", one), out, code=FAILED)
    assert f"{place}: '{name}' is a member of this project: the table needs no migration." in errors
    assert errors.count(f"'{name}' is a member") == 1 and not out.exists()


def test_comment_that_exists_already_is_not_lost(tmp_path):
    _, errors = migrate(write_tables(tmp_path / "t.json", table(**{"weight": 1, "x-weight": 2})), code=FAILED)
    assert "tables[0]: 'weight' cannot become 'x-weight', which exists: rename it" in errors


def test_names_only_if_asked(tmp_path):
    source = glb.FILES / "table.json"
    assert '"name"' not in migrate(source)[0]
    text, notes = migrate(source, "--names")
    assert [one["name"] for one in json.loads(text)["tables"]] == ["table-0", "table-1"]
    assert "tables[1]: is named table-1" in notes
    named = write_tables(tmp_path / "t.json", table("table-1"), table("", hash_key=2), table("git", hash_key=3), table(None, hash_key=4))
    assert [one["name"] for one in json.loads(migrate(named, "--names")[0])["tables"]] == ["table-1", "table-2", "git", "table-3"]


def test_fou_checks_have_a_note(tmp_path):
    one = table(backends=[{**backend("192.168.50.1"), "healthchecks": {"fou": 19522}}])
    assert "set fou_gre = true in healthcheck.conf" in migrate(write_tables(tmp_path / "t.json", one))[1]


@pytest.mark.parametrize("spoil, error", [
    (lambda one: one["backends"].append(backend("192.168.50.1")), "backends[3].ip: '192.168.50.1' is listed twice"),
    (lambda one: one["backends"].append(backend("fd00::1")), "tables[0].backends[3]: 'fd00::1' is an IPv6 address, and GLB has only"),
    (lambda one: one.update(hash_key="zz" * 16), "hash_key: 'zzzzzzzz"),
    (lambda one: one["binds"][0].update(port_start=1, port_end=2), "given together with port_start or port_end"),
    (lambda one: one.update(backends=None), "backends"),
    (lambda one: one.update(backends=[None, 5, "x"]), "backends[0]"),
    (lambda one: one.update(binds="x", healthchecks=[]), "binds"),
])
def test_table_that_cannot_be_converted(tmp_path, spoil, error):
    one, out = table(), tmp_path / "out.json"
    spoil(one)
    text, errors = migrate(write_tables(tmp_path / "t.json", one), out, code=FAILED)
    assert text == "" and error in errors and not out.exists()
    assert "zz" * 16 not in errors


# --- What an operator does wrong ---


@pytest.mark.parametrize("content, error", [
    ("", "is no file of GLB: it is neither JSON"),
    ("{", "file:1:1: not JSON"),
    ('{"outbound_src_ip": "1.2.3.4",\n "outbound_src_ip": "1.2.3.5"}', "file:2:"),
    ("{}", "is JSON, but no file of GLB"),
    ("[1]", "is JSON, but no file of GLB"),
    ('{"tables": {}}', "is JSON, but no file of GLB"),
    ('{"tables": [], "tables": []}', "not JSON"),
    ("\n" * 100 + "x", "is no file of GLB"),
    ('{"tables": [' + "[" * 100000, "not JSON"),
])
def test_file_of_another_kind(tmp_path, content, error):
    text, errors = migrate(write(tmp_path, content), tmp_path / "out", code=FAILED)
    assert text == "" and error in errors and not (tmp_path / "out").exists()


def test_files_of_this_project_are_recognised(tmp_path):
    _, errors = migrate(write_conf(tmp_path / "director.conf"), code=FAILED)
    assert "files with `key = value;` are converted already" in errors
    run("build-config", write_tables(tmp_path / "t.json", table()), tmp_path / "t.bin")
    _, errors = migrate(tmp_path / "t.bin", code=FAILED)
    assert "is a binary table, which needs no conversion" in errors


def test_file_that_cannot_be_read(tmp_path):
    assert "cannot be opened: No such file or directory" in migrate(tmp_path / "missing", code=FAILED)[1]
    assert "is a directory" in migrate(tmp_path, code=FAILED)[1]
    run("migrate", code=USAGE)
    run("migrate", "a", "b", "c", code=USAGE)


@pytest.mark.parametrize("name", ["packaged-director.conf", "documented-table.json", "packaged-healthcheck.conf", ENVIRONMENTS[0]])
def test_no_file_is_ever_replaced(tmp_path, name):
    source = tmp_path / name
    source.write_bytes((glb.FILES / name).read_bytes())
    (tmp_path / "other").write_text("precious")
    (tmp_path / "empty").write_text("")
    (tmp_path / "link").symlink_to(source)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    os.link(source, tmp_path / "hard")
    before = {path.name: (path.lstat().st_ino, path.read_bytes() if path.exists() else None) for path in tmp_path.iterdir()}
    for out in (*before, f"./{name}", f"../{tmp_path.name}/{name}"):
        text, errors = migrate(source, tmp_path / out, code=FAILED)
        assert text == "" and "exists, and migrate never replaces a file: name a new one" in errors
    assert "exists, and migrate never replaces a file" in migrate(source, tmp_path, code=FAILED)[1]
    assert {path.name: (path.lstat().st_ino, path.read_bytes() if path.exists() else None) for path in tmp_path.iterdir()} == before


def test_folder_that_cannot_be_written(tmp_path):
    _, errors = migrate(glb.FILES / "table.json", tmp_path / "missing/out.json", code=FAILED)
    assert f"{tmp_path}/missing/out.json: cannot be created: there is no folder '{tmp_path}/missing'" in errors


def test_full_disk():
    with open("/dev/full", "w") as full:
        done = subprocess.run([CLI, "migrate", glb.FILES / "documented-table.json"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == FAILED and "cannot write to standard output" in done.stderr


def test_result_is_as_secret_as_the_source(tmp_path):
    source = tmp_path / "t.json"
    source.write_bytes((glb.FILES / "documented-table.json").read_bytes())
    source.chmod(0o600)
    migrate(source, tmp_path / "out.json")
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", EVERY_FILE)
def test_result_is_the_same_on_stdout_and_in_a_file(tmp_path, name):
    text, notes = migrate(glb.FILES / name)
    again = migrate(glb.FILES / name, tmp_path / "out")
    assert (tmp_path / "out").read_text() == text and again[1] == notes


@pytest.mark.parametrize("name", [*DOCUMENTED, *glb.TABLES, *ENVIRONMENTS])
def test_result_needs_no_second_conversion(tmp_path, name):
    out = tmp_path / "out"
    migrate(glb.FILES / name, out, "--names")
    assert migrate(out, "--names")[0] == out.read_text()
