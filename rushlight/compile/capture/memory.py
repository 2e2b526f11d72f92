"""Which value is at an address: how a capture knows a tensor again, whatever alias or view it meets it through.

A `Region` is a dense piece of memory and the value that it holds now; a write gives it a new value. What was there before
the capture is kept alive. What is made inside is forgotten when it is freed: until then no address is used twice, so that
memory is a name.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left, bisect_right, insort
from typing import Any

import numpy as np

from ...core.locks import lock
from ...core.tensor.storage import address_of
from ...core.tensor.strides import element_strides
from ...core.tensor.tensor import Tensor
from ..ir.graph import Ref, Value, is_dense
from .sources import Argument, CaptureError, External, Gradient, Window, extent


class Region:
    """A dense piece of memory: its place, its present value, and where it comes from (None: made inside)."""

    __slots__ = ("start", "end", "value", "first", "source", "writes", "unseen", "keep", "line")

    def __init__(self, start: int, end: int, value: Value, source: Any, keep: Any, line: Any = None):
        self.start, self.end = start, end
        self.value = self.first = value
        self.source, self.keep, self.line = source, keep, line
        self.writes = self.unseen = 0  # unseen: those of the writes that count no version

    def ref(self, a: np.ndarray) -> Ref:
        """The window onto the present value that an array in this memory shows."""
        return Ref(self.value, a.shape, element_strides(a), (address_of(a) - self.start) // a.itemsize)

    def renew(self) -> Value:
        """A new value for the memory, which is about to be written."""
        old = self.value
        self.value = Value(old.shape, old.dtype, old.strides, old.name)
        self.writes += 1
        return self.value


def value_of(a: np.ndarray, name: str = "") -> Value:
    """A value with an array's geometry if that is dense, else one axis over all of its extent."""
    strides = element_strides(a)
    if is_dense(a.shape, strides):
        return Value(a.shape, a.dtype, strides, name)
    low, high = extent(a)
    return Value(((high - low) // a.itemsize,), a.dtype, None, name)


def owner_of(a: Any) -> np.ndarray | None:
    """The array that frees the memory of `a` when it dies; None where something else does."""
    while True:
        base = getattr(a, "base", None)
        if base is None:
            return a if isinstance(a, np.ndarray) and a.flags.owndata else None
        a = base


class Memory:
    """The regions of one capture."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.regions: dict[int, Region] = {}
        self.reinterpreted: list[
            Region
        ] = []  # memory of other regions, seen as another type or shared in part; never written
        self.freed: list[Region] = []  # to be forgotten by the next question: the collector may free an array amid one

    def find(self, a: np.ndarray) -> Region | None:
        """The region that contains an array, None where there is none or only in part."""
        self._forget_freed()
        low, high = extent(a)
        i = bisect_right(self.starts, low) - 1
        region = self.regions[self.starts[i]] if i >= 0 else None
        inside = region is not None and high <= region.end and (low - region.start) % a.itemsize == 0
        if region is not None and inside and region.value.dtype == a.dtype:
            return region
        return next(
            (r for r in self.reinterpreted if r.start <= low and high <= r.end and r.value.dtype == a.dtype), None
        )

    def add(self, a: np.ndarray, source: Any = None, line: Any = None) -> Region:
        """A region for an array that no region contains."""
        low, high = extent(a)
        value = value_of(a)
        region = Region(low, high, value, source, a, line)
        owner = None if source is not None else owner_of(a)
        if owner is not None:
            region.keep = weakref.ref(owner, lambda _: self.freed.append(region))
        before = self.find_any(low)
        if (before is not None and before.end > low) or any(s < high for s in self._inside(low, high)):
            self.reinterpreted.append(region)
            return region
        insort(self.starts, low)
        self.regions[low] = region
        return region

    def _forget_freed(self) -> None:
        """Their memory may be used again."""
        while self.freed:
            region = self.freed.pop()
            if self.regions.get(region.start) is region:
                del self.regions[region.start]
                del self.starts[bisect_left(self.starts, region.start)]
            else:
                self.reinterpreted.remove(region)

    def _inside(self, low: int, high: int) -> list[int]:
        i = bisect_right(self.starts, low)
        before = self.starts[i - 1 : i]
        return [s for s in self.starts[i : i + 1] if s < high] + [s for s in before if self.regions[s].end > low]

    def all(self) -> list[Region]:
        self._forget_freed()
        return [*self.regions.values(), *self.reinterpreted]

    def check_write(self, region: Region) -> None:
        """Refuse a write to memory that is also known as part of another region."""
        self._forget_freed()
        for r in self.reinterpreted:
            if region is r or (r.start < region.end and region.start < r.end):
                raise CaptureError(
                    "in-place write to a tensor whose memory is also used as part of another tensor, or as another dtype; "
                    "clone() one of them before the call"
                )

    def check_unwritten(self, region: Region) -> None:
        """Refuse memory from outside that was written already through another region."""
        for r in self.all():
            if r.writes and r.start < region.end and region.start < r.end:
                raise CaptureError(
                    "a tensor is read after its memory was written through another tensor that overlaps it; make both "
                    "views of one tensor, inside the compiled function"
                )

    def find_any(self, address: int) -> Region | None:
        """The region that begins at an address or is the next one below."""
        self._forget_freed()
        i = bisect_right(self.starts, address) - 1
        return self.regions[self.starts[i]] if i >= 0 else None


# Held from before a recorder looks at all tensors until it is forgotten: it keeps other threads' tensors alive, which
# another recorder would find kept where its program could not put them.
recording = lock()
# What is recorded may wait for a thread that waits to record: that one goes on without, the longer the later.
PATIENCE_S = 10.0


_SHARED = "a global, closure or module tensor shares memory with an argument; clone() one of them before the call"


class Existing:
    """The tensors that were there before the capture began, by their memory, and the gradients among them."""

    def __init__(self, tensors: list[Tensor], arguments: list):
        own, self.leaves = {id(t) for t in arguments}, arguments
        self.arguments = {id(t): i for i, t in reversed(list(enumerate(arguments))) if isinstance(t, Tensor)}
        self.tensors = tensors
        self.arrays = {id(t): t._array for t in tensors}  # kept alive: no address may be used again
        self.known = {id(t) for t in tensors}
        self.aliased: list[Tensor] = []  # of which there are aliases without history
        self.parts: dict[int, tuple[Any, Tensor]] = {}  # sources that are used as parts of another tensor, and that one
        self.grads = [(t, t._grad) for t in tensors if t._grad is not None or t._edge is not None]
        self.owner = {id(g): t for t, g in self.grads if g is not None}
        places = [(*extent(t._array), t) for t in tensors if t._array.size and id(t) not in own]
        places.sort(key=lambda p: p[:2])
        self.starts: list[int] = []
        self.groups: list[tuple[int, list[Tensor]]] = []  # (end, tensors) of memory that hangs together
        for low, high, t in places:
            if self.groups and low < self.groups[-1][0]:
                end, members = self.groups[-1]
                members.append(t)
                self.groups[-1] = max(end, high), members
            else:
                self.starts.append(low)
                self.groups.append((high, [t]))

    def source_of(self, t: Tensor) -> Any:
        """The source of a tensor that existed."""
        if id(t) in self.arguments:
            return Argument(self.arguments[id(t)])
        owner = self.owner.get(id(t))
        return External(t) if owner is None else Gradient(self.source_of(owner))

    def region_for(self, t: Tensor, memory: Memory) -> Region | None:
        """The region of existing memory that contains `t`, None where there is none."""
        a = t._array
        low, high = extent(a)
        i = bisect_right(self.starts, low) - 1
        if i < 0 or self.groups[i][0] < high:
            return None
        start, (end, members) = self.starts[i], self.groups[i]
        members = [t, *members] if id(t) in self.known else members
        whole = next((m for m in members if extent(self.arrays[id(m)]) == (start, end)), None)
        if whole is None:
            raise CaptureError(
                "tensors that the function uses overlap in memory, and none of them covers all of it; pass the tensor "
                "that they are views of, or clone() them"
            )
        array = self.arrays[id(whole)]
        if memory.find(array) is not None:
            raise CaptureError(_SHARED)
        region = add_source(memory, array, self.source_of(whole))
        self.note_use(t, region)
        return region

    def note_use(self, t: Tensor, region: Region) -> None:
        """A tensor is used as what it is in a region: a program goes on only while it is in the same place of that memory."""
        if id(t) not in self.known or id(t) in self.arguments:
            return
        whole = region.source.source if isinstance(region.source, Window) else region.source
        if isinstance(whole, Argument) and isinstance(self.leaves[whole.index], Tensor):
            raise CaptureError(_SHARED)
        source = self.source_of(t)
        if (
            isinstance(whole, External)
            and whole.held is not t
            and not isinstance(getattr(source, "of", None), Argument)
        ):
            self.parts[id(t)] = source, whole.held

    def note_aliased(self, memory: Memory) -> None:
        """Note what the tensors of which there are aliases are parts of, now that it is known what is used."""
        for t in self.aliased:
            region = memory.find(t._array) if t._array.size else None
            if region is not None:
                self.note_use(t, region)


def add_source(memory: Memory, a: np.ndarray, source: Any) -> Region:
    """A region for memory from outside."""
    region = memory.add(a, source)
    if region in memory.reinterpreted:
        memory.check_unwritten(region)
    if not is_dense(a.shape, element_strides(a)):
        region.source = Window(source, region.value.size)
    return region
