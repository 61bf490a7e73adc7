# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli plan: tables that lead from one to another without losing a connection."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess

import pytest

from model import load_tables
from model.siphash import siphash24
from model.table import order_hops, weighted_key
from support.cli import BROKEN, CLI, FAILED, OK, backend, run, run_json, table, write_tables

NAMES = {"a": "active", "d": "draining", "x": "active", "i": "inactive", "f": "filling"}
RECENT = "2026-01-01T00:00:00Z"


def backends(letters, weights=()):
    """a: active, d: draining, x: unhealthy, i: inactive, f: filling, -: not listed"""
    made = [backend(f"192.168.50.{i + 1}", NAMES[letter], letter != "x") if letter != "-" else None
            for i, letter in enumerate(letters)]
    for entry, weight in zip(made, weights):
        if entry:
            entry["weight"] = weight
    return [entry for entry in made if entry]


@pytest.fixture
def files(tmp_path):
    """files(current, wanted) writes tables made by table(**members), and returns the paths."""

    def write(current, wanted):
        return write_tables(tmp_path / "current.json", table(**current)), write_tables(tmp_path / "wanted.json", table(**wanted))

    return write


def row_of(only, number):
    """The addresses of a row of a table without balance (docs/reference/table-rows.md#hops)."""
    row_seed = siphash24(only.seed, number.to_bytes(4, "big"))

    def rank(entry):
        score = siphash24(only.seed, row_seed + entry[0])
        return weighted_key(score, entry[1]), score

    serving = {entry.address: entry for entry in only.serving}
    taking = {entry.address: entry.weight for entry in only.backends if entry.state in ("active", "filling")}
    states = [taking, *(state.weights for state in only.previous)] if only.previous else []
    matched = [serving.get(min(state.items(), key=rank)[0]) for state in states if state]
    natural = [serving[address] for address, _ in sorted(((entry.address, entry.weight) for entry in only.serving), key=rank)]
    return [".".join(map(str, hop.address)) for hop in order_hops(natural, only.hops, matched)]


def rows_of(path):
    """Some rows, and the addresses of the backends in rows, of the only table of a file"""
    only, = load_tables(json.loads(path.read_text()))
    return ([row_of(only, number) for number in range(0, 65536, 512)],
            {".".join(map(str, entry.address)) for entry in only.serving})


def follow(current, found, folder):
    """[(broken, skew)] of each step, by force, for connections that began when CURRENT was in use."""
    before, listed = rows_of(current)
    held = [{row[0]} for row in before]
    final = rows_of(folder / f"{len(found['steps'])}.json")[1]
    counts = []
    for number, step in enumerate(found["steps"], 1):
        after, listed = rows_of(folder / f"{number}.json")
        broken = sum(not proxies <= set(row) for proxies, row in zip(held, after))
        counts.append((broken, sum(new[0] not in old for old, new in zip(before, after))))
        held = [(proxies & set(row)) | {row[0]} for proxies, row in zip(held, after)]
        for wait in step["waits"]:
            if wait["for"] == "drained":
                assert set(wait["proxies"]) == listed - final
                held = [proxies - set(wait["proxies"]) | {row[0]} for proxies, row in zip(held, after)]
            elif wait["for"] == "connections":
                held = [{row[0]} for row in after]
        before = after
    return counts


def kinds(found):
    return [step["kind"] for step in found["steps"]]


def waits(found):
    return [[wait["for"] for wait in step["waits"]] for step in found["steps"]]


def plan(paths, *args, code=OK):
    return run_json("plan", *paths, *args, code=code)


def check_safe(paths, tmp_path, *args):
    """Writes the plan, and checks that it breaks nothing."""
    found = plan(paths, "--write", tmp_path / "plan", *args)
    files = [paths[0], *(step["file"] for step in found["steps"])]
    if not any("balance" in json.loads(path.read_text())["tables"][0] for path in paths):
        assert follow(paths[0], found, tmp_path / "plan") == [(0, 0)] * len(found["steps"])
    for pair in zip(files, files[1:]):  # each director is at most one table behind
        assert run_json("diff", *pair, "--max-broken", "100")["skew_rows"] == 0
    assert (found["plan"]["broken_rows"], found["plan"]["skew_rows"]) == (0, 0)
    assert (tmp_path / "plan" / f"{len(found['steps'])}.json").read_bytes() == paths[1].read_bytes()
    for step in found["steps"]:
        assert run_json("show", step["file"])["digest"] == step["digest"]
        run("check", step["file"])
    return found


