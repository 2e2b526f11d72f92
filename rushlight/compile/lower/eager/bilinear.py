"""Images resampled bilinearly, for eager calls: torch's bits, 2 ns a pixel, both ways.

A pixel is the sum of four products of fused multiply-adds in the order of `ops/spatial/bilinear.py`, and the gradient adds each pixel's
share to its four places in the same order, pixel after pixel. One code serves every size; threads share the planes.
"""

from __future__ import annotations

import numpy as np

from ....backend.onednn.address import address, is_readable
from ....core import poison
from ....core.foreign import ctypes
from ....core.locks import made_once
from ....core.tensor.channels_last import in_channels_last, is_channels_last
from ....ops.spatial.bilinear import ORDERS, Taps, vector_channels
from ....ops.spatial.interpolate import axes_taps
from ..llvm import engine
from ..llvm.arithmetic import register
from ..llvm.ir import Builder, Val, number
from . import sharing

__all__ = ["spread", "upsampled"]

_TYPES = frozenset(map(np.dtype, (np.float32, np.float64)))
_PIXEL_NS = 2.0
_ARRAYS = ("x", "y", "rows_low", "rows_high", "top", "bottom", "columns_low", "columns_high", "left", "right")
_SIZES = ("channels", "vector_channels", "in_height", "in_width", "out_height", "out_width")
Pair = tuple[int, int]
_Table = ctypes.c_int64 * (len(_ARRAYS) + len(_SIZES))
_empty = poison.empty if poison.on else np.empty


@made_once
def available() -> bool:
    """Whether code can be made here that multiplies and adds in one rounding."""
    return engine.available() and engine.fuses() and is_readable()


def upsampled(
    x: np.ndarray, size: Pair, scales: tuple, mode: str, align_corners: bool, antialias: bool
) -> np.ndarray | None:
    """The images resampled; None for what there is no code for. Shape: (N, C, H, W) -> (N, C, *size)"""
    if mode != "bilinear" or antialias or x.dtype not in _TYPES or not x.size or 0 in size or not available():
        return None
    rows, columns = axes_taps(x.shape[2:], size, scales, align_corners, x.dtype)
    out = _empty((*x.shape[:2], len(rows.low), len(columns.low)), x.dtype)
    _run("up", np.ascontiguousarray(x), out, rows, columns, x.shape, out.shape)
    return in_channels_last(out) if is_channels_last(x) else out


def spread(
    g: np.ndarray, sizes: Pair, scales: tuple, mode: str, align_corners: bool, antialias: bool
) -> np.ndarray | None:
    """The gradient of `upsampled`'s images, from that of its result. Shape: (N, C, H', W') -> (N, C, *sizes)"""
    if mode != "bilinear" or antialias or g.dtype not in _TYPES or not g.size or 0 in sizes or not available():
        return None
    rows, columns = axes_taps(sizes, g.shape[2:], scales, align_corners, g.dtype)
    out = np.zeros((*g.shape[:2], *sizes), g.dtype)
    _run("down", np.ascontiguousarray(g), out, rows, columns, out.shape, g.shape)
    return in_channels_last(out) if is_channels_last(g) else out


def _run(
    name: str,
    x: np.ndarray,
    y: np.ndarray,
    rows: Taps,
    columns: Taps,
    small: tuple[int, ...],
    large: tuple[int, ...],
) -> None:
    arrays = x, y, *rows, *columns
    sizes = small[1], vector_channels(small[1], x.dtype), *small[2:], *large[2:]
    planes = small[0] * small[1]
    code = _function(name, x.dtype)
    work = planes * large[2] * large[3] * _PIXEL_NS
    sharing.run(code.address(name), _Table(*map(address, arrays), *sizes), planes, sharing.pieces(planes, work))


@made_once
def _function(name: str, dtype: np.dtype) -> engine.Code:
    text = _Text(dtype)
    return engine.build(text.up() if name == "up" else text.down())


