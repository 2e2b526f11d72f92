"""The product of two matrices in registers: a few rows by a few vectors, over the whole sum."""

from __future__ import annotations

from typing import NamedTuple

from ..llvm.ir import Builder, Val, number
from ..onednn import kernels
from ..onednn.kernels import element

__all__ = ["ALIGNMENT", "LANES", "LINE", "Block", "multiply"]

LANES = 16 if kernels.available() and kernels.lanes() == 16 else 8  # 8: AVX2
ALIGNMENT = 4 * LANES  # of whole vectors, in bytes
LINE = 16  # floats of a cache's line
_ZERO = number(0, "i64")


class Block(NamedTuple):
    """How many rows and vectors of the result are kept in registers."""

    rows: int
    vectors: int

    @property
    def width(self) -> int:
        return self.vectors * LANES


def multiply(
    b: Builder,
    block: Block,
    x: Val,
    x_steps: tuple[Val | int, Val | int],
    y: Val,
    count: Val,
    out: Val,
    out_step: Val | int,
    fresh: Val | None = None,
    unroll: int = 1,
) -> None:
    """out = x y, or, where `fresh` is given and does not hold, out + x y.

    x, y, out: addresses. x_steps: of x, elements to the next row and to the next number of the sum. y has `block.width`
    numbers for each of the `count` numbers of the sum, one after the other. unroll: by which count can be divided.
    """
    row_step, sum_step = x_steps
    cells = [(i, v) for i in range(block.rows) for v in range(block.vectors)]
    places = {(i, v): element(b, out, b.op("add", _times(b, number(i, "i64"), out_step), LANES * v)) for i, v in cells}
    sums = {cell: b.alloca("float", LANES) for cell in cells}
    nothing = b.splat(number(0, "float"), LANES)
    for slot in sums.values():
        b.put(slot, nothing)
    starts = [element(b, x, _times(b, number(i, "i64"), row_step)) for i in range(block.rows)]
    with b.loop(_ZERO, count, unroll) as first:
        for u in range(unroll):
            s = b.op("add", first, u)
            right = b.op("mul", s, block.width)
            vectors = [
                b.load("float", LANES, element(b, y, b.op("add", right, LANES * v)), ALIGNMENT)
                for v in range(block.vectors)
            ]
            left = _times(b, s, sum_step)
            for i, start in enumerate(starts):
                place = b.emit(f"getelementptr float, ptr {start}, i64 {left.text}", "ptr").text
                factor = b.splat(b.load("float", 0, place, 4), LANES)
                for v, vector in enumerate(vectors):
                    slot = sums[i, v]
                    b.put(slot, b.fma(factor, vector, b.get(slot, "float", LANES)))
    for cell, slot in sums.items():
        value = b.get(slot, "float", LANES)
        if fresh is not None:  # added at the end, for long sums keep more digits in parts
            value = b.op("fadd", value, b.select(fresh, nothing, b.load("float", LANES, places[cell], ALIGNMENT)))
        b.store(value, places[cell], ALIGNMENT)


def _times(b: Builder, n: Val, step: Val | int) -> Val:
    return n if step == 1 else b.op("mul", n, step)
