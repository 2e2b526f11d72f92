"""The 16 numbers between the transforms, each in a matrix of its own, and what goes with them."""

from __future__ import annotations

from collections.abc import Sequence

from ..llvm.ir import Builder, Val, number
from ..onednn.kernels import element, further
from .product import ALIGNMENT, LANES

__all__ = ["POINTS", "Watch", "clear", "least", "load_pixels", "load_points", "store_points"]

POINTS = 16
_SIDE = range(4)
_ZERO = number(0, "i64")


def load_pixels(b: Builder, places: Sequence[Sequence[str]], channel: Val) -> list[list[Val]]:
    """16 channels of every pixel."""
    return [[b.load("float", LANES, further(b, at, channel), 4) for at in line] for line in places]


def store_points(b: Builder, grid: Sequence[Sequence[Val]], pointer: str, offset: Val, step: Val) -> None:
    """Vectors into the matrices, at a stride of `step`."""
    for i, line in enumerate(grid):
        for j, value in enumerate(line):
            b.store(value, further(b, pointer, b.op("add", b.op("mul", step, 4 * i + j), offset)), ALIGNMENT)


def load_points(b: Builder, pointer: str, offset: int, step: Val) -> list[list[Val]]:
    """Vectors out of the matrices."""
    return [
        [_load(b, further(b, pointer, b.op("add", b.op("mul", step, 4 * i + j), offset))) for j in _SIDE] for i in _SIDE
    ]


def _load(b: Builder, pointer: str) -> Val:
    return b.load("float", LANES, pointer, ALIGNMENT)


def clear(b: Builder, start: Val, count: Val) -> None:
    """Zeros into whole vectors."""
    with b.loop(_ZERO, count, LANES) as i:
        b.store(b.splat(number(0, "float"), LANES), element(b, start, i), ALIGNMENT)


def least(b: Builder, x: Val, y: Val) -> Val:
    """The smaller of two numbers."""
    return b.select(b.compare("icmp slt", x, y), x, y)


class Watch:
    """Whether all results were finite: their products with 0 add up to 0, or else to nan."""

    def __init__(self, b: Builder):
        self.b, self._slot = b, b.alloca("float", LANES)
        b.put(self._slot, b.splat(number(0, "float"), LANES))

    def see(self, x: Val) -> None:
        b = self.b
        b.put(self._slot, b.fma(x, number(0, "float"), b.get(self._slot, "float", LANES)))

    def report(self, flag: Val) -> None:
        """Set the number at an address to 1 if one was not."""
        b, x = self.b, self.b.get(self._slot, "float", LANES)
        with b.when(b.any_lane(b.compare("fcmp uno", x, x)), unlikely=True):
            b.store(number(1, "i64"), element(b, flag, _ZERO, "i64"), 8)
