"""The check build (`RUSHLIGHT_CHECK=1`): memory that a run may not read before it writes is filled first.

Memory is fresh from the system, and so zero, until it has been used. What reads an arena, a scratchpad or a reused
array too early is then right in a short test and wrong in a long run. Fillings take turns: NaN shows in any sum, and 7e5
where NaN is passed over (a maximum, a comparison).
"""

from __future__ import annotations

import os
from itertools import count
from typing import Any

import numpy as np

__all__ = ["GUARD_BYTES", "empty", "fill", "guarded", "intact", "on"]

on = os.environ.get("RUSHLIGHT_CHECK", "0") == "1"
GUARD_BYTES = 4096  # on either side of memory that a library writes
_FILLINGS = (np.full(1, -1, np.int64), np.full(2, 7e5, np.float32).view(np.int64))
_GUARD = 0xA5
_turn = count().__next__


def fill(a: np.ndarray) -> None:
    """Write something into every element of an array that has not been written yet."""
    if not a.size or a.dtype.hasobject:
        return
    flat = a.transpose(sorted(range(a.ndim), key=lambda i: -a.strides[i]))
    if not flat.flags.c_contiguous or not a.flags.writeable:
        return
    memory = flat.reshape(-1).view(np.uint8)
    word = _FILLINGS[_turn() % 2]
    whole = memory.size - memory.size % word.itemsize
    memory[:whole].view(word.dtype)[:] = word  # at the memory's speed; `np.resize` of bytes has a twentieth of it
    memory[whole:] = word.view(np.uint8)[: memory.size - whole]


def empty(shape: Any, dtype: Any) -> np.ndarray:
    """As `np.empty`, filled."""
    a = np.empty(shape, dtype)
    fill(a)
    return a


def guarded(size_bytes: int, alignment: int) -> tuple[np.ndarray, int]:
    """A buffer, and where in it `size_bytes` begin on a multiple of `alignment`, with guards before and after."""
    buffer = np.full(size_bytes + 2 * GUARD_BYTES + alignment, _GUARD, np.uint8)
    return buffer, GUARD_BYTES + -(buffer.ctypes.data + GUARD_BYTES) % alignment


def intact(buffer: np.ndarray, start: int, size_bytes: int) -> bool:
    """Whether nothing has written into the guards."""
    return bool((buffer[:start] == _GUARD).all() and (buffer[start + size_bytes :] == _GUARD).all())
