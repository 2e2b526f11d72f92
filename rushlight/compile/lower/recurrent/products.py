"""A product of few rows in generated code: (n, k) @ (k, m), all of whose sizes are known when it runs.

Eight rows and two vectors of columns are summed in registers at once. A row's sums are taken in the same order however many
rows there are, so that threads can share the rows. The right matrix is packed before (`pack`), as a layer of many steps can do
once: (16, 64) @ (64, 256) takes 4 us, OpenBLAS, which packs it in each call, 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ..llvm import engine
from ..llvm.ir import BITS, Builder, Val, number

__all__ = ["multiply", "pack", "units_of"]


def pack(
    b: Builder, x: Val, strides: tuple[Val, Val], out: Val, units: tuple[Val, Val], k: Val, m: Val, elem: str
) -> None:
    """Write some units of the columns of a matrix (k, m) of these strides (elements) as `multiply` takes them.

    Columns are in groups, each of which is contiguous: as many as are summed at once. A unit is a group of the widest, and what is
    left of the columns is the last.
    """
    widths = list(_widths(BITS[elem] // 8))
    widest = widths[0][0]
    low, high = (b.op("mul", unit, widest) for unit in units)
    rest = b.op("and", m, -widest)
    stops = [b.op("and", m, -width) for width, _ in widths[:-1]] + [m]
    b_low, b_high = (b.select(b.compare("icmp slt", at, rest), at, rest) for at in (low, high))
    ends = [(b_low, b_high)]
    past = b.compare("icmp sgt", high, rest)  # whether the last unit is among these
    ends += [(start, b.select(past, stop, start)) for start, stop in pairwise(stops)]
    along = b.compare("icmp eq", strides[1], 1)
    for (start, stop), (width, lanes) in zip(ends, widths, strict=True):
        with b.loop(start, stop, width) as j:
            group = b.op("mul", j, k)
            for condition, copy in ((along, _copy_rows), (b.op("xor", along, number(True, "i1")), _copy_columns)):
                with b.when(condition):
                    copy(b, x, strides, (j, width, lanes), _place(b, out, group, elem), k, elem)


def _copy_rows(
    b: Builder, x: Val, strides: tuple[Val, Val], columns: tuple[Val, int, int], out: Val, k: Val, elem: str
) -> None:
    """A group of columns of which each row is contiguous. columns: the first, how many, and how many at once."""
    j, width, lanes = columns
    with b.loop(number(0, "i64"), k) as i:
        of, to = b.op("add", b.op("mul", i, strides[0]), j), b.op("mul", i, width)
        for c in range(0, width, lanes or 1):
            value = b.load(elem, lanes, _place(b, x, b.op("add", of, c), elem).text, 4)
            b.store(value, _place(b, out, b.op("add", to, c), elem).text, 4)


def _copy_columns(
    b: Builder, x: Val, strides: tuple[Val, Val], columns: tuple[Val, int, int], out: Val, k: Val, elem: str
) -> None:
    """A group of columns, one after the other."""
    j, width, _ = columns
    with b.loop(number(0, "i64"), number(width, "i64")) as c, b.loop(number(0, "i64"), k) as i:
        of = b.op("add", b.op("mul", i, strides[0]), b.op("mul", b.op("add", j, c), strides[1]))
        to = b.op("add", b.op("mul", i, width), c)
        b.store(b.load(elem, 0, _place(b, x, of, elem).text, 4), _place(b, out, to, elem).text, 4)


def _place(b: Builder, base: Val, at: Val, elem: str) -> Val:
    return b.emit(f"getelementptr {elem}, ptr {base.text}, i64 {at.text}", "ptr")


def units_of(columns: int, dtype: np.dtype) -> int:
    """How many units `pack` divides so many columns into."""
    return columns // next(_widths(dtype.itemsize))[0] + 1


def _widths(itemsize: int) -> Iterator[tuple[int, int]]:
    """The widths of groups of columns, each with its lanes."""
    lanes = engine.vector_bytes() // itemsize
    yield 2 * lanes, lanes
    if lanes >= 4:
        yield lanes, lanes
    if lanes > 4:
        yield 4, 4
    yield 1, 0


def multiply(b: Builder, x: Val, y: Val, out: Val, n: Val, k: Val, m: Val, keep: bool, elem: str) -> None:
    """Write out = x @ y, or out += x @ y with `keep`, for contiguous matrices at these addresses, y packed.

    elem: "float" or "double".
    """
    most_rows = 8 if engine.vector_bytes() == 64 else 4  # of sixteen registers eight hold sums
    widths = list(_widths(BITS[elem] // 8))
    stops = [number(0, "i64"), *(b.op("and", m, -width) for width, _ in widths[:-1]), m]
    for (start, stop), (width, lanes) in zip(pairwise(stops), widths, strict=True):
        with b.loop(start, stop, width) as j:
            group = b.emit(f"getelementptr {elem}, ptr {y.text}, i64 {b.op('mul', j, k).text}", "ptr")
            rows = [number(0, "i64"), *(b.op("and", n, -count) for count in (most_rows, 2)), n]
            for (first, last), count in zip(pairwise(rows), (most_rows, 2, 1), strict=True):
                with b.loop(first, last, count) as i:
                    _block(b, x, group, out, (i, j), (count, width // (lanes or 1), lanes), (k, m), keep, elem)


def _block(
    b: Builder, x: Val, group: Val, out: Val, at: tuple[Val, Val], sizes: tuple[int, int, int], widths: tuple[Val, Val],
    keep: bool, elem: str,
) -> None:  # fmt: skip
    """The sums of some rows and some vectors of columns."""
    (i, j), (rows, vectors, lanes), (k, m) = at, sizes, widths

    def place(base: Val, row: Val, width: Val, column: Val) -> str:
        flat = b.op("add", b.op("mul", row, width), column)
        return b.emit(f"getelementptr {elem}, ptr {base.text}, i64 {flat.text}", "ptr").text

    width = number(vectors * (lanes or 1), "i64")
    cells = [(r, v) for r in range(rows) for v in range(vectors)]
    slots = {cell: b.alloca(elem, lanes) for cell in cells}
    columns = [b.op("add", j, v * lanes) for v in range(vectors)]
    for r, v in cells:
        start = number(0.0, elem)
        if keep:
            start = b.load(elem, lanes, place(out, b.op("add", i, r), m, columns[v]), 4)
        b.put(slots[r, v], b.splat(start, lanes) if lanes else start)
    with b.loop(number(0, "i64"), k) as inner:
        right = [b.load(elem, lanes, place(group, inner, width, number(v * lanes, "i64")), 4) for v in range(vectors)]
        for r in range(rows):
            left = b.load(elem, 0, place(x, b.op("add", i, r), k, inner), 4)
            for v in range(vectors):
                factor = b.splat(left, lanes) if lanes else left
                b.put(slots[r, v], b.fma(factor, right[v], b.get(slots[r, v], elem, lanes)))
    for r, v in cells:
        b.store(b.get(slots[r, v], elem, lanes), place(out, b.op("add", i, r), m, columns[v]), 4)
