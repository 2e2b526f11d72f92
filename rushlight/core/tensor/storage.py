"""The record that aliases of one piece of memory share.

`detach()`, `.data` and views of a tensor share its `Storage`: the memory and a **version**, raised by every in-place
write. A fresh tensor has none until an alias or a write needs it, so that most calls never pay for one.

An alias made by `.data` has a record, and versions, of its own. What depends on the memory rather than on the record
(a weight that is kept in another layout) asks `state_of`, which knows writes through all records, and also whether
something outside, an ndarray or an address, may write without any.

Time is one counter for the process, `tick()`: a node carries the time it was recorded, a storage the time of its last
write. A value saved by a node is stale exactly when `storage.stamp > node.seq`.
"""

from __future__ import annotations

import sys
from itertools import count
from typing import Any

import numpy as np

from ..device.buffer import outline_of
from ..own_code import is_own_file

tick = count(1).__next__
LATEST = slice(-7, None)  # of a storage's writes: those kept with a new one


class Storage:
    """Memory shared by aliases. Class attributes are the defaults of a record that nothing was written to."""

    version = 0
    stamp = 0
    writes: tuple[tuple[int, Any], ...] = ()  # the latest (stamp, writer) pairs
    views: list | None = None  # weak references to the differentiable views, oldest first
    prune_at = 64
    inference = False
    counted = False  # of an alias of a tensor made in inference mode, which may be written to as in torch
    aliased = False  # whether tensors or storages show the memory that are no views of each other: `resizing.move` looks for them
    resizable = True  # False of a memory that something else than a tensor has made
    former: Content | None = None  # of the memory that the tensor showed before `t.data = ...`
    former_record: Any = None  # a weak reference to that memory's record, whose writes by other aliases count here, too
    content: Content | None = None  # what records of one memory share; None for a memory with one record
    root: np.ndarray

    def wrote(self, writer: Any) -> None:
        """Record an in-place write, made now by `writer`."""
        self.version += 1
        self.stamp = stamp = tick()
        self.writes = (*self.writes[LATEST], (stamp, writer))
        if self.content is not None:
            self.content.stamp, self.content.writer = stamp, writer

    def wrote_unseen(self, writer: Any) -> None:
        """Record a write that is none to backward and counts no version; what depends on the memory hears of it."""
        content = content_of(self)
        content.stamp, content.writer = tick(), writer

    def written_after(self, seq: int) -> Storage | None:
        """The record, this one or one from before a `t.data = ...`, that was written to after time `seq`."""
        record = self
        while record is not None and record.stamp <= seq:
            record = record.former_record and record.former_record()
        return record

    def version_at(self, seq: int) -> int:
        """The version that the memory had at time `seq` (exact while the writes since then are remembered)."""
        return self.version - sum(stamp > seq for stamp, _ in self.writes)

    def first_write_after(self, seq: int) -> Any:
        """Who made the first remembered write after time `seq`."""
        return next((writer for stamp, writer in self.writes if stamp > seq), None)


class _Moves:
    """latest: when a tensor was last given other memory (`t.data = ...`): what was saved later shows what it did then."""

    latest = 0

    def note(self) -> None:
        self.latest = tick()


moves = _Moves()


class Content:
    """What is known of a memory that has several records, or that something else can write.

    stamp, writer: the time of the last write through any record, and who made it. exposed: it was handed out (`numpy()`, `data_ptr()`, DLPack).
    """

    __slots__ = ("exposed", "stamp", "writer")

    def __init__(self, stamp: int, exposed: bool = False):
        self.stamp, self.exposed = stamp, exposed
        self.writer: Any = None


_EXPOSED = Content(0, exposed=True)

_new = object.__new__


def content_of(s: Storage) -> Content:
    """What the record shares with others of its memory, made on first need."""
    if s.content is None:
        s.content = Content(s.stamp)
    return s.content


def expose(t: Any) -> None:
    """Note that a tensor's memory is handed out to something that may write it without a version."""
    s = t._storage or storage_of(t)
    if s.content is None:
        s.content = _EXPOSED  # no object for each array that a program reads by `numpy()`
    else:
        s.content.exposed = True


def private_storage(s: Storage, version: int = 0) -> Storage:
    """A record of its own, at `version`, for another alias of the same memory."""
    other = _new(Storage)
    other.root, other.version, other.content = s.root, version, content_of(s)
    s.aliased = other.aliased = True
    if not s.resizable:
        other.resizable = False
    return other


def state_of(t: Any) -> tuple[np.ndarray, Storage, int] | None:
    """What is the same later only if a tensor shows the same memory and nothing has written there meanwhile.

    None where that cannot be known: memory that was handed out or that came from outside.
    """
    s = t._storage or storage_of(t)
    content = s.content
    if content is None:
        return t._array, s, s.stamp
    return None if content.exposed else (t._array, s, content.stamp)


def is_own(array: np.ndarray) -> bool:
    """Whether an array's memory was allocated by NumPy: not mapped, shared with other processes, or another library's."""
    while type(array.base) is np.ndarray:
        array = array.base
    return type(array) is np.ndarray and array.flags.owndata


def storage_of(t: Any) -> Storage:
    """The storage record of a tensor, made on first need."""
    s = t._storage
    if s is None:
        s = t._storage = _new(Storage)
        s.root = t._array
    return s


def shared_storage(t: Any) -> Storage:
    """The storage record of a tensor for another tensor or a storage that shows its memory, and is no view of it."""
    s = t._storage or storage_of(t)
    s.aliased = True
    return s


def address_of(array: Any) -> int:
    """The address of the array's first element; for one on another device an address that represents it."""
    return outline_of(array).__array_interface__["data"][0]


def user_line(depth: int = 1) -> tuple[Any, int] | None:
    """(code, instruction offset) of the innermost frame outside this package: cheap to take, resolved by `describe`."""
    frame = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        if not is_own_file(code.co_filename):
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def user_lines(depth: int = 1) -> list[str]:
    """'file.py(12): function' of each frame outside this package, the innermost first."""
    frame, lines = sys._getframe(depth), []
    while frame is not None:
        code = frame.f_code
        if not is_own_file(code.co_filename):
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines


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
