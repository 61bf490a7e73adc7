# SPDX-License-Identifier: BSD-3-Clause
"""The outlets of glb-redirect on a proxy: metrics, and what the subcommands print."""

import contextlib
import json
import os
import re
import socket

import pytest
from golden import check, legacy, no_values, sections, series, shape
from scrape import Exporter
from test_loader import MALFORMED, PING, Proxy

from support.tree import REDIRECT

OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0"}
HIDDEN = ("version", "mode", "tc_program")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    if os.getuid() != 0:
        pytest.skip("network namespaces need root")
    with contextlib.closing(Proxy(str(REDIRECT))) as made, contextlib.ExitStack() as stack:
        conf = tmp_path_factory.mktemp("golden") / "redirect.conf"
        conf.write_text('allow_from = ["192.0.2.0/24"];\nnext_hops = ["192.168.0.0/16"];\nmax_hops = 4;\n')
        made("attach", "eth0", "--config-file", str(conf))
        with made.namespace:
            stack.enter_context(socket.create_server(("10.10.10.10", 80)))
        made.count([PING, MALFORMED])
        yield made


def test_metrics(proxy):
    with contextlib.closing(Exporter(proxy.namespace, proxy.glb_redirect)) as exporter:
        text = series(exporter.get(**OPENMETRICS)[2], *HIDDEN)
        check("glb-redirect.metrics", text)
        assert series(exporter.get()[2], *HIDDEN) == legacy(text)
    assert series(proxy("stats", "--openmetrics"), *HIDDEN) == legacy(text)


def test_outputs(proxy):
    def call(*words):
        done = proxy.namespace.run(proxy.glb_redirect, *words, check=False)
        assert done.stdout, done.stderr
        return done.stdout

    found = {"stats eth0": no_values(call("stats", "eth0"))}
    # How the kernel runs the programs depends on its version.
    found["status eth0"] = re.sub(r"(?m)^(eth0: |tc program ).*", r"\1...", no_values(call("status", "eth0")))
    found["drained"] = no_values(call("drained"))
    for words in (("stats", "eth0"), ("status", "eth0"), ("drained",)):
        found[f"{' '.join(words)} --json"] = shape(json.loads(call(*words, "--json")))
    found["check --json"] = re.sub(r"(?m)(\.command) .*", r"\1 null|text", shape(json.loads(call("check", "eth0", "--json"))))
    found["status eth0 --json"] = found["status eth0 --json"].replace("\n.eth0.warnings[] text", "")
    check("glb-redirect.output", sections(found))
