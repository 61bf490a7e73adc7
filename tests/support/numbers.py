# SPDX-License-Identifier: BSD-3-Clause
"""Texts that no program may take for a number. Each is wrong for every range up to 65535, or up to 2**32 - 1 for an index."""

BAD_NUMBERS = (
    "-1", "-0", "+80", " 80", "80 ", "\t80", "0x50", "0b1", "1e1", "80.0", "8_0", "080", "00", "eighty", "80x", "8O", "\u0668\u0660",
    "4294967296", "4294967376", "18446744073709551616", "18446744073709551696", "-18446744073709551536", "9" * 40,
)
