# SPDX-License-Identifier: BSD-3-Clause
"""Stops single threads of a process."""

import ctypes
import os


class Frozen:
    """A context manager that stops one thread of a process. Its other threads continue."""

    SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17

    def __init__(self, thread):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.thread = thread

    def _ptrace(self, request):
        none = ctypes.c_void_p()
        if self._libc.ptrace(request, self.thread, none, none) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def __enter__(self):
        self._ptrace(self.SEIZE)
        self._ptrace(self.INTERRUPT)
        os.waitpid(self.thread, os.WUNTRACED)

    def __exit__(self, *_):
        self._ptrace(self.DETACH)
