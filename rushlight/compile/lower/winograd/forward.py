"""Through an image, tile by tile: the forward convolution, and the gradient of the input, which is one too.

A block of tiles is transformed into 16 matrices (tiles, channels), these are multiplied by the 16 of the weight, a
panel of output channels at a time, and the result is transformed back. What is between stays in a second-level cache.
"""

from __future__ import annotations

from ....core.locks import made_once
from ..llvm.ir import Builder, Val, number
from ..onednn import kernels
from ..onednn.kernels import address, element, further
from .image import Image, Tiles
from .points import POINTS, Watch, clear, least, load_pixels, load_points, store_points
from .product import LANES, LINE, Block, multiply
from .transforms import of_input, to_output

__all__ = ["NUMBERS", "forward", "room_floats"]

NUMBERS = 20
_ZERO, _POINTS = number(0, "i64"), number(POINTS, "i64")


def room_floats(block: Block, rows: int, sums: int, channels: int) -> int:
    """What one thread needs for `rows` tiles."""
    return POINTS * (rows * (sums + block.width) + 2 * LINE) + sums + channels


@made_once
def forward(block: Block, with_bias: bool):
    """x, u, y, [bias], room, flag; numbers: see `bind`. flag is set to 1 where a result is not finite."""

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        x, u, y, *rest = parameters
        bias = rest.pop(0) if with_bias else None
        room, flag, *rest = rest
        source, target, tiles = Image(x, *rest[:5]), Image(y, *rest[5:10]), Tiles(*rest[10:14])
        count, at_once, sums, channels, each, most = rest[14:]
        units = b.op("sdiv", b.op("add", count, b.op("sub", at_once, 1)), at_once)
        thread, low, high = kernels.share(b, units, most)
        with b.when(b.compare("icmp slt", low, high)):  # otherwise there may be no room for this thread
            mine = _Mine(b, block, b.op("add", room, b.op("mul", thread, each)), at_once, sums)
            with b.loop(low, high) as unit:
                start = b.op("mul", unit, at_once)
                here = least(b, at_once, b.op("sub", count, start))
                mine.transform(source, tiles, start, here)
                with b.loop(_ZERO, channels, block.width) as channel:
                    mine.multiply(u, channel, here)
                    mine.transform_back(target, tiles, start, here, channel, bias)
            mine.results.report(flag)

    return emit


class _Mine:
    """A thread's room: 16 matrices of the input, 16 of products, zeros for the outside, a place for what is cut off."""

    def __init__(self, b: Builder, block: Block, room: Val, at_once: Val, sums: Val):
        self.b, self.block, self.inputs, self.sums = b, block, room, sums
        rows = b.op("mul", b.op("sdiv", b.op("add", at_once, block.rows - 1), block.rows), block.rows)
        # a line more between matrices: else the 16 stores of a tile may all meet in the same set of a cache
        self.step = b.op("add", b.op("mul", rows, sums), LINE)
        self.product_step = b.op("add", b.op("mul", rows, block.width), LINE)
        self.products = address(b, room, b.op("mul", self.step, POINTS))
        zeros = address(b, self.products, b.op("mul", self.product_step, POINTS))
        clear(b, zeros, sums)
        self.outside = element(b, zeros, _ZERO)
        self.cut_off = element(b, zeros, sums)
        self.results = Watch(b)

    def transform(self, source: Image, tiles: Tiles, start: Val, here: Val) -> None:
        b = self.b
        with b.loop(_ZERO, here) as tile:
            corner = tiles.source_corner(b, tiles.corner(b, b.op("add", start, tile)))
            places = source.places(b, corner, 4, self.outside)
            row = element(b, self.inputs, b.op("mul", tile, self.sums))
            with b.loop(_ZERO, self.sums, LANES) as channel:
                store_points(b, of_input(b, load_pixels(b, places, channel)), row, channel, self.step)

    def multiply(self, u: Val, channel: Val, here: Val) -> None:
        """One panel of all 16 products."""
        b, rows, width = self.b, self.block.rows, self.block.width
        panel = b.op("mul", b.op("mul", channel, self.sums), POINTS)
        groups = b.op("sdiv", b.op("add", here, rows - 1), rows)
        with b.loop(_ZERO, _POINTS) as point, b.loop(_ZERO, groups) as group:
            row = b.op("mul", group, rows)
            x = b.op("add", b.op("mul", point, self.step), b.op("mul", row, self.sums))
            y = b.op("add", panel, b.op("mul", b.op("mul", point, self.sums), width))
            out = b.op("add", b.op("mul", point, self.product_step), b.op("mul", row, width))
            x, y, out = address(b, self.inputs, x), address(b, u, y), address(b, self.products, out)
            multiply(b, self.block, x, (self.sums, 1), y, self.sums, out, width, unroll=4)

    def transform_back(
        self, target: Image, tiles: Tiles, start: Val, here: Val, channel: Val, bias: Val | None
    ) -> None:
        b = self.b
        with b.loop(_ZERO, here) as tile:
            places = target.places(b, tiles.corner(b, b.op("add", start, tile)), 2, self.cut_off)
            row = element(b, self.products, b.op("mul", tile, self.block.width))
            for offset in range(0, self.block.width, LANES):
                at = b.op("add", channel, offset)
                more = None if bias is None else b.load("float", LANES, element(b, bias, at), 4)
                grid = to_output(b, load_points(b, row, offset, self.product_step))
                for values, ends in zip(grid, places, strict=True):
                    for value, end in zip(values, ends, strict=True):
                        value = value if more is None else b.op("fadd", value, more)
                        self.results.see(value)
                        b.store(value, further(b, end, at), 4)
