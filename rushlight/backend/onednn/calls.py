"""`Call`: a primitive with its reorders, made once per signature and then run on raw arrays.

What a call does is to point prepared memory objects at the arrays and to execute. Memory objects are mutable, so each
thread has calls of its own and needs no lock. Measured: 3 us of Python and ctypes around a small primitive with two
arrays, 5 us with four arrays and two reorders.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, Literal

import ml_dtypes
import numpy as np

from ...core import poison
from ...core.foreign import ctypes
from .address import ALIGNMENT_BYTES, DATA, address, aligned, pointer_at
from .blas import leave_cores_to_openmp
from .library import available, check, load, load_holding_lock
from .primitives import (
    BF16,
    DST,
    F32,
    SCRATCHPAD,
    SRC,
    Argument,
    Owned,
    create,
    engine,
    equal,
    reorder_desc,
    size_bytes,
    wanted_desc,
)

__all__ = ["BFLOAT16", "FLOAT32", "Call", "code_of", "start_over", "thread"]

FLOAT32, BFLOAT16 = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)

_CODES = {FLOAT32: F32, BFLOAT16: BF16}
_CAPACITY = 1024
_STREAM_IN_ORDER = 1
_ONE_THREAD_MULTIPLY_ADDS = 2_500_000
_CHECK = poison.on
_empty = poison.empty if _CHECK else np.empty


def code_of(kind: np.dtype) -> int:
    """oneDNN's number of an array's type, one of the two that the kernels here take."""
    return _CODES[kind]


class Call:
    """A primitive between reorders: `call(*arrays)` runs it on contiguous arrays and returns its results.

    inputs: pairs (argument kind, memory descriptor of the caller's array), in the order of the arrays.
    results: tuples (argument kind, memory descriptor, shape, dtype) of the arrays to make; one result comes back as an
        array, several as a tuple. Where the primitive wants another layout than the caller's, the value passes through
        a temporary.
    """

    __slots__ = (
        "_arena",
        "_execute",
        "_kept",
        "_memories",
        "_restore_threads",
        "_results",
        "_set_handle",
        "_set_threads",
        "_steps",
        "_temporaries",
    )

    def __init__(self, desc: Owned, inputs, results):
        self._execute = load().dnnl_primitive_execute
        self._set_handle = load_holding_lock().dnnl_memory_set_data_handle
        self._set_threads = load_holding_lock().omp_set_num_threads
        self._restore_threads = thread.restore_threads
        self._memories: list[int] = []
        self._temporaries: list[tuple[int, int]] = []
        self._kept: list[Any] = [thread.stream()]
        self._results = tuple(result[2:] for result in results)
        arguments, before, after = [], [], []
        for kind, layout in inputs:
            outside, inside, wanted = self._slot(desc, kind, layout)
            arguments.append((kind, inside))
            if inside != outside:
                before.append(self._reorder(layout.value, outside, wanted, inside))
        for kind, layout, *_ in results:
            outside, inside, wanted = self._slot(desc, kind, layout)
            arguments.append((kind, inside))
            if inside != outside:
                after.append(self._reorder(wanted, inside, layout.value, outside))
        arguments.append((SCRATCHPAD, self._temporary(wanted_desc(desc, SCRATCHPAD))))
        self._steps = (*before, self._step(desc, arguments), *after)
        thread.place(self)

    def __call__(self, *inputs: np.ndarray) -> Any:
        results = [_empty(shape, dtype) for shape, dtype in self._results]
        set_handle = self._set_handle
        if _CHECK:
            poison.fill(self._arena)
        for memory, array in zip(self._memories, (*inputs, *results), strict=True):
            set_handle(memory, pointer_at(id(array) + DATA).value)
        try:
            if self._restore_threads:
                self._set_threads(1)
            for step in self._steps:
                status = self._execute(*step)
                if status:
                    check(status, "dnnl_primitive_execute")
        finally:
            if self._restore_threads:
                self._set_threads(self._restore_threads)
        return results[0] if len(results) == 1 else tuple(results)

    def _slot(self, desc: Owned, kind: int, layout: Owned):
        """(memory for the caller's array, memory for the primitive, the primitive's layout)."""
        wanted = wanted_desc(desc, kind)
        outside = self._memory(layout.value)
        self._memories.append(outside)
        inside = outside if not wanted or equal(wanted, layout.value) else self._temporary(wanted)
        return outside, inside, wanted

    def _memory(self, layout: int) -> int:
        memory = create("memory", layout, engine(), None)
        self._kept.append(memory)
        return memory.value

    def _temporary(self, layout: int) -> int:
        memory = self._memory(layout)
        self._temporaries.append((memory, size_bytes(layout)))
        return memory

    def _reorder(self, source_layout: int, source: int, target_layout: int, target: int):
        desc = reorder_desc(source_layout, target_layout)
        return self._step(desc, ((SRC, source), (DST, target)))

    def _step(self, desc: Owned, arguments):
        """The arguments of dnnl_primitive_execute."""
        primitive = create("primitive", desc.value)
        table = (Argument * len(arguments))(*arguments)
        self._kept += (primitive, table)
        return primitive.value, self._kept[0].value, len(arguments), ctypes.addressof(table)

    def temporary_bytes(self) -> int:
        """Memory needed during the call, besides the arrays."""
        return sum(aligned(size) for _, size in self._temporaries)

    def move_temporaries(self, arena: np.ndarray) -> None:
        """Put the temporaries one after another into `arena`, and keep it alive."""
        self._arena = arena
        start = aligned(address(arena))
        for memory, size in self._temporaries:
            if size:
                check(self._set_handle(memory, start), "dnnl_memory_set_data_handle")
                start += aligned(size)


class _Thread(threading.local):
    """What a thread owns: its calls by signature, their stream, and one arena for the temporaries of all.

    Temporaries live only during a call, so the arena is as large as the neediest call; it stays for later calls.
    """

    def __init__(self):
        self.calls: dict[tuple, Call | Literal[False]] = {}
        self.restore_threads = 0
        self._stream: Owned | None = None
        self._arena = np.empty(0, np.uint8)

    def make(self, signature: tuple, build: Callable[..., Call | None]) -> Call | Literal[False]:
        """The call that build(*signature[1:]) makes, kept for next time; False where oneDNN cannot serve."""
        if len(self.calls) >= _CAPACITY:
            self.calls.clear()
        call = build(*signature[1:]) if available() else None
        self.calls[signature] = call or False
        return call or False

    def stream(self) -> Owned:
        """The thread's stream."""
        if self._stream is None:
            self._stream = create("stream", engine(), _STREAM_IN_ORDER)
        return self._stream

    def place(self, call: Call) -> None:
        """Give a new call its temporaries, in a larger arena if it needs more than any call before."""
        room = call.temporary_bytes() + ALIGNMENT_BYTES
        if room > self._arena.nbytes:
            self._arena = np.empty(room, np.uint8)
            for other in self.calls.values():
                if other:
                    other.move_temporaries(self._arena)
        call.move_temporaries(self._arena)

    def release(self) -> None:
        """Forget all calls and free their memory. They are built again when next needed."""
        self.calls.clear()
        self._arena = np.empty(0, np.uint8)

    @contextmanager
    def sized_for(self, multiply_adds: int):
        """Make the primitives and calls within for one OpenMP thread if they have little to do, else for all.

        For 1.4 million multiply-adds two threads take 36 us instead of 50, for 1 million 17 instead of 18; but when
        other processes (a loader's workers) want the cores, waiting for the other thread takes milliseconds.
        """
        library = load()
        if threads_wanted:
            library.omp_set_num_threads(threads_wanted)
        threads = library.omp_get_max_threads()
        if threads == 1:
            yield
            return
        if multiply_adds > _ONE_THREAD_MULTIPLY_ADDS:
            leave_cores_to_openmp()
            yield
            return
        self.restore_threads = threads
        library.omp_set_num_threads(1)
        try:
            yield
        finally:
            self.restore_threads = 0
            library.omp_set_num_threads(threads)


thread = _Thread()
threads_wanted: int | None = None


def forget() -> None:
    """Forget the calls of every thread; the next ones are made again."""
    global thread
    thread = _Thread()


def start_over(threads: int) -> None:
    """Forget the calls of every thread; later ones are made for this number of OpenMP threads."""
    global threads_wanted
    threads_wanted = threads
    forget()
