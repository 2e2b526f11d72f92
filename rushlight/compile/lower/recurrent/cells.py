"""The steps of a recurrent layer as generated code: one function for each kind of cell serves every size.

The rows of a batch do not depend on each other, so each thread takes all steps of some of them. A row's results are the same
whichever thread takes it, and, where the weight is packed, in every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from ....core.locks import made_once
from ..eager import sharing
from ..llvm import engine, parallel
from ..llvm.arithmetic import register
from ..llvm.ir import BITS, Builder, Val, number
from ..llvm.vector_math import function
from . import products

__all__ = ["CELLS", "MOST_ARRAYS", "PACKED", "TYPES", "Work", "code"]

TYPES = frozenset(map(np.dtype, (np.float32, np.float64)))
PACKED = 2  # a kind of weight (`products.py`); the others are BLAS's: 0 and 1, a transpose
# Rows of all steps; for fewer BLAS takes the weight as it is. Without AVX-512 it packs that itself for each product of several rows.
_PACKED_FOR, _PACKED_FOR_NARROW = 32, 16
_UNIT = 8  # rows
_PIECE_NS = 10_000  # no piece is shorter
_PRODUCT_NS, _CELL_NS = 0.02, 3.0  # of a multiply-add, and of the functions of a cell
_LARGE_BYTES = 1 << 17  # a weight that each piece reads from beyond its core's caches in every step

MOST_ARRAYS = 7
_FIXED_WORDS = 9
_TABLE_WORDS = _FIXED_WORDS + MOST_ARRAYS + 3


class Work:
    """How the steps of a layer are taken, and shared between threads.

    spans: the first and last row of each step. shape: the weight's, (k, gates x k) or its transpose.
    is_packed: whether the weight must be packed before. units: of `unit` rows each, which the pool deals out in `pieces`.
    """

    def __init__(self, spans: Sequence[tuple[int, int]], shape: tuple[int, int], dtype: np.dtype, threads: int):
        self.steps, self.most = len(spans), max(b - a for a, b in spans)
        (self.depth, self.columns), self.dtype = shape, dtype
        least = _PACKED_FOR if engine.vector_bytes() == 64 else _PACKED_FOR_NARROW
        # single rows are BLAS's: 16 steps of 512 cells 1.36 ms, packed 2.64
        self.is_packed = engine.fuses() and self.most > 1 and self.steps * self.most >= least
        size, few = self.depth * self.columns, min(shape)
        worth = self.steps * self.most * (size * _PRODUCT_NS + few * _CELL_NS)
        self.unit = _UNIT
        if size * dtype.itemsize > _LARGE_BYTES:  # as few pieces as there are threads: each reads all of it
            self.unit = max(2, -(-self.most // threads) + 1 & -2)
        self.units = -(-self.most // self.unit)
        self.pieces = sharing.pieces(self.units, worth, _PIECE_NS) if self.is_packed else 1

    def block(self, kind: int, spans: int, blas: tuple[int, int], strides: Sequence[int]) -> tuple[int, ...]:
        """The numbers that `take` reads.

        spans: their address. blas: those of its products of matrices, and of a matrix and a vector. strides: the weight's, in elements.
        """
        packing = products.units_of(self.columns, self.dtype) if kind == PACKED else 0
        sizes = self.steps, self.depth, self.columns, kind, self.unit, spans, *blas, *strides
        return *sizes, parallel.share_address(), self.units, self.pieces, packing, min(packing, self.pieces)


@made_once
def code(cell: str, dtype: np.dtype) -> engine.Code:
    """The functions of a kind of cell: `take`."""
    return engine.build(_assembly(cell, dtype))


def _assembly(cell: str, dtype: np.dtype) -> str:
    """void take(block, weight, room, arrays...): all steps. room: memory for the packed weight.

    steps(table, from, to) takes those of some units of rows, pack(table, from, to) packs some columns of the weight.
    table: the number of steps, the weight's sizes and kind, the rows of a unit, the addresses of the spans, of BLAS's
    products, of the weight as the product takes it, of seven arrays, and of the weight as it is, with its strides.
    """
    declarations: dict[str, str] = {}
    steps = _Steps(Builder(declarations), register(dtype))
    CELLS[cell](steps)
    pack = _Steps(Builder(declarations), register(dtype))
    pack.pack()
    text = ""
    for name, b in (("steps", steps.b), ("pack", pack.b)):
        b.line("ret void")
        text += b.function(f"@{name}", "ptr %table, i64 %from, i64 %to", linkage="internal ")
    return text + _take() + "\n".join(declarations.values()) + "\n" + engine.attributes()


def _take() -> str:
    names = ["steps", "depth", "columns", "kind", "unit", "spans", "product", "vector_product", "down", "across"]
    names += ["share", "units", "pieces", "packing", "packing_pieces"]
    loads = "".join(
        f"  %{name}.p = getelementptr i64, ptr %block, i64 {i}\n  %{name} = load i64, ptr %{name}.p\n"
        for i, name in enumerate(names)
    )
    arrays = [f"a{i}" for i in range(MOST_ARRAYS)]
    words = [*names[:8], "used", *arrays, "weight", "down", "across"]
    stores = "".join(
        f"  %t{i} = getelementptr i64, ptr %table, i64 {i}\n  store i64 %{word}, ptr %t{i}\n"
        for i, word in enumerate(words)
    )
    arguments = "".join(f", i64 %{a}" for a in arrays)
    return f"""
