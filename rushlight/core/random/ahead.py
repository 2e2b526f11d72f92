"""Normal numbers made ahead of small draws: for all words that are left of a block of the twister's, at once.

NumPy's steps for sixteen numbers take as long as those for a block of 624, 0.2 ms: nearly all of it is what its calls cost.
A block's words never change, so what was made of them is good as long as the generator has that block.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .mersenne import WORDS, Generator

__all__ = ["MOST", "standard_normals"]

MOST = 256  # numbers of a draw


def standard_normals(gen: Generator, n: int, make: Callable[..., None]) -> np.ndarray | None:
    """n normal numbers with mean 0 and deviation 1, in whole groups of sixteen; None where a group is in two blocks.

    make: as `extension_points.random_normals`. The caller holds the generator's lock.
    """
    block, at = gen.window()
    left = block.size - at
    if left % 16 and left < n:
        return None
    parts = []
    while n:
        count = min(n, left or WORDS)
        gen.words(count)
        block, at = gen.window()
        parts.append(_made_of(gen, block, at - count, make)[:count])
        n -= count
        left = block.size - at
    return np.concatenate(parts)


def _made_of(gen: Generator, block: np.ndarray, start: int, make: Callable[..., None]) -> np.ndarray:
    """The numbers made of a block's words from `start` on."""
    if gen.ahead is None or gen.ahead[0] is not block:
        gen.ahead = block, {}
    known = gen.ahead[1].get(start % 16)
    if known is None or known[0] > start:
        values = np.empty((block.size - start) // 16 * 16, np.float32)
        make(block[start : start + values.size].copy(), values, 0.0, 1.0)
        known = gen.ahead[1][start % 16] = start, values
    return known[1][start - known[0] :]