def test_a_proxy_is_first_listed_as_draining(files, tmp_path):
    paths = files({"backends": backends("a" * 31)}, {"backends": backends("a" * 32)})
    found = check_safe(paths, tmp_path)
    assert 3.0 < found["at_once"]["skew_percent"] < 3.3 and found["at_once"]["broken_rows"] == 0
    assert (kinds(found), waits(found)) == (["announce", "wanted"], [["directors"], ["directors"]])
    new = json.loads((tmp_path / "plan" / "1.json").read_text())["tables"][0]["backends"][-1]
    assert (new["ip"], new["state"]) == ("192.168.50.32", "draining")


@pytest.mark.parametrize("before, after, hops, steps, last_wait", [
    (16, 32, 2, ["announce", "switch", "wanted"], ["directors", "connections"]),
    (32, 48, 4, ["announce", "switch", "wanted"], ["directors", "connections"]),
    (32, 16, 2, ["announce", "switch", "wanted"], ["directors", "drained"]),
    (4, 3, 2, ["switch", "wanted"], ["directors", "drained"]),
])
def test_many_proxies_at_once_need_two_hops(files, tmp_path, before, after, hops, steps, last_wait):
    paths = files({"backends": backends("a" * before), "hops": hops}, {"backends": backends("a" * after), "hops": hops})
    found = check_safe(paths, tmp_path)
    assert found["at_once"]["broken_rows"] > 0
    assert kinds(found) == steps and waits(found)[-2] == last_wait


def test_a_proxy_that_is_drained_already_is_waited_for_first(files, tmp_path):
    paths = files({"backends": backends("aada")}, {"backends": backends("aa-a")})
    found = plan(paths, "--write", tmp_path / "plan")
    assert kinds(found) == ["wanted"] and found["at_once"]["broken_rows"] > 0
    assert found["first_waits"] == [{"for": "drained", "table": "web", "proxies": ["192.168.50.3"]}]
    assert ("0. Leave CURRENT in use. Wait until 1 proxy of table web has no connections left (`glb-redirect drained --wait 10m` on "
            "each): 192.168.50.3 1. Publish 1.json") in " ".join(run("plan", *paths).stdout.split())


def test_nobody_waits_for_an_active_proxy_before_the_first_step(files):
    past = [{"time": RECENT, "backends": [{"ip": f"192.168.50.{i}"} for i in (1, 2)]}]
    found = plan(files({"backends": backends("aada"), "previous": past}, {"backends": backends("-a-a")}))
    assert found["first_waits"] == [{"for": "drained", "table": "web", "proxies": ["192.168.50.3"]}, {"for": "connections"}]
    assert found["steps"][-2]["waits"][1]["proxies"] == ["192.168.50.1", "192.168.50.3"]


