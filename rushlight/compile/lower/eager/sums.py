"""Sums of rows and of columns in torch's order (`ops/reduce/sums.py`), for eager calls: in one pass, to the same bits.

Small ones are one call that is given the arrays themselves: it reads their addresses (`backend/onednn/address.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....backend.onednn.address import DATA, address, is_readable
from ....core import poison
from ....core.foreign import ctypes
from ....core.locks import made_once
from ....ops.reduce.sums import LANES, LEVELS, LEVELS_OF_BATCH, SIDE_BY_SIDE, bits_of_batch, level_bits
from ..llvm import engine
from ..llvm.arithmetic import register
from ..llvm.ir import Builder, Val, number
from . import sharing

__all__ = ["available", "columns", "function", "mean_of_picked", "rows"]

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
    "columns": ("x", "y", "chunks", "width", "m", "n", "blocks", "bits", "fourth", "units"),
}
_Table = ctypes.c_int64 * 10
_F32 = np.dtype(np.float32)


class Sums:
    """The code of one kind. shared: the address of the function for some units; at_once: the one for all, with the arrays."""

    def __init__(self, kind: str, code: engine.Code):
        words = len(_WORDS[kind]) - 2
        self.code = code  # lives as long as the functions
        self.shared = code.address(kind)
        arrays = [ctypes.py_object, ctypes.py_object]
        self.at_once = ctypes.PYFUNCTYPE(None, *arrays, *[ctypes.c_int64] * words)(code.address("at_once"))


def rows(sums: Sums, a: np.ndarray, count: int, n: int) -> np.ndarray:
    """The sums of rows of n elements, of which the last one may have fewer; n is at least a vector's lanes.

    Shape: (*), C-contiguous -> (count,), or () for one
    """
    out = _empty(() if count == 1 else count, a.dtype)
    last, of_block = a.size - (count - 1) * n, LANES[a.dtype] * SIDE_BY_SIDE
    bits = level_bits(n // of_block)
    words = count, n, bits, last, bits if last == n else level_bits(last // of_block)
    pieces = sharing.pieces(count, a.nbytes * _BYTE_NS)
    if pieces == 1:
        sums.at_once(a, out, *words)
    else:
        sharing.run(sums.shared, _Table(address(a), address(out), *words), count, pieces)
    return out


def columns(sums: Sums, a: np.ndarray, count: int, m: int, n: int, in_blocks: bool) -> np.ndarray:
    """Shape: (b, m, n) -> (b, n), C-contiguous"""
    out = _empty((count, n), a.dtype)
    step = LANES[a.dtype] if n >= LANES[a.dtype] else 1
    blocks = n - n % (step * SIDE_BY_SIDE) if in_blocks else 0
    width = _CHUNK_BYTES // a.itemsize
    chunks = -(-n // width)
    words = chunks, width, m, n, blocks, level_bits(m), level_bits(m // SIDE_BY_SIDE)
    pieces = sharing.pieces(count * chunks, a.nbytes * _BYTE_NS)
    if pieces == 1:
        sums.at_once(a, out, *words, count * chunks)
    else:
        sharing.run(sums.shared, _Table(address(a), address(out), *words), count * chunks, pieces)
    return out


@made_once
def function(kind: str, dtype: np.dtype) -> Any:
    """The code of "rows" or "columns", or what `mean_of_picked` calls ("picked", float32).

    It is made in 40 to 70 ms, or in 2 to 4 where it is on disk.
    """
    text = _Text(dtype)
    return (
        _picked(engine.build(text.of_picked())) if kind == "picked" else Sums(kind, engine.build(text.assembly(kind)))
    )


def mean_of_picked(picked: Any, x: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """Minus the mean of the element that `target` (int64) names in each row; None where it names none.

    Shape: x (n, c), target (n,), C-contiguous float32 -> ()
    """
    out = _empty((), _F32)
    n, c = x.shape
    return None if picked(x, target, out, n, c, bits_of_batch(n)) else out


def _picked(code: engine.Code) -> Any:
    arrays, numbers = [ctypes.py_object] * 3, [ctypes.c_int64] * 3
    function = ctypes.PYFUNCTYPE(ctypes.c_int, *arrays, *numbers)(code.address("picked"))
    function.code = code  # pyright: ignore[reportAttributeAccessIssue]: lives as long as the function
    return function


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
        text = b.function(f"@{kind}", "ptr %table, i64 %from, i64 %to") + self._at_once(kind)
        return text + "\n".join(b.declarations.values()) + "\n" + engine.attributes()

    def _at_once(self, kind: str) -> str:
        """void at_once(a, out, words...): the function for all units, of two array objects."""
        b, names = Builder(self.b.declarations), _WORDS[kind][2:]
        table = b.alloca("i64", count=len(_Table()))
        words = [*(self._data(b, f"%{array}") for array in "xy"), *(Val(f"%{name}", "i64") for name in names)]
        for i, word in enumerate(words):
            b.store(word, b.emit(f"getelementptr i64, ptr {table}, i64 {i}", "ptr").text, 8)
        b.line(f"call void @{kind}(ptr {table}, i64 0, i64 %{'count' if kind == 'rows' else 'units'})")
        b.line("ret void")
        parameters = ["ptr %x", "ptr %y", *(f"i64 %{name}" for name in names)]
        return b.function("@at_once", ", ".join(parameters))

    @staticmethod
    def _data(b: Builder, array: str) -> Val:
        """The address of an array object's elements."""
        place = b.emit(f"getelementptr i8, ptr {array}, i64 {DATA}", "ptr")
        return b.emit(f"load i64, ptr {place.text}, align 8", "i64")

    def of_picked(self) -> str:
        """i32 picked(x, target, out, n, c, bits): 1 where a class is not there, and then nothing is done."""
        b = self.b
        x, target, out = (b.convert("inttoptr", self._data(b, f"%{name}"), "ptr").text for name in ("a", "t", "o"))
        n, c, bits = (Val(f"%{name}", "i64") for name in ("n", "c", "bits"))

        def class_of(row: Val) -> Val:
            return b.load("i64", 0, b.emit(f"getelementptr i64, ptr {target}, i64 {row.text}", "ptr").text, 8)

        wrong = b.alloca("i1")
        b.put(wrong, number(False, "i1"))
        with b.loop(number(0, "i64"), n) as row:
            b.put(wrong, b.op("or", b.get(wrong, "i1"), b.compare("icmp uge", class_of(row), c)))
        stop, go = b.fresh("stop"), b.fresh("go")
        b.line(f"br i1 {b.get(wrong, 'i1').text}, label {stop}, label {go}")
        b.block(stop)
        b.line("ret i32 1")
        b.block(go)

        def term(row: Val) -> Val:
            place = b.op("add", b.op("mul", row, c), class_of(row))
            return b.load(self.elem, 0, self.at(x, place), self.bytes)

        rest = b.op("sub", n, 1)
        (total,) = self.in_levels(rest, bits, lambda i: [term(b.op("add", i, 1))], 0, LEVELS_OF_BATCH, side=1)
        total = self.plus(total, term(number(0, "i64")))
        count = b.convert("sitofp", b.op("sub", number(0, "i64"), n), self.elem)
        b.store(self.plus(b.op("fdiv", total, count), self.zeros(0)), out, self.bytes)
        b.line("ret i32 0")
        text = b.function("@picked", "ptr %a, ptr %t, ptr %o, i64 %n, i64 %c, i64 %bits", "i32")
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

    def in_levels(
        self, size: Val, bits: Val, load: _Load, lanes: int, levels: int = LEVELS, side: int = SIDE_BY_SIDE
    ) -> list[Val]:
        """The sums of `size` lists of terms, `side` to a list: 2**bits terms make one of the next level."""
        b = self.b
        slots = [[b.alloca(self.elem, lanes) for _ in range(side)] for _ in range(levels)]

        def cleared(level: int) -> None:
            for slot in slots[level]:
                b.put(slot, self.zeros(lanes))

        def added(level: int, terms: list[Val]) -> None:
            for slot, term in zip(slots[level], terms, strict=True):
                b.put(slot, self.plus(b.get(slot, self.elem, lanes), term))

        def values(level: int) -> list[Val]:
            return [b.get(slot, self.elem, lanes) for slot in slots[level]]

        def carried(level: int, done: Val) -> None:
            """Make of what a level has, after so many, one term of the next."""
            with b.when(b.compare("icmp eq", b.op("and", done, mask), 0)):
                added(level + 1, values(level))
                cleared(level)
                if level + 2 < levels:
                    carried(level + 1, b.op("lshr", done, bits))

        for level in range(levels):
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
            carried(1, b.op("add", group, 1))
        with b.loop(b.op("shl", groups, bits), size) as i:
            added(0, load(i))
        sums = values(0)
        for level in range(1, levels):
            sums = [self.plus(x, y) for x, y in zip(sums, values(level), strict=True)]
        return sums