class _Text:
    """void up(table, from, to), and void down(table, from, to), of planes."""

    def __init__(self, dtype: np.dtype):
        self.b = b = Builder({})
        self.elem, self.bytes = register(dtype), dtype.itemsize
        self.lanes = min(engine.vector_bytes() // dtype.itemsize, 8)
        names = (*_ARRAYS, *_SIZES)
        self.word = {name: self.loaded("%table", "i64", number(i, "i64"), 8) for i, name in enumerate(names)}
        for name in _ARRAYS:
            self.word[name] = b.convert("inttoptr", self.word[name], "ptr")

    def up(self) -> str:
        b, word = self.b, self.word
        whole = b.op("and", word["out_width"], -self.lanes)
        with b.loop(Val("%from", "i64"), Val("%to", "i64")) as plane:
            image, out = self.images(plane)
            is_vector = self.is_vector(plane)
            for kind, order in enumerate(ORDERS):
                with b.when(b.compare("icmp eq", is_vector, kind)), b.loop(number(0, "i64"), word["out_height"]) as i:
                    lines, weights = self.of_row(image, i)
                    line = self.at(out, b.op("mul", i, word["out_width"]))
                    for start, stop, lanes in ((number(0, "i64"), whole, self.lanes), (whole, word["out_width"], 0)):
                        with b.loop(start, stop, lanes or 1) as j:
                            self.pixels(lines, weights, line, j, lanes, order)
        return self.ended("up")

    def pixels(
        self, lines: list[str], weights: list[Val], line: str, j: Val, lanes: int, order: tuple[int, ...]
    ) -> None:
        b = self.b
        places = [self.loaded(self.word[name].text, "i32", j, 4, lanes) for name in ("columns_low", "columns_high")]
        of_columns = [self.loaded(self.word[name].text, self.elem, j, self.bytes, lanes) for name in ("left", "right")]
        total = None
        for tap in order:
            value = self.picked(lines[tap // 2], places[tap % 2], lanes)
            weight = b.op("fmul", weights[tap // 2], of_columns[tap % 2])
            total = b.op("fmul", value, weight) if total is None else b.fma(value, weight, total)
        assert total is not None
        b.store(total, self.at(line, j), self.bytes)

    def picked(self, line: str, places: Val, lanes: int) -> Val:
        b = self.b
        if not lanes:
            return self.loaded(line, self.elem, b.convert("sext", places, "i64"), self.bytes)
        parts = [
            self.loaded(line, self.elem, b.convert("sext", b.extract(places, lane), "i64"), self.bytes)
            for lane in range(lanes)
        ]
        vector = b.splat(number(0.0, self.elem), lanes)
        for lane, part in enumerate(parts):
            vector = b.insert(vector, part, lane)
        return vector

    def down(self) -> str:
        b, word = self.b, self.word
        with b.loop(Val("%from", "i64"), Val("%to", "i64")) as plane:
            out, gradient = self.images(plane, "y", "x")
            with b.loop(number(0, "i64"), word["out_height"]) as i:
                lines, weights = self.of_row(out, i)
                line = self.at(gradient, b.op("mul", i, word["out_width"]))
                with b.loop(number(0, "i64"), word["out_width"]) as j:
                    g = b.load(self.elem, 0, self.at(line, j), self.bytes)
                    for tap in range(4):
                        column = self.loaded(word[("columns_low", "columns_high")[tap % 2]].text, "i32", j, 4)
                        of_column = self.loaded(word[("left", "right")[tap % 2]].text, self.elem, j, self.bytes)
                        place = self.at(lines[tap // 2], b.convert("sext", column, "i64"))
                        weight = b.op("fmul", weights[tap // 2], of_column)
                        b.store(b.fma(g, weight, b.load(self.elem, 0, place, self.bytes)), place, self.bytes)
        return self.ended("down")

    def images(self, plane: Val, small: str = "x", large: str = "y") -> tuple[str, str]:
        b, word = self.b, self.word
        of_small = b.op("mul", plane, b.op("mul", word["in_height"], word["in_width"]))
        of_large = b.op("mul", plane, b.op("mul", word["out_height"], word["out_width"]))
        return self.at(word[small].text, of_small), self.at(word[large].text, of_large)

    def is_vector(self, plane: Val) -> Val:
        """Whether the plane's channel is one that torch sums in vectors: 1 or 0, the place in `ORDERS`."""
        b, word = self.b, self.word
        channel = b.op("urem", plane, word["channels"])
        return b.convert("zext", b.compare("icmp slt", channel, word["vector_channels"]), "i64")

    def of_row(self, image: str, i: Val) -> tuple[list[str], list[Val]]:
        """The two lines of the smaller image of a row of the larger one, and their weights."""
        b, word = self.b, self.word
        lines = []
        for name in ("rows_low", "rows_high"):
            row = b.convert("sext", self.loaded(word[name].text, "i32", i, 4), "i64")
            lines.append(self.at(image, b.op("mul", row, word["in_width"])))
        return lines, [self.loaded(word[name].text, self.elem, i, self.bytes) for name in ("top", "bottom")]

    def ended(self, name: str) -> str:
        self.b.line("ret void")
        text = self.b.function(f"@{name}", "ptr %table, i64 %from, i64 %to")
        return text + "\n".join(self.b.declarations.values()) + "\n" + engine.attributes()

    def loaded(self, base: str, elem: str, place: Val, size: int, lanes: int = 0) -> Val:
        return self.b.load(elem, lanes, self.at(base, place, elem), size)

    def at(self, base: str, place: Val, elem: str | None = None) -> str:
        return self.b.emit(f"getelementptr {elem or self.elem}, ptr {base}, i64 {place.text}", "ptr").text