@pytest.mark.parametrize("current, wanted", [
    ({"backends": backends("aaaaaaaa")}, {"backends": backends("aaaaaaaa", [50, 100, 200, 400, 100, 100, 100, 100])}),
    ({"backends": backends("aaaaaaaa", [10] * 8)}, {"backends": backends("aaaaaaaa", [1000, 1] * 4)}),
    ({"backends": backends("aaaaaaaa")}, {"backends": backends("aaaaaaaa"), "balance": 1.01}),
    ({"backends": backends("aaaaaaaa"), "balance": 1.01}, {"backends": backends("aaaaaaaa")}),
    ({"backends": backends("aaaaaaaa"), "hops": 2}, {"backends": backends("aaaaaaad"), "hops": 4}),
    ({"backends": backends("aaaaaaaa"), "hops": 4}, {"backends": backends("dddaaaaa"), "hops": 2}),
    ({"backends": backends("aaaaaaaa")}, {"backends": backends("aiaiaiaa")}),
    ({"backends": backends("aiaafa--")}, {"backends": backends("-aafaaaa")}),
    ({"backends": backends("axaaaa----"), "hops": 3}, {"backends": backends("axaaaaaaaa"), "hops": 3}),
    ({"backends": backends("aaaaaa"), "hops": 3}, {"backends": backends("daaxaf"), "hops": 3}),
    ({"backends": backends("aaaa----"), "balance": 1.1}, {"backends": backends("----aaaa"), "balance": 1.02}),
])
def test_changes_that_have_a_safe_plan(files, tmp_path, current, wanted):
    check_safe(files(current, wanted), tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_a_plan_without_losses_has_none_by_force(files, tmp_path, seed):
    rand = random.Random(seed)

    def side(letters):
        weights = [rand.choice([1, 50, 100, 100, 300, 1000]) for _ in range(12)] if rand.random() < 0.5 else []
        made = {"backends": backends("a" + "".join(rand.choice(letters) for _ in range(11)), weights), "hops": rand.randint(2, 4)}
        return {**made, **rand.choice([{}, {}, {"balance": 1.05}])}

    check_safe(files(side("aaaf-i"), side("aaaadf-i")), tmp_path)


def test_previous_states_of_current_are_kept_if_the_hops_suffice(files, tmp_path):
    past = [{"time": RECENT, "backends": [{"ip": f"192.168.50.{i}"} for i in (1, 2, 3)]}]
    wide = {"backends": backends("aaaa----"), "previous": past, "hops": 8}
    found = plan(files(wide, {"backends": backends("aaaaaaaa"), "hops": 8}), "--write", tmp_path / "wide")
    assert found["first_waits"] == [] and found["plan"]["broken_rows"] == 0
    narrow = plan(files({**wide, "hops": 2}, {"backends": backends("aaaaaaaa")}), "--write", tmp_path / "narrow")
    assert narrow["first_waits"] == [{"for": "connections"}] and narrow["plan"]["broken_rows"] == 0
    assert "Wait until the connections that began before CURRENT have ended" in run("plan", tmp_path / "current.json",
                                                                                     tmp_path / "wanted.json").stdout
    assert found["unsafe"] == narrow["unsafe"] == []
    first = json.loads((tmp_path / "wide" / "1.json").read_text())["tables"][0]["previous"]
    assert [len(state["backends"]) for state in first] == [8, 3]
    assert first[1]["time"] == RECENT


def test_the_folder_of_a_killed_plan_is_named(files, tmp_path):
    """Two processes that ended, one of which was no plan's, and one that lives."""
    paths = files({"backends": backends("aaaa----")}, {"backends": backends("aaaaaaaa")})
    done = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "inject=rename,renameat:signal=SIGKILL:when=3", CLI, "plan", *paths,
                           "--write", tmp_path / "plan"], capture_output=True)
    left, = tmp_path.glob("plan.*")
    assert done.returncode != 0 and not (tmp_path / "plan").exists() and (left / "1.json").exists()
    (tmp_path / f"plan.{os.getpid()}").mkdir()
    (tmp_path / "plan.2x").mkdir()
    said = run("plan", *paths, "--write", tmp_path / "plan").stderr
    assert said == f"glb-director-cli: warning: {left}: a plan that was interrupted left this folder: remove it with rm -r\n"
    assert left.exists() and (tmp_path / "plan" / "1.json").exists()


def test_equal_tables_need_no_plan(files, tmp_path):
    paths = files({}, {"name": "other"})
    done = run("plan", *paths, "--write", tmp_path / "plan")
    digest = run_json("show", paths[0])["digest"]
    assert done.stdout == f"nothing to do: both tables have the digest {digest}\n"
    assert not (tmp_path / "plan").exists()
    assert plan(paths)["steps"] == []


@pytest.mark.parametrize("wanted, reason", [
    ({"hash_key": 2}, "table web: hash_key changes, so flows move to other rows: keep the hash_key of CURRENT"),
    ({"seed": f"{7:032x}"}, "table web: seed changes, so the rows get other hops: keep the seed of CURRENT"),
    ({"binds": []}, "table web: WANTED has no bind for some packets of CURRENT: the connections of these binds end"),
])
def test_what_no_plan_can_make_safe(files, tmp_path, wanted, reason):
    paths = files({"backends": 8}, {"backends": 8, **wanted})
    assert plan(paths, code=BROKEN)["unsafe"] == [reason]
    done = run("plan", *paths, "--write", tmp_path / "plan", code=BROKEN)
    assert reason in " ".join(done.stdout.split())
    assert "plan: refused: the best plan breaks " in done.stderr and "to accept the losses, add --max-broken " in done.stderr
    assert not (tmp_path / "plan").exists()
    enough = done.stderr.split("add --max-broken ")[1].strip()
    run("plan", *paths, "--write", tmp_path / "plan", "--max-broken", enough)
    assert os.listdir(tmp_path / "plan")


