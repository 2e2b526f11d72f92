"""How eager arrays that differ in shape or in order of memory are gone through row by row (`lower/eager/strided.py`).

The result has the shape that its operands are broadcast to, and the order of memory that torch gives to it; dimensions that
go on in all arrays are one. What is neither a row nor one element along the innermost one (a transposed operand) is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import prod
from typing import Any

import numpy as np

from ...core.tensor.casting import copy_in_rows
from ...core.tensor.strides import broadcast_strides, innermost_first
from ..ir.graph import row_major
from ..lower.eager.strided import Rows, divided

__all__ = ["Layout", "layout_of"]

_LEAST_ROW = 12  # elements: copies of shorter rows, and vectors full of them, take less time than their places
_LEAST_BROADCAST = 128  # the same where a program of one shape can take the place, without any places to find
_KEPT = 2048

_Key = tuple[Any, ...]


class Layout:
    """How some arrays are gone through: for the arguments of a call that are arrays with dimensions, in their order.

    shape: of the result in the order of its memory, result_shape: in that of its dimensions; repeated: of each array, whether it is one element along a row; rows: None
    where they are too short, or the result's elements have gaps along them; is_one: whether all arrays repeat one element.
    """

    __slots__ = (
        "shape",
        "result_shape",
        "size",
        "repeated",
        "rows",
        "is_one",
        "is_written",
        "_order",
        "_back",
        "_copied",
        "_words",
    )

    def __init__(self, arrays: Sequence[np.ndarray], shape: tuple[int, ...], is_written: bool, deciding: Sequence[int]):
        strides = [broadcast_strides(a, shape) for a in arrays]
        order = innermost_first(shape, [strides[i] for i in deciding])[::-1]
        self._order = None if order == [*range(len(shape))] else order
        self._back = None if self._order is None else [order.index(dim) for dim in range(len(shape))]
        self.shape, self.result_shape = tuple([shape[dim] for dim in order]), shape
        self.size = prod(shape)
        self.is_written = is_written
        self.is_one = shape != () and not any(map(any, strides)) and 0 not in shape
        self._words: dict[Any, tuple[int, ...]] = {}
        itemsizes = [a.itemsize for a in arrays]
        moved = [[s[dim] for dim in order] for s in strides]
        self._copied = [False] * len(arrays)
        dims = self._joined(moved, itemsizes, is_written)
        is_alike = all(a.shape == shape for a in arrays)
        is_short = dims[-1][0] < _LEAST_ROW and is_alike
        for i, (step, itemsize) in enumerate(zip(dims[-1][1], itemsizes, strict=False)):
            own = (1,) * (len(shape) - arrays[i].ndim) + arrays[i].shape
            compact = [step * itemsize for step in row_major(tuple([own[dim] for dim in order]))]
            if step not in (0, itemsize) or (is_short and moved[i] != compact):
                self._copied[i] = True
                moved[i] = [c if own[dim] == n else 0 for c, dim, n in zip(compact, order, self.shape, strict=True)]
        if any(self._copied):
            dims = [] if is_written and self._copied[0] else self._joined(moved, itemsizes, is_written)
        self.rows: Rows | None = None
        self.repeated: tuple[bool, ...] = ()
        is_of_one_shape = all(a.flags.c_contiguous for a in arrays) and any(a.size == self.size for a in arrays)
        least = _LEAST_BROADCAST if is_of_one_shape and not is_alike and not is_written else _LEAST_ROW
        if not self.size or not dims or dims[-1][0] < least:
            return
        inner = dims[-1][1][: len(arrays)]
        self.repeated = tuple([not step for step in inner])
        is_row = all(step in (0, size) for step, size in zip(inner, itemsizes, strict=True))
        if is_row and not all(self.repeated) and not (is_written and self.repeated[0]):
            self.rows = divided(dims)

    def _joined(
        self, moved: Sequence[Sequence[int]], itemsizes: Sequence[int], is_written: bool
    ) -> list[tuple[int, tuple[int, ...]]]:
        """The dimensions in order, joined; the steps of the arrays in bytes, then those of the result in its elements."""
        result = [s // itemsizes[0] for s in moved[0]] if is_written else row_major(self.shape)
        steps = [*moved, result]
        joined: list[tuple[int, tuple[int, ...]]] = []
        for dim, n in enumerate(self.shape):
            if n == 1:
                continue
            own = tuple([s[dim] for s in steps])
            if joined and joined[-1][1] == tuple([s * n for s in own]):
                joined[-1] = joined[-1][0] * n, own
            else:
                joined.append((n, own))
        return joined or [(1, (*itemsizes, 1))]

    def words(self, places: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
        """What code is told whose arrays are those at these places (`Rows.words`)."""
        known = self._words.get((places, itemsize))
        if known is None:
            assert self.rows is not None
            known = self._words[places, itemsize] = self.rows.words(places, itemsize)
        return known

    def moved(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The arrays as the rows take them: in the result's order, copied where they have to be."""
        own = [self.transposed(a) for a in arrays]
        for i in compress(range(len(own)), self._copied):
            own[i] = copy_in_rows(own[i])
        return own

    def transposed(self, a: np.ndarray) -> np.ndarray:
        """An array as one of the result's dimensions in its order."""
        n = len(self.shape)
        a = a if a.ndim == n else a.reshape((1,) * (n - a.ndim) + a.shape)
        return a if self._order is None else a.transpose(self._order)

    def restored(self, result: np.ndarray) -> np.ndarray:
        """A result in memory's order, in the order of its dimensions."""
        return result if self._back is None else result.transpose(self._back)


_layouts: dict[_Key, Layout | None] = {}


def layout_of(
    arrays: Sequence[np.ndarray], is_written: bool = False, deciding: Sequence[int] | None = None
) -> Layout | None:
    """How arrays are gone through; None where they do not fit one another.

    is_written: the first one is the result as well; deciding: which of the others decide the order of its memory, in turn.
    """
    key = (is_written, deciding, *[(a.shape, a.strides) for a in arrays], *[a.itemsize for a in arrays])
    try:
        return _layouts[key]
    except KeyError:
        pass
    try:
        shape = arrays[0].shape if len(arrays) == 1 else np.broadcast_shapes(*[a.shape for a in arrays])
        fits = not is_written or shape == arrays[0].shape
    except ValueError:  # the kernel says it better
        fits, shape = False, ()
    if len(_layouts) >= _KEPT:
        _layouts.clear()
    turns = range(len(arrays)) if is_written or deciding is None else deciding
    known = _layouts[key] = Layout(arrays, shape, is_written, turns) if fits else None
    return known
