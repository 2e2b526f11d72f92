"""Elementwise work that NumPy takes several passes for, in one native loop over large arrays.

The loops are the compiler's (`rushlight/compile/jit/loops.py`), a layer above operators: `rushlight/__init__.py` puts
it here. Each kernel that asks does the same by itself, to the same bits, where there is no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .helpers import CHUNK

LARGE = CHUNK  # elements: a kernel asks for more, so not for the pieces that it works in


def _nothing(name: str, arrays: Sequence[np.ndarray], numbers: Sequence[Any], out: np.ndarray | None) -> Any:
    return None


compiled = _nothing


def one_pass(
    name: str, arrays: Sequence[np.ndarray], numbers: Sequence[Any] = (), out: np.ndarray | None = None
) -> np.ndarray | None:
    """`out`, or a new array, filled by the loop `name`; None if nothing was done: the caller does it then.

    Shape: all alike. The numbers take the arrays' type.
    """
    return compiled(name, arrays, numbers, out)