def test_a_proxy_that_does_not_exist_any_more_is_named(files):
    found = plan(files({"backends": backends("xaaa")}, {"backends": backends("-aaa")}))
    assert found["unsafe"] == ["table web: proxy 192.168.50.1 leaves and is down in CURRENT: if the host does not exist any more, its "
                               "connections are lost; do not wait for it"]


def test_tables_that_come_go_and_are_renamed(tmp_path):
    def made(name, key, count=4):
        return table(name, count, hash_key=key, binds=[{"ip": f"10.0.0.{key}", "proto": "tcp", "port": 80}])

    current = write_tables(tmp_path / "current.json", made("one", 1), made("two", 2))
    wanted = write_tables(tmp_path / "wanted.json", made("eins", 1, 6), made("two", 2), made("three", 3))
    found = plan((current, wanted), "--write", tmp_path / "plan")
    assert found["plan"]["broken_rows"] == 0 and found["at_once"]["skew_rows"] > 0
    names = [entry["name"] for entry in json.loads((tmp_path / "plan" / "1.json").read_text())["tables"]]
    assert names == ["eins", "two", "three"]
    gone = write_tables(tmp_path / "gone.json", made("one", 1))
    assert plan((current, gone), code=BROKEN)["plan"]["broken_rows"] == 65536


def test_a_bind_that_moves_between_tables(tmp_path):
    bind = {"ip": "10.0.0.9", "proto": "tcp", "port": 80}
    one, two = table("one", binds=[bind]), table("two")
    moved = write_tables(tmp_path / "moved.json", {**one, "binds": []}, {**two, "binds": [bind, *two["binds"]]})
    assert plan((write_tables(tmp_path / "current.json", one, two), moved), "--max-broken", "0")["plan"]["broken_rows"] == 0
    other = {**two, "hash_key": f"{5:032x}"}
    current = write_tables(tmp_path / "current.json", one, other)
    wanted = write_tables(tmp_path / "wanted.json", {**one, "binds": []}, {**other, "binds": [bind, *two["binds"]]})
    assert plan((current, wanted), code=BROKEN)["plan"]["broken_rows"] == 65536


def test_a_proxy_in_two_tables_is_drained_in_the_table_that_it_leaves(tmp_path):
    def made(name, key, letters):
        return table(name, backends(letters), hash_key=key, binds=[{"ip": f"10.0.0.{key}", "proto": "tcp", "port": 80}])

    current = write_tables(tmp_path / "current.json", made("one", 1, "aaaa"), made("two", 2, "aaaa"))
    wanted = write_tables(tmp_path / "wanted.json", made("one", 1, "aaaa"), made("two", 2, "-aaa"))
    found = plan((current, wanted), "--write", tmp_path / "plan")
    assert [wait for step in found["steps"] for wait in step["waits"] if wait["for"] == "drained"] == [
        {"for": "drained", "table": "two", "proxies": ["192.168.50.1"]}]
    first = json.loads((tmp_path / "plan" / "1.json").read_text())["tables"]
    assert first[0] == json.loads(wanted.read_text())["tables"][0]  # not touched
    assert first[1]["backends"][-1]["state"] == "draining"


def test_health_checks_of_a_proxy_that_leaves_are_kept(files, tmp_path):
    checked = [{**entry, "healthchecks": {"http": 80 + i}} for i, entry in enumerate(backends("aaaa"))]
    plan(files({"backends": checked}, {"backends": checked[1:]}), "--write", tmp_path / "plan")
    assert json.loads((tmp_path / "plan" / "1.json").read_text())["tables"][0]["backends"][-1] == {
        "ip": "192.168.50.1", "state": "draining", "healthy": True, "healthchecks": {"http": 80}}


def test_comments_and_layout_of_wanted_stay(files, tmp_path):
    paths = files({"backends": backends("aaaa")}, {"backends": backends("aaaaa"), "x-ticket": "as it was"})
    plan(paths, "--write", tmp_path / "plan")
    for name in set(os.listdir(tmp_path / "plan")) - {"0.json"}:
        assert '"x-ticket": "as it was"' in (tmp_path / "plan" / name).read_text()


