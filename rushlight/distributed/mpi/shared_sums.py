"""Sums among the processes of one host through memory that all of them map, in place of MPI's messages.

An array goes in chunks: each process lays one out, times a factor, in a slot of its own memory, and says so by a counter; then it
adds the slots of all, in the order of ranks, into its own array. That is two passes over the array, where MPI copies what
another process has and adds it in passes of its own. While a chunk is added the next one has been laid out. Floating-point numbers
are laid out and added by code of `streaming.py`, others by NumPy.

A slot is free again when all have added what was in it. No word is needed for that: a process lays chunk k out after it
has added chunk k - 2, for which it has seen chunk k - 2 of all others, and those had added chunk k - 4 by then. So four slots do.

Several arrays go as one, each from its own memory and back into it; in a chunk each begins at a cache line.

Each chunk has a label, a checksum of the call in words: processes that make different calls never add each other's numbers.
"""

from __future__ import annotations

import mmap
import os
import platform
import secrets
import sys
import time
import zlib
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...backend.onednn.address import address, addresses
from ..errors import DistBackendError
from ..reduce_op import silence
from .streaming import ADDED, ALIGNED, Layout, step_of

if TYPE_CHECKING:
    from .wire import Call, Wire

__all__ = ["SharedSums"]

# Bytes of an array from which on MPI's message takes longer. By code of `streaming.py` an `all_reduce` of 4 bytes to 2 KB takes 0.75 of
# its time (10 us of 13, Zen 4); by NumPy one of 2 KB takes 1.25.
_LEAST_BYTES = {"f": 1, "d": 1}
_LEAST_BY_NUMPY = 1 << 12
_SLOTS = 4
_CHUNK_BYTES = 1 << 19
_PAGE = 1 << 12  # in front of the slots: the token, the counter, and a label for each slot
_SIZE = _PAGE + _SLOTS * _CHUNK_BYTES
_TOKEN, _COUNTER, _LABELS = 0, 8, 16  # in numbers of 8 bytes, a cache line each
_LAYOUT = Layout(8 * _COUNTER, 8 * _LABELS, _PAGE, _CHUNK_BYTES, _SLOTS)
_ROW_BYTES = 16  # of a table of what a step lays out or adds
_SPINS = 2000  # looks before the processor is given away
_TICK_S = 0.2
_DIFFERENT_S = 5.0  # until the others have told which calls they make
_MOST_PROCESSES = 4  # each reads what all others have laid out


