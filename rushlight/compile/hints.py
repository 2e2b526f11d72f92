"""What programs tell torch's compiler about tensors and functions. Nothing here depends on it, and results never do.

A program is captured for the sizes it is called with, and captured again for others; memory may move between calls; the
operators that a function calls are seen whichever function calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rushlight.core.tensor.tensor import Tensor

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "cudagraph_mark_step_begin",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
]


def mark_dynamic(
    t: Any,
    index: int | Sequence[int],
    *,
    hint_override: int | None = None,
    min: int | None = None,
    max: int | None = None,
    specialize_on: list[Any] | None = None,
) -> None:
    """Say that a dimension's size changes from call to call. Raises IndexError for a dimension that `t` has not."""
    _check(t, index)


def maybe_mark_dynamic(t: Any, index: int | Sequence[int]) -> None:
    """`mark_dynamic`, where that helps."""
    _check(t, index)


def mark_static(t: Any, index: int | Sequence[int] | None = None) -> None:
    """Say that a dimension's size (None: every size) stays what it is."""
    _check(t, () if index is None else index)


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Say that a tensor stays where it is in memory. Raises TypeError for something else than a tensor."""
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")


def _check(t: Any, index: int | Sequence[int]) -> None:
    for dim in (index,) if isinstance(index, int) else index:
        if isinstance(t, Tensor) and not -t.ndim <= dim < t.ndim:
            raise IndexError(f"Dimension out of range (expected a dimension of {t.ndim}, but got {dim})")


def allow_in_graph(fn: Any) -> Any:
    """Say that a function, or each of a list of functions, can be captured. Returns it. Raises AssertionError for others."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(f) for f in fn]
    if not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: Callable) -> Callable:
    """Say that a function returns the same at every call. Returns it; it is called as often as the program calls it."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """Say that a step begins: memory of CUDA graphs could be used again. There are none."""
