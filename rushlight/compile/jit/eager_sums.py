"""Sums in torch's order by native code, once so many were made that making the code pays. NumPy's passes give the same bits.

No code is made while a call is captured, whose lock other threads wait for.
"""

from __future__ import annotations

import numpy as np

from ..capture.memory import recording
from ..lower.eager import sums
from ..lower.eager.sums import available
from ..lower.llvm.engine import Code

__all__ = ["available", "columns", "rows"]

_WORTHWHILE = 4000  # sums of few elements, each 5 to 15 us sooner than by NumPy
_OF_FEW = 1 << 11  # elements that count for one more


class _Codes(dict):
    """Of one kind: dtype -> the code, or how many sums are left until it is made."""

    def __init__(self, kind: str):
        self.kind = kind

    def __missing__(self, dtype: np.dtype) -> int:
        return _WORTHWHILE

    def due(self, a: np.ndarray) -> Code | None:
        """Count a sum, and make the code when it is time."""
        left = self[a.dtype]
        if type(left) is not int:
            return left
        self[a.dtype] = left = left - 1 - a.size // _OF_FEW
        if left > 0 or recording.locked():
            return None
        self[a.dtype] = code = sums.function(self.kind, a.dtype)
        return code


_rows, _columns = _Codes("rows"), _Codes("columns")


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
