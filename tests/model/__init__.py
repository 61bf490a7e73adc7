# SPDX-License-Identifier: BSD-3-Clause
"""The executable specification of GLB Director, see README.md."""

from .config import Config
from .diff import diff
from .director import Director, Result
from .gue import decode_gue
from .siphash import siphash24, siphash24_many
from .table import Backend, Bind, Table, load_tables
from .table_v2 import read_v2, write_v2
from .table_v3 import write_v3

__all__ = [
    "Backend",
    "Bind",
    "Config",
    "Director",
    "Result",
    "Table",
    "decode_gue",
    "diff",
    "load_tables",
    "read_v2",
    "siphash24",
    "siphash24_many",
    "write_v2",
    "write_v3",
]
