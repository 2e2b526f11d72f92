"""Memory for the values that live only within a run of a program.

A function compiled by name has its own, so that threads may run two of them at once. The programs that a thread's
ordinary loop is given (`Graph.as_eager`) share one: together they need as much as the largest, whose run, as a rule, is
the only one. A run within a run (a kernel in Python that calls a module) puts back what it found there.
"""

from __future__ import annotations

import mmap
import sys
import threading
from _thread import RLock
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from ...backend.onednn.address import ALIGNMENT_BYTES, address, aligned
from ...core.locks import lock

__all__ = ["Arena", "own", "shared"]

_RESERVED_BYTES = 1 << 34  # of addresses: the system gives memory for what is written
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # Linux's; Python names it from 3.13 on


class Arena:
    """address: of its first byte, on a multiple of ALIGNMENT_BYTES; size_bytes: room from there on.

    lock: for whoever runs a program in it; in_use: the bytes that the run under way may have written, else 0.
    """

    def __init__(self, memory: np.ndarray, give_back: Callable[[int], None] | None = None):
        self.memory = memory
        self.address = aligned(address(memory))
        self.start = self.address - address(memory)  # in `memory`
        self.size_bytes = memory.size - self.start
        self.lock = lock(RLock)
        self.in_use = 0
        self._give_back = give_back  # what is beyond so many bytes
        self._programs: dict[Any, int] = {}  # by weak references

    def part(self, size_bytes: int) -> np.ndarray:
        """Its first bytes."""
        return self.memory[self.start : self.start + size_bytes]

    def serve(self, program: Any, size_bytes: int) -> None:
        """Have room for a program as long as that lives. What only larger ones have used then goes back to the system."""
        if self._give_back is None:
            return
        me = ref(self)  # or it would live until the garbage collector comes

        def gone(key: Any) -> None:
            arena = me()
            if arena is not None:
                arena._lost(key)

        self._programs[ref(program, gone)] = size_bytes

    def _lost(self, key: Any) -> None:
        most, self._programs = max(self._programs.values()), {k: n for k, n in self._programs.items() if k is not key}
        left = max(self._programs.values(), default=0)
        if left < most and self._give_back is not None:
            self._give_back(self.start + left)


def own(size_bytes: int) -> Arena:
    """One for a single program."""
    return Arena(np.empty(size_bytes + ALIGNMENT_BYTES, np.uint8))


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.latest: Callable[[], Arena | None] = lambda: None


_of_thread = _OfThread()


def shared(size_bytes: int) -> Arena:
    """The one of this thread's loops, or a new one where that is too small. It lives as long as one of its programs."""
    arena = _of_thread.latest()
    if arena is None or arena.size_bytes < size_bytes:
        arena = _reserved(max(_RESERVED_BYTES, size_bytes + ALIGNMENT_BYTES)) or own(size_bytes)
        _of_thread.latest = ref(arena)
    return arena


def _reserved(size_bytes: int) -> Arena | None:
    """Addresses without memory; None where the system has no such thing, or a limit forbids it."""
    if sys.platform != "linux":
        return None
    try:
        room = mmap.mmap(-1, size_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
        room.madvise(mmap.MADV_HUGEPAGE)
    except (OSError, ValueError):
        return None

    page, unneeded = mmap.PAGESIZE, mmap.MADV_DONTNEED  # names of a module are gone when the interpreter ends

    def give_back(kept: int) -> None:
        room.madvise(unneeded, -(-kept // page) * page)

    return Arena(np.frombuffer(room, np.uint8), give_back)
