# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of docs/reference/quic.md are those of src/quic/quic.h, and its example is right."""

import re

from model.quic import AES128, QuicConfig
from support.tree import TREE

PAGE = (TREE / "docs/reference/quic.md").read_text()
HEADER = (TREE / "src/quic/quic.h").read_text()


def test_limits_are_those_of_the_header():
    most = {name: int(value) for name, value in re.findall(r"^#define QUIC_(\w+) +(\d+)$", HEADER, re.M)}
    assert f"| ID | 0 to {most['MAX_CONFIGS'] - 1} |" in PAGE
    assert f"| length of server IDs | 1 to {most['MAX_SERVER_ID']} bytes |" in PAGE
    assert f"| length of nonces | {most['MIN_NONCE']} to {most['MAX_NONCE']} bytes | with the server ID at most {most['MAX_PLAINTEXT']} bytes |" in PAGE
    assert f"A table has 1 to {most['MAX_CONFIGS']}." in PAGE


def test_the_example():
    key, server_id, nonce = re.search(r"Key `(\w+)`, server ID `(\w+)`, nonce `(\w+)`", PAGE).groups()
    cid = QuicConfig(0, 3, 4, bytes.fromhex(key)).encode(bytes.fromhex(server_id), bytes.fromhex(nonce), 7)
    assert f"The CID is `{cid.hex()}`" in PAGE
    rows = re.findall(r"^\| pass \d \| `(\w{32})` \| `(\w{8})` \|", PAGE, re.M)
    assert len(rows) == 4
    for block, begin in rows:
        assert AES128(bytes.fromhex(key)).encrypt(bytes.fromhex(block))[:4].hex() == begin
