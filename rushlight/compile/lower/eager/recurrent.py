"""The steps of recurrent layers, for eager calls: one native call for a whole sequence.

NumPy takes 30 us for a step of 16 rows and 64 cells, most of it to start a dozen passes over them; this takes 6. One code for each
kind of cell serves every size. The rows of a batch do not depend on each other, so each thread takes all steps of some of them.
The functions are those of compiled steps: the results differ from those of `ops/recurrent/layers.py` by rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from ....backend.onednn.address import address, is_readable
from ....core.foreign import ctypes
from ....core.locks import made_once
from ..llvm import engine
from ..llvm.arithmetic import register
from ..llvm.ir import BITS, Builder, Val, number
from ..llvm.vector_math import function
from ..onednn import blas
from . import products, sharing

__all__ = ["available", "run"]

_TYPES = frozenset(map(np.dtype, (np.float32, np.float64)))
_PACKED_FOR = 32  # rows of all steps; for fewer BLAS takes the weight as it is
_PACKED = 2  # a kind of weight; the others are 0 and 1, a transpose
_UNIT = 8  # rows
_PIECE_NS = 10_000
_PRODUCT_NS, _CELL_NS = 0.02, 3.0  # of a multiply-add, and of the functions of a cell


@made_once
def available() -> bool:
    """Whether code can be made here that calls NumPy's BLAS."""
    return (
        engine.available()
        and engine.fuses()
        and is_readable()
        and all(blas.function(dtype) is not None for dtype in _TYPES)
    )


