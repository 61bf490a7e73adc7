# SPDX-License-Identifier: BSD-3-Clause
import os

import pytest

from lab.net import Namespace, connect


class Link:
    """A veth pair: "client" in one namespace, "director" in the other. The kernel sends nothing on it unasked."""

    def __init__(self):
        self.client, self.director = Namespace("client"), Namespace("director")
        for namespace in (self.client, self.director):
            namespace.sysctl({"net.ipv6.conf.default.addr_gen_mode": 1})  # no link-local address
        connect(self.client, "client", self.director, "director")

    def close(self):
        self.client.close()
        self.director.close()


def make_link():
    if os.getuid() != 0:
        pytest.skip("network namespaces need root")
    link = Link()
    yield link
    link.close()


link = pytest.fixture(make_link)
# For directors that several tests use.
shared_link = pytest.fixture(make_link, scope="module")
other_link = pytest.fixture(make_link, scope="module")
