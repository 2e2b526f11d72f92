"""Elements copied into another order, for eager calls: transposed, reversed, repeated or with gaps, by all threads.

Dimensions that follow one another in both arrays are one. Where the elements of rows follow one another in the source as
well, or are reversed or one repeated, a unit of work is some rows, copied vector by vector. Where those of another
dimension do (a transpose), it is a strip of the source as wide as a cache line, turned in squares of a vector's lanes: each
line is read and written once, which NumPy's loop does not do where a row takes a power of two bytes (1,024 x 1,024
transposed: 3.3 ms by NumPy, 0.4 here). The bits are those of NumPy: elements are words of 1, 2, 4 or 8 bytes.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np

from ....backend.onednn.address import address, is_readable
from ....core.foreign import ctypes
from ....core.locks import made_once
from ..llvm import engine
from ..llvm.ir import Builder, Val, number
from . import sharing

__all__ = ["available", "copy"]

_LINE = 64  # bytes
_CHUNK_BYTES = 1 << 14  # of neighbouring rows, which one thread copies
_BYTE_NS = {"rows": 0.03, "squares": 0.12}
_OUTER = 4  # dimensions around those that a unit goes through
_LEAST_BYTES = 1 << 18  # in elements that follow one another in both arrays: fewer are NumPy's
_WORDS = ("to", "source", "m", "n", "last", "to_step", "step", "inner")
_Table = ctypes.c_int64 * (len(_WORDS) + 3 * _OUTER)
_Dimension = tuple[int, int, int]  # elements, and the bytes from one to the next in the result and in the source


@made_once
def available() -> bool:
    """Whether code can be made here."""
    return engine.available() and is_readable()


def copy(out: np.ndarray, a: np.ndarray) -> bool:
    """Write the elements of `a` into `out`, of the same type and shape and of other memory. False: nothing was done.

    Shape: out (*) with elements that follow one another along some dimension, a (*)
    """
    size = out.itemsize
    if size not in (1, 2, 4, 8) or not out.size or out.dtype.hasobject or not out.flags.writeable:
        return False
    dims = _joined(out, a)
    if dims[-1][1] != size or len(dims) > _OUTER + 2 or any(x[1] < y[0] * y[1] for x, y in pairwise(dims)):
        return False
    inner = dims.pop()
    along = next((i for i, d in enumerate(dims) if d[2] == size), None) if inner[2] not in (size, -size, 0) else None
    if along is not None and min(inner[0], dims[along][0]) >= _lanes(size):
        strips = dims.pop(along)
        width = _LINE // size
        shared = -(-strips[0] // width), strips[1] * width, strips[2] * width
        kind, of_unit = "squares", (strips[0], inner[0], inner[0], strips[1], inner[2], size)
    else:
        if inner[2] == size and out.nbytes < _LEAST_BYTES:
            return False
        n = last = inner[0]
        if dims:
            rows = dims.pop()
        else:  # one row: in pieces, of which the last one may be shorter
            n = min(n, _CHUNK_BYTES // size)
            rows = -(-last // n), n * size, n * inner[2]
            last -= (rows[0] - 1) * n
        count = max(1, _CHUNK_BYTES // (n * size))
        shared = -(-rows[0] // count), rows[1] * count, rows[2] * count
        kind, of_unit = "rows", (rows[0], n, last, rows[1], rows[2], inner[2])
    dims.append(shared)
    if len(dims) > _OUTER:
        return False
    units = prod(d[0] for d in dims)
    dims[:0] = [(1, 0, 0)] * (_OUTER - len(dims))
    table = _Table(address(out), address(a), *of_unit, *(word for d in dims for word in d))
    code = _function(kind, size)
    sharing.run(code.address(kind), table, units, sharing.pieces(units, out.nbytes * _BYTE_NS[kind]))
    return True


def _joined(out: np.ndarray, a: np.ndarray) -> list[_Dimension]:
    """The dimensions in the order of the result's memory, the innermost one last; those that go on in both arrays are one."""
    dims = sorted(
        ((-step, n, source) for n, step, source in zip(out.shape, out.strides, a.strides, strict=True) if n > 1)
    )
    joined: list[_Dimension] = []
    for back, n, source in dims:
        if joined and joined[-1][1] == -back * n and joined[-1][2] == source * n:
            joined[-1] = joined[-1][0] * n, -back, source
        else:
            joined.append((n, -back, source))
    return joined or [(1, out.itemsize, out.itemsize)]


