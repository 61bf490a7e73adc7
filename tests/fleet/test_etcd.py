# SPDX-License-Identifier: BSD-3-Clause
"""The client of etcd with a real etcd."""

import json
import shutil
import signal
import subprocess

import pytest
from etcd import TOOL, Etcd
from lab.tools import wait_until


def test_a_put_is_read_again(etcd, connect):
    client = connect(etcd.endpoints)
    assert client.ask("put", "a/put", "ä") == {"event": "txn", "result": "done", "error": "", "succeeded": True}
    assert etcd.get("a/put") == "ä"
    assert client.ask("get", "a/put")["kv"]["value"] == "ä"
    assert "kv" not in client.ask("get", "a/missing")
    assert client.ask("ask", "a/put")["kv"]["revision"] == etcd.revision()
    assert client.ask("delete", "a/put")["succeeded"]
    assert etcd.get("a/put") is None


def test_a_transaction_compares_revisions(etcd, connect):
    client = connect(etcd.endpoints)
    assert client.ask("create", "b/key", "one")["succeeded"]
    assert not client.ask("create", "b/key", "two")["succeeded"]
    revision = client.ask("get", "b/key")["kv"]["revision"]
    assert client.ask("swap", "b/key", revision, "three")["succeeded"]
    assert not client.ask("swap", "b/key", revision, "four")["succeeded"]
    assert etcd.get("b/key") == "three"


def test_a_state_has_the_cluster_and_its_revision(etcd, connect):
    client = connect(etcd.endpoints)
    assert client.state() | {"connected": False, "cluster": 0, "revision": 0} == client.state()
    client.ask("get", "x")
    state = client.state()
    assert state["connected"] and state["cluster"] and state["revision"] == etcd.revision() and state["error"] == ""


def test_a_mirror_follows_a_key(etcd, connect):
    etcd.put("c/key", "old")
    client = connect(etcd.endpoints)
    client.send("mirror", "c/key", 1)
    assert client.wait("changed")["value"] == "old"
    assert client.wait("ready") == {"event": "ready", "truncated": False}
    client.wait_state(lambda state: state["current"])
    etcd.put("c/key2", "another key")
    etcd.put("c/key", "new")
    assert client.wait("changed")["value"] == "new"
    etcd.delete("c/key")
    assert client.wait("changed") | {"revision": 0} == {"event": "changed", "key": "c/key", "value": None, "fault": None, "revision": 0, "lease": 0}
    etcd.put("c/key", "")
    assert client.wait("changed")["value"] == ""


def test_a_mirror_follows_a_prefix(etcd, connect):
    for i in range(5):
        etcd.put(f"d/{i}", str(i))
    etcd.put("d0", "behind the prefix")
    client = connect(etcd.endpoints)
    client.send("mirror", "d/*", 10)
    assert [client.wait("changed")["key"] for _ in range(5)] == [f"d/{i}" for i in range(5)]
    client.wait("ready")
    client.wait_state(lambda state: state["current"])
    etcd.put("d/9", "new")
    assert client.wait("changed")["key"] == "d/9"


def test_a_mirror_ignores_keys_beyond_its_limit(etcd, connect):
    for i in range(3):
        etcd.put(f"e/{i}", str(i))
    client = connect(etcd.endpoints)
    client.send("mirror", "e/*", 2)
    assert [client.wait("changed")["key"] for _ in range(2)] == ["e/0", "e/1"]
    assert client.wait("ready")["truncated"]
    etcd.delete("e/0")
    assert client.wait("changed", value=None)["key"] == "e/0"
    assert client.wait("changed")["key"] == "e/2"
    assert not client.wait("ready")["truncated"]


def test_values_that_are_no_text_have_a_fault(etcd, connect):
    etcd.put("f/0", b"\x80")
    etcd.put("f/1", b"a\0b")
    client = connect(etcd.endpoints)
    client.send("mirror", "f/*", 10)
    etcd.put(b"f/\xff", "the key is no text, so it is left out")
    for key in ("f/0", "f/1"):
        assert client.wait("changed", key=key, value=None)["fault"] == "the value is not text in UTF-8"
    client.wait("ready")
    client.wait_state(lambda state: state["current"])
    etcd.put(b"f/\xfe", "another one")
    etcd.put("f/2", "text")
    assert client.wait("changed")["key"] == "f/2"


def test_a_lease_is_kept_alive_and_revoked(etcd, connect):
    client = connect(etcd.endpoints)
    client.send("lease", 5)
    lease = client.wait("granted")["lease"]
    client.ask("put", "g/mine", "here")
    client.send("mirror", "g/mine", 1)
    assert client.wait("changed")["lease"] == lease
    # Another lease, which nobody keeps alive, shows that the time has passed.
    other = etcd.ask("/v3/lease/grant", {"TTL": "6"})["ID"]
    wait_until(lambda: etcd.lease_ttl(other) < 0, "the end of the other lease")
    assert client.ask("id")["lease"] == lease
    client.ask("end")
    assert etcd.get("g/mine") is None


