# SPDX-License-Identifier: BSD-3-Clause
"""Reads the metrics of a proxy, from the exporter by HTTP or from `stats --openmetrics`."""

import contextlib
import http.client
import re
import socket
import subprocess

from lab.tools import TIMEOUT_S, wait_until

PORT = 19522
SAMPLE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)')


def parse(text):
    """The samples: {(name without glb_redirect_, value of each label in the order of the text...): value}."""
    samples = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        key = (name.removeprefix("glb_redirect_"), *re.findall(r'\w+="([^"]*)"', labels or ""))
        assert key not in samples, line
        samples[key] = float(value)
    return samples


def metrics(namespace, glb_redirect):
    return parse(namespace.run(glb_redirect, "stats", "--openmetrics").stdout)


class Exporter:
    def __init__(self, namespace, glb_redirect, *words):
        self.namespace = namespace
        self.process = namespace.start(glb_redirect, "exporter", *words, stderr=subprocess.PIPE)
        line = self.process.stderr.readline()
        assert "serving metrics on http://" in line, line

    def connect(self):
        with self.namespace:
            return socket.create_connection(("127.0.0.1", PORT), timeout=TIMEOUT_S)

    def get(self, path="/metrics", **headers):
        with self.namespace, contextlib.closing(http.client.HTTPConnection("127.0.0.1", PORT, timeout=TIMEOUT_S)) as connection:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return response.status, response.getheader("Content-Type"), response.read().decode()

    def metrics(self):
        status, _, text = self.get()
        assert status == 200
        return parse(text)

    def wait(self, condition, what):
        """Waits for a condition on the metrics. The exporter reads the programs once a second."""
        return wait_until(lambda: condition(self.metrics()), what)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
