"""Elementwise work that NumPy takes several passes for, over large arrays.

Kernels call a `FusedLoop` for arrays of more than `LARGE` elements. By itself it takes NumPy's passes; the compiler, a layer
above operators, overrides it by one native loop, to the same bits (`rushlight/compile/jit/loops.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .building_blocks import CHUNK

__all__ = ["FUSED_LOOPS", "LARGE", "FusedLoop"]

LARGE = 1 << 12  # elements: below it the passes take less time than the call of a loop
FUSED_LOOPS: dict[str, FusedLoop] = {}


class FusedLoop:
    """What becomes of each element by itself: `kernel(*arrays, *numbers, out=None)` gives `out`, or a new array.

    arrays: how many of the arguments are arrays. step: NumPy's passes, over arrays of any size; into `out` it is called for
    pieces that stay in the cache.
    """

    __slots__ = ("name", "arrays", "step", "kernel")

    def __init__(self, name: str, arrays: int, step: Callable[..., Any]):
        self.name, self.arrays, self.step = name, arrays, step
        self.kernel: Callable[..., Any] = self.reference
        FUSED_LOOPS[name] = self

    def reference(self, *arguments: Any, out: np.ndarray | None = None) -> Any:
        """NumPy's passes."""
        n = self.arrays
        if out is None or not all(a.flags.c_contiguous for a in (out, *arguments[:n])):
            return self.step(*arguments, out=out)
        flat = [a.reshape(-1) for a in arguments[:n]]
        to = out.reshape(-1)
        for i in range(0, out.size, CHUNK):
            self.step(*[a[i : i + CHUNK] for a in flat], *arguments[n:], out=to[i : i + CHUNK])
        return out

    def override(self, kernel: Callable[..., Any]) -> None:
        """Use `kernel` in place of the reference, which stays at `self.reference`."""
        self.kernel = kernel
