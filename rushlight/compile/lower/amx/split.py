"""float32 as the sum of three bfloat16, brought into the order in which tiles want them.

    x = x1 + x2 + x3,   x1 = bfloat16(x), x2 = bfloat16(x - x1), x3 = x - x1 - x2

Each part has 8 of the 24 bits, and the differences are exact, so nothing is lost. Numbers for which that fails are
reported: from 2^63 on (infinity, nan, parts that overflow), and a panel whose largest is below 2^-100, whose third parts
the unit takes for zero.

A *panel* is 32 rows of the first factor, or 32 columns of the second, over some of the numbers along the sum. For each 32
of these it has six tiles: three parts of two halves. In a tile the numbers k and k + 16 of the 32 are neighbours, which
both factors agree on: so the halves of two vectors merge without a permutation.
"""

from __future__ import annotations

from typing import NamedTuple

from ..llvm.ir import Builder, Val, number
from ..llvm.transpose import transposed
from ..onednn.kernels import element
from .unit import BYTES

__all__ = ["PARTS", "STEP", "STEP_BYTES", "WIDTH", "Matrix", "Packing", "lanes_below", "masked_load"]

PARTS = 3
WIDTH = 32  # rows or columns of a panel
STEP = 32  # numbers along the sum in a tile
STEP_BYTES = PARTS * 2 * BYTES
_LARGEST, _SMALLEST = 0x5F00, 0x0D80  # 2^63 and 2^-100 as bfloat16
_ZERO = number(0, "i64")


class Matrix(NamedTuple):
    """A factor. rows: for the first its rows, for the second its columns; count: along the sum.

    along: whether memory runs along the sum; then `step` leads from row to row, otherwise from number to number.
    passing: whether it is packed while something else is done, so that it pays to ask for the next step's memory.
    """

    first: bool
    along: bool
    start: Val
    rows: Val
    step: Val
    passing: bool


