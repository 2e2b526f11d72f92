"""A square of 16 vectors turned in registers."""

from __future__ import annotations

from collections.abc import Sequence

from .ir import Builder, Val

__all__ = ["transposed"]

_LOW = [4 * lane + i for lane in range(4) for i in (0, 16, 1, 17)]
_HIGH = [i + 2 for i in _LOW]
_LOW_PAIRS = [4 * lane + i for lane in range(4) for i in (0, 1, 16, 17)]
_HIGH_PAIRS = [i + 2 for i in _LOW_PAIRS]
_EVEN = [4 * lane + i for lane in (0, 2, 4, 6) for i in range(4)]
_ODD = [i + 4 for i in _EVEN]


def transposed(b: Builder, rows: Sequence[Val]) -> list[Val]:
    """The columns of 16 vectors: 64 shuffles."""
    pairs = [b.shuffle(rows[i], rows[i + 1], order) for i in range(0, 16, 2) for order in (_LOW, _HIGH)]
    # fours[4 g + c] has, in its 128-bit lane L, column 4 L + c of the rows 4 g to 4 g + 3
    fours = [
        b.shuffle(pairs[g + c], pairs[g + c + 2], order)
        for g in range(0, 16, 4)
        for c in (0, 1)
        for order in (_LOW_PAIRS, _HIGH_PAIRS)
    ]
    columns: list[Val] = [rows[0]] * 16
    for c in range(4):
        x = [fours[4 * g + c] for g in range(4)]
        for odd, order in enumerate((_EVEN, _ODD)):
            left, right = b.shuffle(x[0], x[1], order), b.shuffle(x[2], x[3], order)
            for lane, again in ((odd, _EVEN), (odd + 2, _ODD)):
                columns[4 * lane + c] = b.shuffle(left, right, again)
    return columns
