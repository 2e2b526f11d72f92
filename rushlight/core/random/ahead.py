"""Numbers made ahead of small draws: for all words of a block of the twister's, at once.

NumPy's steps for a few numbers take as long as those for a block of 624 (normal ones 0.2 ms): nearly all of it is what its
calls cost. A block's words never change, so what was made of them is good as long as the generator has that block.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .mersenne import WORDS, Generator

__all__ = ["LOW_24", "MOST", "UNIT", "standard_normals", "units"]

MOST = 256  # numbers of a draw
LOW_24, UNIT = np.array(0xFFFFFF, np.uint32), np.array(2.0**-24, np.float32)  # arrays: 0.3 us sooner than numbers


def units(gen: Generator, n: int) -> np.ndarray | None:
    """n uniform numbers in [0, 1), the low 24 bits of a word each; None, and nothing is drawn, where they are in two blocks.

    The caller holds the generator's lock.
    """
    start = gen.pass_over(n)
    if start is None:
        return None
    block, known = gen.window()[0], gen.units_ahead
    if known is None or known[0] is not block:
        values = (block & LOW_24).astype(np.float32)
        values *= UNIT
        gen.units_ahead = known = block, values
    return known[1][start : start + n].copy()


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
