"""Matrices stored column by column, as LAPACK gives them and torch returns them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["in_columns", "return_columns"]


def in_columns(a: np.ndarray) -> np.ndarray:
    """An array (*, m, n) with the strides (..., 1, m) in its last two dimensions: a copy unless it has them."""
    if a.ndim < 2:
        return a
    rows = a.swapaxes(-1, -2)
    return (rows if rows.flags.c_contiguous else rows.copy(order="C")).swapaxes(-1, -2)


def return_columns(kernel: Callable, positions: tuple[int, ...]) -> Callable:
    """`kernel`, whose results at these positions are matrices in column order."""

    def by_columns(*arguments: Any, **metadata: Any) -> Any:
        r = kernel(*arguments, **metadata)
        if type(r) is not tuple:
            return in_columns(r)
        return tuple([in_columns(x) if i in positions else x for i, x in enumerate(r)])

    by_columns.__name__, by_columns.__doc__ = getattr(kernel, "__name__", ""), kernel.__doc__
    return by_columns
