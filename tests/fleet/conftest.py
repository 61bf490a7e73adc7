# SPDX-License-Identifier: BSD-3-Clause
import pytest
from etcd import Client, Etcd


@pytest.fixture(scope="module")
def etcd(tmp_path_factory):
    with Etcd(tmp_path_factory.mktemp("etcd")) as etcd:
        yield etcd


@pytest.fixture
def connect(tmp_path):
    """connect(endpoints, KEY=VALUE...) starts a client, which ends with the test."""
    clients = []

    def start(endpoints, **settings):
        clients.append(Client(tmp_path, endpoints, **settings))
        return clients[-1]

    yield start
    for client in clients:
        client.__exit__()
