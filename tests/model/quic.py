# SPDX-License-Identifier: BSD-3-Clause
"""Connection IDs that name a server, and where a datagram has its connection ID: docs/reference/quic.md.

AES-128 is FIPS 197, with a table for SubBytes, ShiftRows and MixColumns of each row.
"""

import struct
from dataclasses import dataclass
from functools import cached_property, lru_cache


def _times2(x):
    return x << 1 ^ (0x11B if x & 0x80 else 0)


def _s_box():
    """FIPS 197, section 5.1.1: the inverse in the field, then the affine transformation."""
    exp, log, x = [], {}, 1
    for power in range(255):
        exp.append(x)
        log[x] = power
        x ^= _times2(x)  # 3 generates the field
    box = []
    for x in range(256):
        inverse = exp[-log[x] % 255] if x else 0
        box.append(0x63)
        for shift in range(5):
            box[x] ^= (inverse << shift | inverse >> (8 - shift)) & 0xFF
    return box


S = _s_box()
INVERSE_S = [S.index(x) for x in range(256)]


def _column_table(box, factors):
    """{x: a column, as 32 bits, of the S-box of x times each factor}"""

    def times(x, factor):
        result = 0
        while factor:
            result ^= x if factor & 1 else 0
            x, factor = _times2(x), factor >> 1
        return result

    return [sum(times(box[x], factor) << shift for factor, shift in zip(factors, (24, 16, 8, 0))) for x in range(256)]


def _rotations(table):
    return [[(word >> 8 * row | word << 32 - 8 * row) & 0xFFFFFFFF for word in table] for row in range(4)]


ENCRYPT = _rotations(_column_table(S, (2, 1, 1, 3)))
DECRYPT = _rotations(_column_table(INVERSE_S, (14, 9, 13, 11)))
_UNMIX = _rotations(_column_table(range(256), (14, 9, 13, 11)))  # InvMixColumns alone


class AES128:
    def __init__(self, key):
        words = list(struct.unpack(">4I", key))
        constant = 1
        for i in range(4, 44):
            word = words[-1]
            if i % 4 == 0:
                word = (word << 8 | word >> 24) & 0xFFFFFFFF
                word = int.from_bytes(bytes(S[byte] for byte in word.to_bytes(4, "big")), "big") ^ constant << 24
                constant = _times2(constant)
            words.append(words[-4] ^ word)
        self.encrypt_keys = [words[i : i + 4] for i in range(0, 44, 4)]
        self.decrypt_keys = self.encrypt_keys[::-1]
        for i in range(1, 10):
            self.decrypt_keys[i] = [self._unmix(word) for word in self.decrypt_keys[i]]

    @staticmethod
    def _unmix(word):
        return _UNMIX[0][word >> 24] ^ _UNMIX[1][word >> 16 & 255] ^ _UNMIX[2][word >> 8 & 255] ^ _UNMIX[3][word & 255]

    @staticmethod
    def _cipher(block, keys, tables, box, order):
        """`order`: the columns that the rows of column 0 come from. Those of column 1 come from the next columns, and so on."""
        t0, t1, t2, t3 = tables
        b, c, d = order
        s = [word ^ key for word, key in zip(struct.unpack(">4I", block), keys[0])] * 2  # twice, for columns beyond the last one
        for k0, k1, k2, k3 in keys[1:-1]:
            s = [
                t0[s[0] >> 24] ^ t1[s[b] >> 16 & 255] ^ t2[s[c] >> 8 & 255] ^ t3[s[d] & 255] ^ k0,
                t0[s[1] >> 24] ^ t1[s[b + 1] >> 16 & 255] ^ t2[s[c + 1] >> 8 & 255] ^ t3[s[d + 1] & 255] ^ k1,
                t0[s[2] >> 24] ^ t1[s[b + 2] >> 16 & 255] ^ t2[s[c + 2] >> 8 & 255] ^ t3[s[d + 2] & 255] ^ k2,
                t0[s[3] >> 24] ^ t1[s[b + 3] >> 16 & 255] ^ t2[s[c + 3] >> 8 & 255] ^ t3[s[d + 3] & 255] ^ k3,
            ] * 2
        last = (box[s[i + at] >> shift & 255] for i in range(4) for at, shift in ((0, 24), (b, 16), (c, 8), (d, 0)))
        return (int.from_bytes(bytes(last), "big") ^ int.from_bytes(struct.pack(">4I", *keys[-1]), "big")).to_bytes(16, "big")

    def encrypt(self, block):
        return self._cipher(block, self.encrypt_keys, ENCRYPT, S, (1, 2, 3))

    def decrypt(self, block):
        return self._cipher(block, self.decrypt_keys, DECRYPT, INVERSE_S, (3, 2, 1))