define void @take(ptr %block, i64 %weight, i64 %room{arguments}) #0 {{
  %table = alloca [{_TABLE_WORDS} x i64], align 64
{loads}  %is_packed = icmp eq i64 %kind, {PACKED}
  %used = select i1 %is_packed, i64 %room, i64 %weight
{stores}  %f = inttoptr i64 %share to ptr
  br i1 %is_packed, label %first, label %then
first:
  %few = trunc i64 %packing_pieces to i32
  call void %f(ptr @pack, ptr %table, i64 %packing, i64 1, i32 %few)
  br label %then
then:
  %most = trunc i64 %pieces to i32
  call void %f(ptr @steps, ptr %table, i64 %units, i64 1, i32 %most)
  ret void
}}
"""


class _Steps:
    """The function that is being written. rows, columns: the sizes of the weight."""

    def __init__(self, b: Builder, elem: str):
        self.b, self.elem = b, elem
        self.lanes = engine.vector_bytes() // (BITS[elem] // 8)
        self.count, self.rows, self.columns, kind, unit = (self._word(i) for i in range(5))
        self._spans, self._gemm, self._gemv, self.weight = (self._array(i) for i in range(5, _FIXED_WORDS))
        self._low, self._high = (b.op("mul", Val(text, "i64"), unit) for text in ("%from", "%to"))
        self._is_packed = b.compare("icmp eq", kind, PACKED)
        is_turned = b.compare("icmp eq", kind, 1)
        self._n = b.alloca("i64")
        letter = b.select(is_turned, number(ord("T"), "i8"), number(ord("N"), "i8"))
        self._letters = self._kept(letter), self._kept(number(ord("N"), "i8"))
        self._ahead = self._kept(b.select(is_turned, self.rows, self.columns))
        self._behind = self._kept(b.select(is_turned, self.columns, self.rows))
        self._one = self._kept(number(1, "i64"))
        self._m, self._k = self._kept(self.columns), self._kept(self.rows)
        self._numbers = {value: self._kept(number(value, elem)) for value in (0.0, 1.0)}

    def pack(self) -> None:
        """Pack some columns of the weight."""
        down, across = (self._word(_FIXED_WORDS + MOST_ARRAYS + i) for i in (1, 2))
        units = Val("%from", "i64"), Val("%to", "i64")
        source = self._array(_FIXED_WORDS + MOST_ARRAYS)
        products.pack(self.b, source, (down, across), self.weight, units, self.rows, self.columns, self.elem)

    def _kept(self, value: Val) -> str:
        slot = self.b.alloca(value.elem)
        self.b.put(slot, value)
        return slot

    def _word(self, i: int) -> Val:
        place = self.b.emit(f"getelementptr i64, ptr %table, i64 {i}", "ptr")
        return self.b.emit(f"load i64, ptr {place.text}, align 8", "i64")

    def _array(self, i: int) -> Val:
        return self.b.convert("inttoptr", self._word(i), "ptr")

    def arrays(self, count: int) -> list[Val]:
        return [self._array(_FIXED_WORDS + i) for i in range(count)]

    @contextmanager
    def each_step(self) -> Iterator[tuple[Val, Val]]:
        """The first of these rows of a step, and how many there are."""
        b = self.b
        with b.loop(number(0, "i64"), self.count) as t:
            place = b.emit(f"getelementptr [2 x i64], ptr {self._spans.text}, i64 {t.text}", "ptr")
            first = b.load("i64", 0, place.text, 8)
            last = b.load("i64", 0, b.emit(f"getelementptr i64, ptr {place.text}, i64 1", "ptr").text, 8)
            count = b.op("sub", last, first)
            count = b.op("sub", b.select(b.compare("icmp slt", count, self._high), count, self._high), self._low)
            with b.when(b.compare("icmp sgt", count, 0)):
                yield b.op("add", first, self._low), count

    def of_state(self, base: Val, width: Val) -> Val:
        """Where an array of a row for each of the batch has the first of these rows."""
        return self.at(base, self.b.op("mul", self._low, width))

    def at(self, base: Val, place: Val) -> Val:
        return self.b.emit(f"getelementptr {self.elem}, ptr {base.text}, i64 {place.text}", "ptr")

    def multiply(self, x: Val, out: Val, n: Val, keep: float) -> None:
        """out = x @ weight + keep out, for n rows.

        BLAS counts by columns: what it computes is out^T = weight^T x^T.
        """
        b = self.b
        with b.when(self._is_packed):
            products.multiply(b, x, self.weight, out, n, self.rows, self.columns, bool(keep), self.elem)
        with b.when(b.op("xor", self._is_packed, number(True, "i1"))):
            b.put(self._n, n)
            letter, one, ahead, a = self._letters[0], self._numbers[1.0], self._ahead, self.weight.text
            is_row = b.compare("icmp eq", n, 1)
            with b.when(is_row):
                step = self._one
                places = (letter, ahead, self._behind, one, a, ahead, x.text, step, self._numbers[keep], out.text, step)
                b.line(f"call void {self._gemv.text}({', '.join(f'ptr {place}' for place in places)}, i64 1)")
            with b.when(b.op("xor", is_row, number(True, "i1"))):
                sizes = (*self._letters, self._m, self._n, self._k, one)
                places = (*sizes, a, ahead, x.text, self._k, self._numbers[keep], out.text, self._m)
                b.line(f"call void {self._gemm.text}({', '.join(f'ptr {place}' for place in places)}, i64 1, i64 1)")

    def each_cell_saved(self, n: Val, k: Val, hs: Val, visit: Callable[[_Cell, bool], None]) -> None:
        """As `each_cell`; visit is told whether to write what backward reads, which it is if there is an array hs."""
        b = self.b
        is_saved = b.compare("icmp ne", b.convert("ptrtoint", hs, "i64"), 0)
        for saves, condition in ((True, is_saved), (False, b.op("xor", is_saved, number(True, "i1")))):
            with b.when(condition):
                self.each_cell(n, k, lambda cell, saves=saves: visit(cell, saves))

    def each_cell(self, n: Val, k: Val, visit: Callable[[_Cell], None]) -> None:
        """Visit n rows of k cells, as many at once as fit a vector; then one by one what is left of a row."""
        b = self.b
        whole = b.op("and", k, -self.lanes)
        with b.loop(number(0, "i64"), n) as row:
            for start, stop, lanes in ((number(0, "i64"), whole, self.lanes), (whole, k, 0)):
                with b.loop(start, stop, lanes or 1) as j:
                    visit(_Cell(self, lanes, row, j, k))


class _Cell:
    """Neighbouring cells of a row, in a visit. Arrays have k columns for each gate."""

    def __init__(self, steps: _Steps, lanes: int, row: Val, j: Val, k: Val):
        self.steps, self.lanes, self.row, self.j, self.k = steps, lanes, row, j, k

    def load(self, base: Val, gate: int = 0, gates: int = 1) -> Val:
        return self.steps.b.load(self.steps.elem, self.lanes, self._place(base, gate, gates), 4)

    def store(self, value: Val, base: Val, gate: int = 0, gates: int = 1) -> None:
        self.steps.b.store(value, self._place(base, gate, gates), 4)

    def loads(self, base: Val, gates: int) -> list[Val]:
        return [self.load(base, gate, gates) for gate in range(gates)]

    def stores(self, values: Sequence[Val], base: Val) -> None:
        for gate, value in enumerate(values):
            self.store(value, base, gate, len(values))

    def bias(self, base: Val, gates: int) -> list[Val]:
        """Of a row that is added to all."""
        b, k = self.steps.b, self.k
        places = [self.steps.at(base, b.op("add", b.op("mul", k, gate), self.j)) for gate in range(gates)]
        return [b.load(self.steps.elem, self.lanes, place.text, 4) for place in places]

    def _place(self, base: Val, gate: int, gates: int) -> str:
        b = self.steps.b
        row = b.op("add", b.op("mul", self.row, gates), gate)
        return self.steps.at(base, b.op("add", b.op("mul", row, self.k), self.j)).text


def _times(b: Builder, *factors: Val) -> Val:
    out = factors[0]
    for x in factors[1:]:
        out = b.op("fmul", out, x)
    return out


def _from_one(b: Builder, x: Val) -> Val:
    """1 - x."""
    return b.op("fsub", number(1.0, x.elem), x)


def _logistic_slope(b: Builder, y: Val) -> Val:
    return b.op("fmul", y, _from_one(b, y))


def _tanh_slope(b: Builder, y: Val) -> Val:
    return _from_one(b, b.op("fmul", y, y))


def _rows_at(s: _Steps, base: Val, first: Val, width: Val) -> Val:
    return s.at(base, s.b.op("mul", first, width))


def _gradient(s: _Steps, cell: _Cell, dh: Val, gy: Val, of_gy: Val) -> Val:
    """The gradient of a step's state: of later steps, and of the output where there is one (gy is not None)."""
    b, g = s.b, cell.load(dh)
    is_given = b.compare("icmp ne", b.convert("ptrtoint", gy, "i64"), 0)
    there = b.emit(f"select i1 {is_given.text}, ptr {of_gy.text}, ptr {dh.text}", "ptr")
    return b.select(is_given, b.op("fadd", g, cell.load(there)), g)