@pytest.mark.parametrize("form", ["2", "3"])
def test_a_binary_current_table(files, tmp_path, form):
    paths = files({"backends": backends("aaaa--")}, {"backends": backends("aaaaaa")})
    run("build-config", paths[0], tmp_path / "current.bin", "--format", form)
    found = plan((tmp_path / "current.bin", paths[1]), "--write", tmp_path / "plan")
    assert follow(paths[0], found, tmp_path / "plan") == [(0, 0)] * len(found["steps"])
    other = files({"backends": backends("aaaa--"), "seed": f"{3:032x}"}, {"backends": backends("aaaaaa")})
    run("build-config", other[0], tmp_path / "other.bin", "--format", form)
    assert plan((tmp_path / "other.bin", other[1]), code=BROKEN)["unsafe"] == [
        "table web: CURRENT is a binary table, and WANTED does not tell its seed: name the JSON table of CURRENT"]


def test_a_binary_wanted_table_is_refused(files, tmp_path):
    paths = files({}, {"backends": 4})
    run("build-config", paths[1], tmp_path / "wanted.bin")
    assert run("plan", paths[0], tmp_path / "wanted.bin", code=FAILED).stderr == (
        f"glb-director-cli: {tmp_path / 'wanted.bin'}: is a binary table: WANTED must be a JSON table, because the tables of the plan "
        "are made from its text\n")


@pytest.mark.parametrize("first", [True, False])
def test_files_that_cannot_be_read_are_named(files, tmp_path, first):
    paths = files({}, {"backends": 4})
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    for path in (bad, tmp_path / "missing.json"):
        done = run("plan", *((path, paths[1]) if first else (paths[0], path)), code=FAILED)
        assert str(path) in done.stderr and done.stdout == ""


# --write


def test_a_folder_with_files_is_refused(files, tmp_path):
    paths = files({"backends": 3}, {"backends": 4})
    folder = tmp_path / "plan"
    folder.mkdir()
    plan(paths, "--write", folder)  # it was empty
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    assert run("plan", *paths, "--write", folder, code=FAILED).stderr == (
        f"glb-director-cli: {folder}: the folder has files already: name a new or an empty folder\n")
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before
    assert "cannot be used as the folder of the plan: Not a directory" in run(
        "plan", *paths, "--write", paths[0], code=FAILED).stderr
    assert "cannot be created: No such file or directory" in run(
        "plan", *paths, "--write", tmp_path / "no" / "such", code=FAILED).stderr


def test_the_folder_has_the_table_before_it(files, tmp_path):
    paths = files({"backends": 3}, {"backends": 4})
    plan(paths, "--write", tmp_path / "plan")
    assert (tmp_path / "plan/0.json").read_bytes() == paths[0].read_bytes()
    run("build-config", paths[0], tmp_path / "current.bin")
    plan((tmp_path / "current.bin", paths[1]), "--write", tmp_path / "of-binary")
    assert sorted(os.listdir(tmp_path / "of-binary")) == sorted(set(os.listdir(tmp_path / "plan")) - {"0.json"})


def test_each_step_confirms_the_losses_of_this_step_only(files, tmp_path):
    """The guard of a director sees one step: only the last one loses backends, and the one before it has another fingerprint than CURRENT."""
    paths = files({"backends": backends("aaaaa")}, {"backends": backends("----aa")})
    document = json.loads(paths[1].read_text())
    document["replaces"] = run_json("show", paths[0])["fingerprint"]
    paths[1].write_text(json.dumps(document))
    count = len(plan(paths, "--write", tmp_path / "plan")["steps"])
    steps = [json.loads((tmp_path / "plan" / f"{i}.json").read_text()) for i in range(1, count + 1)]
    before = run_json("show", tmp_path / "plan" / f"{count - 1}.json")["fingerprint"]
    assert [step.get("replaces") for step in steps] == [None] * (count - 1) + [before] and before != document["replaces"]
    document["replaces"] = "00000000000000aa"  # it confirms nothing, so it stays
    paths[1].write_text(json.dumps(document))
    plan(paths, "--write", tmp_path / "other")
    assert (tmp_path / "other" / f"{count}.json").read_bytes() == paths[1].read_bytes()


def test_the_step_that_loses_a_table_has_the_confirmation(files, tmp_path):
    """All steps have the tables of WANTED. `undo` asks the same guard as directors do."""
    other = table("other", binds=[{"ip": "10.10.10.99", "proto": "tcp", "port": 80}])
    paths = files({"backends": backends("aaa")}, {"backends": backends("aaaa")})
    current, wanted = (json.loads(path.read_text()) for path in paths)
    current["tables"].append(other)
    paths[0].write_text(json.dumps(current))
    wanted["replaces"] = run_json("show", paths[0])["fingerprint"]
    paths[1].write_text(json.dumps(wanted))
    count = len(plan(paths, "--write", tmp_path / "plan", "--max-broken", 100)["steps"])
    steps = [paths[0], *(tmp_path / "plan" / f"{i}.json" for i in range(1, count + 1))]
    assert count > 1 and json.loads(steps[1].read_text())["replaces"] == wanted["replaces"]
    for before, after in zip(steps, steps[1:]):
        shutil.copy(before, tmp_path / "t.json")
        shutil.copy(after, tmp_path / "t.json~")
        run("undo", tmp_path / "t.json", "--dry-run", "--max-broken", 100)


