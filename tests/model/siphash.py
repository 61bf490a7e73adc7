# SPDX-License-Identifier: BSD-3-Clause
"""SipHash-2-4 with a 64-bit result (Aumasson and Bernstein, 2012).

The same code hashes one message or many messages of equal length. A state word is an integer with one lane of 64 bits in every
128 bits. Carries and shifted-out bits land in the unused upper half of the lane's 128 bits, and are masked away.
"""

import struct
from array import array

_WORD = (1 << 64) - 1
_SLOT_BYTES = 16
_CHUNK = 4096  # lanes per call; a state word of 64 KiB stays in the CPU's cache


def _siphash(key, blocks, ones):
    """Hashes all lanes at the same time. `ones` has the value 1 in every used lane."""
    mask = ones * _WORD
    k0, k1 = (ones * half for half in struct.unpack("<QQ", key))
    v0 = k0 ^ ones * 0x736F6D6570736575
    v1 = k1 ^ ones * 0x646F72616E646F6D
    v2 = k0 ^ ones * 0x6C7967656E657261
    v3 = k1 ^ ones * 0x7465646279746573

    def rotate(x, bits):
        return (x << bits | x >> (64 - bits)) & mask

    def rounds(count, v0, v1, v2, v3):
        for _ in range(count):
            v0 = (v0 + v1) & mask
            v2 = (v2 + v3) & mask
            v1 = rotate(v1, 13) ^ v0
            v3 = rotate(v3, 16) ^ v2
            v0 = rotate(v0, 32)
            v2 = (v2 + v1) & mask
            v0 = (v0 + v3) & mask
            v1 = rotate(v1, 17) ^ v2
            v3 = rotate(v3, 21) ^ v0
            v2 = rotate(v2, 32)
        return v0, v1, v2, v3

    for block in blocks:
        v0, v1, v2, v3 = rounds(2, v0, v1, v2, v3 ^ block)
        v0 ^= block
    v0, v1, v2, v3 = rounds(4, v0, v1, v2 ^ ones * 0xFF, v3)
    return v0 ^ v1 ^ v2 ^ v3


def _padding(size):
    """What follows a message: zeros up to the last byte of a block, which is the message's length modulo 256."""
    return bytes(-(size + 1) % 8) + bytes([size & 0xFF])


def siphash24(key, message):
    """The 8 digest bytes. As a number: int.from_bytes(digest, "little")."""
    padded = message + _padding(len(message))
    blocks = struct.unpack(f"<{len(padded) // 8}Q", padded)
    return _siphash(key, blocks, 1).to_bytes(8, "little")


def siphash24_many(key, messages):
    """siphash24() of every message, in order. All messages have the same length. For little-endian machines."""
    digests = []
    for start in range(0, len(messages), _CHUNK):
        chunk = messages[start : start + _CHUNK]
        padding = _padding(len(chunk[0]))
        words = array("Q", b"".join([message + padding for message in chunk]))
        ones = int.from_bytes((b"\1" + bytes(_SLOT_BYTES - 1)) * len(chunk), "little")
        blocks, step = [], len(words) // len(chunk)
        for block in range(step):
            slots = array("Q", bytes(_SLOT_BYTES * len(chunk)))
            slots[::2] = words[block::step]
            blocks.append(int.from_bytes(slots.tobytes(), "little"))
        lanes = _siphash(key, blocks, ones).to_bytes(_SLOT_BYTES * len(chunk), "little")
        digests += [digest for digest, in struct.iter_unpack("8s8x", lanes)]
    return digests
