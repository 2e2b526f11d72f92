"""Winograd's transforms of a tile, on vectors that hold a tile's number of 16 channels.

    y = A' (G w G' * B' x B) A,   x of 4 x 4, w of 3 x 3, y of 2 x 2

and, since y is linear in both, the gradient of w from that of y:

    dw = G' (A dy A' * B' x B) G

Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..llvm.ir import Builder, Val

__all__ = ["of_gradient", "of_input", "of_weight", "to_output", "to_weight_gradient"]

Line = Sequence[Val]
Grid = Sequence[Line]


def _both_ways(line: Callable[[Builder, Line], list[Val]]) -> Callable[[Builder, Grid], list[list[Val]]]:
    """The transform of a grid: of its columns, then of its rows."""

    def grid(b: Builder, rows: Grid) -> list[list[Val]]:
        columns = [line(b, column) for column in zip(*rows, strict=True)]
        return [line(b, row) for row in zip(*columns, strict=True)]

    return grid


@_both_ways
def of_input(b: Builder, x: Line) -> list[Val]:
    """B' x: 4 to 4."""
    return [b.op("fsub", x[0], x[2]), b.op("fadd", x[1], x[2]), b.op("fsub", x[2], x[1]), b.op("fsub", x[1], x[3])]


@_both_ways
def of_weight(b: Builder, w: Line) -> list[Val]:
    """G w: 3 to 4."""
    outer, middle = b.op("fmul", b.op("fadd", w[0], w[2]), 0.5), b.op("fmul", w[1], 0.5)
    return [w[0], b.op("fadd", outer, middle), b.op("fsub", outer, middle), w[2]]


@_both_ways
def to_output(b: Builder, m: Line) -> list[Val]:
    """A' m: 4 to 2."""
    return [b.op("fadd", m[0], b.op("fadd", m[1], m[2])), b.op("fsub", b.op("fsub", m[1], m[2]), m[3])]


@_both_ways
def of_gradient(b: Builder, dy: Line) -> list[Val]:
    """A dy: 2 to 4."""
    return [dy[0], b.op("fadd", dy[0], dy[1]), b.op("fsub", dy[0], dy[1]), b.fneg(dy[1])]


@_both_ways
def to_weight_gradient(b: Builder, m: Line) -> list[Val]:
    """G' m: 4 to 3."""
    outer = b.op("fmul", b.op("fadd", m[1], m[2]), 0.5)
    return [b.op("fadd", m[0], outer), b.op("fmul", b.op("fsub", m[1], m[2]), 0.5), b.op("fadd", outer, m[3])]
