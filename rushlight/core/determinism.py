"""`use_deterministic_algorithms`: the same digits however long a process has been running.

Programs that replace eager kernels after a few steps differ from them by rounding. In the deterministic mode nothing is
replaced (docs/reproducibility.md), and memory without values is filled, as torch does. Where several processes work
together, nothing is replaced by other digits that all of them may compute, such as the norm of averaged gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["empty", "fill", "mode"]


class _Mode:
    """on: whether results must not depend on when programs are made. fills: whether fresh memory is filled then.

    shared: whether other processes may compute the same, and have run other programs before.
    """

    on = shared = False
    warn_only = False
    fills = True


mode = _Mode


def empty(shape: Any, dtype: Any = None) -> np.ndarray:
    """As `np.empty`; in the deterministic mode filled."""
    a = np.empty(shape, dtype)
    if mode.on:
        fill(a)
    return a


def fill(a: np.ndarray) -> np.ndarray:
    """In the deterministic mode nan, or an integer type's largest number, or True, into memory without values."""
    if mode.on and mode.fills:
        kind = a.dtype.kind
        a.fill(np.iinfo(a.dtype).max if kind in "iu" else kind == "b" or np.nan)
    return a
