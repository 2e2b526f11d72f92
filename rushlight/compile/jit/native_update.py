"""Native code of an optimizer's update, with the tables that it works on.

`native_update(update, lists, options, quick=True)` gives a `NativeUpdate`, for compiled steps one whose results are the
same to rounding (`lower/fast_math.py`):

    native = native_update(update, [params, grads, *state], options)   # arrays in the lists; None for an absent list
    native.address                    # int32_t step(int64_t *block): see lower/update.py
    native.block.ctypes.data          # its only argument, fixed for the life of the object, which owns all tables
    native.pointers[role, i] = ...    # int64 [roles, n]: absent lists do not count; filled for the arrays given
    native.set_options(options)       # in the prologue: writes the float64 numbers (or write to native.scalars, in the
                                      # order of native.names) and the number of threads
    native.accepts(options)           # whether the code is right for these options: ask when one of them changed

Arrays of one parameter must be dense and alike (shape and strides), but for 0-d counters; what is written must not
overlap anything else. A step that returns another number than 0 has written nothing (see `GUARD_MISSED`, `NO_VALUE`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import error as PackingError
from struct import pack_into
from typing import Any

import numpy as np

from ...backend.onednn import calls, library
from ...backend.onednn.threads import get_num_threads
from ...core import poison
from ..ir.graph import is_dense, same_strides
from ..lower.fast_math import serves
from ..lower.llvm import pool
from ..lower.llvm.engine import available
from ..lower.update import BLOCK_WORDS, Kernel
from .cache import Entry, Route
from .options import constants_of, named, several
from .update import NotTraceable, holds, trace

__all__ = ["NativeUpdate", "native_update"]

# Work is counted in `Kernel.weight` for each element; 40 take about a nanosecond. A pool that sleeps takes 50 us to wake
# up, so two threads take over when one would need 25 us: SGD with momentum over 200,000 elements, Adam over 40,000, its
# quick variant over 100,000.
_PARALLEL, _PER_THREAD = 1_000_000, 500_000
_VERSIONS = 8  # of one update's code: options that change what it does
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_kernels: Route[_Versions] = Route("update", is_shared=True)


class NativeUpdate:
    """The native code of an update with all its tables, for arrays of given shapes. See the module's docstring."""

    __slots__ = (
        *("kernel", "names", "block", "pointers", "scalars"),
        *("_counts", "_scratch", "_numbers", "_format", "_threads", "_pool", "_usual"),
    )

    def __init__(self, kernel: Any, arrays: list[list[np.ndarray]]):
        n = len(arrays[0])
        self.kernel = kernel
        self.names = tuple(kernel.update.options)
        self.pointers = np.array([[a.ctypes.data for a in row] for row in arrays], np.int64)
        self.scalars = np.zeros(max(len(self.names), 1), np.float64)
        self._counts = np.array([a.size for a in arrays[0]], np.int64)
        self._scratch = np.zeros((n, kernel.row_words), np.int64)
        total = int(self._counts.sum())
        self.block = np.zeros(BLOCK_WORDS, np.int64)
        addresses = [x.ctypes.data for x in (self.pointers, self._counts, self.scalars, self._scratch)]
        self.block[:7] = addresses[0], addresses[1], n, addresses[2], addresses[3], 1, total
        self._numbers, self._format = several(list(self.names)), f"{len(self.names)}d"
        work = total * kernel.weight
        self._threads = work // _PER_THREAD if work >= _PARALLEL and self._find_pool() else 1

    def _find_pool(self) -> bool:
        """Write the addresses of the pool's functions to the block, if there is a pool."""
        if not library.available():
            return False
        pool.install()
        names = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
        self.block[7:] = [pool.address(name) for name in names]
        self._pool, self._usual = calls, get_num_threads()
        return True

    @property
    def address(self) -> int:
        """Where the function starts."""
        return self.kernel.address

    @property
    def size_bytes(self) -> int:
        """Of its tables."""
        return self.pointers.nbytes + self.scalars.nbytes + self._counts.nbytes + self._scratch.nbytes

    def set_options(self, options: dict[str, Any]) -> bool:
        """Write the numbers for the next step. False if one is none."""
        return self.set_numbers(self._numbers(options))

    def set_numbers(self, numbers: Sequence[Any]) -> bool:
        """The same, given the numbers in the order of `names`."""
        try:
            pack_into(self._format, self.scalars, 0, *numbers)  # pyright: ignore[reportArgumentType]
        except (PackingError, OverflowError):
            return False
        self.set_threads()
        return True

    def set_threads(self) -> None:
        """Write how many threads share the next step."""
        if poison.on:
            poison.fill(self._scratch)
        if self._threads > 1:
            self.block[5] = min(self._pool.threads_wanted or self._usual, self._threads)

    def accepts(self, options: dict[str, Any]) -> bool:
        """Whether a step with these options is what the code does."""
        return holds(self.kernel.update, options)


