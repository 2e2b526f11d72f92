"""Writes that go element after element, as where a tensor is written from a view of the same memory.

torch, and eager calls, then read again what was written a moment before (`core/dispatch/overlap.py`). In a graph such a write is
a call: the memory's old content goes in, the new content comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.dispatch.overlap import is_read_again, write_in_order
from ...core.dispatch.scalars import number_as
from ...core.tensor.storage import storage_of
from ...core.tensor.tensor import Tensor
from .graph import Ref


def is_ordered(target: Tensor, sources: tuple) -> bool:
    """Whether an in-place write of `target` from `sources` goes element after element (asked once it was made)."""
    mine = storage_of(target)
    return any(
        isinstance(t, Tensor) and t is not target and t._storage is mine and is_read_again(target._array, t._array)
        for t in sources
    )


class Ordered:
    """Stand-in for an operator's record: `function` of the sources is written into a window, in its memory's order.

    The kernel gets the whole memory that the window is part of, and the sources besides; those that are windows of the
    same memory are given by their geometry.
    """

    kind, promote, view, draws = "ordered", None, False, ""

    def __init__(self, name: str, function: Callable, target: Ref, sources: tuple, cast: Any):
        self.name, self.function, self.cast = name, function, cast
        self.target = target[1:]
        steps, shape = target.value.strides, target.value.shape
        self.order = sorted(range(len(shape)), key=lambda d: (steps[d], shape[d] != 1), reverse=True)
        self.inside = [s[1:] if isinstance(s, Ref) and s.value is target.value else None for s in sources]
        self.kernel = self.reference = self._write
        self.operands = (target.value.ref(), *(s for s, g in zip(sources, self.inside, strict=True) if g is None))
        self.metadata = (self.target, *self.inside)

    def invoke(self, f: Callable, arrays: Sequence, metadata: tuple) -> Any:
        return f(*arrays)

    def _write(self, whole: np.ndarray, *others: Any) -> np.ndarray:
        out = np.array(
            whole.transpose(self.order), order="C", copy=True
        )  # as captured: a program may choose another layout
        rest = iter(others)
        sources = [next(rest) if g is None else _shown(out, g) for g in self.inside]
        write_in_order(self.function, _shown(out, self.target), *map(self._prepared, sources))
        return out.transpose(np.argsort(self.order))

    def _prepared(self, x: Any) -> Any:
        if self.cast is None:
            return x
        return x.astype(self.cast.numpy, copy=False) if isinstance(x, np.ndarray) else number_as(x, self.cast)


def _shown(memory: np.ndarray, window: tuple) -> np.ndarray:
    shape, strides, offset = window
    size = memory.itemsize
    flat = np.lib.stride_tricks.as_strided(memory, (memory.size,), (size,))
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, [s * size for s in strides])
