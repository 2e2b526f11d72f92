"""A product of few rows within generated code: (n, k) @ (k, m), all of whose sizes are known when it runs.

Eight rows and two vectors of columns are summed in registers at once. A row's sums are taken in the same order however many
rows there are, so that threads can share the rows. The right matrix is packed before (`packed`), as a layer of many steps can do
once: (16, 64) @ (64, 256) takes 4 us, OpenBLAS, which packs it in each call, 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ..llvm import engine
from ..llvm.ir import BITS, Builder, Val, number

__all__ = ["multiply", "packed"]


def packed(matrix: np.ndarray) -> np.ndarray:
    """The columns in groups, each of which is contiguous: as many as `multiply` takes at once. Shape: (k, m) -> (k m)"""
    k, m = matrix.shape
    out, done = np.empty(k * m, matrix.dtype), 0
    for width, _ in _widths(matrix.dtype.itemsize):
        stop = m - m % width
        if stop > done:
            groups = matrix[:, done:stop].reshape(k, -1, width).swapaxes(0, 1)
            out[done * k : stop * k].reshape(groups.shape)[...] = groups
            done = stop
    return out


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
