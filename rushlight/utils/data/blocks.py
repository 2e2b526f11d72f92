"""Shared memory for messages: blocks that one end of a channel writes, the other end maps, and both use again.

A block is an anonymous file in memory. Its descriptor travels once; from then on the block is known by its number.
The file never has a name, so there is nothing to unlink: the kernel frees the memory when the last mapping and
descriptor are gone, however a process ended. A block is written again only after the reader has returned it, which it
does when the last array in it has died. Fresh pages cost more than the copy itself (measured on the 2-core reference
machine, with two workers, per batch of 19 MB: 17 ms with fresh blocks, 8 ms with used ones).
"""

import os
import weakref
from collections import deque

import numpy as np

# Returned blocks that are kept for the next messages, per channel; more are given back to the system.
_IDLE_BLOCKS = 4

_mappings: set[weakref.ref] = set()  # weak references with callbacks in C: a signal handled there would be lost
_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=_count_fork)


class BlockWriter:
    """Makes and fills blocks."""

    def __init__(self) -> None:
        self._idle: dict[int, tuple[int, int]] = {}  # number -> (descriptor, capacity)
        self._lent: dict[int, tuple[int, int]] = {}
        self._made = 0

    def write(self, segments, size_bytes: int) -> tuple[int, int | None]:
        """Write (offset, memory) segments to a block. Returns its number, and its descriptor if the block is new."""
        number = self._smallest_idle(size_bytes)
        is_new = number is None
        if is_new:
            number, self._made = self._made, self._made + 1
            self._idle[number] = _new_file(size_bytes), size_bytes
        descriptor = self._idle[number][0]
        try:
            for offset, memory in segments:
                _write(descriptor, memory, offset)
        except BaseException:  # out of memory, say
            if is_new:
                os.close(self._idle.pop(number)[0])
            raise
        self._lent[number] = self._idle.pop(number)
        return number, descriptor if is_new else None

    def _smallest_idle(self, size_bytes: int) -> int | None:
        fitting = [(capacity, number) for number, (_, capacity) in self._idle.items() if capacity >= size_bytes]
        return min(fitting)[1] if fitting else None

    def take_back(self, number: int, is_kept: bool) -> None:
        """The reader needs a block no longer; it may be written again, or (not is_kept) is no longer mapped there."""
        block = self._lent.pop(number)
        if is_kept:
            self._idle[number] = block
        else:
            os.close(block[0])

    def close(self) -> None:
        for descriptor, _ in [*self._idle.values(), *self._lent.values()]:
            os.close(descriptor)
        self._idle, self._lent = {}, {}


def _new_file(size_bytes: int) -> int:
    descriptor = os.memfd_create("rushlight-batch", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, size_bytes)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _write(descriptor: int, memory: memoryview, offset: int) -> None:
    # Written, not mapped and copied: the kernel fills fresh pages without zeroing and faulting them first.
    while memory.nbytes:
        written = os.pwrite(descriptor, memory, offset)
        memory, offset = memory[written:], offset + written


class _Lent(weakref.ref):
    """A weak reference to an array handed out."""

    __slots__ = ("number",)


class BlockReader:
    """Maps blocks, and notices when nothing uses them any more."""

    def __init__(self) -> None:
        self._mapped: dict = {}  # number -> mapping
        self._lent: dict = {}  # number -> (weak reference to the array handed out, forks at that time)
        self._idle: set[int] = set()
        self._dead: deque[_Lent] = deque()
        self._copied: list[int] = []

    def read(self, number: int, size_bytes: int, descriptor: int | None) -> np.ndarray:
        """The first bytes of a block as an array, on which all that is made of it must be based."""
        if descriptor is not None:
            try:
                if len(_mappings) >= _max_mappings():
                    self._copied.append(number)
                    return _copy(descriptor, size_bytes)
                self._mapped[number] = _map(descriptor)
            finally:
                os.close(descriptor)
        self._idle.discard(number)
        array = np.frombuffer(self._mapped[number], np.uint8, size_bytes)
        lent = _Lent(array, self._dead.append)
        lent.number = number
        self._lent[number] = lent, _forks
        return array

    def returned(self) -> list[tuple[int, bool]]:
        """(number, is_kept) of the blocks that are used no longer, for the writer's `take_back`."""
        blocks = [(number, False) for number in self._copied]
        self._copied.clear()
        while self._dead:
            number = self._dead.popleft().number
            _, forks = self._lent.pop(number)
            # A process that was forked meanwhile may still read the block: its pages are shared, not copied on write.
            is_kept = forks == _forks and len(self._idle) < _IDLE_BLOCKS
            if is_kept:
                self._idle.add(number)
            else:
                del self._mapped[number]
            blocks.append((number, is_kept))
        return blocks

    def close(self) -> None:
        """Forget the blocks; those that arrays use stay mapped as long as the arrays live."""
        self._mapped, self._lent, self._idle = {}, {}, set()


def _map(descriptor: int):
    import mmap

    mapping = mmap.mmap(descriptor, 0)
    _mappings.add(weakref.ref(mapping, _mappings.discard))
    return mapping


def _copy(descriptor: int, size_bytes: int) -> np.ndarray:
    array, offset = np.empty(size_bytes, np.uint8), 0
    while offset < size_bytes:
        offset += os.preadv(descriptor, [array.data[offset:]], offset)
    return array


def _max_mappings() -> int:
    """Each mapping holds a descriptor at both ends; beyond a quarter of what the system allows, blocks are copied."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 16 if soft == resource.RLIM_INFINITY else soft // 4
