# SPDX-License-Identifier: BSD-3-Clause
"""The HTTP/3 server of the lab: what it does with configurations that are wrong."""

import json
import signal
import subprocess

import pytest

from lab import quic

GOOD = {"id": 0, "server_id": "ed793a", "nonce_length": 8, "key": "8f95f09245765f80256934e50c66207f"}
FAULTS = {
    "id of no configuration": ({"id": 7}, "id 7"),
    "id that is no number": ({"id": "0"}, "id"),
    "server ID that is not hexadecimal": ({"server_id": "ed793"}, "server_id"),
    "no server ID": ({"server_id": ""}, "a server ID of 0 bytes"),
    "short nonce": ({"server_id": "ed793aed793aed79", "nonce_length": 3}, "a nonce of 3"),
    "connection IDs of another length": ({"nonce_length": 9}, "connection IDs of 13 bytes, but this server has 12"),
    "short key": ({"key": GOOD["key"][:30]}, "the key has 15 bytes, not 16"),
    "key that is not hexadecimal": ({"key": "x" + GOOD["key"][1:]}, "key: not 32 hexadecimal digits"),
}

pytestmark = pytest.mark.skipif(quic.missing() is not None, reason=str(quic.missing()))


def start(path):
    return subprocess.Popen(
        [quic.SERVER, "s1", "127.0.0.1:0", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("change, message", FAULTS.values(), ids=FAULTS)
def test_refuses_a_wrong_configuration(change, message, tmp_path):
    path = tmp_path / "quic.json"
    path.write_text(json.dumps({**GOOD, **change}))
    server = start(path)
    _, error = server.communicate(timeout=60)
    assert server.returncode == 1 and message in error
    assert GOOD["key"][1:30] not in error  # it is a secret


def test_keeps_its_configuration_if_the_new_one_is_wrong(tmp_path):
    path = tmp_path / "quic.json"
    path.write_text(json.dumps(GOOD))
    server = start(path)
    assert server.stdout.readline() == "ready\n"
    path.write_text(json.dumps({**GOOD, "id": 7}))
    server.send_signal(signal.SIGHUP)
    assert "id 7" in server.stderr.readline()
    path.write_text(json.dumps({**GOOD, "id": 6}))
    server.send_signal(signal.SIGHUP)
    assert server.stdout.readline() == "reloaded\n" and server.poll() is None
    server.kill()
    server.communicate()