class Packing:
    """A panel that is being packed, all at once or step by step: the one from `row` on, numbers k to below `end`.

    Beyond the matrix are zeros. A panel of which nothing has been packed yet is reported as one of zeros.
    """

    def __init__(self, b: Builder, x: Matrix, row: Val, k: Val, end: Val, target: Val):
        self.b, self.x, self.target = b, x, target
        self.source = _Source(b, x, row, k, end)
        self.steps = b.op("sdiv", b.op("add", b.op("sub", end, k), STEP - 1), STEP)
        self.largest = b.alloca("i16", 32)
        b.put(self.largest, b.splat(number(0, "i16"), 32))

    def all(self) -> None:
        """Pack every step."""
        with self.b.loop(_ZERO, self.steps) as i:
            self.some(i, _ZERO, number(1, "i64"))

    def some(self, step: Val, part: Val, parts: Val) -> None:
        """Pack one of some parts of a step; nothing where `part` is none of them."""
        b = self.b
        whole = 32 if self.x.first == self.x.along else 2
        each = b.op("sdiv", b.op("add", parts, whole - 1), parts)
        low = b.op("mul", part, each)
        high = b.op("add", low, each)
        high = b.select(b.compare("icmp slt", high, whole), high, number(whole, "i64"))
        with b.loop(low, high) as i:
            if whole == 32:
                half, u = b.op("lshr", i, 4), b.op("and", i, 15)
                self._unit(*self.source.block(step, half).natural(u), step, half, u)
            else:
                block = self.source.block(step, i)
                for u, (x, y) in enumerate(zip(block.turned(0), block.turned(1), strict=True)):
                    self._unit(x, y, step, i, number(u, "i64"))

    def report(self, flag: Val) -> None:
        """Set the flag if parts cannot say a number of the panel."""
        b = self.b
        symbol = "@llvm.vector.reduce.umax.v32i16"
        b.declare(symbol, f"declare i16 {symbol}(<32 x i16>)")
        top = b.emit(f"call i16 {symbol}(<32 x i16> {b.get(self.largest, 'i16', 32).text})", "i16")
        # 0 - 1 wraps around: a panel of zeros is fine
        low = b.compare("icmp ult", b.op("sub", top, 1), _SMALLEST - 1)
        with b.when(b.op("or", low, b.compare("icmp uge", top, _LARGEST)), unlikely=True):
            b.store(number(1, "i64"), element(b, flag, _ZERO, "i64"), 8)

    def _unit(self, low: Val, high: Val, step: Val, half: Val, u: Val) -> None:
        """Split two vectors, and store each part of both as one row of a tile."""
        b = self.b
        tile = b.op("add", b.op("mul", step, STEP_BYTES), b.op("mul", half, BYTES))
        row = b.op("add", self.target, b.op("add", tile, b.op("mul", u, 64)))
        for part, (x, y) in enumerate(zip(_parts(b, low), _parts(b, high), strict=True)):
            pairs = b.op("or", b.op("lshr", x, 16), y)
            if not part:
                sizes = b.emit(f"bitcast <16 x i32> {b.op('and', pairs, 0x7FFF7FFF).text} to <32 x i16>", "i16", 32)
                b.put(self.largest, b.intrinsic("umax", b.get(self.largest, "i16", 32), sizes))
            b.store(pairs, element(b, row, number(part * 2 * BYTES // 4, "i64"), "i32"), 64)


class _Source:
    """Sixteen rows times 32 numbers of a matrix, with zeros for what is outside of it."""

    def __init__(self, b: Builder, x: Matrix, row: Val, k: Val, end: Val):
        self.b, self.x, self.row, self.k, self.end = b, x, row, k, end
        across, sums = (row, x.rows), (k, end)
        # outer: the axis with a stride, inner: the contiguous one
        (self.outer, self.outer_end), (self.inner, self.inner_end) = (across, sums) if x.along else (sums, across)

    def block(self, step: Val, half: Val) -> _Source:
        """The numbers of a step and a half."""
        row = self.b.op("add", self.row, self.b.op("mul", half, 16))
        k = self.b.op("add", self.k, self.b.op("mul", step, STEP))
        return _Source(self.b, self.x, row, k, self.end)

    def natural(self, u: Val) -> tuple[Val, Val]:
        """The two vectors of the unit u of a tile, where memory has their order."""
        if self.x.along:
            return self._vector(u, 0), self._vector(u, 16)
        return self._vector(u, 0), self._vector(self.b.op("add", u, 16), 0)

    def turned(self, half: int) -> list[Val]:
        """A vector for each of 16 units: a block of 16 x 16 numbers, transposed."""
        along = self.x.along
        places = [(i, 16 * half) if along else (16 * half + i, 0) for i in range(16)]
        return transposed(self.b, [self._vector(number(i, "i64"), j) for i, j in places])

    def _vector(self, outer: Val, inner: int) -> Val:
        """Sixteen neighbours."""
        b = self.b
        i, j = b.op("add", self.outer, outer), b.op("add", self.inner, inner)
        at = element(b, self.x.start, b.op("add", b.op("mul", i, self.x.step), j))
        lanes = lanes_below(b, b.op("sub", self.inner_end, j))
        if self.x.passing:
            further = number(STEP, "i64") if self.x.along else b.op("mul", self.x.step, STEP)
            _expect(b, b.emit(f"getelementptr float, ptr {at}, i64 {further.text}", "ptr").text)
        return masked_load(b, at, b.select(b.compare("icmp slt", i, self.outer_end), lanes, number(0, "i32")))


def _expect(b: Builder, at: str) -> None:
    """Ask for a line for the second-level cache; an address beyond memory is no error."""
    b.declare("@llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)")
    b.line(f"call void @llvm.prefetch.p0(ptr {at}, i32 0, i32 2, i32 1)")


def lanes_below(b: Builder, count: Val) -> Val:
    """The first `count` of 16 lanes as bits; none where it is negative."""
    count = b.select(b.compare("icmp slt", count, 16), count, number(16, "i64"))
    count = b.select(b.compare("icmp sgt", count, 0), count, _ZERO)
    return b.op("sub", b.op("shl", number(1, "i32"), b.convert("trunc", count, "i32")), 1)


def masked_load(b: Builder, at: str, lanes: Val) -> Val:
    """Sixteen floats, zeros in the lanes whose bit is not set; memory need not be there for them."""
    mask = b.emit(f"bitcast i16 {b.convert('trunc', lanes, 'i16').text} to <16 x i1>", "i1", 16)
    symbol = "@llvm.masked.load.v16f32.p0"
    b.declare(symbol, f"declare <16 x float> {symbol}(ptr, i32, <16 x i1>, <16 x float>)")
    text = f"call <16 x float> {symbol}(ptr {at}, i32 4, <16 x i1> {mask.text}, <16 x float> zeroinitializer)"
    return b.emit(text, "float", 16, pure=False)


def _parts(b: Builder, x: Val) -> list[Val]:
    """The three parts of every lane, as the bits of float32."""
    parts = []
    for _ in range(PARTS - 1):
        rounded = b.op("and", b.op("add", b.convert("bitcast", x, "i32"), 0x8000), 0xFFFF0000)
        parts.append(rounded)
        x = b.op("fsub", x, b.convert("bitcast", rounded, "float"))
    return [*parts, b.convert("bitcast", x, "i32")]
