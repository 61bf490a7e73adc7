# SPDX-License-Identifier: BSD-3-Clause
"""The tc programs of an interface, asked from the kernel. bpftool of Debian 12 does not know tcx."""

import ctypes
import json
import os
import platform
import socket
import struct

HAS_TCX = tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 6)
TC_PROGRAM = "tcx" if HAS_TCX else "clsact"
SYS_BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
PROG_QUERY, TCX_INGRESS = 16, 46
_libc = ctypes.CDLL(None, use_errno=True)


def _tcx_programs(namespace, interface):
    with namespace:
        index = socket.if_nametoindex(interface)
        attributes = ctypes.create_string_buffer(struct.pack("=IIIIQI", index, TCX_INGRESS, 0, 0, 0, 0) + bytes(60))
        if _libc.syscall(SYS_BPF, PROG_QUERY, attributes, len(attributes)) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return struct.unpack_from("=I", attributes, 24)[0]


def tc_programs(namespace, interface="eth0"):
    """The number of programs on the ingress."""
    filters = json.loads(namespace.run("tc", "-json", "filter", "show", "dev", interface, "ingress").stdout or "[]")
    count = len([each for each in filters if "handle" in each.get("options", {})])
    return count + (_tcx_programs(namespace, interface) if HAS_TCX else 0)