@lru_cache(maxsize=64)
def _aes(key):
    return AES128(key)


@dataclass(frozen=True)
class QuicConfig:
    id: int
    server_id_length: int
    nonce_length: int
    key: bytes = None

    @classmethod
    def of(cls, entry):
        """From an entry of `quic` in a JSON table."""
        key = entry.get("key")
        return cls(entry["id"], entry["server_id_length"], entry["nonce_length"], bytes.fromhex(key) if key else None)

    @property
    def length(self):
        """of the plaintext: server ID and nonce"""
        return self.server_id_length + self.nonce_length

    def _split(self, text):
        """The halves as numbers. If the length is odd, each has a half of the middle byte, and 4 bits that are zero."""
        half = (self.length + 1) // 2
        left, right = int.from_bytes(text[:half], "big"), int.from_bytes(text[-half:], "big")
        return left & self._masks[0], right & self._masks[1]

    @cached_property
    def _masks(self):
        bits = (self.length + 1) // 2 * 8
        whole = (1 << bits) - 1
        return (whole & ~0xF, whole >> 4) if self.length % 2 else (whole, whole)

    def _feistel(self, half, other, number):
        """The other half after the pass with this number."""
        size = (self.length + 1) // 2
        block = half.to_bytes(size, "big").ljust(14, b"\0") + bytes([self.length, number])
        result = int.from_bytes(_aes(self.key).encrypt(block)[:size], "big")
        return (other ^ result) & self._masks[number % 2]

    def _join(self, left, right):
        """The number of `length` bytes. The halves share a byte if the length is odd."""
        return (left << self.length // 2 * 8 | right).to_bytes(self.length, "big")

    def encode(self, server_id, nonce, low_bits=0):
        text = server_id + nonce
        assert (len(server_id), len(nonce)) == (self.server_id_length, self.nonce_length)
        if self.key and self.length == 16:
            text = _aes(self.key).encrypt(text)
        elif self.key:
            left, right = self._split(text)
            right = self._feistel(left, right, 1)
            left = self._feistel(right, left, 2)
            right = self._feistel(left, right, 3)
            left = self._feistel(right, left, 4)
            text = self._join(left, right)
        return bytes([self.id << 5 | low_bits & 31]) + text

    def decode(self, cid):
        """(server ID, nonce). The CID may be longer than the configuration needs, but not shorter."""
        text = cid[1 : 1 + self.length]
        assert len(text) == self.length
        if self.key and self.length == 16:
            text = _aes(self.key).decrypt(text)
        elif self.key:
            left, right = self._split(text)
            left = self._feistel(right, left, 4)
            right = self._feistel(left, right, 3)
            left = self._feistel(right, left, 2)
            right = self._feistel(left, right, 1)
            text = self._join(left, right)
        return text[: self.server_id_length], text[self.server_id_length :]


def _cid(payload, at):
    """The CID whose length is at `at`; None if the datagram ends before its end."""
    if at >= len(payload) or at + 1 + payload[at] > len(payload):
        return None
    return payload[at + 1 : at + 1 + payload[at]]


def find_dcid(payload):
    """(destination CID, whether the header is long) of a UDP payload; None if there is none. A short header does not tell the end
    of the CID, so all bytes are returned."""
    long_header = bool(payload) and payload[0] >= 0x80
    cid = _cid(payload, 5) if long_header else payload[1:]
    return (cid, long_header) if cid else None


def find_quoted_scid(payload):
    """The source CID in the long header of a packet that a server sent, as an ICMP error quotes it; None if there is none."""
    if not payload or payload[0] < 0x80:
        return None
    dcid = _cid(payload, 5)
    return (None if dcid is None else _cid(payload, 6 + len(dcid))) or None
