"""The record that aliases of one piece of memory share.

`detach()`, `.data` and views of a tensor share its `Storage`: the memory and a **version**, raised by every in-place
write. A fresh tensor has none until an alias or a write needs it, so that most calls never pay for one.

Time is one counter for the process, `tick()`: a node carries the time it was recorded, a storage the time of its last
write. A value saved by a node is stale exactly when `storage.stamp > node.seq`.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

tick = count(1).__next__
_PACKAGE = str(Path(__file__).parent.parent) + "/"
LATEST = slice(-7, None)  # of a storage's writes: those kept beside a new one


class Storage:
    """Memory shared by aliases. Class attributes are the defaults of a record that nothing was written to."""

    version = 0
    stamp = 0
    writes: tuple[tuple[int, Any], ...] = ()  # the latest (stamp, writer) pairs
    views: list | None = None  # weak references to the differentiable views, oldest first
    prune_at = 64
    inference = False
    root: np.ndarray

    def wrote(self, writer: Any) -> None:
        """Record an in-place write, made now by `writer`."""
        self.version += 1
        self.stamp = stamp = tick()
        self.writes = (*self.writes[LATEST], (stamp, writer))

    def version_at(self, seq: int) -> int:
        """The version that the memory had at time `seq` (exact while the writes since then are remembered)."""
        return self.version - sum(stamp > seq for stamp, _ in self.writes)

    def first_write_after(self, seq: int) -> Any:
        """Who made the first remembered write after time `seq`."""
        return next((writer for stamp, writer in self.writes if stamp > seq), None)


_new = object.__new__


def storage_of(t: Any) -> Storage:
    """The storage record of a tensor, made on first need."""
    s = t._storage
    if s is None:
        s = t._storage = _new(Storage)
        s.root = t._array
    return s


def address_of(array: np.ndarray) -> int:
    """The address of the array's first element."""
    return array.__array_interface__["data"][0]


def user_line(depth: int = 1) -> tuple[Any, int] | None:
    """(code, instruction offset) of the innermost frame outside this package: cheap to take, resolved by `describe`."""
    frame = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((_PACKAGE, "<rushlight")):
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def describe(place: Any) -> str:
    """'file.py:12' of what `user_line` returned; a writer that is already a text is returned as it is."""
    if place is None:
        return "an unknown line"
    if isinstance(place, str):
        return place
    code, offset = place
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= offset < end and number is not None:
            line = number
    return f"{code.co_filename}:{line}"
