"""Sums in torch's order by native code, once so many were made that making the code pays. NumPy's passes give the same bits.

No code is made while a call is captured, whose lock other threads wait for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..capture.memory import recording
from ..lower.eager import sums
from ..lower.eager.sums import available

__all__ = ["available", "columns", "mean_of_picked", "rows"]

_WORTHWHILE = 4000  # sums of few elements, each 5 to 15 us sooner than by NumPy
_OF_FEW = 1 << 11  # elements that count for one more


class _Codes(dict):
    """Of one kind: dtype -> what `sums.function` gives, or how many sums are left until it is made."""

    def __init__(self, kind: str):
        self.kind = kind

    def __missing__(self, dtype: np.dtype) -> int:
        return _WORTHWHILE

    def due(self, a: np.ndarray) -> Any:
        """Count a sum, and make the code when it is time."""
        left = self[a.dtype]
        if type(left) is not int:
            return left
        self[a.dtype] = left = left - 1 - a.size // _OF_FEW
        if left > 0 or recording.locked():
            return None
        self[a.dtype] = made = sums.function(self.kind, a.dtype)
        return made


_rows, _columns, _picked = map(_Codes, ("rows", "columns", "picked"))


def rows(a: np.ndarray, count: int, n: int) -> np.ndarray | None:
    """The sums of rows (`lower/eager/sums.py`); None while there is no code."""
    code = _rows[a.dtype]
    if type(code) is int and (code := _rows.due(a)) is None:
        return None
    return sums.rows(code, a, count, n)


def columns(a: np.ndarray, count: int, m: int, n: int, in_blocks: bool) -> np.ndarray | None:
    """The sums of the columns of matrices; None while there is no code."""
    code = _columns[a.dtype]
    if type(code) is int and (code := _columns.due(a)) is None:
        return None
    return sums.columns(code, a, count, m, n, in_blocks)


def mean_of_picked(x: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """A loss's mean; None also where a class is not there."""
    code = _picked[x.dtype]
    if type(code) is int and (code := _picked.due(x)) is None:
        return None
    return sums.mean_of_picked(code, x, target)
