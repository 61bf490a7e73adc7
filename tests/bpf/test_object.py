# SPDX-License-Identifier: BSD-3-Clause
"""The compiled program uses only helpers and instructions that Linux 5.10 has."""

import struct

from support.tree import REDIRECT_OBJECT

NEWEST_HELPER = 155  # of Linux 5.10: bpf_redirect_peer
# Called only if settings.frags is set. Otherwise the verifier removes these calls before it looks at them.
HELPERS_OF_FRAGS = {188, 189}  # Linux 5.18: bpf_xdp_get_buff_len, bpf_xdp_load_bytes
CALL, PSEUDO_CALL = 0x85, 1
LOAD_IMMEDIATE, MAP_VALUE = 0x18, 2
CLASS_MASK, CLASS_JUMP32, CLASS_STORE, MODE_ATOMIC = 0x07, 0x06, 0x03, 0xC0


def code_sections():
    """The bytes of the ELF file's executable sections."""
    elf = REDIRECT_OBJECT.read_bytes()
    at, size, count = struct.unpack_from("<Q10xHH", elf, 40)
    for number in range(count):
        flags, _, offset, length = struct.unpack_from("<QQQQ", elf, at + number * size + 8)
        if flags & 4:
            yield elf[offset : offset + length]


def instructions():
    for code in code_sections():
        wide = False
        for opcode, registers, _, immediate in struct.iter_unpack("<BBhi", code):
            if not wide:
                yield opcode, registers >> 4, immediate
            wide = opcode == LOAD_IMMEDIATE and not wide


def test_helpers_are_old_enough():
    helpers = {imm for opcode, source, imm in instructions() if opcode == CALL and source == 0}
    # Lookup of maps, random numbers, bytes of packets, redirect, checksums, adjust_head, adjust_meta, adjust_tail, routes, UDP and TCP sockets,
    # release, SYN cookies, checksum level, the kernel's sockets in TIME_WAIT and SYN_RECV.
    assert helpers == {1, 12, 7, 9, 23, 26, 28, 44, 54, 65, 69, 85, 86, 99, 100, 110, 135, 138, 139} | HELPERS_OF_FRAGS
    assert max(helpers - HELPERS_OF_FRAGS) <= NEWEST_HELPER
    sources = {source for opcode, source, _ in instructions() if opcode == CALL}
    assert sources <= {0, PSEUDO_CALL}  # no kernel functions


def test_instructions_are_those_of_the_second_set():
    opcodes = {opcode for opcode, _, _ in instructions()}
    assert not [hex(o) for o in opcodes if o & CLASS_MASK == CLASS_JUMP32]
    assert not [hex(o) for o in opcodes if o & CLASS_MASK == CLASS_STORE and o & 0xE0 == MODE_ATOMIC]
    loads = {source for opcode, source, _ in instructions() if opcode == LOAD_IMMEDIATE}
    assert loads <= {0, 1, MAP_VALUE}
