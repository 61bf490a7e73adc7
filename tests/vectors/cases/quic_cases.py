# SPDX-License-Identifier: BSD-3-Clause
"""Connection IDs of QUIC-LB, and datagrams with and without them."""

import random

DRAFT_KEY = "8f95f09245765f80256934e50c66207f"

# (ID, key, server ID, nonce, CID), from the draft. docs/reference/quic.md#misprints tells what is misprinted in its second and last one.
DRAFT = [
    (0, None, "c4605e", "4504cc4f", "07c4605e4504cc4f"),
    (1, None, "350d28b420", "03487d970b", "2a350d28b42003487d970b"),
    (0, DRAFT_KEY, "ed793a", "ee080dbf", "0720b1d07b359d3c"),
    (1, DRAFT_KEY, "ed793a51d49b8f5fab65", "ee080dbf48", "2fcc381bc74cb4fbad2823a3d1f8fed2"),
    (2, DRAFT_KEY, "ed793a51d49b8f5f", "ee080dbf48c0d1e5", "504dd2d05a7b0de9b2b9907afb5ecf8cc3"),
    (3, DRAFT_KEY, "ed793a51d49b8f5fab", "ee080dbf48c0d1e55d", "725779c9cc86beb3a3a4a3ca96fce4bfe0cdbc"),
    (0, "fdf726a9893ec05c0632d3956680baf0", "31441a", "9c69c275", "0767947d29be054a"),  # the example of the algorithm
]


def cids():
    """Yields (name, ID, key, server ID, nonce, low bits, the CID that the author expects or None)."""
    for index, (config, key, server_id, nonce, cid) in enumerate(DRAFT):
        yield f"draft {index}", config, key, server_id, nonce, int(cid[:2], 16) & 31, cid
    noise = random.Random(34)
    for server_id_length in range(1, 16):
        for nonce_length in range(4, 20 - server_id_length):
            for key in (noise.randbytes(16).hex(), None):
                name = f"{server_id_length}+{nonce_length} {'with' if key else 'without'} key"
                server_id, nonce = noise.randbytes(server_id_length).hex(), noise.randbytes(nonce_length).hex()
                yield name, noise.randrange(7), key, server_id, nonce, noise.randrange(32), None
    for text in ("00", "ff"):
        yield f"all {text}", 6, text * 16, text * 9, text * 10, 31, None


VERSION = "00000001"


def headers():
    """Yields (name, payload, destination CID or None, whether the header is long, source CID of a quote or None), all in hex."""
    cid, other = "07c4605e4504cc4f", "2a350d28b42003487d970b"
    longest = "ab" * 255
    yield "empty", "", None, False, None
    yield "short header without CID", "40", None, False, None
    yield "short header with one byte", "4007", "07", False, None
    yield "short header", "4f" + cid + "99" * 20, cid + "99" * 20, False, None
    yield "short header, fixed bit cleared (GREASE)", "0f" + cid, cid, False, None
    yield "DTLS 1.2", "17fefd0001000000000001", "fefd0001000000000001", False, None
    yield "STUN", "000100002112a442" + "11" * 12, "0100002112a442" + "11" * 12, False, None
    yield "only flags", "c0", None, True, None
    yield "version cut", "c0000000", None, True, None
    yield "no CID length", "c0" + VERSION, None, True, None
    yield "CID missing", "c0" + VERSION + "08", None, True, None
    yield "CID cut by a byte", "c0" + VERSION + "08" + cid[:-2], None, True, None
    yield "ends with the CID", "c0" + VERSION + "08" + cid, cid, True, None
    yield "source CID cut", "c0" + VERSION + "08" + cid + "0b" + other[:-2], cid, True, None
    yield "both CIDs", "c0" + VERSION + "08" + cid + "0b" + other, cid, True, other
    yield "CIDs and more", "e3" + VERSION + "08" + cid + "0b" + other + "00" * 30, cid, True, other
    yield "no destination CID", "c0" + VERSION + "00" + "0b" + other, None, True, other
    yield "no source CID", "c0" + VERSION + "08" + cid + "00" + "77" * 9, cid, True, None
    yield "no CIDs", "c0" + VERSION + "0000", None, True, None
    yield "version 2", "d0" + "6b3343cf" + "08" + cid + "0b" + other, cid, True, other
    yield "version negotiation", "80" + "00000000" + "08" + cid + "0b" + other + VERSION, cid, True, other
    yield "long header, fixed bit cleared", "80" + VERSION + "08" + cid + "0b" + other, cid, True, other
    yield "unknown version, longest CIDs", "ff" + "faceb00c" + "ff" + longest + "ff" + longest, longest, True, longest
    yield "longest CID cut", "ff" + "faceb00c" + "ff" + longest[:-2], None, True, None
    yield "longest source CID cut", "ff" + "faceb00c" + "ff" + longest + "ff" + longest[:-2], longest, True, None
    yield "two packets in a datagram", ("c0" + VERSION + "08" + cid + "00" + "00" + "4001" + "55") * 2, cid, True, None