# ---------------------------------------------------------------------------------------------- the cells


def _lstm(s: _Steps) -> None:
    """weight (k, 4 k); gates (rows, 4 k) with the input's share; h, c (n, k); hs, cs, ts, y (rows, k); without hs no cs and ts."""
    b, k = s.b, s.rows
    gates, h, c, hs, cs, ts, y = s.arrays(7)
    h, c = (s.of_state(a, k) for a in (h, c))
    with s.each_step() as (first, n):
        z = _rows_at(s, gates, first, s.columns)
        of_h, of_c, of_t, of_y = (_rows_at(s, a, first, k) for a in (hs, cs, ts, y))
        s.multiply(h, z, n, 1.0)

        def visit(cell: _Cell, saves: bool) -> None:
            shares = cell.loads(z, 4)
            i, f, g, o = (function(b, "tanh" if p == 2 else "sigmoid", x) for p, x in enumerate(shares))
            before = cell.load(c)
            now = b.op("fadd", b.op("fmul", f, before), b.op("fmul", i, g))
            t = function(b, "tanh", now)
            if saves:
                cell.stores((i, f, g, o), z)
                for value, array in ((cell.load(h), of_h), (before, of_c), (t, of_t)):
                    cell.store(value, array)
            new = b.op("fmul", o, t)
            for value, array in ((now, c), (new, of_y), (new, h)):
                cell.store(value, array)

        s.each_cell_saved(n, k, hs, visit)


