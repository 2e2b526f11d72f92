"""Maxima and means of windows of images (pooling), for eager calls: 0.1 to 0.4 ns for an element of a window on two cores.

One code for each window serves images of every size. Lanes are neighbours along a row of the result; a row's last vector
overlaps the one before, and windows that reach over a row's ends are taken one by one. The elements of a window come row by
row: a maximum is the first of equal ones, a nan counts as larger than everything before it, and means are torch's to the bit.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from ....backend.onednn.address import address, is_readable
from ....core import poison
from ....core.foreign import ctypes
from ....core.locks import made_once
from ....ops.spatial.pool import pooled_size
from ..llvm import engine
from ..llvm.arithmetic import register
from ..llvm.ir import Builder, Val, number
from . import sharing

__all__ = ["even_means", "largest", "maxima", "means"]

_TYPES = frozenset(map(np.dtype, (np.float32, np.float64)))
_MOST_TAPS = 32  # of a window: each is an instruction
_ROW_NS, _VECTOR_NS, _TAP_NS = 2.0, 1.0, 0.8  # of a row of results, and of each vector or single window in it
_ARRAYS = ("x", "y", "places")
_SIZES = (
    "plane", "height", "width", "out_height", "out_width", "row_step", "above", "before", "low", "high", "divisor",
)  # fmt: skip

Pair = tuple[int, ...]


class _Kind(NamedTuple):
    """What code is made for. how: "max", "places" (with the place of each maximum), or what a sum is divided by: "padded"
    (the window with its padding), "inside" (without), "number". rows_inside: no window reaches beyond the top or the bottom.
    has_edges: some reach beyond the ends of rows. lanes: 0 for one window at a time.
    """

    how: str
    dtype: np.dtype
    rows: int
    columns: int
    step: int
    row_gap: int
    gap: int
    lanes: int
    rows_inside: bool
    has_edges: bool


def maxima(
    x: np.ndarray, window: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """The maxima of windows, and the place of each in its window counted row by row; None for what there is no code for.

    Shape: (*, H, W) -> (*, H', W') twice, the second of uint8
    """
    return _run("places", x, window, stride, padding, dilation, ceil_mode)


def largest(
    x: np.ndarray, window: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool
) -> np.ndarray | None:
    """The maxima alone."""
    found = _run("max", x, window, stride, padding, dilation, ceil_mode)
    return None if found is None else found[0]


def means(
    x: np.ndarray,
    window: Pair,
    stride: Pair,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> np.ndarray | None:
    """The means of windows. Shape: (*, H, W) -> (*, H', W')"""
    how = "number" if divisor_override else "padded" if count_include_pad else "inside"
    found = _run(how, x, window, stride, padding, (1, 1), ceil_mode, divisor_override or 1)
    return None if found is None else found[0]


def even_means(x: np.ndarray, size: Pair) -> np.ndarray | None:
    """The means of as many windows as `size` says, where these are all alike. Shape: (*, H, W) -> (*, *size)"""
    if len(size) != 2 or any(not o or n % o for n, o in zip(x.shape[-2:], size, strict=True)):
        return None
    window = x.shape[-2] // size[0], x.shape[-1] // size[1]
    return means(x, window, window, (0, 0), False, True, None)


def _run(
    how: str,
    x: np.ndarray,
    window: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    ceil_mode: bool,
    divisor: int = 1,
) -> tuple[np.ndarray, np.ndarray] | None:
    if not x.flags.c_contiguous:
        return None
    plan = _plan(how, x.shape, x.dtype, window, stride, padding, dilation, ceil_mode, divisor)
    if plan is None:
        return None
    y = _empty(plan.shape, x.dtype)
    places = _empty(plan.shape, np.uint8) if how == "places" else y
    table = _Table(address(x), address(y), address(places), plan.start)
    sharing.run(plan.function, table, plan.planes, plan.pieces)
    return y, places


_Table = ctypes.c_int64 * (len(_ARRAYS) + 1)
_empty = poison.empty if poison.on else np.empty


class _Plan:
    """What calls with images of one shape share."""

    __slots__ = ("shape", "function", "planes", "pieces", "start", "_code", "_sizes")

    def __init__(self, kind: _Kind, shape: tuple[int, ...], planes: int, sizes: dict[str, int]):
        self.shape, self.planes = shape, planes
        self._code = _function(kind)
        self.function = self._code.address("windows")
        self._sizes = np.array([sizes[name] for name in _SIZES], np.int64)
        self.start = address(self._sizes)
        within = sizes["high"] - sizes["low"]
        each = _VECTOR_NS + _TAP_NS * kind.rows * kind.columns
        steps = -(-within // (kind.lanes or 1)) + sizes["out_width"] - within
        work = planes * sizes["out_height"] * (_ROW_NS + steps * each)
        self.pieces = sharing.pieces(planes, work)


@lru_cache(maxsize=1024)
def _plan(
    how: str,
    shape: tuple[int, ...],
    dtype: np.dtype,
    window: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    ceil_mode: bool,
    divisor: int,
) -> _Plan | None:
    """None for what there is no code for: large windows, and vectors that would reach over a row's end."""
    if len(window) != 2 or dtype not in _TYPES or 0 in shape or window[0] * window[1] > _MOST_TAPS:
        return None
    (height, width), (rows, columns), (row_step, step) = shape[-2:], window, stride
    if (columns == 1 and step == 2) or not -(2**63) <= divisor < 2**63 or not _available():
        return None
    outs = [pooled_size(*axis, ceil_mode) for axis in zip(shape[-2:], window, stride, padding, dilation, strict=True)]
    (out_height, out_width), (above, before), (row_gap, gap) = outs, padding, dilation
    low = min(out_width, -(-before // step))
    high = max(low, min(out_width, (width - 1 - (columns - 1) * gap + before) // step + 1))
    most = engine.vector_bytes() // dtype.itemsize if step <= 2 else 0
    lanes = next((n for n in (16, 8, 4) if n <= min(most, high - low)), 0)
    rows_inside = not above and (out_height - 1) * row_step + (rows - 1) * row_gap < height
    has_edges = low > 0 or high < out_width
    kind = _Kind(how, dtype, rows, columns, step, row_gap, gap, lanes, rows_inside, has_edges)
    sizes = (height * width, height, width, out_height, out_width, row_step, above, before, low, high, divisor)
    return _Plan(kind, (*shape[:-2], *outs), prod(shape[:-2]), dict(zip(_SIZES, sizes, strict=True)))


@made_once
def _available() -> bool:
    return engine.available() and is_readable()


@made_once
def _function(kind: _Kind) -> engine.Code:
    return engine.build(_Text(kind).assembly())


class _Text:
    """void windows(table, from, to): the windows of these planes."""

    def __init__(self, kind: _Kind):
        self.kind = kind
        self.b = Builder({})
        self.elem = register(kind.dtype)
        self.bytes = kind.dtype.itemsize
        self.taps_are_maxima = kind.how in ("max", "places")

    def assembly(self) -> str:
        b, kind = self.b, self.kind
        names = (*_ARRAYS, "sizes")
        self.word = {name: self._loaded("%table", "ptr", i) for i, name in enumerate(names)}
        self.word |= {name: self._loaded(self.word["sizes"].text, "i64", i) for i, name in enumerate(_SIZES)}
        self.best, self.place = b.alloca(self.elem, kind.lanes), b.alloca("i32", kind.lanes)
        self.one_best, self.one_place = b.alloca(self.elem), b.alloca("i32")
        word = self.word
        with b.loop(Val("%from", "i64"), Val("%to", "i64")) as plane:
            image = self._at(word["x"].text, self.elem, b.op("mul", plane, word["plane"]))
            with b.loop(number(0, "i64"), word["out_height"]) as i:
                top = b.op("sub", b.op("mul", i, word["row_step"]), word["above"])
                out_row = b.op("mul", b.op("add", b.op("mul", plane, word["out_height"]), i), word["out_width"])
                self._row(image, top, out_row)
        b.line("ret void")
        text = b.function("@windows", "ptr %table, i64 %from, i64 %to")
        return text + "\n".join(b.declarations.values()) + "\n" + engine.attributes()

    def _row(self, image: str, top: Val, out_row: Val) -> None:
        """A row of results, whose windows begin at row `top` of the image."""
        b, kind, word = self.b, self.kind, self.word
        rows = number(0, "i64"), number(kind.rows, "i64")
        if not kind.rows_inside:
            rows = self._within(top, kind.row_gap, kind.rows, word["height"])
        counted = self._counted(top, kind.rows, word["height"], word["above"])
        low, high = word["low"], word["high"]
        if kind.lanes:
            last = b.op("sub", high, kind.lanes)
            with b.loop(low, high, kind.lanes) as at:
                j = b.select(b.compare("icmp slt", at, last), at, last)
                self._inside(image, top, rows, j, b.op("add", out_row, j), counted)
        else:
            with b.loop(low, high) as j:
                self._inside(image, top, rows, j, b.op("add", out_row, j), counted)
        if kind.has_edges:
            for start, stop in ((number(0, "i64"), low), (high, word["out_width"])):
                with b.loop(start, stop) as j:
                    self._at_edge(image, top, rows, j, b.op("add", out_row, j), counted)

    def _within(self, start: Val, gap: int, taps: int, size: Val) -> tuple[Val, Val]:
        """Which of `taps` places from `start` on, in steps of `gap`, are within an axis of `size`: from, to."""
        b = self.b
        first = b.op("sdiv", b.op("sub", number(gap - 1, "i64"), start), gap)
        stop = b.op("sdiv", b.op("sub", b.op("add", size, gap - 1), start), gap)
        return self._max(first, 0), self._min(stop, taps)

    def _inside(self, image: str, top: Val, rows: tuple[Val, Val], j: Val, out: Val, counted: Val | None) -> None:
        """Windows from column `j` of the result on, a vector of them, all within a row."""
        b, kind = self.b, self.kind
        lanes = kind.lanes
        first = b.op("sub", b.op("mul", j, kind.step), self.word["before"])
        if kind.rows_inside:
            best, place = self._empty(lanes), b.splat(number(0, "i32"), lanes) if lanes else number(0, "i32")
            for r in range(kind.rows):
                for c, here in enumerate(self._taps(image, b.op("add", top, r * kind.row_gap), first)):
                    is_first = self.taps_are_maxima and not r and not c
                    tap = number(r * kind.columns + c, "i32")
                    best, place = (here, place) if is_first else self._with(best, place, here, tap)
        else:
            b.put(self.best, self._empty(lanes))
            b.put(self.place, b.splat(self._tap(rows[0], number(0, "i64")), lanes))
            with b.loop(*rows) as r:
                best, place = b.get(self.best, self.elem, lanes), b.get(self.place, "i32", lanes)
                for c, here in enumerate(self._taps(image, b.op("add", top, b.op("mul", r, kind.row_gap)), first)):
                    best, place = self._with(best, place, here, self._tap(r, number(c, "i64")))
                b.put(self.best, best)
                b.put(self.place, place)
            best, place = b.get(self.best, self.elem, lanes), b.get(self.place, "i32", lanes)
        self._store(best, place, out, counted, number(kind.columns, "i64"))

    def _at_edge(self, image: str, top: Val, rows: tuple[Val, Val], j: Val, out: Val, counted: Val | None) -> None:
        """One window, of which only part is in the image."""
        b, kind, word = self.b, self.kind, self.word
        first = b.op("sub", b.op("mul", j, kind.step), word["before"])
        columns = self._within(first, kind.gap, kind.columns, word["width"])
        b.put(self.one_best, self._empty(0))
        b.put(self.one_place, self._tap(rows[0], columns[0]))
        with b.loop(*rows) as r:
            row = self._line(image, b.op("add", top, b.op("mul", r, kind.row_gap)))
            with b.loop(*columns) as c:
                here = b.load(
                    self.elem, 0, self._at(row, self.elem, b.op("add", first, b.op("mul", c, kind.gap))), self.bytes
                )
                best, place = self._with(
                    b.get(self.one_best, self.elem), b.get(self.one_place, "i32"), here, self._tap(r, c)
                )
                b.put(self.one_best, best)
                b.put(self.one_place, place)
        wide = self._counted(first, kind.columns, word["width"], word["before"])
        self._store(
            b.get(self.one_best, self.elem), b.get(self.one_place, "i32"), out, counted, wide or number(1, "i64")
        )

    def _taps(self, image: str, row: Val, first: Val) -> list[Val]:
        """The elements of a row of windows, the first of which begins at column `first`."""
        b, kind, lanes = self.b, self.kind, self.kind.lanes
        line = self._line(image, row)

        def loaded(place: int) -> Val:
            return b.load(self.elem, lanes, self._at(line, self.elem, b.op("add", first, place)), self.bytes)

        places = [c * kind.gap for c in range(kind.columns)]
        if not lanes or kind.step == 1:
            return [loaded(p) for p in places]
        pairs: dict[int, tuple[Val, Val]] = {}
        found = []
        for p in places:
            start = p if p % 2 == 0 and p < places[-1] else p - 1  # a pair that ends within the windows
            if start not in pairs:
                pairs[start] = loaded(start), loaded(start + lanes)
            found.append(b.shuffle(*pairs[start], [2 * n + p - start for n in range(lanes)]))
        return found

    def _with(self, best: Val, place: Val, here: Val, tap: Val) -> tuple[Val, Val]:
        """The result with one more element of its windows."""
        b = self.b
        if not self.taps_are_maxima:
            return b.op("fadd", best, here), place
        better = b.op("or", b.compare("fcmp ogt", here, best), b.compare("fcmp uno", here, here))
        best = b.select(better, here, best)
        return best, b.select(better, tap, place) if self.kind.how == "places" else place

    def _empty(self, lanes: int) -> Val:
        """What an empty window gives."""
        return self.b.splat(number(-np.inf if self.taps_are_maxima else 0.0, self.elem), lanes)

    def _tap(self, r: Val, c: Val) -> Val:
        """The number of an element in its window."""
        b = self.b
        return b.convert("trunc", b.op("add", b.op("mul", r, self.kind.columns), c), "i32")

    def _counted(self, start: Val, taps: int, size: Val, padding: Val) -> Val | None:
        """By how many of the places along an axis a sum is divided; None where that is a number of its own."""
        b, how = self.b, self.kind.how
        if how == "padded":
            return b.op("sub", self._min(b.op("add", start, taps), b.op("add", size, padding)), start)
        if how == "inside":
            return b.op("sub", self._min(b.op("add", start, taps), size), self._max(start, 0))
        return None

    def _store(self, best: Val, place: Val, out: Val, rows: Val | None, columns: Val) -> None:
        b = self.b
        if not self.taps_are_maxima:
            count = self.word["divisor"] if rows is None else b.op("mul", rows, columns)
            best = b.op("fdiv", best, b.convert("sitofp", count, self.elem))
        b.store(best, self._at(self.word["y"].text, self.elem, out), self.bytes)
        if self.kind.how == "places":
            b.store(b.convert("trunc", place, "i8"), self._at(self.word["places"].text, "i8", out), 1)

    def _loaded(self, base: str, elem: str, place: int) -> Val:
        return self.b.load(elem, 0, self._at(base, elem, number(place, "i64")), 8)

    def _line(self, image: str, row: Val) -> str:
        return self._at(image, self.elem, self.b.op("mul", row, self.word["width"]))

    def _at(self, base: str, elem: str, place: Val) -> str:
        return self.b.emit(f"getelementptr {elem}, ptr {base}, i64 {place.text}", "ptr").text

    def _max(self, x: Val, y: int) -> Val:
        return self.b.select(self.b.compare("icmp sgt", x, y), x, y)

    def _min(self, x: Val, y: Val | int) -> Val:
        return self.b.select(self.b.compare("icmp slt", x, y), x, y)