def native_update(
    update: Callable, lists: Sequence[list[np.ndarray] | None], options: dict[str, Any], quick: bool = False
) -> NativeUpdate | None:
    """Native code of ``update(*lists, **options)``, the same bits as over arrays, or ``quick`` and the same to rounding.

    None where the arrays or the update do not allow it, or llvmlite is missing.
    """
    kinds = _kinds(lists)
    arrays = [row for row in lists if row is not None]
    if kinds is None or not available():
        return None
    for p, *others in zip(*arrays, strict=True):
        strides = _element_strides(p)
        alike = all(same_strides(p.shape, _element_strides(a), strides) for a in others if a.ndim == p.ndim)
        if p.size and not (alike and is_dense(p.shape, strides)):
            return None
    kernel = _kernel(update, kinds, options, quick)
    return None if kernel is None else NativeUpdate(kernel, arrays)


def _element_strides(a: np.ndarray) -> tuple[int, ...]:
    return tuple(s // a.itemsize for s in a.strides)


def _kinds(lists: Sequence[list[np.ndarray] | None]) -> tuple | None:
    """(dtype, whether it is a counter) of each list, or None if arrays of a list differ or none has an axis."""
    params = lists[0] or []
    dtype = params[0].dtype
    large = [i for i, p in enumerate(params) if p.ndim]
    if not large or dtype.name not in _FLOATS:
        return None
    kinds: list[tuple | None] = []
    for row in lists:
        if row is None:
            kinds.append(None)
            continue
        counter = not row[large[0]].ndim
        same = all(a.shape == (() if counter else p.shape) for a, p in zip(row, params, strict=True))
        alike = all(a.dtype == row[0].dtype for a in row) and (row[0].dtype == dtype or counter)
        if not same or not alike or row[0].dtype.name not in _FLOATS:
            return None
        kinds.append((row[0].dtype, counter))
    return tuple(kinds)


class _Versions(Entry):
    """The code of an update for arrays of the same types, for options that change what it does; None: there is none."""

    __slots__ = ("kernels",)

    def __init__(self) -> None:
        super().__init__()
        self.kernels: list[Any] = []


def _kernel(update: Callable, kinds: tuple, options: dict[str, Any], quick: bool) -> Any:
    """The compiled update for these kinds and options, made on first need; None if it cannot be traced."""
    key = update, kinds, constants_of(options), quick
    versions = _kernels.make(key, _Versions, lambda: f"the code for {named(update)}") or _Versions()
    versions.used = _kernels.state.clock()
    for kernel in versions.kernels:
        if kernel is None:
            return None
        if kernel.update.options.keys() <= options.keys() and holds(kernel.update, options):
            return kernel
    kernel = _make_kernel(update, kinds, options, quick) if len(versions.kernels) < _VERSIONS else None
    versions.kernels.append(kernel)
    return kernel


def _make_kernel(update: Callable, kinds: tuple, options: dict[str, Any], quick: bool) -> Any:
    try:
        traced = trace(update, kinds, options)
        quick = quick and kinds[0][0].itemsize > 2  # a float32 number's last bit may be a short one's
        return Kernel(traced, quick and serves(traced), flush=quick)
    except (NotTraceable, NotImplementedError) as why:
        _kernels.tell_refused(lambda: named(update), why)
        return None
