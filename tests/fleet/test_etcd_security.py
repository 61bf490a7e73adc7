# SPDX-License-Identifier: BSD-3-Clause
"""The client of etcd with TLS, client certificates, users and roles."""

import pytest
from certificates import make_ca, sign
from etcd import Etcd


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = make_ca(tmp_path_factory.mktemp("tls"))
    sign(folder, "server")
    sign(folder, "client", "client")
    sign(folder, "expired-client", "client", days=-1)
    make_ca(folder / "other")
    sign(folder / "other", "client", "client")
    return folder


@pytest.fixture(scope="module")
def secure(folder, tmp_path_factory):
    with Etcd(tmp_path_factory.mktemp("etcd"), tls=folder, client_certificates=True) as etcd:
        yield etcd


def test_client_certificate(secure, folder, connect):
    client = connect(secure.endpoints, ca_file=folder / "ca.pem", cert_file=folder / "client.pem", key_file=folder / "client-key.pem")
    assert client.ask("put", "key", "value")["succeeded"]
    client.send("mirror", "key", 1)
    assert client.wait("changed")["value"] == "value"
    client.wait_state(lambda state: state["current"])
    secure.put("key", "new")
    assert client.wait("changed")["value"] == "new"


@pytest.mark.parametrize("name", [None, "expired-client", "other/client"])
def test_strangers_are_refused(name, secure, folder, connect):
    files = {"cert_file": folder / f"{name}.pem", "key_file": folder / f"{name}-key.pem"} if name else {}
    failed = connect(secure.endpoints, ca_file=folder / "ca.pem", **files).ask("put", "stranger", "value")
    assert failed["result"] == "unreachable" and "client certificate" in failed["error"]
    assert secure.get("stranger") is None


@pytest.mark.parametrize("name", ["expired", "wrong name", "other CA", "no TLS"])
def test_a_server_that_cannot_prove_its_name(name, folder, tmp_path, connect):
    tls = make_ca(tmp_path / "tls")
    sign(tls, "server", "198.51.100.1" if name == "wrong name" else "127.0.0.1", days=-1 if name == "expired" else 2)
    (tls / "etcd").mkdir()
    etcd = Etcd(tls / "etcd", tls=None if name == "no TLS" else tls)
    # The fixture's own client refuses this server, too.
    etcd.members[0].start()
    try:
        url = etcd.endpoints[0].replace("http://", "https://")
        ca = folder if name == "other CA" else tls
        client = connect([url], ca_file=ca / "ca.pem")
        expected = {"expired": "expired", "wrong name": "no alternative certificate subject name matches", "other CA": "certificate",
                    "no TLS": "whether etcd expects HTTPS"}[name]
        failed = client.ask("get", "key")
        while "Connection refused" in failed["error"] or "connect to" in failed["error"]:  # until etcd listens
            failed = client.ask("get", "key")
        assert failed["result"] == "unreachable" and expected in failed["error"]
    finally:
        etcd.__exit__()


def test_a_renewed_ca_file_is_used(secure, folder, tmp_path, connect):
    ca = tmp_path / "ca.pem"
    ca.write_text((folder / "other/ca.pem").read_text())
    client = connect(secure.endpoints, ca_file=ca, cert_file=folder / "client.pem", key_file=folder / "client-key.pem")
    assert "check etcd's certificate" in client.ask("get", "key")["error"]
    ca.write_text((folder / "ca.pem").read_text())
    assert client.ask("get", "key")["result"] == "done"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with Etcd(tmp_path_factory.mktemp("etcd")) as etcd:
        etcd.enable_authentication()
        yield etcd


@pytest.fixture
def log_in(guarded, connect, tmp_path):
    def start(user, password=None):
        (tmp_path / user).write_text(f"{password or user}\n")
        return connect(guarded.endpoints, user=user, password_file=tmp_path / user)

    return start


def test_roles(log_in, guarded, connect):
    writer, reader = log_in("writer"), log_in("reader")
    assert writer.ask("put", "a/key", "value")["succeeded"]
    denied = reader.ask("put", "a/key", "other")
    assert denied["result"] == "denied" and "permission denied; check user" in denied["error"]
    assert reader.ask("get", "a/key")["kv"]["value"] == "value"
    assert reader.ask("get", "b/key")["result"] == "denied"
    assert connect(guarded.endpoints).ask("get", "a/key")["result"] == "denied"  # without a user


def test_wrong_password(log_in, tmp_path):
    client = log_in("writer", "wrong")
    failed = client.ask("get", "a/key")
    assert failed["result"] == "denied" and "invalid user ID or password" in failed["error"]
    (tmp_path / "writer").write_text("writer")  # the file is read again
    assert client.ask("get", "a/key")["result"] == "done"
    (tmp_path / "writer").unlink()
    assert client.ask("get", "a/key")["result"] == "done"  # the token is still good


def test_a_mirror_and_a_lease_of_a_user(log_in, guarded):
    client = log_in("writer")
    client.send("lease", 5)
    client.wait("granted")
    client.ask("put", "a/mirrored", "value")
    client.send("mirror", "a/*", 100)
    client.wait("changed", key="a/mirrored", value="value")
    client.wait_state(lambda state: state["current"])
    guarded.put("a/mirrored", "new")
    client.wait("changed", key="a/mirrored", value="new")
    client.ask("end")


def test_a_mirror_without_permission_becomes_current_when_it_is_given(log_in, guarded):
    client = log_in("reader")
    client.send("mirror", "c/key", 1)
    client.wait_state(lambda state: "permission denied" in state["error"] and not state["current"])
    assert client.ask("get", "a/key")["error"] == ""  # other requests are not concerned
    assert "permission denied" in client.state()["error"]
    guarded.ask("/v3/auth/role/grant", {"name": "reader", "perm": {"permType": "READ", "key": "Yy9rZXk="}})
    client.wait("ready")
    client.wait_state(lambda state: state["current"])


def test_a_new_token_after_a_restart(log_in, guarded):
    """Simple tokens are in the memory of a member."""
    client = log_in("writer")
    assert client.ask("get", "a/key")["result"] == "done"
    guarded.members[0].stop()
    assert client.ask("get", "a/key")["result"] == "unreachable"
    guarded.members[0].start(new=False)
    client.wait_state(lambda _: client.ask("get", "a/key")["result"] == "done")
    guarded.log_in()


def test_a_token_that_expires(connect, tmp_path):
    with Etcd(tmp_path / "etcd", options=["--auth-token-ttl", "1"]) as etcd:
        etcd.enable_authentication()
        (tmp_path / "password").write_text("writer")
        client = connect(etcd.endpoints, user="writer", password_file=tmp_path / "password")
        client.send("mirror", "a/key", 1)
        client.wait("ready")
        for i in range(3):
            assert client.ask("put", "a/key", i)["succeeded"]
            assert client.wait("changed")["value"] == str(i)
            etcd.log_in()
            lease = etcd.ask("/v3/lease/grant", {"TTL": "2"})["ID"]
            client.wait_state(lambda _: etcd.log_in() or etcd.lease_ttl(lease) < 0)


def test_authentication_is_enabled_later(connect, tmp_path):
    with Etcd(tmp_path / "etcd") as etcd:
        (tmp_path / "password").write_text("writer")
        client = connect(etcd.endpoints, user="writer", password_file=tmp_path / "password")
        assert client.ask("put", "a/key", "before")["succeeded"]
        etcd.enable_authentication()
        assert client.ask("put", "a/key", "after")["succeeded"]
        assert client.ask("put", "b/key", "after")["result"] == "denied"
