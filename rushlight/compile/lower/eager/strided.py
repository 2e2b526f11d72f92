"""A loop over arrays of which rows follow one another at any strides, by the code of one over arrays without gaps (`flat.py`).

Slices, broadcast operands and arrays in another order of memory are rows: what follows one another in memory in each array,
or is one element for the whole row. A unit of work is some neighbouring rows, or a part of a long one; for each row of it the
loop's function is called with the places of that row.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ....core.foreign import ctypes
from ..llvm import engine
from ..llvm.ir import Builder, Val, number
from ..llvm.nest import HEADER, Kernel
from . import sharing

__all__ = ["OUTER", "Rows", "Strided", "divided"]

OUTER = 3  # dimensions around those that a unit goes through
_CHUNK = 4096  # elements of neighbouring rows, which one thread goes through
_ROW_NS = 15.0  # for each row: its places, and a call
_WORDS = ("n", "last", "rows", "of_unit")

_Dimension = tuple[int, tuple[int, ...]]  # elements, and the bytes from one to the next in each array


class Rows(NamedTuple):
    """How arrays are divided.

    n: elements of a row, `last` of the last one in the innermost dimension of rows; rows: how many that has, of_unit: how many
    a unit goes through; dims: the dimensions around them, the innermost one counting units; steps: the bytes from a row to the
    next, in each array.
    """

    n: int
    last: int
    rows: int
    of_unit: int
    dims: tuple[_Dimension, ...]
    steps: tuple[int, ...]

    @property
    def units(self) -> int:
        return prod(n for n, _ in self.dims)

    def words(self, places: Sequence[int], itemsize: int) -> tuple[int, ...]:
        """What code is told whose arrays are those at these places; -1 is one element. itemsize: of the last array's elements,
        whose steps are counted in elements.
        """
        steps = [*(s for _, s in self.dims), self.steps]
        last = len(self.steps) - 1
        of_arrays = [0 if p < 0 else s[p] * itemsize if p == last else s[p] for p in places for s in steps]
        return (self.n, self.last, self.rows, self.of_unit, *(n for n, _ in self.dims), *of_arrays)


def divided(dims: Sequence[_Dimension]) -> Rows | None:
    """Dimensions, the outermost first, as rows in units. None where there are too many of them."""
    *around, (n, steps) = dims
    last, of_unit = n, 1
    if n > 2 * _CHUNK:  # a long row is several
        rows = -(-n // _CHUNK), tuple(_CHUNK * s for s in steps)
        n, last = _CHUNK, n - (rows[0] - 1) * _CHUNK
    elif around:
        rows = around.pop()
        of_unit = max(1, _CHUNK // n)
    else:
        rows = 1, (0,) * len(steps)
    if len(around) > OUTER:
        return None
    units = -(-rows[0] // of_unit), tuple(of_unit * s for s in rows[1])
    around = [(1, (0,) * len(steps))] * (OUTER - len(around)) + around
    return Rows(n, last, rows[0], of_unit, (*around, units), rows[1])


class Strided:
    """The code of a loop with rows around it."""

    __slots__ = ("_address", "_code", "_block", "_unit_ns", "_table")

    def __init__(self, kernel: Kernel, block: int, unit_ns: float):
        count = len(kernel.values)
        text = _driver(kernel, block)
        self._code = engine.build("\n".join([*kernel.declarations.values(), kernel.text, text, engine.attributes()]))
        self._address = self._code.address("strided")
        self._block, self._unit_ns = block, unit_ns
        self._table = ctypes.c_int64 * (len(_WORDS) + OUTER + 1 + (OUTER + 3) * count)

    def run(self, rows: Rows, words: Sequence[int], addresses: Sequence[int]) -> None:
        """Run it over arrays at these addresses, on the threads that OpenMP would use."""
        units = rows.units
        each_ns = rows.of_unit * (_ROW_NS + -(-rows.n // self._block) * self._unit_ns)
        sharing.run(self._address, self._table(*words, *addresses), units, sharing.pieces(units, units * each_ns))


def _driver(kernel: Kernel, block: int) -> str:
    """void strided(table, from, to), of units: calls the loop of `kernel` for each row."""
    b, count = Builder({}), len(kernel.values)

    def word(i: int) -> Val:
        place = b.emit(f"getelementptr i64, ptr %table, i64 {i}", "ptr")
        return b.emit(f"load i64, ptr {place.text}, align 8", "i64")

    n, last, rows, of_unit = map(word, range(len(_WORDS)))
    first = len(_WORDS)
    sizes = [word(first + i) for i in range(OUTER + 1)]
    first += OUTER + 1
    each = OUTER + 2
    steps = [[word(first + each * k + i) for i in range(each)] for k in range(count)]
    starts = [word(first + each * count + k) for k in range(count)]
    data = b.alloca("i64", 0, HEADER + count)
    slots = [b.emit(f"getelementptr i64, ptr {data}, i64 {i}", "ptr").text for i in range(HEADER + count)]
    b.store(number(0, "i64"), slots[0], 8)
    with b.loop(Val("%from", "i64"), Val("%to", "i64")) as unit:
        left, at = unit, list(starts)
        unit_of_rows = left
        for i in range(OUTER, -1, -1):
            place = b.op("urem", left, sizes[i])
            left = b.op("udiv", left, sizes[i])
            unit_of_rows = place if i == OUTER else unit_of_rows
            at = [b.op("add", a, b.op("mul", place, steps[k][i])) for k, a in enumerate(at)]
        rest = b.op("sub", rows, b.op("mul", unit_of_rows, of_unit))
        with b.loop(number(0, "i64"), b.select(b.compare("icmp slt", rest, of_unit), rest, of_unit)) as row:
            for k, a in enumerate(at):
                b.store(b.op("add", a, b.op("mul", row, steps[k][-1])), slots[HEADER + k], 8)
            length = b.select(b.compare("icmp eq", b.op("add", row, 1), rest), last, n)
            b.store(length, slots[1], 8)
            blocks = b.op("udiv", b.op("add", length, block - 1), block)
            b.line(f"call void @{kernel.name}(ptr {data}, i64 0, i64 {blocks.text})")
    b.line("ret void")
    return b.function("@strided", "ptr %table, i64 %from, i64 %to") + "\n".join(b.declarations.values())