def _lstm_backward(s: _Steps) -> None:
    """weight (4 k, k); gates (rows, 4 k); cs, ts (rows, k); gy (rows, k) or None; dh, dc (n, k); out (rows, 4 k)."""
    b, k = s.b, s.columns
    gates, cs, ts, gy, dh, dc, out = s.arrays(7)
    dh, dc = (s.of_state(a, k) for a in (dh, dc))
    with s.each_step() as (first, n):
        z, slopes = (_rows_at(s, a, first, s.rows) for a in (gates, out))
        of_c, of_t, of_gy = (_rows_at(s, a, first, k) for a in (cs, ts, gy))

        def visit(cell: _Cell) -> None:
            i, f, g, o = cell.loads(z, 4)
            t = cell.load(of_t)
            m = _gradient(s, cell, dh, gy, of_gy)
            d = b.op("fadd", cell.load(dc), _times(b, _tanh_slope(b, t), o, m))
            cell.stores(
                (
                    _times(b, d, g, _logistic_slope(b, i)),
                    _times(b, d, cell.load(of_c), _logistic_slope(b, f)),
                    _times(b, d, i, _tanh_slope(b, g)),
                    _times(b, m, t, _logistic_slope(b, o)),
                ),
                slopes,
            )
            cell.store(b.op("fmul", d, f), dc)

        s.each_cell(n, k, visit)
        s.multiply(slopes, dh, n, 0.0)