class SharedSums:
    """The memory of a wire's processes. `make` gives None where they cannot share any, in all of them alike."""

    def __init__(self, wire: Wire, maps: list[mmap.mmap]):
        self._wire, self._done = wire, 0  # of chunks
        self._words = [memoryview(m)[:_PAGE].cast("q") for m in maps]
        self._slots = [
            [np.frombuffer(m, np.uint8, _CHUNK_BYTES, _PAGE + i * _CHUNK_BYTES) for m in maps] for i in range(_SLOTS)
        ]
        self._steps: dict[tuple[np.dtype, bool], Callable[..., int] | None] = {}
        self._bases = np.array([address(np.frombuffer(m, np.uint8)) for m in maps], np.int64)
        self._at = address(self._bases)
        row = np.zeros(2, np.int64)  # the table of a sum of one array: where it is, and its size
        self._row, self._row_at = row.data, address(row)

    @staticmethod
    def takes(dtype: np.dtype, size_bytes: int) -> bool:
        """Whether arrays of a type and, together, a size are to go this way. All processes find the same."""
        return size_bytes >= _LEAST_BYTES.get(dtype.char, _LEAST_BY_NUMPY)

    @classmethod
    def make(cls, wire: Wire, call: Call, is_local: bool) -> SharedSums | None:
        """Map the memory of all, within a call that all of them make."""
        token = secrets.randbits(62)
        descriptor = _memory() if is_local and _is_possible(wire.size) else -1
        try:
            told = wire.all_gather(call, np.array([os.getpid(), descriptor, token], np.int64))
            maps = _mapped(told, wire.rank, descriptor, token) if descriptor >= 0 else []
            wire.barrier(call)  # all have written their token
            votes = wire.all_gather(call, np.array([_are_those_of(maps, told)], np.int8))
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        return cls(wire, maps) if votes.all() else None

    def sum(self, call: Call, arrays: list[np.ndarray], factor: float) -> None:
        """The sums over the processes of arrays times their factors, in the arrays' memory: of one type, flat and contiguous.

        Raises DistBackendError where another process has died, makes another call, or does not come in time.
        """
        label, dtype = zlib.crc32(call.note, zlib.crc32(call.key)), arrays[0].dtype
        step = self._step(dtype, factor != 1)
        if step is not None and len(arrays) == 1 and arrays[0].nbytes <= _CHUNK_BYTES:
            self._row[0], self._row[1] = address(arrays[0]), arrays[0].size
            number, self._done = self._done, self._done + 1
            self._run_step(call, step, (self._row_at, 1), (self._row_at, 1), number, number, label, factor)
            return
        plan = _plan(tuple([array.size for array in arrays]), dtype.itemsize)
        label ^= plan.checksum
        if step is not None:
            self._sum_by_code(call, step, plan, arrays, factor, label)
            return
        with silence():
            self._sum_by_numpy(call, plan, arrays, factor, label)

    def _sum_by_numpy(self, call: Call, plan: Plan, arrays: list[np.ndarray], factor: float, label: int) -> None:
        chunks = [[(arrays[i][begin:end], at) for i, begin, end, at in chunk] for chunk in plan.chunks]
        factor = arrays[0].dtype.type(factor)
        self._lay_out(chunks[0], factor, label)
        for before, chunk in pairwise(chunks):
            self._lay_out(chunk, factor, label)
            self._add(call, before, self._done - 2, label)
        self._add(call, chunks[-1], self._done - 1, label)

    def _step(self, dtype: np.dtype, keep: bool) -> Callable[..., int] | None:
        kind = dtype, keep
        if kind not in self._steps:
            self._steps[kind] = step_of(dtype, self._wire.size, self._wire.rank, keep, _LAYOUT)
        return self._steps[kind]

    def _sum_by_code(
        self, call: Call, step: Callable[..., int], plan: Plan, arrays: list[np.ndarray], factor: float, label: int
    ) -> None:
        """Write each chunk for the others before the one ahead of it is added."""
        begins = addresses(arrays)
        table = np.array([number for at, n, i in plan.rows for number in (begins[i] + at, n)], np.int64)
        at, first = address(table), self._done
        self._done += len(plan.parts)
        if len(plan.parts) == 1:
            row = at, len(plan.rows)
            self._run_step(call, step, row, row, first, first, label, factor)
            return
        rows = [(at + _ROW_BYTES * begin, end - begin) for begin, end in plan.parts]
        for number, (added, laid) in enumerate(pairwise([(at, 0), *rows, (at, 0)]), first):
            self._run_step(call, step, laid, added, number, number - 1, label, factor)

    def _run_step(
        self,
        call: Call,
        step: Callable[..., int],
        laid: tuple[int, int],
        added: tuple[int, int],
        number: int,
        awaited: int,
        label: int,
        factor: float,
    ) -> None:
        """Write rows for the others and add theirs: each an address of a table, and how many rows it has."""
        if step(self._at, *laid, number, *added, awaited, label, factor) != ADDED:
            self._await_all(call, awaited, label)
            step(self._at, added[0], 0, number, *added, awaited, label, factor)

    def _lay_out(self, pieces: list[tuple[np.ndarray, int]], factor: Any, label: int) -> None:
        slot, words = self._done % _SLOTS, self._words[self._wire.rank]
        for piece, at in pieces:
            np.multiply(piece, factor, out=self._part(slot, self._wire.rank, piece, at))
        words[_LABELS + slot] = label
        self._done += 1
        words[_COUNTER] = self._done

    def _part(self, slot: int, rank: int, like: np.ndarray, at: int) -> np.ndarray:
        return self._slots[slot][rank][at : at + like.nbytes].view(like.dtype)

    def _add(self, call: Call, pieces: list[tuple[np.ndarray, int]], number: int, label: int) -> None:
        self._await_all(call, number, label)
        for piece, at in pieces:
            parts = [self._part(number % _SLOTS, rank, piece, at) for rank in range(self._wire.size)]
            np.add(parts[0], parts[1], out=piece)
            for part in parts[2:]:
                np.add(piece, part, out=piece)

    def _await_all(self, call: Call, number: int, label: int) -> None:
        """Until all have laid a chunk of this call out. Raises DistBackendError where one makes another call."""
        for rank, words in enumerate(self._words):
            if words[_COUNTER] <= number:
                self._wait(call, words, number)
            if words[_LABELS + number % _SLOTS] != label:
                self._differs(call, rank)

    def _wait(self, call: Call, words: memoryview, number: int) -> None:
        """Until a process has laid a chunk out."""
        for _ in range(_SPINS):
            if words[_COUNTER] > number:
                return
        begun = looked = time.monotonic()
        deadline = begun + call.timeout.total_seconds()
        while words[_COUNTER] <= number:
            if self._wire.in_background():
                time.sleep(0.0001)
            else:
                os.sched_yield()
            now = time.monotonic()
            if now - looked > _TICK_S:
                if looked == begun:
                    call.announce()
                looked = now
                if self._wire.check_peers(call, deadline, lambda: words[_COUNTER] > number):
                    return

    def _differs(self, call: Call, rank: int) -> None:
        call.announce()
        deadline = time.monotonic() + _DIFFERENT_S
        while time.monotonic() < deadline:
            self._wire.check_peers(call, deadline, lambda: False)
            time.sleep(0.01)
        other = self._wire.members[rank]
        raise DistBackendError(
            f"process {other} makes another call than {call.text()} of process {self._wire.mesh.rank}"
        )


