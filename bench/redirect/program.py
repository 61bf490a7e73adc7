# SPDX-License-Identifier: BSD-3-Clause
"""Runs XDP programs in the kernel on a frame, again and again (BPF_PROG_TEST_RUN). Needs root."""

import ctypes
import json
import os
import re
import struct
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
MAP_LOOKUP, MAP_UPDATE, TEST_RUN, PROG_FD, MAP_FD = 1, 2, 10, 13, 14  # commands of bpf(2)
FRAME_MOST = 4096
OBJECTS, MAPS = "/sys/fs/bpf/bench", "/sys/fs/bpf/bench-maps"
HELPERS = ("tcp", "udp", "prefixes", "route", "checksum", "strip", "mark")
SAVED, SUMMED = 256, 512  # bytes, as in programs.bpf.c
_libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    """bpf(2). Returns its result and the attributes after it."""
    buffer = ctypes.create_string_buffer(attributes, 128)
    result = _libc.syscall(SYS_BPF, command, buffer, len(buffer))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result, buffer.raw


def by_id(command, number):
    return bpf(command, struct.pack("=I124x", number))[0]


class Map:
    def __init__(self, number):
        self.fd = by_id(MAP_FD, number)

    def _call(self, command, key, value):
        bpf(command, struct.pack("=IIQQQ", self.fd, 0, ctypes.addressof(key), ctypes.addressof(value), 0).ljust(128, b"\0"))

    def put(self, value):
        """Sets the only element of an array."""
        self._call(MAP_UPDATE, ctypes.create_string_buffer(4), ctypes.create_string_buffer(value, len(value)))

    def sums(self, count):
        """The first elements of a per-CPU array of 64-bit counters, each summed over the CPUs."""
        cpus = int(re.findall(r"\d+", Path("/sys/devices/system/cpu/possible").read_text())[-1]) + 1
        found = []
        for index in range(count):
            value = ctypes.create_string_buffer(8 * cpus)
            self._call(MAP_LOOKUP, ctypes.create_string_buffer(struct.pack("=I", index), 4), value)
            found.append(sum(struct.unpack(f"={cpus}Q", value.raw)))
        return found


def shown(namespace, *words):
    return json.loads(namespace.run("bpftool", "-j", *words).stdout)


class Bench:
    """The programs of programs.bpf.c in the network namespace of a host. `lists`: the number of glb-redirect's map."""

    def __init__(self, namespace, interface, build, frags, lists):
        self.namespace = namespace
        self.index = json.loads(namespace.run("ip", "-json", "link", "show", interface).stdout)[0]["ifindex"]
        kind = "frags" if frags else "plain"
        folder, maps = f"{OBJECTS}-{kind}", f"{MAPS}-{kind}"
        namespace.run("bpftool", "prog", "loadall", str(build / f"bench/redirect_programs_{kind}.bpf.o"), folder,
                      "map", "name", "lists", "id", str(lists), "pinmaps", maps)
        self._programs = {name: by_id(PROG_FD, shown(namespace, "prog", "show", "pinned", f"{folder}/{name}")["id"])
                          for name in ("again", "nothing", *HELPERS)}
        self._wanted, self._target = (Map(shown(namespace, "map", "show", "pinned", f"{maps}/{name}")["id"]) for name in ("wanted_map", "target"))

    def want(self, case):
        """Gives the programs the frame and what they look up: struct wanted."""
        saved = case.frame[:SAVED] if len(case.frame) >= SAVED else case.frame[: len(case.frame) // 8 * 8]
        keys = case.keys
        self._wanted.put(
            struct.pack("=8I", len(case.frame), len(saved), case.senders, 0, case.outer, len(case.tuple), case.summed, len(keys))
            + case.tuple.ljust(36, b"\0") + b"".join(keys).ljust(72, b"\0") + case.route.ljust(68, b"\0") + saved.ljust(SAVED, b"\0") + bytes(SUMMED))

    def run(self, program, frame, times):
        """Runs `program`, the name of one or a file descriptor, on the frame. Returns the nanoseconds of a run, and the last XDP action."""
        self._target.put(struct.pack("=I", self._programs.get(program, program)))
        data, out = ctypes.create_string_buffer(frame, len(frame)), ctypes.create_string_buffer(FRAME_MOST)
        context = ctypes.create_string_buffer(struct.pack("=6I", 0, len(frame), 0, self.index, 0, 0), 24)
        layout = "=IIIIQQIIIIQQ"
        attributes = struct.pack(layout, self._programs["again"], 0, len(frame), len(out), ctypes.addressof(data), ctypes.addressof(out),
                                 times, 0, len(context), 0, ctypes.addressof(context), 0)
        with self.namespace:
            after = bpf(TEST_RUN, attributes.ljust(128, b"\0"))[1]
        result = struct.unpack(layout, after[: struct.calcsize(layout)])
        return result[7], result[1]


class Redirect:
    """The program of glb-redirect with certain options. It stays loaded when the interface gets the next one."""

    COUNTERS = re.findall(r'X\([A-Z_0-9]+, "(\w+)"', (TREE / "src/redirect/redirect.h").read_text())

    def __init__(self, namespace, interface, program, *options):
        namespace.run(program, "attach", interface, *options)
        status = json.loads(namespace.run(program, "status", interface, "--json").stdout)[interface]
        self.frags = status["frags"]
        self.fd = by_id(PROG_FD, status["program_id"])
        maps = {each["name"]: each["id"] for number in shown(namespace, "prog", "show", "id", str(status["program_id"]))["map_ids"]
                for each in [shown(namespace, "map", "show", "id", str(number))]}
        self.lists, self._counters = maps["lists"], Map(maps["counters"])
        namespace.run(program, "detach", interface)

    def counted(self):
        return dict(zip(self.COUNTERS, self._counters.sums(len(self.COUNTERS))))
