"""Where a tile is in a channels-last image, and which part of it is outside."""

from __future__ import annotations

from typing import NamedTuple

from ..llvm.ir import Builder, Val

__all__ = ["Image", "Tiles"]


class Image(NamedTuple):
    """Images (N, C, H, W) at an address, steps counted in elements, that of C being 1."""

    address: Val
    image_step: Val
    row_step: Val
    column_step: Val
    height: Val
    width: Val

    def places(self, b: Builder, corner: tuple[Val, Val, Val], size: int, outside: str) -> list[list[str]]:
        """Pointers to the channels of size x size pixels from `corner` (n, row, column); `outside` where there is none."""
        image, top, left = corner
        start = b.op("mul", image, self.image_step)
        base = b.emit(f"inttoptr i64 {self.address.text} to ptr", "ptr").text
        rows = [self._line(b, b.op("add", top, r), self.height, self.row_step) for r in range(size)]
        columns = [self._line(b, b.op("add", left, c), self.width, self.column_step) for c in range(size)]
        grid = []
        for row_inside, row in rows:
            here = b.op("add", start, row)
            line = []
            for inside, column in columns:
                at = b.emit(f"getelementptr float, ptr {base}, i64 {b.op('add', here, column).text}", "ptr").text
                both = b.op("and", row_inside, inside)
                line.append(b.emit(f"select i1 {both.text}, ptr {at}, ptr {outside}", "ptr").text)
            grid.append(line)
        return grid

    @staticmethod
    def _line(b: Builder, i: Val, n: Val, step: Val) -> tuple[Val, Val]:
        """(whether there is a row or column i, its offset)."""
        return b.compare("icmp ult", i, n), b.op("mul", i, step)


class Tiles(NamedTuple):
    """Tiles of 2 x 2 outputs: how many above each other, side by side, and the padding before the first."""

    tall: Val
    wide: Val
    above: Val
    left: Val

    def corner(self, b: Builder, tile: Val) -> tuple[Val, Val, Val]:
        """(image, row, column) of a tile's first output."""
        line, column = b.op("sdiv", tile, self.wide), b.op("srem", tile, self.wide)
        image, row = b.op("sdiv", line, self.tall), b.op("srem", line, self.tall)
        return image, b.op("mul", row, 2), b.op("mul", column, 2)

    def source_corner(self, b: Builder, corner: tuple[Val, Val, Val]) -> tuple[Val, Val, Val]:
        """The first pixel of the input that the tile at `corner` reads, which may be outside."""
        image, row, column = corner
        return image, b.op("sub", row, self.above), b.op("sub", column, self.left)