def test_a_lost_lease_is_granted_anew(etcd, connect):
    client = connect(etcd.endpoints)
    client.send("lease", 3)
    lease = client.wait("granted")["lease"]
    etcd.ask("/v3/lease/revoke", {"ID": str(lease)})
    assert client.wait("granted")["lease"] != lease


def test_a_client_that_was_stopped_loses_no_change(etcd, connect):
    client = connect(etcd.endpoints)
    client.send("mirror", "h/key", 1)
    client.wait("ready")
    etcd.put("h/key", "one")
    assert client.wait("changed")["value"] == "one"
    client.process.send_signal(signal.SIGSTOP)
    for i in range(100):
        etcd.put("h/key", f"more {i}")
    etcd.compact()
    client.process.send_signal(signal.SIGCONT)
    client.wait("changed", value="more 99")


@pytest.mark.parametrize("value", ["a", "ab", "abc", "abcd", "\u00fc\u20ac\U0001d11e~?>", "+/=", "x" * 100_000], ids=range(7))
def test_values(value, etcd, connect):
    client = connect(etcd.endpoints)
    client.ask("put", f"j/{value[:10]}", value)
    assert etcd.get(f"j/{value[:10]}") == value
    assert client.ask("get", f"j/{value[:10]}")["kv"] | {"revision": 0} == {"key": f"j/{value[:10]}", "value": value, "fault": None, "revision": 0}


def test_a_backup_is_restored(tmp_path, connect):
    """The revision goes back. The client shows what etcd has now."""
    with Etcd(tmp_path / "etcd") as etcd:
        member, backup = etcd.members[0], tmp_path / "backup"
        etcd.put("k/key", "old")
        member.stop()
        shutil.copytree(member.folder, backup)
        member.start(new=False)
        etcd.wait_ready()
        etcd.put("k/key", "new")
        etcd.put("k/later", "value")
        client = connect(etcd.endpoints)
        client.send("mirror", "k/*", 10)
        newest = client.wait("changed", key="k/key")["revision"]
        client.wait("ready")
        member.stop()
        shutil.rmtree(member.folder)
        backup.rename(member.folder)
        member.start(new=False)
        restored = client.wait("changed", key="k/key")
        assert restored["value"] == "old" and restored["revision"] < newest
        assert client.wait("changed", key="k/later", value=None)
        assert client.state()["revision"] < newest


FAULTS = {
    'etcd = {}': "etcd.endpoints: missing; write the URLs of etcd",
    'etcd = { endpoints = []; }': "is not a list of 1 to 16 URLs",
    'etcd = { endpoints = ["192.0.2.1:2379"]; }': "'192.0.2.1:2379' is not a URL like",
    'etcd = { endpoints = ["https://user:pw@192.0.2.1"]; }': "is not a URL like",
    'etcd = { endpoints = ["https://192.0.2.1/v3"]; }': "is not a URL like",
    'etcd = { endpoints = ["https://192.0.2.1", "https://["]; user = "me"; }': "etcd.password_file: missing, but user is set",
    'etcd = { endpoints = ["https://192.0.2.1"]; cert_file = "/c"; }': "etcd.key_file: missing, but cert_file is set",
    'etcd = { endpoints = ["https://192.0.2.1"]; ca_file = "ca.pem"; }': "is not a full path",
    'etcd = { endpoints = ["https://192.0.2.1"]; ca_file = "/none/ca.pem"; }': "/none/ca.pem: No such file or directory",
    'etcd = { endpoints = ["http://192.0.2.1:2379"]; timeout_ms = 1; }': "etcd.timeout_ms",
    'etcd = { endpoints = ["http://192.0.2.1:2379"]; timeout_ms = 5001; }': "is not an integer from 100 to 5000",
}


@pytest.mark.parametrize("text", FAULTS)
def test_configurations(text, tmp_path):
    (tmp_path / "conf").write_text(text + ";")
    lines = subprocess.run([TOOL, tmp_path / "conf"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout.splitlines()
    assert any(FAULTS[text] in json.loads(line)["text"] for line in lines), lines


def test_plain_http_is_for_loopback(tmp_path):
    (tmp_path / "conf").write_text('etcd = { endpoints = ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1", "http://192.0.2.1:1/"]; };')
    lines = subprocess.run([TOOL, tmp_path / "conf"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout.splitlines()
    warnings = [json.loads(line)["text"] for line in lines if "warning" in line]
    assert len(warnings) == 1 and "http://192.0.2.1:1 is not encrypted" in warnings[0]


def test_large_values(etcd, connect):
    value = "x" * 1_400_000
    client = connect(etcd.endpoints)
    assert client.ask("put", "i/large", value)["succeeded"]
    assert client.ask("get", "i/large")["kv"]["value"] == value
    refused = client.ask("put", "i/larger", 2 * value)
    assert refused["result"] == "refused" and "larger than max" in refused["error"]
