"""Through a weight (K, C, 3, 3), 16 by 16 channels at a time (8 by 8 with AVX2): into the 16 matrices of the products, and back.

    matrices: for each `width` lanes one after the other, (16, sums, width)

Lanes are K and sums run over C in the forward direction; for the gradient of the input it is the other way around, and
the kernel is turned by 180 degrees, which only changes the order of the 16.
"""

from __future__ import annotations

from ....core.locks import made_once
from ..llvm.ir import Builder, Val, number
from ..llvm.transpose import transposed
from ..onednn.kernels import element, further
from .points import POINTS, Watch
from .product import ALIGNMENT, LANES
from .transforms import of_weight, to_weight_gradient

__all__ = ["collect", "spread"]

TAPS = 9
_ZERO, _LANES, _TAPS = number(0, "i64"), number(LANES, "i64"), number(TAPS, "i64")
_TURNED = (3, 1, 2, 0)


@made_once
def spread(width: int, turned: bool):
    """w, u; numbers: K, C. A row is one block of channels, a vector by a vector."""

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        w, u, filters, channels = parameters
        slots = b.alloca("float", LANES, TAPS * LANES), b.alloca("float", LANES, TAPS * LANES)
        sums = filters if turned else channels
        with b.loop(low, high) as unit:
            k, c = _corner(b, unit, channels)
            start = element(b, w, b.op("mul", b.op("add", b.op("mul", k, channels), c), TAPS))
            with b.loop(_ZERO, _TAPS) as t:
                _gather(b, start, b.op("mul", channels, TAPS), t, slots[0])
            if turned:
                with b.loop(_ZERO, _TAPS) as t:
                    _exchange(b, *slots, t)
            lane, s = (c, k) if turned else (k, c)
            panel = b.op("mul", b.op("mul", b.op("sdiv", lane, width), b.op("mul", sums, width)), POINTS)
            target = element(b, u, b.op("add", panel, b.op("srem", lane, width)))
            with b.loop(_ZERO, _LANES) as i:
                points = of_weight(b, _taps(b, slots[turned], i))
                order = _TURNED if turned else range(4)
                for p, (r, q) in enumerate((r, q) for r in order for q in order):
                    at = b.op("add", b.op("mul", sums, p), b.op("add", s, i))
                    b.store(points[r][q], further(b, target, b.op("mul", at, width)), ALIGNMENT)

    return emit


@made_once
def collect(parts: int):
    """du, dw, flag; numbers: K, C, and how many groups of channels du has. du: (parts, groups, 16, C/groups, K).

    A row is one block of channels, a vector by a vector. flag is set to 1 where a result is not finite.
    """

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        du, dw, flag, filters, channels, groups = parameters
        slots, results = b.alloca("float", LANES, TAPS * LANES), Watch(b)
        group_channels = b.op("sdiv", channels, groups)
        point_step = b.op("mul", group_channels, filters)
        part_step = b.op("mul", b.op("mul", channels, filters), POINTS)
        with b.loop(low, high) as unit:
            k, c = _corner(b, unit, channels)
            with b.loop(_ZERO, _LANES) as i:
                channel = b.op("add", c, i)
                group, within = b.op("sdiv", channel, group_channels), b.op("srem", channel, group_channels)
                at = b.op("add", b.op("mul", b.op("mul", group, point_step), POINTS), b.op("mul", within, filters))
                source = element(b, du, b.op("add", at, k))
                steps = [[b.op("mul", point_step, 4 * r + q) for q in range(4)] for r in range(4)]
                grid = [[_sum(b, source, step, part_step, parts) for step in line] for line in steps]
                for t, value in enumerate(v for line in to_weight_gradient(b, grid) for v in line):
                    results.see(value)
                    b.store(value, _slot(b, slots, i, t), ALIGNMENT)
            start = element(b, dw, b.op("mul", b.op("add", b.op("mul", k, channels), c), TAPS))
            with b.loop(_ZERO, _TAPS) as t:
                _scatter(b, slots, t, start, b.op("mul", channels, TAPS))
        results.report(flag)

    return emit


# 16 rows of 16 channels with 9 taps are 9 squares of 16 by 16 numbers (with AVX2 8 for 16). A slot is a vector of filters for a channel
# and tap, number 9 channel + tap, as they are stored in a row; exchanged, of channels for a filter and tap.
def _slot(b: Builder, slots: str, i: Val, tap: Val | int) -> str:
    return further(b, slots, b.op("mul", b.op("add", b.op("mul", i, TAPS), tap), LANES))


def _taps(b: Builder, slots: str, i: Val) -> list[list[Val]]:
    return [[b.load("float", LANES, _slot(b, slots, i, 3 * r + q), ALIGNMENT) for q in range(3)] for r in range(3)]


def _gather(b: Builder, start: str, row_step: Val, square: Val, slots: str) -> None:
    """A square of rows of memory into slots."""
    at = b.op("mul", square, LANES)
    rows = [further(b, start, b.op("add", at, b.op("mul", row_step, i))) for i in range(LANES)]
    for i, column in enumerate(transposed(b, [b.load("float", LANES, row, 4) for row in rows])):
        b.store(column, further(b, slots, b.op("mul", b.op("add", at, i), LANES)), ALIGNMENT)


def _scatter(b: Builder, slots: str, square: Val, start: str, row_step: Val) -> None:
    """Slots into a square of rows of memory."""
    at = b.op("mul", square, LANES)
    columns = [further(b, slots, b.op("mul", b.op("add", at, i), LANES)) for i in range(LANES)]
    for i, row in enumerate(transposed(b, [b.load("float", LANES, column, ALIGNMENT) for column in columns])):
        b.store(row, further(b, start, b.op("add", at, b.op("mul", row_step, i))), 4)


def _exchange(b: Builder, source: str, target: str, tap: Val) -> None:
    """One tap's slots from (channel, lane of filter) to (filter, lane of channel)."""
    rows = [b.load("float", LANES, _slot(b, source, number(i, "i64"), tap), ALIGNMENT) for i in range(LANES)]
    for i, column in enumerate(transposed(b, rows)):
        b.store(column, _slot(b, target, number(i, "i64"), tap), ALIGNMENT)


def _sum(b: Builder, source: str, at: Val, step: Val, parts: int) -> Val:
    total = b.load("float", LANES, further(b, source, at), ALIGNMENT)
    for part in range(1, parts):
        more = b.load("float", LANES, further(b, source, b.op("add", at, b.op("mul", step, part))), ALIGNMENT)
        total = b.op("fadd", total, more)
    return total


def _corner(b: Builder, unit: Val, channels: Val) -> tuple[Val, Val]:
    """The first filter and channel of a block."""
    wide = b.op("sdiv", channels, LANES)
    return b.op("mul", b.op("sdiv", unit, wide), LANES), b.op("mul", b.op("srem", unit, wide), LANES)