def run(cell: str, spans: Sequence[tuple[int, int]], weight: np.ndarray, *arrays: np.ndarray | None) -> bool:
    """Take the steps of one layer. False, and nothing is done, for what there is no code for.

    cell: a key of `_CELLS`, whose function names the arrays. spans: the first and last row of each step, in the order in
    which they are taken; no later one has more rows than there is state. weight: contiguous or the transpose of such a matrix.
    """
    dtype = weight.dtype
    if not spans or dtype not in _TYPES or not weight.size or not available():
        return False
    if any(a is not None and (a.dtype is not dtype or not a.flags.c_contiguous or not a.size) for a in arrays):
        return False
    is_turned, most = not weight.flags.c_contiguous, max(b - a for a, b in spans)
    is_packed, sizes = len(spans) * most >= _PACKED_FOR, weight.shape
    if is_packed:
        weight = products.packed(weight)
    elif is_turned and not weight.flags.f_contiguous:
        return False
    if cell == "gru":  # the state's share of a step is no part of the input's: its last third is a factor's
        gates, bias, *others = arrays
        bias = np.zeros(sizes[1], dtype) if bias is None else bias
        arrays = gates, bias, *others, np.empty((most, sizes[1]), dtype)
    places = [0 if a is None else address(a) for a in arrays]
    rows, units = np.array(spans, np.int64), -(-most // _UNIT)
    kind = _PACKED if is_packed else is_turned
    table = _Table(len(spans), *sizes, kind, address(weight), address(rows), blas.function(dtype), *places)
    work = len(spans) * most * (weight.size * _PRODUCT_NS + min(sizes) * _CELL_NS)
    pieces = sharing.pieces(units, work, _PIECE_NS) if is_packed else 1
    sharing.run(_function(cell, dtype).address("steps"), table, units, pieces)
    return True


_FIRST_ARRAY, _MOST_ARRAYS = 7, 7
_Table = ctypes.c_int64 * (_FIRST_ARRAY + _MOST_ARRAYS)


@made_once
def _function(cell: str, dtype: np.dtype) -> engine.Code:
    return engine.build(_assembly(cell, dtype))


def _assembly(cell: str, dtype: np.dtype) -> str:
    """void steps(table, from, to): all steps of these units of rows.

    table: the number of steps, the weight's sizes and kind, and the addresses of the weight, of the spans, of BLAS's product,
    and of the arrays.
    """
    steps = _Steps(Builder({}), register(dtype))
    _CELLS[cell](steps)
    b = steps.b
    b.line("ret void")
    text = b.function("@steps", "ptr %table, i64 %from, i64 %to")
    return text + "\n".join(b.declarations.values()) + "\n" + engine.attributes()


class _Steps:
    """The function that is being written. rows, columns: the sizes of the weight."""

    def __init__(self, b: Builder, elem: str):
        self.b, self.elem = b, elem
        self.lanes = engine.vector_bytes() // (BITS[elem] // 8)
        self.count, self.rows, self.columns, kind = (self._word(i) for i in range(4))
        self.weight = self._array(4)
        self._spans, self._gemm = self._array(5), self._array(6)
        self._low, self._high = (b.op("mul", Val(text, "i64"), _UNIT) for text in ("%from", "%to"))
        self._is_packed = b.compare("icmp eq", kind, _PACKED)
        is_turned = b.compare("icmp eq", kind, 1)
        self._n = b.alloca("i64")
        letter = b.select(is_turned, number(ord("T"), "i8"), number(ord("N"), "i8"))
        self._letters = self._kept(letter), self._kept(number(ord("N"), "i8"))
        self._ahead = self._kept(b.select(is_turned, self.rows, self.columns))
        self._m, self._k = self._kept(self.columns), self._kept(self.rows)
        self._numbers = {value: self._kept(number(value, elem)) for value in (0.0, 1.0)}

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
        return [self._array(_FIRST_ARRAY + i) for i in range(count)]

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
            matrices = (self.weight.text, self._ahead, x.text, self._k, self._numbers[keep], out.text, self._m)
            arguments = (*self._letters, self._m, self._n, self._k, self._numbers[1.0], *matrices)
            b.line(f"call void {self._gemm.text}({', '.join(f'ptr {a}' for a in arguments)}, i64 1, i64 1)")

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
    """weight (k, 4 k); gates (rows, 4 k) with the input's share; h, c (n, k); hs, cs, ts, y (rows, k)."""
    b, k = s.b, s.rows
    gates, h, c, hs, cs, ts, y = s.arrays(7)
    h, c = (s.of_state(a, k) for a in (h, c))
    with s.each_step() as (first, n):
        z = _rows_at(s, gates, first, s.columns)
        of_h, of_c, of_t, of_y = (_rows_at(s, a, first, k) for a in (hs, cs, ts, y))
        s.multiply(h, z, n, 1.0)

        def visit(cell: _Cell) -> None:
            shares = cell.loads(z, 4)
            i, f, g, o = (function(b, "tanh" if p == 2 else "sigmoid", x) for p, x in enumerate(shares))
            cell.stores((i, f, g, o), z)
            before = cell.load(c)
            cell.store(cell.load(h), of_h)
            cell.store(before, of_c)
            now = b.op("fadd", b.op("fmul", f, before), b.op("fmul", i, g))
            t = function(b, "tanh", now)
            new = b.op("fmul", o, t)
            for value, array in ((now, c), (t, of_t), (new, of_y), (new, h)):
                cell.store(value, array)

        s.each_cell(n, k, visit)


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
    """weight (k, 3 k); gates (rows, 3 k) with the input's share; bias (3 k) or None; h (n, k); hs, ns, y (rows, k)."""
    b, k = s.b, s.rows
    gates, bias, h, hs, ns, y, share = s.arrays(7)
    h, share = s.of_state(h, k), s.of_state(share, s.columns)
    with s.each_step() as (first, n):
        z = _rows_at(s, gates, first, s.columns)
        of_h, of_n, of_y = (_rows_at(s, a, first, k) for a in (hs, ns, y))
        s.multiply(h, share, n, 0.0)

        def visit(cell: _Cell) -> None:
            own = [b.op("fadd", x, y) for x, y in zip(cell.loads(share, 3), cell.bias(bias, 3), strict=True)]
            shares = cell.loads(z, 3)
            r, u = (function(b, "sigmoid", b.op("fadd", x, y)) for x, y in zip(shares[:2], own[:2], strict=True))
            fresh = function(b, "tanh", b.op("fadd", shares[2], b.op("fmul", r, own[2])))
            before = cell.load(h)
            new = b.op("fadd", b.op("fmul", b.op("fsub", before, fresh), u), fresh)
            cell.stores((r, u, fresh), z)
            for value, array in ((before, of_h), (own[2], of_n), (new, of_y), (new, h)):
                cell.store(value, array)

        s.each_cell(n, k, visit)


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
    """weight (k, k); y (rows, k) with the input's share; h (n, k); hs (rows, k)."""
    b, k = s.b, s.rows
    y, h, hs = s.arrays(3)
    h = s.of_state(h, k)
    with s.each_step() as (first, n):
        z, of_h = (_rows_at(s, a, first, k) for a in (y, hs))
        s.multiply(h, z, n, 1.0)

        def visit(cell: _Cell) -> None:
            x = cell.load(z)
            new = b.select(b.compare("fcmp olt", x, 0.0), 0.0, x) if relu else function(b, "tanh", x)
            cell.store(cell.load(h), of_h)
            cell.store(new, z)
            cell.store(new, h)

        s.each_cell(n, k, visit)


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


_CELLS: dict[str, Callable[[_Steps], None]] = {
    "lstm": _lstm,
    "lstm.backward": _lstm_backward,
    "gru": _gru,
    "gru.backward": _gru_backward,
    "rnn": partial(_rnn, False),
    "rnn.relu": partial(_rnn, True),
    "rnn.backward": _rnn_backward,
}
