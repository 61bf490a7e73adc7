# SPDX-License-Identifier: BSD-3-Clause
import json
from pathlib import Path

import pytest
from agent import PREFIX, Agent
from agent import table as agents_table
from etcd import Client, Etcd, encode
from rollouts import BACKENDS, Fleet, rollout_lines, timeless

from lab.tools import wait_until
from support.cli import run, table, write_tables
from support.folders import short_folder


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


@pytest.fixture
def folder():
    with short_folder() as path:
        yield path


@pytest.fixture
def make_agent(folder, etcd):
    """make_agent(NAME, KEY=VALUE...): an agent that does not run yet. All have the same etcd, without keys of an earlier test."""
    agents = []

    def make(name="d1", cluster=etcd, **keys):
        agents.append(Agent(folder / name, cluster, name, **keys))
        return agents[-1]

    etcd.ask("/v3/kv/deleterange", {"key": encode(PREFIX + "/"), "range_end": encode(PREFIX + "0")})
    yield make
    for agent in agents:
        agent.__exit__()


@pytest.fixture
def agent(make_agent):
    return make_agent()


@pytest.fixture
def fleet(etcd, tmp_path):
    """Three directors that use a table, and WANTED, which replaces a proxy: the steps are announce, switch (drains), wanted."""
    with Fleet(etcd, tmp_path, ["lb1", "lb2", "lb3"]) as made:
        made.current = write_tables(tmp_path / "current.json", table(backends=BACKENDS[:4]))
        made.wanted = write_tables(tmp_path / "wanted.json", table(backends=BACKENDS[1:]))
        run("plan", made.current, made.wanted, "--write", tmp_path / "plan")
        made.plan = [timeless(made.current.read_text()), *(timeless((tmp_path / "plan" / f"{i}.json").read_text()) for i in (1, 2, 3))]
        made.put("table", made.plan[0])
        made.settle()
        yield made


@pytest.fixture
def start(etcd, make_agent):
    """start(TEXT): three directors that use this table."""

    def run_all(text, secrets=None):
        made = [make_agent(f"d{i}") for i in (1, 2, 3)]
        for each in made:
            if secrets:
                each.path("keys", Path).mkdir()
                each.path("keys/web", Path).write_text(json.dumps(secrets))
                each.path("keys/web", Path).chmod(0o600)
            each.__enter__()
        if secrets:
            members = json.loads("{" + made[0].call("keys", "web").stdout + "}")
            text = agents_table(1, 2, 3, 4, keys=members)
        etcd.put(f"{PREFIX}/table", text)
        wait_until(lambda: [line.split()[3] for line in rollout_lines(made[0], "fleet")[1:-1]] == ["current"] * 3,
                   lambda: f"three directors: {rollout_lines(made[0], 'fleet')} {made[0].log}")
        return made

    return run_all


@pytest.fixture
def agents(start):
    return start(agents_table(1, 2, 3, 4))
