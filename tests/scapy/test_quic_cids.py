# SPDX-License-Identifier: BSD-3-Clause
"""The model and src/quic decode the same from random CIDs, of every length. GLB_QUIC_CIDS=1000000 compares a million, in 45 minutes on a busy machine."""

import os
import random
import subprocess

import pytest

from lab.tools import TIMEOUT_S
from model.quic import AES128, QuicConfig
from support.tree import BUILD

BATCH = 64
MAX_PLAINTEXT, MAX_CID = 19, 20
COUNT = int(os.environ.get("GLB_QUIC_CIDS", 8192))


def test_aes_of_the_model():
    """FIPS 197, appendix C.1"""
    aes = AES128(bytes(range(16)))
    assert aes.encrypt(bytes.fromhex("00112233445566778899aabbccddeeff")).hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"
    assert aes.decrypt(bytes.fromhex("69c4e0d86a7b0430d8cdb78070b4c55a")).hex() == "00112233445566778899aabbccddeeff"


def configs(noise):
    """All lengths again and again, most of them with a key."""
    while True:
        for server_id in range(1, 16):
            for nonce in range(4, 20 - server_id):
                yield QuicConfig(noise.randrange(7), server_id, nonce, noise.randbytes(16) if noise.randrange(8) else None)


@pytest.mark.parametrize("seed", range(-(-COUNT // 8192)))
def test_model_and_c_agree(seed):
    noise = random.Random(seed)
    batches = [(config, [bytes([config.id << 5 | noise.randrange(32)]) + noise.randbytes(MAX_CID - 1) for _ in range(BATCH)])
               for config, _ in zip(configs(noise), range(min(COUNT, 8192) // BATCH))]
    asked = b"".join(bytes([config.id, config.server_id_length, config.nonce_length, bool(config.key)]) + (config.key or bytes(16))
                     + b"".join(cids) for config, cids in batches)
    answer = subprocess.run([BUILD / "tests/unit/quic_cids"], input=asked, stdout=subprocess.PIPE, timeout=TIMEOUT_S, check=True).stdout
    size = MAX_PLAINTEXT + MAX_CID
    assert len(answer) == len(batches) * BATCH * size
    at = 0
    for config, cids in batches:
        for cid in cids:
            server_id, nonce = config.decode(cid)
            used = cid[: 1 + config.length]
            expected = (server_id + nonce).ljust(MAX_PLAINTEXT, b"\0") + used.ljust(MAX_CID, b"\0")
            assert answer[at : at + size] == expected, (config, cid.hex())
            assert config.encode(server_id, nonce, cid[0]) == used
            at += size
