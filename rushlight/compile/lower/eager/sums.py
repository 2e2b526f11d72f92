"""Sums of rows and of columns in torch's order (`ops/reduce/sums.py`), for eager calls: in one pass, to the same bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....backend.onednn.address import address, is_readable
from ....core import poison
from ....core.foreign import ctypes
from ....core.locks import made_once
from ....ops.reduce.sums import LANES, SIDE_BY_SIDE, level_bits
from ..llvm import engine
from ..llvm.arithmetic import register
from ..llvm.ir import Builder, Val, number
from . import sharing

__all__ = ["available", "columns", "function", "rows"]

_LEVELS = 4
_empty = poison.empty if poison.on else np.empty
_Load = Callable[[Val], list[Val]]


@made_once
def available() -> bool:
    """Whether code can be made here."""
    return engine.available() and is_readable()


_BYTE_NS = 0.015
_CHUNK_BYTES = 1 << 11  # of neighbouring columns, which one thread sums
_WORDS = {
    "rows": ("x", "y", "count", "n", "bits", "last", "last_bits"),
    "columns": ("x", "y", "chunks", "width", "m", "n", "blocks", "bits", "fourth"),
}
_Table = ctypes.c_int64 * 9


def rows(code: engine.Code, a: np.ndarray, count: int, n: int) -> np.ndarray:
    """The sums of rows of n elements, of which the last one may have fewer; n is at least a vector's lanes.

    Shape: (*), C-contiguous -> (count,), or () for one
    """
    out = _empty(() if count == 1 else count, a.dtype)
    last = a.size - (count - 1) * n
    levels = (level_bits(size // LANES[a.dtype] // SIDE_BY_SIDE) for size in (n, last))
    table = _Table(address(a), address(out), count, n, next(levels), last, next(levels))
    sharing.run(code.address("rows"), table, count, sharing.pieces(count, a.nbytes * _BYTE_NS))
    return out


def columns(code: engine.Code, a: np.ndarray, count: int, m: int, n: int, in_blocks: bool) -> np.ndarray:
    """Shape: (b, m, n) -> (b, n), C-contiguous"""
    out = _empty((count, n), a.dtype)
    step = LANES[a.dtype] if n >= LANES[a.dtype] else 1
    blocks = n - n % (step * SIDE_BY_SIDE) if in_blocks else 0
    width = _CHUNK_BYTES // a.itemsize
    chunks = -(-n // width)
    levels = level_bits(m), level_bits(m // SIDE_BY_SIDE)
    table = _Table(address(a), address(out), chunks, width, m, n, blocks, *levels)
    sharing.run(code.address("columns"), table, count * chunks, sharing.pieces(count * chunks, a.nbytes * _BYTE_NS))
    return out


@made_once
def function(kind: str, dtype: np.dtype) -> engine.Code:
    """The code of "rows" or "columns": made in 40 to 70 ms, or in 2 to 4 where it is on disk."""
    return engine.build(_Text(dtype).assembly(kind))


class _Text:
    """void rows(table, from, to), and void columns(table, from, to) of chunks of columns: `_WORDS` are in the table."""

    def __init__(self, dtype: np.dtype):
        self.b = Builder({})
        self.elem, self.bytes, self.lanes = register(dtype), dtype.itemsize, LANES[dtype]

    def assembly(self, kind: str) -> str:
        b = self.b
        self.word = {}
        for i, name in enumerate(_WORDS[kind]):
            place = b.emit(f"getelementptr i64, ptr %table, i64 {i}", "ptr")
            self.word[name] = b.emit(f"load i64, ptr {place.text}, align 8", "i64")
        self.x, self.y = (b.convert("inttoptr", self.word[name], "ptr").text for name in "xy")
        with b.loop(Val("%from", "i64"), Val("%to", "i64")) as unit:
            (self.row if kind == "rows" else self.chunk)(unit)
        b.line("ret void")
        text = b.function(f"@{kind}", "ptr %table, i64 %from, i64 %to")
        return text + "\n".join(b.declarations.values()) + "\n" + engine.attributes()

    def at(self, base: str, index: Val) -> str:
        return self.b.emit(f"getelementptr {self.elem}, ptr {base}, i64 {index.text}", "ptr").text

    def loaded(self, index: Val, lanes: int) -> Val:
        return self.b.load(self.elem, lanes, self.at(self.x, index), self.bytes)

    def plus(self, x: Val, y: Val) -> Val:
        return self.b.op("fadd", x, y)

    def zeros(self, lanes: int) -> Val:
        return self.b.splat(number(0.0, self.elem), lanes) if lanes else number(0.0, self.elem)

    def row(self, row: Val) -> None:
        """The sum of elements that follow one another."""
        b, word = self.b, self.word
        start = b.op("mul", row, word["n"])
        is_last = b.compare("icmp eq", b.op("add", row, 1), word["count"])
        m, bits = (b.select(is_last, word[x], word[y]) for x, y in (("last", "n"), ("last_bits", "bits")))
        vectors = b.op("lshr", m, self.lanes.bit_length() - 1)
        vector = self.every_fourth(
            vectors,
            bits,
            lambda i: self.loaded(b.op("add", start, b.op("mul", i, self.lanes)), self.lanes),
            self.lanes,
        )
        total = b.alloca(self.elem)
        b.put(total, self.zeros(0))
        with b.loop(b.op("mul", vectors, self.lanes), m) as i:
            b.put(total, self.plus(b.get(total, self.elem), self.loaded(b.op("add", start, i), 0)))
        r = b.get(total, self.elem)
        for lane in range(self.lanes):
            r = self.plus(r, b.extract(vector, lane))
        b.store(r, self.at(self.y, row), self.bytes)

    def chunk(self, unit: Val) -> None:
        """The sums of neighbouring columns of an (m, n) matrix."""
        b, word = self.b, self.word
        m, n, bits, blocks = (word[name] for name in ("m", "n", "bits", "blocks"))
        index, of_matrix = b.op("udiv", unit, word["chunks"]), b.op("urem", unit, word["chunks"])
        low = b.op("mul", of_matrix, word["width"])
        start = b.op("mul", index, b.op("mul", m, n))
        to = b.op("mul", index, n)

        def least(x: Val, y: Val) -> Val:
            return b.select(b.compare("icmp slt", x, y), x, y)

        def most(x: Val, y: Val) -> Val:
            return b.select(b.compare("icmp sgt", x, y), x, y)

        high = least(n, b.op("add", low, word["width"]))

        def stored(value: Val, column: Val) -> None:
            b.store(self.plus(value, self.zeros(value.lanes)), self.at(self.y, b.op("add", to, column)), self.bytes)

        def place(i: Val, column: Val) -> Val:
            return b.op("add", b.op("add", start, b.op("mul", i, n)), column)

        def in_blocks(lanes: int, stop: Val) -> None:
            width = max(lanes, 1)
            with b.loop(low, least(high, stop), width * SIDE_BY_SIDE) as j:
                parts = [b.op("add", j, k * width) for k in range(SIDE_BY_SIDE)]
                sums = self.in_levels(m, bits, lambda i: [self.loaded(place(i, p), lanes) for p in parts], lanes)
                for value, p in zip(sums, parts, strict=True):
                    stored(value, p)

        def singly(lanes: int, first: Val, stop: Val) -> None:
            with b.loop(most(low, first), least(high, stop), max(lanes, 1)) as j:
                stored(self.every_fourth(m, word["fourth"], lambda i: self.loaded(place(i, j), lanes), lanes), j)

        is_wide = b.compare("icmp uge", n, self.lanes)
        none = number(0, "i64")
        in_blocks(self.lanes, b.select(is_wide, blocks, none))
        in_blocks(0, b.select(is_wide, none, blocks))
        whole = b.select(is_wide, b.op("and", n, -self.lanes), blocks)
        singly(self.lanes, blocks, whole)
        singly(0, whole, n)

    def every_fourth(self, size: Val, bits: Val, load: Callable[[Val], Val], lanes: int) -> Val:
        """Four sums of every fourth of `size` terms, the terms left, and the four one after another."""
        b = self.b
        side = b.op("lshr", size, 2)

        def four(i: Val) -> list[Val]:
            first = b.op("mul", i, SIDE_BY_SIDE)
            return [load(b.op("add", first, k)) for k in range(SIDE_BY_SIDE)]

        first, *others = self.in_levels(side, bits, four, lanes)
        total = b.alloca(self.elem, lanes)
        b.put(total, first)
        with b.loop(b.op("mul", side, SIDE_BY_SIDE), size) as i:
            b.put(total, self.plus(b.get(total, self.elem, lanes), load(i)))
        r = b.get(total, self.elem, lanes)
        for other in others:
            r = self.plus(r, other)
        return r

    def in_levels(self, size: Val, bits: Val, load: _Load, lanes: int) -> list[Val]:
        """The sums of `size` lists of terms, four to a list: 2**bits terms make one of the next level."""
        b = self.b
        slots = [[b.alloca(self.elem, lanes) for _ in range(SIDE_BY_SIDE)] for _ in range(_LEVELS)]

        def cleared(level: int) -> None:
            for slot in slots[level]:
                b.put(slot, self.zeros(lanes))

        def added(level: int, terms: list[Val]) -> None:
            for slot, term in zip(slots[level], terms, strict=True):
                b.put(slot, self.plus(b.get(slot, self.elem, lanes), term))

        def values(level: int) -> list[Val]:
            return [b.get(slot, self.elem, lanes) for slot in slots[level]]

        for level in range(_LEVELS):
            cleared(level)
        step = b.op("shl", number(1, "i64"), bits)
        mask = b.op("sub", step, 1)
        groups = b.op("lshr", size, bits)
        with b.loop(number(0, "i64"), groups) as group:
            start = b.op("shl", group, bits)
            with b.loop(number(0, "i64"), step) as i:
                added(0, load(b.op("add", start, i)))
            added(1, values(0))
            cleared(0)
            done = b.op("add", group, 1)
            with b.when(b.compare("icmp eq", b.op("and", done, mask), 0)):
                added(2, values(1))
                cleared(1)
                of_next = b.op("lshr", done, bits)
                with b.when(b.compare("icmp eq", b.op("and", of_next, mask), 0)):
                    added(3, values(2))
                    cleared(2)
        with b.loop(b.op("shl", groups, bits), size) as i:
            added(0, load(i))
        sums = values(0)
        for level in range(1, _LEVELS):
            sums = [self.plus(x, y) for x, y in zip(sums, values(level), strict=True)]
        return sums