def _lanes(size: int) -> int:
    """The side of a square that is turned in registers."""
    return min(engine.vector_bytes() // size, 16)


@made_once
def _function(kind: str, size: int) -> engine.Code:
    text = _Text(size)
    return engine.build(text.squares() if kind == "squares" else text.rows())


class _Text:
    """void rows(table, from, to), and void squares(table, from, to), of units."""

    def __init__(self, size: int):
        self.b = b = Builder({})
        self.elem, self.size = f"i{8 * size}", size
        words = []
        for i in range(len(_WORDS) + 3 * _OUTER):
            place = b.emit(f"getelementptr i64, ptr %table, i64 {i}", "ptr")
            words.append(b.emit(f"load i64, ptr {place.text}, align 8", "i64"))
        self.word: dict[str, Val] = dict(zip(_WORDS, words, strict=False))
        self.outer = [words[i : i + 3] for i in range(len(_WORDS), len(words), 3)]

    def rows(self) -> str:
        """m rows of n elements, the last one of `last`, in the innermost outer dimension; a unit is a chunk of them."""
        b, word = self.b, self.word
        lanes, size, n = engine.vector_bytes() // self.size, self.size, word["n"]
        count = b.op("udiv", number(_CHUNK_BYTES, "i64"), b.op("mul", n, size))
        count = b.select(b.compare("icmp eq", count, 0), number(1, "i64"), count)
        with b.loop(Val("%from", "i64"), Val("%to", "i64")) as unit:
            to, source, chunk = self.of_unit(unit)
            rest = b.op("sub", word["m"], b.op("mul", chunk, count))
            with b.loop(number(0, "i64"), b.select(b.compare("icmp slt", rest, count), rest, count)) as i:
                row = self.at(to, b.op("mul", i, word["to_step"]))
                line = self.at(source, b.op("mul", i, word["step"]))
                is_last = b.compare("icmp eq", b.op("add", i, 1), rest)
                length = b.select(is_last, word["last"], n)
                whole = b.op("and", length, -lanes)
                for step in (size, -size, 0):
                    with b.when(b.compare("icmp eq", word["inner"], step)):
                        with b.loop(number(0, "i64"), whole, lanes) as j:
                            if step < 0:
                                first = self.at(line, b.op("mul", b.op("add", j, lanes - 1), step))
                                value = b.load(self.elem, lanes, first, size)
                                value = b.shuffle(value, value, [*range(lanes - 1, -1, -1)])
                            elif step:
                                value = b.load(self.elem, lanes, self.at(line, b.op("mul", j, step)), size)
                            else:
                                value = b.splat(b.load(self.elem, 0, line, size), lanes)
                            b.store(value, self.at(row, b.op("mul", j, size)), size)
                        self.one_by_one(row, line, whole, length)
                is_known = b.op("or", b.compare("icmp eq", word["inner"], 0), b.compare("icmp eq", word["inner"], size))
                is_known = b.op("or", is_known, b.compare("icmp eq", word["inner"], -size))
                with b.when(b.op("xor", is_known, number(1, "i1"))):
                    self.one_by_one(row, line, number(0, "i64"), length)
        return self.ended("rows")

    def one_by_one(self, row: str, line: str, start: Val, stop: Val) -> None:
        b = self.b
        with b.loop(start, stop) as j:
            value = b.load(self.elem, 0, self.at(line, b.op("mul", j, self.word["inner"])), self.size)
            b.store(value, self.at(row, b.op("mul", j, self.size)), self.size)

    def squares(self) -> str:
        """The (n, m) of the source transposed, where m elements follow one another in it; a unit is a strip of columns."""
        b, word, size = self.b, self.word, self.size
        side, width = _lanes(size), _LINE // size
        none, n = number(0, "i64"), word["n"]
        whole = b.op("and", n, -side)
        with b.loop(Val("%from", "i64"), Val("%to", "i64")) as unit:
            to, source, strip = self.of_unit(unit)
            rest = b.op("sub", word["m"], b.op("mul", strip, width))
            columns = b.select(b.compare("icmp slt", rest, width), rest, number(width, "i64"))
            full = b.op("and", columns, -side)
            with b.loop(none, whole, side) as i:
                with b.loop(none, full, side) as j:
                    self.square(to, source, i, j, side)
                with b.loop(full, columns) as j, b.loop(i, b.op("add", i, side)) as k:
                    self.one(to, source, k, j)
            with b.loop(whole, n) as i, b.loop(none, columns) as j:
                self.one(to, source, i, j)
        return self.ended("squares")

    def one(self, to: str, source: str, i: Val, j: Val) -> None:
        b = self.b
        value = b.load(self.elem, 0, self.from_source(source, i, j), self.size)
        b.store(value, self.into(to, i, j), self.size)

    def square(self, to: str, source: str, i: Val, j: Val, side: int) -> None:
        """Blocks of half the side change places across the diagonal, then those within them."""
        b = self.b
        lines = [
            b.load(self.elem, side, self.from_source(source, b.op("add", i, k), j), self.size) for k in range(side)
        ]
        half = side // 2
        while half:
            for k in range(side):
                if not k & half:
                    x, y = lines[k], lines[k + half]
                    lower = [lane if not lane & half else side + lane - half for lane in range(side)]
                    lines[k] = b.shuffle(x, y, lower)
                    lines[k + half] = b.shuffle(
                        x, y, [lane + half if not lane & half else side + lane for lane in range(side)]
                    )
            half //= 2
        for k, line in enumerate(lines):
            b.store(line, self.into(to, i, b.op("add", j, k)), self.size)

    def from_source(self, source: str, i: Val, j: Val) -> str:
        b = self.b
        return self.at(source, b.op("add", b.op("mul", i, self.word["step"]), b.op("mul", j, self.size)))

    def into(self, to: str, i: Val, j: Val) -> str:
        b = self.b
        return self.at(to, b.op("add", b.op("mul", j, self.word["to_step"]), b.op("mul", i, self.size)))

    def of_unit(self, unit: Val) -> tuple[str, str, Val]:
        """Where a unit starts in both arrays, and its place in the innermost of the outer dimensions."""
        b = self.b
        left, places = unit, []
        for size, to_step, step in self.outer[::-1]:
            place = b.op("urem", left, size)
            left = b.op("udiv", left, size)
            places.append((place, to_step, step))
        ends = []
        for name, k in (("to", 1), ("source", 2)):
            start = b.convert("inttoptr", self.word[name], "ptr").text
            for each in places:
                start = self.at(start, b.op("mul", each[0], each[k]))
            ends.append(start)
        return ends[0], ends[1], places[0][0]

    def ended(self, name: str) -> str:
        self.b.line("ret void")
        text = self.b.function(f"@{name}", "ptr %table, i64 %from, i64 %to")
        return text + "\n".join(self.b.declarations.values()) + "\n" + engine.attributes()

    def at(self, base: str, offset: Val) -> str:
        return self.b.emit(f"getelementptr i8, ptr {base}, i64 {offset.text}", "ptr").text
