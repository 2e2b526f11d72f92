"""A square of vectors turned in registers: 16 of 16 numbers, or 8 of 8."""

from __future__ import annotations

from collections.abc import Sequence

from .ir import Builder, Val

__all__ = ["transposed"]


def transposed(b: Builder, rows: Sequence[Val]) -> list[Val]:
    """The columns of 16 vectors of 16 numbers, or 8 of 8: 64 or 24 shuffles.

    Within parts of 128 bits pairs of rows, then of pairs, are interleaved; then these parts change places.
    """
    n = len(rows)
    parts = range(n // 4)
    low, low_pairs = ([4 * part + i for part in parts for i in order] for order in ((0, n, 1, n + 1), (0, 1, n, n + 1)))
    high, high_pairs = ([i + 2 for i in order] for order in (low, low_pairs))
    pairs = [b.shuffle(rows[i], rows[i + 1], order) for i in range(0, n, 2) for order in (low, high)]
    # fours[4 g + c] has, in its part p, column 4 p + c of the rows 4 g to 4 g + 3
    fours = [
        b.shuffle(pairs[g + c], pairs[g + c + 2], order)
        for g in range(0, n, 4)
        for c in (0, 1)
        for order in (low_pairs, high_pairs)
    ]
    even = [4 * part + i for part in range(0, 2 * len(parts), 2) for i in range(4)]
    odd = [i + 4 for i in even]
    columns: list[Val] = [rows[0]] * n
    for c in range(4):
        x = [fours[4 * g + c] for g in parts]
        x = [b.shuffle(x[i], x[i + 1], order) for order in (even, odd) for i in range(0, len(x), 2)]
        if n == 16:
            x = [b.shuffle(x[i], x[i + 1], order) for order in (even, odd) for i in (0, 2)]
        for part in parts:
            columns[4 * part + c] = x[part]
    return columns