class Plan(NamedTuple):
    """How arrays of some sizes travel, one after the other, in chunks.

    chunks: of each, (which array, its elements from, to, their place in the chunk in bytes). rows: the same as (bytes from the
    array's beginning, count of numbers, which array); parts: which rows each chunk has. checksum: of the sizes; 0 for a single
    array.
    """

    chunks: list[list[tuple[int, int, int, int]]]
    rows: list[tuple[int, int, int]]
    parts: list[tuple[int, int]]
    checksum: int


@lru_cache(1024)
def _plan(sizes: tuple[int, ...], item_bytes: int) -> Plan:
    chunks: list[list[tuple[int, int, int, int]]] = [[]]
    at = 0
    for i, size in enumerate(sizes):
        begin = 0
        while begin < size:
            count = min(size - begin, (_CHUNK_BYTES - at) // item_bytes)
            if not count:
                chunks.append([])
                at = 0
                continue
            chunks[-1].append((i, begin, begin + count, at))
            begin += count
            at = -(-(at + count * item_bytes) // ALIGNED) * ALIGNED
    pieces = [piece for chunk in chunks for piece in chunk]
    ends = [*accumulate(map(len, chunks))]
    rows = [(begin * item_bytes, end - begin, i) for i, begin, end, _ in pieces]
    checksum = zlib.crc32(repr(sizes).encode()) if len(sizes) > 1 else 0
    return Plan(chunks, rows, [*pairwise([0, *ends])], checksum)


def _is_possible(processes: int) -> bool:
    """Here counters and numbers are seen by others in the order in which they were written, as only x86 promises."""
    return (
        sys.platform == "linux"
        and platform.machine() in ("x86_64", "AMD64")
        and hasattr(os, "memfd_create")
        and processes <= min(_MOST_PROCESSES, os.cpu_count() or 1)
    )


def _memory() -> int:
    """The descriptor of memory without a name, which goes with the last process that maps it; -1 where there is none."""
    descriptor = -1
    try:
        descriptor = os.memfd_create("rushlight-sums")
        os.ftruncate(descriptor, _SIZE)
    except OSError:
        if descriptor >= 0:
            os.close(descriptor)
        return -1
    return descriptor


def _mapped(told: np.ndarray, rank: int, descriptor: int, token: int) -> list[mmap.mmap]:
    """The memory of each process, as they have told; none where one of them cannot be reached."""
    maps = []
    try:
        for i, (pid, theirs, _) in enumerate(told.tolist()):
            opened = descriptor if i == rank else os.open(f"/proc/{pid}/fd/{theirs}", os.O_RDWR)
            try:
                maps.append(mmap.mmap(opened, _SIZE))
            finally:
                if i != rank:
                    os.close(opened)
        memoryview(maps[rank])[:_PAGE].cast("q")[_TOKEN] = token
    except (OSError, ValueError):
        return []
    return maps


def _are_those_of(maps: list[mmap.mmap], told: np.ndarray) -> bool:
    """Whether each memory is that of the process that has told: numbers of processes may mean others in a container."""
    return len(maps) == len(told) and all(
        memoryview(m)[:_PAGE].cast("q")[_TOKEN] == token for m, token in zip(maps, told[:, 2].tolist(), strict=True)
    )