def _gru(s: _Steps) -> None:
    """weight (k, 3 k); gates (rows, 3 k) with the input's share; bias (3 k) or None; h (n, k); hs, ns, y (rows, k); without hs no ns."""
    b, k = s.b, s.rows
    gates, bias, h, hs, ns, y, share = s.arrays(7)
    h, share = s.of_state(h, k), s.of_state(share, s.columns)
    with s.each_step() as (first, n):
        z = _rows_at(s, gates, first, s.columns)
        of_h, of_n, of_y = (_rows_at(s, a, first, k) for a in (hs, ns, y))
        s.multiply(h, share, n, 0.0)

        def visit(cell: _Cell, saves: bool) -> None:
            own = [b.op("fadd", x, y) for x, y in zip(cell.loads(share, 3), cell.bias(bias, 3), strict=True)]
            shares = cell.loads(z, 3)
            r, u = (function(b, "sigmoid", b.op("fadd", x, y)) for x, y in zip(shares[:2], own[:2], strict=True))
            fresh = function(b, "tanh", b.op("fadd", shares[2], b.op("fmul", r, own[2])))
            before = cell.load(h)
            new = b.op("fadd", b.op("fmul", b.op("fsub", before, fresh), u), fresh)
            if saves:
                cell.stores((r, u, fresh), z)
                for value, array in ((before, of_h), (own[2], of_n)):
                    cell.store(value, array)
            for array in (of_y, h):
                cell.store(new, array)

        s.each_cell_saved(n, k, hs, visit)


def _gru_backward(s: _Steps) -> None:
    """weight (3 k, k); gates (rows, 3 k); ns, hs (rows, k); gy (rows, k) or None; dh (n, k); k_in, k_rec (rows, 3 k)."""
    b, k = s.b, s.columns
    gates, ns, hs, gy, dh, k_in, k_rec = s.arrays(7)
    dh = s.of_state(dh, k)
    with s.each_step() as (first, n):
        z, of_in, of_rec = (_rows_at(s, a, first, s.rows) for a in (gates, k_in, k_rec))
        of_n, of_h, of_gy = (_rows_at(s, a, first, k) for a in (ns, hs, gy))

        def visit(cell: _Cell) -> None:
            r, u, fresh = cell.loads(z, 3)
            g = _gradient(s, cell, dh, gy, of_gy)
            of_fresh = _times(b, _from_one(b, u), g, _tanh_slope(b, fresh))
            of_reset = _times(b, of_fresh, cell.load(of_n), _logistic_slope(b, r))
            of_update = _times(b, b.op("fsub", cell.load(of_h), fresh), g, _logistic_slope(b, u))
            cell.stores((of_reset, of_update, of_fresh), of_in)
            cell.stores((of_reset, of_update, b.op("fmul", of_fresh, r)), of_rec)
            cell.store(b.op("fmul", g, u), dh)

        s.each_cell(n, k, visit)
        s.multiply(of_rec, dh, n, 1.0)


def _rnn(relu: bool, s: _Steps) -> None:
    """weight (k, k); y (rows, k) with the input's share; h (n, k); hs (rows, k) or None."""
    b, k = s.b, s.rows
    y, h, hs = s.arrays(3)
    h = s.of_state(h, k)
    with s.each_step() as (first, n):
        z, of_h = (_rows_at(s, a, first, k) for a in (y, hs))
        s.multiply(h, z, n, 1.0)

        def visit(cell: _Cell, saves: bool) -> None:
            x = cell.load(z)
            new = b.select(b.compare("fcmp olt", x, 0.0), 0.0, x) if relu else function(b, "tanh", x)
            if saves:
                cell.store(cell.load(h), of_h)
            cell.store(new, z)
            cell.store(new, h)

        s.each_cell_saved(n, k, hs, visit)


def _rnn_backward(s: _Steps) -> None:
    """weight (k, k); slopes (rows, k) of the function, which become those of the share; gy (rows, k) or None; dh (n, k)."""
    b, k = s.b, s.columns
    slopes, gy, dh = s.arrays(3)
    dh = s.of_state(dh, k)
    with s.each_step() as (first, n):
        of_slopes, of_gy = (_rows_at(s, a, first, k) for a in (slopes, gy))

        def visit(cell: _Cell) -> None:
            g = _gradient(s, cell, dh, gy, of_gy)
            cell.store(b.op("fmul", cell.load(of_slopes), g), of_slopes)

        s.each_cell(n, k, visit)
        s.multiply(of_slopes, dh, n, 0.0)


CELLS: dict[str, Callable[[_Steps], None]] = {
    "lstm": _lstm,
    "lstm.backward": _lstm_backward,
    "gru": _gru,
    "gru.backward": _gru_backward,
    "rnn": partial(_rnn, False),
    "rnn.relu": partial(_rnn, True),
    "rnn.backward": _rnn_backward,
}
