"""The gradient of a weight: 16 products (channels, tiles) @ (tiles, filters), summed over blocks of tiles.

Each unit has a part of the tiles and a group of the channels, and a result (16, channels of its group, filters) of its
own, which `weight.collect` adds up and transforms.
"""

from __future__ import annotations

from typing import NamedTuple

from ....core.locks import made_once
from ..llvm.ir import Builder, Val, number
from ..onednn import kernels
from ..onednn.kernels import address, element
from .image import Image, Tiles
from .points import POINTS, clear, least, load_pixels, store_points
from .product import ALIGNMENT, LANES, LINE, Block, multiply
from .transforms import of_gradient, of_input

__all__ = ["NUMBERS", "gradient", "room_floats", "total"]

NUMBERS = 22
_SUM_POINT = 5  # A dy A' has the sum of dy at row and column 1
_ZERO, _POINTS = number(0, "i64"), number(POINTS, "i64")


def room_floats(at_once: int, channels: int, groups: int, filters: int) -> int:
    """What one thread needs for blocks of `at_once` tiles and `channels` of a group."""
    return POINTS * (at_once * (channels + filters) + 2 * LINE) + channels * groups + filters


@made_once
def gradient(block: Block):
    """x, g, du, sums of g for each part, room; numbers: see `bind`."""

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        x, g, du, totals, room, *rest = parameters
        source, slope, tiles = Image(x, *rest[:5]), Image(g, *rest[5:10]), Tiles(*rest[10:14])
        count, at_once, channels, filters, parts, groups, each, most = rest[14:]
        thread, low, high = kernels.share(b, b.op("mul", parts, groups), most)
        with b.when(b.compare("icmp slt", low, high)):  # otherwise there may be no room for this thread
            room = b.op("add", room, b.op("mul", thread, each))
            mine = _Mine(b, block, room, at_once, channels, filters, groups)
            with b.loop(low, high) as unit:
                part, group = b.op("sdiv", unit, groups), b.op("srem", unit, groups)
                start = b.op("sdiv", b.op("mul", count, part), parts)
                end = b.op("sdiv", b.op("mul", count, b.op("add", part, 1)), parts)
                result = address(b, du, b.op("mul", unit, b.op("mul", b.op("mul", channels, filters), POINTS)))
                with b.loop(start, end, at_once) as first:
                    some = _Some(first, least(b, at_once, b.op("sub", end, first)), b.compare("icmp eq", first, start))
                    mine.transform(source, slope, tiles, some, b.op("mul", group, channels))
                    with b.when(b.compare("icmp eq", group, 0)):
                        mine.add_tiles(some, address(b, totals, b.op("mul", part, filters)))
                    mine.multiply(some, result)

    return emit


class _Some(NamedTuple):
    """A block of tiles: its first, how many, and whether a unit begins with it."""

    first: Val
    count: Val
    begins: Val


class _Mine:
    """A thread's room: 16 matrices of the input, 16 of the gradient in panels, zeros for what is outside."""

    def __init__(self, b: Builder, block: Block, room: Val, at_once: Val, channels: Val, filters: Val, groups: Val):
        self.b, self.block, self.inputs = b, block, room
        self.at_once, self.channels, self.filters = at_once, channels, filters
        self.step = b.op("add", b.op("mul", at_once, channels), LINE)
        self.slope_step = b.op("add", b.op("mul", at_once, filters), LINE)
        self.slopes = address(b, room, b.op("mul", self.step, POINTS))
        zeros = address(b, self.slopes, b.op("mul", self.slope_step, POINTS))
        clear(b, zeros, b.op("add", b.op("mul", channels, groups), filters))
        self.outside = element(b, zeros, _ZERO)

    def transform(self, source: Image, slope: Image, tiles: Tiles, some: _Some, first_channel: Val) -> None:
        b = self.b
        with b.loop(_ZERO, some.count) as tile:
            corner = tiles.corner(b, b.op("add", some.first, tile))
            places = source.places(b, tiles.source_corner(b, corner), 4, self.outside)
            row = element(b, self.inputs, b.op("mul", tile, self.channels))
            with b.loop(_ZERO, self.channels, LANES) as channel:
                pixels = load_pixels(b, places, b.op("add", first_channel, channel))
                store_points(b, of_input(b, pixels), row, channel, self.step)
            places = slope.places(b, corner, 2, self.outside)
            row = element(b, self.slopes, b.op("mul", tile, self.block.width))
            with b.loop(_ZERO, self.filters, self.block.width) as k:
                panel = b.op("mul", k, self.at_once)
                for v in range(0, self.block.width, LANES):
                    pixels = load_pixels(b, places, b.op("add", k, v))
                    store_points(b, of_gradient(b, pixels), row, b.op("add", panel, v), self.slope_step)

    def multiply(self, some: _Some, result: Val) -> None:
        b, block = self.b, self.block
        with b.loop(_ZERO, _POINTS) as point, b.loop(_ZERO, self.filters, block.width) as k:
            y = b.op("add", b.op("mul", point, self.slope_step), b.op("mul", k, self.at_once))
            with b.loop(_ZERO, self.channels, block.rows) as channel:
                x = b.op("add", b.op("mul", point, self.step), channel)
                row = b.op("add", b.op("mul", point, self.channels), channel)
                out = address(b, result, b.op("add", b.op("mul", row, self.filters), k))
                x_steps = (1, self.channels)
                places = address(b, self.inputs, x), x_steps, address(b, self.slopes, y)
                multiply(b, block, *places, some.count, out, self.filters, some.begins)

    def add_tiles(self, some: _Some, totals: Val) -> None:
        """The sums of the gradient: over tiles, of that of the 16 numbers which is a tile's sum."""
        b, width = self.b, self.block.width
        points = address(b, self.slopes, b.op("mul", self.slope_step, _SUM_POINT))
        nothing, slots = (
            b.splat(number(0, "float"), LANES),
            {v: b.alloca("float", LANES) for v in range(0, width, LANES)},
        )
        with b.loop(_ZERO, self.filters, width) as k:
            for slot in slots.values():
                b.put(slot, nothing)
            with b.loop(_ZERO, some.count) as tile:
                row = b.op("add", b.op("mul", k, self.at_once), b.op("mul", tile, width))
                for v, slot in slots.items():
                    more = b.load("float", LANES, element(b, points, b.op("add", row, v)), ALIGNMENT)
                    b.put(slot, b.op("fadd", b.get(slot, "float", LANES), more))
            for v, slot in slots.items():
                at = element(b, totals, b.op("add", k, v))
                before = b.select(some.begins, nothing, b.load("float", LANES, at, ALIGNMENT))
                b.store(b.op("fadd", before, b.get(slot, "float", LANES)), at, ALIGNMENT)


@made_once
def total(parts: int):
    """Sums of each part, out; numbers: filters. A row is a vector."""

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        sums, out, filters = parameters
        with b.loop(low, high) as i:
            at = b.op("mul", i, LANES)
            whole = b.load("float", LANES, element(b, sums, at), ALIGNMENT)
            for part in range(1, parts):
                more = b.load("float", LANES, element(b, sums, b.op("add", at, b.op("mul", filters, part))), ALIGNMENT)
                whole = b.op("fadd", whole, more)
            b.store(whole, element(b, out, at), 4)

    return emit
