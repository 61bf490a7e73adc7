# SPDX-License-Identifier: BSD-3-Clause
"""The forwarding table as operators write it, in JSON."""

import copy
import json

from lab.tools import read
from lab.topology import BALANCE, ECHO_PORT, GUE_PORT, HEALTH_URI, HOPS, HTTP_PORT, VIPS

# Fixed, so that each connection has the same row in every run. In production these are secrets.
HASH_KEY = "0e41b9df6b517bab3c4da9b9b07375a5"
SEED = "dfeffedd2f9ba5d1eb3824815fc37861"
# The checks of each proxy. They have no effect without a glb-healthcheck.
CHECKS = {"http": HTTP_PORT, "http_uri": HEALTH_URI, "gue": GUE_PORT}


class Table:
    """Immutable: each change returns a new table."""

    def __init__(self, backends=(), hops=HOPS, balance=BALANCE, **members):
        self.backends = list(backends)
        self.members = {"hops": hops, "balance": balance, **members}  # such as previous; one that is None is not written

    def _with(self, backends):
        return Table(backends, **self.members)

    def with_members(self, **members):
        return Table(self.backends, **{**self.members, **members})

    def with_backend(self, address, state="active", **members):
        backend = {"ip": address, "state": state, "healthy": True, "healthchecks": CHECKS, **members}
        return self._with([*self.backends, backend])

    def without(self, address):
        return self._with([each for each in self.backends if each["ip"] != address])

    def emptied(self):
        return self._with([])

    def changed(self, address, **values):
        """The table with another state=, healthy= or weight= of a backend."""
        backends = copy.deepcopy(self.backends)
        for each in backends:
            if each["ip"] == address:
                each.update(values)
        return self._with(backends)

    def with_vips(self, vips, replaces=None):
        """The table with exactly these VIPs. `replaces`: fingerprint of the table that may lose VIPs to this one."""
        return self.with_members(binds=self._binds(vips), replaces=replaces)

    @staticmethod
    def _binds(vips=VIPS):
        return [{"ip": vip, "proto": "tcp", "port": port} for vip in vips for port in (HTTP_PORT, ECHO_PORT)]

    def json(self):
        members = {name: value for name, value in self.members.items() if value is not None}
        confirmed = {"replaces": members.pop("replaces")} if "replaces" in members else {}
        table = {
            "name": "web",
            "hash_key": HASH_KEY,
            "seed": SEED,
            "binds": self._binds(),
            **members,
            "backends": self.backends,
        }
        return json.dumps({"tables": [table], **confirmed}, indent=1) + "\n"


class WrittenTable:
    """A table that a command of glb-director-cli wrote, as it was when this object was made."""

    def __init__(self, path):
        self.text = read(path)

    def json(self):
        return self.text
