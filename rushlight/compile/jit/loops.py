"""Overrides of eager kernels of large arrays that NumPy takes several passes for (`rushlight/ops/pointwise/fused_loops.py`).

Each is the update (`lower/update.py`) of one array, made once its operator has worked on `_WORTHWHILE` elements without it.
Results are the same to the last bit, but for the sign of a nan, and for products and sums that the kernels do not round
right: one element in 5e8, near half-way between two numbers (`ops/pointwise/multiply_add.py`). `RUSHLIGHT_JIT=0` in the environment,
or a missing llvmlite, leaves all to the kernels.

Over 1e6 float32 on one thread: `add` with alpha 0.2 ms instead of 2.2, `lerp` by a tensor 0.7 instead of 23.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.determinism import mode
from ...core.jit_switch import jit
from ...core.locks import made_once
from ...core.tensor.casting import copy_in_rows
from ...ops.pointwise.fused_loops import FUSED_LOOPS, FusedLoop
from .cache import Route
from .layout import Layout, layout_of

if TYPE_CHECKING:
    from .loop import Loop

__all__ = ["clock", "fill", "install"]

# Elements: without the loop they take as long as making it does, 1 to 15 ms (with llvmlite's start 0.2 s, once).
_WORTHWHILE = 5_000_000
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


_route: Route[Loop] = Route("loop", is_shared=True)  # by the loop's name, its type, and which array is written
_state = _route.state
clock = _state.clock


@made_once
def install() -> None:
    """Override the kernels of large arrays."""
    for loop in FUSED_LOOPS.values():
        loop.override(_in_one_pass(loop))


def _in_one_pass(loop: FusedLoop) -> Callable[..., Any]:
    name, n, reference = loop.name, loop.arrays, loop.reference

    def kernel(*arguments: Any, out: np.ndarray | None = None) -> Any:
        result = fill(name, arguments[:n], arguments[n:], out)
        return reference(*arguments, out=out) if result is None else result

    return kernel


def fill(
    name: str, arrays: Sequence[np.ndarray], numbers: Sequence[Any], out: np.ndarray | None = None
) -> np.ndarray | None:
    """`out`, or a new array, filled by a loop; None if nothing was done. `out` may be one of the arrays."""
    first = arrays[0]
    if mode.on:
        return None
    for a in arrays:  # `all` of a generator takes 0.3 us more
        if not _fits(a, first):
            return _fill_unlike(name, arrays, numbers, out)
    place = None
    if out is not None:
        if not out.flags.writeable or not _fits(out, first):
            return None
        for i, a in enumerate(arrays):
            if a is out and place is None:
                place = i
            elif np.may_share_memory(out, a):
                return None
    key = name, first.dtype, place
    loop = _state.programs.get(key)
    if loop is None:
        if not jit.on or not _route.is_due(key, first.size, _WORTHWHILE):
            return None
        loop = _route.make(key, lambda: _make_loop(*key, len(arrays), len(numbers)), lambda: f"{name} of {first.dtype}")
        if loop is None:
            return None
    result = np.empty(first.shape, first.dtype) if out is None else out
    return result if loop.run(arrays if place is not None else (*arrays, result), numbers) else None


def _fill_unlike(
    name: str, arrays: Sequence[np.ndarray], numbers: Sequence[Any], out: np.ndarray | None
) -> np.ndarray | None:
    """`fill` for arrays to be broadcast or in another order of memory: those that are not the result's are copied into it."""
    d = arrays[0].dtype
    if d not in _FLOATS or not all(type(a) is np.ndarray and a.dtype is d for a in arrays):
        return None
    layout = layout_of([a for a in arrays if a.ndim])
    if layout is None or not layout.size:
        return None
    to = None
    if out is not None:
        to = layout.transposed(out)
        if out.shape != layout.result_shape or not to.flags.c_contiguous or out.dtype is not d:
            return None
    own = [to if a is out else _spread(a, layout) for a in arrays]
    result = fill(name, own, numbers, to)
    return None if result is None else layout.restored(result) if out is None else out


def _spread(a: np.ndarray, layout: Layout) -> np.ndarray:
    """An array in the shape and order of the result's memory, without gaps."""
    moved = layout.transposed(a) if a.ndim else a
    if moved.shape != layout.shape:
        moved = np.broadcast_to(moved, layout.shape)
    return moved if moved.flags.c_contiguous else copy_in_rows(moved)


def _fits(a: Any, first: np.ndarray) -> bool:
    d = first.dtype
    return type(a) is np.ndarray and a.dtype is d and d in _FLOATS and a.shape == first.shape and a.flags.c_contiguous


def _make_loop(*given: Any) -> Loop:
    from .loop import Loop  # with what makes native code

    return Loop(*given)