def test_a_step_is_refused_if_check_refuses_it_but_not_wanted(files, tmp_path):
    """WANTED gives the server ID of a previous proxy to another one, and the steps keep the previous states of CURRENT."""
    quic = {"quic": [{"id": 1, "server_id_length": 3, "nonce_length": 4, "key": 32 * "5"}],
            "binds": [{"ip": "10.10.10.10", "proto": "udp", "port": 443, "quic": True}]}
    listed = [{**each, "server_id": f"00000{i}"} for i, each in enumerate(backends("aaaa"), 1)]
    states = [*({"ip": each["ip"]} for each in listed[:3]), {"ip": "192.168.50.9", "server_id": "000004"}]
    past = {"previous": [{"time": RECENT, "backends": states}]}
    paths = files({**quic, "backends": listed[:3], **past}, {**quic, "backends": listed})
    error = run("plan", *paths, "--write", tmp_path / "plan", code=FAILED).stderr
    assert "a step of the plan" in error and "'000004' was the server ID of 192.168.50.9" in error and not (tmp_path / "plan").exists()
    paths = files({**quic, "backends": listed[:3], **past}, {**quic, "backends": listed, **past})
    run("check", paths[1], code=2)
    run("plan", *paths, "--write", tmp_path / "plan")


def test_the_files_get_no_more_rights_than_wanted_has(files, tmp_path):
    paths = files({"backends": 3}, {"backends": 4})
    paths[1].chmod(0o640)
    plan(paths, "--write", tmp_path / "plan/")
    assert {(tmp_path / "plan" / name).stat().st_mode & 0o777 & ~0o640 for name in os.listdir(tmp_path / "plan")} == {0}


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then write(2) returns EFBIG
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


def test_a_full_disk_leaves_nothing(files, tmp_path):
    """A limit for the size of files fails as a full disk does."""
    paths = files({"backends": 3}, {"backends": 4})
    target = tmp_path / "out" / "plan"
    target.parent.mkdir()
    done = subprocess.run([CLI, "plan", *paths, "--write", target], capture_output=True, text=True, timeout=60,
                          preexec_fn=limit_files)
    assert (done.returncode, os.listdir(target.parent)) == (FAILED, [])
    assert f"{target}: nothing is written\n" in done.stderr and "0.json" in done.stderr


# For people


def test_the_plan_for_people(files, tmp_path):
    paths = files({"backends": backends("aaaa")}, {"backends": backends("aaa-")})
    found = plan(paths)
    digests = [step["digest"] for step in found["steps"]]
    folder = "plan"
    lines = run("plan", *paths, "--write", folder, cwd=tmp_path).stdout.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert " ".join(" ".join(lines).split()) == (
        f"at once: {found['at_once']['broken_rows']} of 65536 rows break (24.98%) this plan: 0 of 65536 rows break (0.00%) "
        f"1. Publish {folder}/1.json on all directors. New connections go where WANTED says. Proxies that leave are draining, and each "
        "row still has its old first hop as a later one. "
        f"Wait until all directors use it: `glb-director-cli stats` shows the digest {digests[0]}. "
        "Wait until 1 proxy of table web has no connections left (`glb-redirect drained --wait 10m` on each): 192.168.50.4 "
        f"2. Publish {folder}/2.json on all directors. It is WANTED itself. "
        f"Wait until all directors use it: `glb-director-cli stats` shows the digest {digests[1]}. "
        "If glb-healthcheck has seen a failure, the digest is another one: that of `glb-director-cli show` for the table that it wrote from "
        "the published one.")


def test_a_long_list_of_proxies_is_cut(files):
    text = run("plan", *files({"backends": 30}, {"backends": 10})).stdout
    assert "   Wait until 20 proxies of table web have no connections left (`glb-redirect\n" in text
    assert "     and 10 more; --json lists all\n" in text
