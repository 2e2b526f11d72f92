"""out = x y + bias in float32, each number in three parts of bfloat16 and six products of parts.

    x y = x1 y1 + (x1 y2 + x2 y1) + (x1 y3 + x2 y2 + x3 y1) + ...

What is left out is below 2^-26 of |x| |y|, less than one rounding of float32; sums are kept in float32, 32 products at a
time. So the result is as exact as that of a product in float32 (decision 18).

The smaller matrix stays: all of it, or a block that fits in the second-level cache, is packed by each thread for itself.
The larger one passes by, panel after panel, shared out between the threads; while the matrix unit multiplies one panel,
the vector registers pack the next. Tiles of both factors differ, and the larger matrix is the factor whose tiles its
memory has already in their order: where that is the wrong one, the transposed result is computed, and stored transposed.

Where splitting cannot say a number (infinity, nan, very large ones, very small panels; see `split`), a flag says so, and
oneDNN computes the product again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....backend.onednn.library import available, load
from ....core.locks import made_once
from ...ir.graph import Ref
from ..llvm.ir import Builder, Val, number
from ..llvm.transpose import transposed
from ..onednn import kernels
from ..onednn.binder import Probe
from ..onednn.kernels import element
from . import unit
from .split import STEP, STEP_BYTES, WIDTH, Matrix, Packing, lanes_below, masked_load

__all__ = ["emit_product", "fits"]

_FEWEST = 128  # rows, columns, and numbers along the sum
_FEWEST_MULTIPLY_ADDS = 20_000_000
_FEWEST_PANELS = 4  # of a thread: else each packs the smaller matrix for too little work
_MOST_BYTES = 1_200_000  # of the packed matrix that stays: most of a second-level cache
_BLOCK_BYTES = 800_000  # where it is packed in blocks anyway
_FEWEST_ROWS, _MOST_ROWS = 256, 1024  # of a block
_STREAMED_BYTES = 8_000_000
_LINE = 64
_TILE_ROW, _ASIDE_ROW = number(64, "i64"), number(4 * WIDTH, "i64")
_ZERO, _TWO = number(0, "i64"), number(2, "i64")
# Pairs of parts (first, second) in an order that saves loads: what a pair shares with the one before stays in its tiles.
_PAIRS = ((0, 2), (0, 1), (1, 1), (1, 0), (0, 0), (2, 0))


def fits(x: Ref, y: Ref, bias: Ref | None, out: Ref) -> bool:
    """Whether the product is for the matrix unit: matrices of float32 that are large enough."""
    if out.ndim != 2 or not x.dtype == y.dtype == out.dtype == np.float32 or not unit.available():
        return False
    if not available():
        return False
    (m, n), k = out.shape, x.shape[1]
    if min(m, n, k) < _FEWEST or m * n * k < _FEWEST_MULTIPLY_ADDS:
        return False
    if max(m, n) < _FEWEST_PANELS * WIDTH * load().omp_get_max_threads():
        return False
    if bias is not None and (
        bias.shape[-1] != n or bias.size != n or bias.strides[-1] != 1 or bias.dtype != np.float32
    ):
        return False
    return 1 in x.strides and 1 in y.strides and out.strides[1] == 1 and min(*x.strides, *y.strides, out.strides[0]) > 0


class _Form(NamedTuple):
    """What decides the code. Of the larger matrix, that passes, and the smaller one, that stays:"""

    passing_first: bool  # whether the larger is the first factor
    along: bool  # whether the smaller one's memory runs along the sum
    turned: bool  # whether the result is stored transposed
    biased: bool
    streamed: bool  # whether the result is so large that it is better written past the caches


def emit_product(binder: Probe, x: Ref, y: Ref, bias: Ref | None, out: Ref, flag: int) -> None:
    """Emit the product. flag: the address of a number (int64) that is set to 1 where the result is not to be used."""
    large, small, by_x = x, y.permute((1, 0)), out.shape[0] >= out.shape[1]
    if not by_x:
        large, small = small, large
    passing_first = large.strides[1] == 1
    k = x.shape[1]
    block_rows, block_sums = _blocks(small.shape[0], k)
    streamed = 4 * out.size > _STREAMED_BYTES and block_sums >= k and out.strides[0] % 16 == 0
    form = _Form(passing_first, small.strides[1] == 1, passing_first != by_x, bias is not None, streamed)
    threads = load().omp_get_max_threads()
    each = (block_rows + 2 * WIDTH) * block_sums // STEP * STEP_BYTES // WIDTH
    room = binder.room(threads * each + _LINE)
    places = [binder.pointer(r) for r in (large, small, out, out if bias is None else bias)]
    binder.launch(
        kernels.native(_product(form), 6, 8),
        -(-large.shape[0] // WIDTH),
        (*places, flag, -(-room // _LINE) * _LINE),
        large.shape[0],
        small.shape[0],
        k,
        large.strides[0] if passing_first else large.strides[1],
        small.strides[0] if form.along else small.strides[1],
        out.strides[0],
        block_rows << 32 | block_sums,
        each << 16 | threads,
        threads=1 if threads == 1 else 0,
    )


def _blocks(rows: int, k: int) -> tuple[int, int]:
    """How much of the smaller matrix is packed at a time: (rows, numbers along the sum)."""
    bytes_of_one = STEP_BYTES // WIDTH // STEP
    most = _MOST_BYTES // (_padded(k) * bytes_of_one)
    if rows <= most or most >= _FEWEST_ROWS:  # the larger matrix once more is less than the result once more
        return _even(rows, most), _padded(k)
    rows = _even(rows, _MOST_ROWS)
    return rows, _even(k, _BLOCK_BYTES // (rows * bytes_of_one))


def _even(n: int, most: int) -> int:
    """The size of the fewest even parts of n, none much larger than `most`, in whole panels."""
    return _padded(-(-n // -(-n // most)))


def _padded(n: int) -> int:
    return -(-n // WIDTH) * WIDTH


# -- the function ------------------------------------------------------------------------------------------------------
@made_once
def _product(form: _Form):
    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        large, small, out, bias, flag, room, large_rows, small_rows, k, large_step, small_step, *rest = parameters
        out_step, blocks, shares = rest
        passing = Matrix(form.passing_first, form.passing_first, large, large_rows, large_step, True)
        resident = Matrix(not form.passing_first, form.along, small, small_rows, small_step, False)
        panels = _parts(b, large_rows, number(WIDTH, "i64"))
        thread, low, high = kernels.share(b, panels, b.op("and", shares, 0xFFFF))
        mine = b.op("add", room, b.op("mul", thread, b.op("lshr", shares, 16)))
        result = _Result(b, form, out, bias, out_step, large_rows, small_rows)
        block_rows, block_sums = b.op("lshr", blocks, 32), b.op("and", blocks, 0xFFFFFFFF)
        unit.configure(b)
        with b.when(b.compare("icmp slt", low, high)), b.loop(_ZERO, _parts(b, small_rows, block_rows)) as i:
            row, row_end = _part(b, i, block_rows, small_rows)
            with b.loop(_ZERO, _parts(b, k, block_sums)) as j:
                sums = _part(b, j, block_sums, k)
                _block(b, passing, resident, (low, high), (row, row_end), sums, mine, flag, result)
        unit.release(b)

    return emit


def _parts(b: Builder, n: Val, size: Val) -> Val:
    return b.op("sdiv", b.op("add", n, b.op("sub", size, 1)), size)


def _part(b: Builder, i: Val, size: Val, n: Val) -> tuple[Val, Val]:
    start = b.op("mul", i, size)
    end = b.op("add", start, size)
    return start, b.select(b.compare("icmp slt", end, n), end, n)


def _block(b: Builder, passing: Matrix, resident: Matrix, mine, rows, sums, room: Val, flag: Val, result: _Result):
    """All panels of the larger matrix by some rows of the smaller one, over some of the sum."""
    (low, high), (row, row_end), (at, end) = mine, rows, sums
    steps = _parts(b, b.op("sub", end, at), number(STEP, "i64"))
    size = b.op("mul", steps, STEP_BYTES)
    panels = _parts(b, b.op("sub", row_end, row), number(WIDTH, "i64"))
    with b.loop(_ZERO, panels) as i:
        here = b.op("add", row, b.op("mul", i, WIDTH))
        _pack(b, resident, here, sums, b.op("add", room, b.op("mul", i, size)), flag)
    moving = b.op("add", room, b.op("mul", panels, size))
    _pack(b, passing, b.op("mul", low, WIDTH), sums, moving, flag)
    with b.loop(low, high) as j:
        there, odd = b.op("mul", j, WIDTH), b.op("mul", b.op("and", b.op("sub", j, low), 1), size)
        now, after = b.op("add", moving, odd), b.op("add", moving, b.op("sub", size, odd))
        packing = Packing(b, passing, b.op("add", there, WIDTH), at, end, after)
        last = b.compare("icmp sge", b.op("add", j, 1), high)
        with b.loop(_ZERO, panels) as i:
            factors = b.op("add", room, b.op("mul", i, size)), now
            share = b.select(last, panels, i)  # there is no such share
            left, right = factors[::-1] if passing.first else factors
            with _multiplying(b, left, right, steps) as step:
                packing.some(step, share, panels)
            result.store(there, b.op("add", row, b.op("mul", i, WIDTH)), b.compare("icmp eq", at, 0))
        packing.report(flag)


def _pack(b: Builder, x: Matrix, row: Val, sums: tuple[Val, Val], target: Val, flag: Val) -> None:
    packing = Packing(b, x, row, *sums, target)
    packing.all()
    packing.report(flag)


class _multiplying:
    """The product of two panels into the tiles 0 to 3, a loop over steps; instructions written inside run in the same loop."""

    def __init__(self, b: Builder, x: Val, y: Val, steps: Val):
        self.b, self.panels = b, (x, y)
        self.loop = b.loop(_ZERO, steps)

    def __enter__(self) -> Val:
        for tile in range(4):
            unit.clear(self.b, tile)
        self.step = self.loop.__enter__()
        return self.step

    def __exit__(self, *error) -> None:
        b = self.b
        at, before = b.op("mul", self.step, STEP_BYTES), (-1, -1)
        for pair in _PAIRS:
            for panel, tile, part, last in zip(self.panels, (4, 6), pair, before, strict=True):
                for half in (0, 1) if part != last else ():
                    place = b.op("add", b.op("add", panel, at), (2 * part + half) * unit.BYTES)
                    unit.fetch(b, tile + half, element(b, place, _ZERO, "i8"), _TILE_ROW)
            for tile in range(4):
                unit.multiply(b, tile, 4 + tile // 2, 6 + tile % 2)
            before = pair
        self.loop.__exit__(*error)


class _Result:
    """Stores tiles: 32 x 32 sums, to which a bias or what is there is added."""

    def __init__(self, b: Builder, form: _Form, out: Val, bias: Val, step: Val, large_rows: Val, small_rows: Val):
        self.b, self.form, self.out, self.bias, self.step = b, form, out, bias, step
        # the result's own rows are those of the larger matrix, unless
        self.by_small = form.passing_first == form.turned
        self.m, self.n = (small_rows, large_rows) if self.by_small else (large_rows, small_rows)
        self.aside = b.emit(f"ptrtoint ptr {b.alloca('float', 16, 2 * WIDTH)} to i64", "i64")

    def store(self, there: Val, here: Val, fresh: Val) -> None:
        """Where rows `there` of the larger and `here` of the smaller matrix meet. fresh: nothing has been stored yet."""
        b = self.b
        for tile in range(4):
            at = b.op("add", self.aside, tile // 2 * 16 * 4 * WIDTH + tile % 2 * 64)
            unit.put_back(b, tile, element(b, at, _ZERO, "i8"), _ASIDE_ROW)
        row, column = (here, there) if self.by_small else (there, here)
        with b.loop(_ZERO, _TWO) as i, b.loop(_ZERO, _TWO) as j:
            tile_row, tile_column = (j, i) if self.form.turned else (i, j)
            source = b.op("add", b.op("mul", tile_row, 16 * 4 * WIDTH), b.op("mul", tile_column, 64))
            source = b.op("add", self.aside, source)
            rows = [b.load("float", 16, element(b, source, number(r * WIDTH, "i64")), 64) for r in range(16)]
            rows = transposed(b, rows) if self.form.turned else rows
            self._sixteen(rows, b.op("add", row, b.op("mul", i, 16)), b.op("add", column, b.op("mul", j, 16)), fresh)

    def _sixteen(self, rows: list[Val], row: Val, column: Val, fresh: Val) -> None:
        b = self.b
        lanes = lanes_below(b, b.op("sub", self.n, column))
        first = b.op("add", b.op("mul", row, self.step), column)
        if self.form.streamed:
            # one pass, and as a rule all lines are whole
            start = b.op("add", self.out, b.op("mul", first, 4))
            edge = b.op("or", b.compare("icmp sgt", b.op("add", row, 16), self.m), b.compare("icmp ne", lanes, 0xFFFF))
            edge = b.op("or", edge, b.compare("icmp ne", b.op("and", start, _LINE - 1), 0))
            if self.form.biased:
                bias = masked_load(b, element(b, self.bias, column), lanes)
                rows = [b.op("fadd", x, bias) for x in rows]
            with b.when(edge, unlikely=True):
                for r, x in enumerate(rows):
                    self._put(x, *self._place(first, row, r, lanes))
            with b.when(b.op("xor", edge, number(True, "i1"))):
                b.declare("!1", "!1 = !{i32 1}")
                for r, x in enumerate(rows):
                    at, _ = self._place(first, row, r, lanes)
                    b.line(f"store {x.type} {x.text}, ptr {at}, align {_LINE}, !nontemporal !1")
            return
        for r, x in enumerate(rows):
            at, inside = self._place(first, row, r, lanes)
            if self.form.biased:
                before, some = element(b, self.bias, column), lanes
            else:
                before, some = at, number(0, "i32")
            before = b.emit(f"select i1 {fresh.text}, ptr {before}, ptr {at}", "ptr").text
            x = b.op("fadd", x, masked_load(b, before, b.select(fresh, some, inside)))
            self._put(x, at, inside)

    def _place(self, first: Val, row: Val, r: int, lanes: Val) -> tuple[str, Val]:
        """(pointer, lanes that are inside) of the r-th row."""
        b = self.b
        inside = b.select(b.compare("icmp slt", b.op("add", row, r), self.m), lanes, number(0, "i32"))
        return element(b, self.out, b.op("add", first, b.op("mul", self.step, r))), inside

    def _put(self, x: Val, at: str, lanes: Val) -> None:
        b, symbol = self.b, "@llvm.masked.store.v16f32.p0"
        b.declare(symbol, f"declare void {symbol}(<16 x float>, ptr, i32, <16 x i1>)")
        mask = b.emit(f"bitcast i16 {b.convert('trunc', lanes, 'i16').text} to <16 x i1>", "i1", 16)
        b.line(f"call void {symbol}({x.type} {x.text}, ptr {at}, i32 4, <16 x i1> {mask.text})")
