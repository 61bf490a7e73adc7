# SPDX-License-Identifier: BSD-3-Clause
"""The client of etcd with three members, some of which fail."""

import pytest
from etcd import Etcd
from lab.tools import wait_until


@pytest.fixture
def etcd(tmp_path):
    with Etcd(tmp_path / "etcd", 3) as etcd:
        yield etcd


def follow(client):
    client.send("mirror", "key", 1)
    client.wait("ready")
    client.wait_state(lambda state: state["current"])
    client.send("lease", 15)
    return client.wait("granted")["lease"]


def put_until_done(etcd, members, value):
    """A cluster without a leader refuses, and a put that fails may have been carried out."""
    def put():
        for member in members:
            try:
                etcd.put("key", value, member)
                return True
            except OSError:
                pass
        return False
    wait_until(put, "a put that is done")


@pytest.mark.parametrize("how", ["kill", "stop", "freeze"])
def test_the_member_in_use_fails(how, etcd, connect):
    """It dies, or is silent. The mirror and the lease go on with another member."""
    client = connect(etcd.endpoints, timeout_ms=1000)
    lease = follow(client)
    getattr(etcd.members[0], how)()
    put_until_done(etcd, etcd.members[1:], "after")
    assert client.wait("changed")["value"] == "after"
    client.wait_state(lambda state: state["current"] and state["connected"] and state["endpoint"] != etcd.endpoints[0])
    assert client.ask("id")["lease"] == lease


def test_the_leader_fails(etcd, connect):
    leader = etcd.leader()
    others = [member for member in etcd.members if member != leader]
    client = connect([member.client for member in others])
    lease = follow(client)
    leader.kill()
    put_until_done(etcd, others, "after")
    assert client.wait("changed")["value"] == "after"
    assert client.ask("id")["lease"] == lease


def test_a_member_without_a_leader_ends_the_watch(etcd, connect):
    """Its watch would be silent for ever. The client has no other endpoint until the majority is back."""
    client = connect(etcd.endpoints[:1], timeout_ms=1000)
    follow(client)
    for member in etcd.members[1:]:
        member.freeze()
    client.wait_state(lambda state: not state["current"] and not state["connected"] and "no leader" in state["error"])
    for member in etcd.members[1:]:
        member.thaw()
    put_until_done(etcd, etcd.members[1:], "after")
    client.wait("changed", value="after")
    client.wait_state(lambda state: state["current"] and state["connected"] and not state["error"])


def test_no_member_and_all_again(etcd, connect):
    client = connect(etcd.endpoints, timeout_ms=1000)
    follow(client)
    put_until_done(etcd, etcd.members, "before")
    client.wait("changed", value="before")
    for member in etcd.members:
        member.kill()
    client.wait_state(lambda state: not state["connected"] and not state["current"])
    client.wait_state(lambda state: "check endpoints, and that etcd runs there" in state["error"])
    assert client.ask("put", "key", "x")["result"] == "unreachable"
    for member in etcd.members:
        member.start(new=False)
    client.wait_state(lambda state: state["current"])
    put_until_done(etcd, etcd.members, "after")
    assert client.wait("changed", value="after")


def test_a_lease_ends_with_its_time_although_etcd_is_away(etcd, connect):
    client = connect(etcd.endpoints, timeout_ms=500)
    client.send("lease", 2)
    lease = client.wait("granted")["lease"]
    for member in etcd.members:
        member.freeze()
    wait_until(lambda: client.ask("id")["lease"] == 0, "the end of the lease")
    for member in etcd.members:
        member.thaw()
    assert client.wait("granted")["lease"] != lease


def test_an_endpoint_that_does_not_exist(etcd, connect):
    client = connect(["http://127.0.0.1:1", "http://no-such-host.invalid:2379", etcd.endpoints[0]])
    assert client.ask("put", "key", "value")["succeeded"]
    assert client.state()["endpoint"] == etcd.endpoints[0]
