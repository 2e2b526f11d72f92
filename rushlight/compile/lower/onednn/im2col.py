"""Convolutions as products of unfolded windows (im2col), by BLAS: where oneDNN is missing.

Images are channels-last, so that a matrix has a row for each position of the result and a column for each tap, and one
product serves many images at once; with X the unfolded input, W the weight with its taps in the same order, G the slopes:

    forward            Y = X W^T
    gradient of x      X' = G W, each row then added to its window
    gradient of w      W' = G^T X

Few images are unfolded at a time, so that a matrix stays within `_MOST_ELEMENTS`. float32, one or two spatial axes, one
group; images in another order, and weights, are copied into the order that is wanted here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ....backend.onednn.library import available
from ....core.locks import made_once
from ...ir.graph import Extern, Ref, same_strides
from ..llvm.ir import Builder, Val, number
from . import blas, kernels
from .binder import Probe
from .descriptors import packed
from .kernels import element

__all__ = ["bind_backward_data", "bind_backward_weights", "bind_forward"]

_F32 = np.dtype(np.float32)
_MOST_ELEMENTS = 1 << 21  # of an unfolded matrix: 8 MB
_SUMMED_AT_ONCE = 256  # rows whose sum is a float32 before it is added to the others'
_LAST = (0, 2, 3, 1)
_ZERO = number(0, "i64")


class _Sizes(NamedTuple):
    """Of an image, a window, the result, and the steps between windows, between taps, and of zeros around the image."""

    channels: int
    height: int
    width: int
    tall: int
    wide: int
    rows: int
    columns: int
    down: int
    right: int
    taps_down: int
    taps_right: int
    top: int
    left: int

    @property
    def taps(self) -> int:
        return self.tall * self.wide * self.channels


# -- what is served ----------------------------------------------------------------------------------------------------
def _sizes(extern: Extern, x: Ref, w: Ref, y: Ref) -> _Sizes | None:
    """The sizes of a convolution that is for this file, or None."""
    options = extern.options
    if available() or not kernels.available() or blas.function(_F32) is None or x.ndim not in (3, 4):
        return None
    if options["groups"] != 1 or not (x.size and w.size and y.size) or not x.dtype == w.dtype == y.dtype == _F32:
        return None
    before = [p[0] if isinstance(p, tuple) else p for p in options["padding"]]
    if min(before) < 0:
        return None
    steps, dilation = options["stride"], options["dilation"]
    if x.ndim == 3:
        before, steps, dilation = (0, *before), (1, *steps), (1, *dilation)
    x, w, y = (_as_images(r) for r in (x, w, y))
    return _Sizes(*x.shape[1:], *w.shape[2:], *y.shape[2:], *steps, *dilation, *before)


def _as_images(r: Ref) -> Ref:
    """A ref (N, C, L) as (N, C, 1, L)."""
    if r.ndim == 4:
        return r
    return Ref(r.value, (*r.shape[:2], 1, r.shape[2]), (*r.strides[:2], 0, r.strides[2]), r.offset)


def _images_at_once(images: int, sizes: _Sizes) -> Iterator[tuple[int, int]]:
    """(first image, how many) of each part."""
    most = max(1, _MOST_ELEMENTS // (sizes.rows * sizes.columns * sizes.taps))
    return ((first, min(most, images - first)) for first in range(0, images, most))


def _room(binder: Probe, images: int, sizes: _Sizes) -> Ref:
    """Memory for the unfolded windows of the largest part."""
    most = next(_images_at_once(images, sizes))[1]
    return binder.scratch((most * sizes.rows * sizes.columns, sizes.taps), _F32)


def _rows(r: Ref, width: int, first: int, count: int) -> Ref:
    """A part of what is stored there as rows of `width` numbers."""
    return Ref(r.value, (count, width), (width, 1), r.offset + first * width)


# -- the three ---------------------------------------------------------------------------------------------------------
def bind_forward(extern: Extern, binder: Probe) -> bool:
    """Emit y = x * w + bias; False where it is not for this file."""
    x, w, *rest = extern.operands
    (y,), bias = extern.results, rest[0] if rest else None
    (onto,) = extern.onto
    sizes = _sizes(extern, x, w, y)
    if sizes is None or (bias is not None and onto is not None):
        return False
    if bias is not None and (bias.dtype != _F32 or bias.shape != w.shape[:1] or not bias.is_row_major()):
        return False
    if onto is not None:
        if not (y.is_whole() and same_strides(y.shape, onto.strides, y.value.strides)):
            return False
        binder.copy(binder.pointer(y), binder.pointer(onto.ref()), onto.nbytes)
    x, w, y = (_as_images(r) for r in (x, w, y))
    weight, source = _taps_last(binder, w), _channels_last(binder, x)
    target = _channels_last(binder, y) if onto is not None else _for_result(binder, y)
    unfolded, filters, positions = _room(binder, x.shape[0], sizes), w.shape[0], sizes.rows * sizes.columns
    keep = float(bias is not None or onto is not None)
    for first, count in _images_at_once(x.shape[0], sizes):
        _launch(binder, _unfold(sizes), count * sizes.rows, unfolded, source, first * x.size // x.shape[0])
        rows = _rows(target, filters, first * positions, count * positions)
        if bias is not None:
            blas.repeat(binder, bias, rows)
        matrix = _rows(unfolded, sizes.taps, 0, count * positions)
        if not blas.multiply(binder, matrix, weight.permute((1, 0)), rows, 1.0, keep, (0, 0, 0)):
            return False
    if target is not y:
        _copy(binder, y.permute(_LAST), _as_last(target, y))
    return True


def bind_backward_data(extern: Extern, binder: Probe) -> bool:
    """Emit the gradient of the input; False where it is not for this file."""
    g, w = extern.operands
    (x,) = extern.results
    sizes = _sizes(extern, x, w, g)
    if sizes is None or extern.onto[0] is not None:
        return False
    x, w, g = (_as_images(r) for r in (x, w, g))
    weight, slopes = _taps_last(binder, w), _channels_last(binder, g)
    target = _for_result(binder, x)
    unfolded, filters, positions = _room(binder, x.shape[0], sizes), w.shape[0], sizes.rows * sizes.columns
    for first, count in _images_at_once(x.shape[0], sizes):
        rows = _rows(slopes, filters, first * positions, count * positions)
        matrix = _rows(unfolded, sizes.taps, 0, count * positions)
        if not blas.multiply(binder, rows, weight, matrix, 1.0, 0.0, (0, 0, 0)):
            return False
        _launch(binder, _fold(sizes), count * sizes.height, unfolded, target, first * x.size // x.shape[0])
    if target is not x:
        _copy(binder, x.permute(_LAST), _as_last(target, x))
    return True


def bind_backward_weights(extern: Extern, binder: Probe) -> bool:
    """Emit the gradients of weight and bias; False where it is not for this file."""
    g, x = extern.operands
    dw, *rest = extern.results
    dbias = rest[0] if rest else None
    sizes = _sizes(extern, x, dw, g)
    if sizes is None or any(o is not None for o in extern.onto):
        return False
    if dbias is not None and (dbias.dtype != _F32 or dbias.shape != dw.shape[:1] or not dbias.is_row_major()):
        return False
    x, dw, g = (_as_images(r) for r in (x, dw, g))
    source, slopes = _channels_last(binder, x), _channels_last(binder, g)
    unfolded, filters, positions = _room(binder, x.shape[0], sizes), dw.shape[0], sizes.rows * sizes.columns
    weight = binder.scratch((filters, sizes.taps), _F32)
    for first, count in _images_at_once(x.shape[0], sizes):
        _launch(binder, _unfold(sizes), count * sizes.rows, unfolded, source, first * x.size // x.shape[0])
        rows = _rows(slopes, filters, first * positions, count * positions).permute((1, 0))
        matrix = _rows(unfolded, sizes.taps, 0, count * positions)
        if not blas.multiply(binder, rows, matrix, weight, 1.0, float(first > 0), (0, 0, 0)):
            return False
    order = dw.permute(_LAST)
    _copy(binder, order, Ref(weight.value, order.shape, packed(order.shape, (0, 1, 2, 3)), weight.offset))
    if dbias is not None:
        function = kernels.native(_column_sums(filters), 2, 1)
        blocks = -(-filters // kernels.lanes())
        places = binder.pointer(slopes), binder.pointer(dbias)
        binder.launch(function, blocks, places, x.shape[0] * positions)
    return True


def _launch(binder: Probe, emit, units: int, unfolded: Ref, images: Ref, offset: int) -> None:
    """Unfold or fold the images from the element `offset` on."""
    binder.note("products of windows by OpenBLAS")
    binder.launch(kernels.native(emit, 2, 0), units, (binder.pointer(unfolded), binder.pointer(images, offset)))


# -- the order of axes -------------------------------------------------------------------------------------------------
def _is_last(images: Ref) -> bool:
    """Whether images (N, C, H, W) are channels-last without gaps."""
    return same_strides(images.shape, images.strides, packed(images.shape, _LAST))


def _as_last(scratch: Ref, images: Ref) -> Ref:
    """A channels-last copy of images as (N, H, W, C)."""
    shape = tuple(images.shape[i] for i in _LAST)
    return Ref(scratch.value, shape, packed(shape, (0, 1, 2, 3)), scratch.offset)


def _channels_last(binder: Probe, images: Ref) -> Ref:
    """The images, or a copy of them, channels-last."""
    if _is_last(images):
        return images
    copy = binder.scratch(tuple(images.shape[i] for i in _LAST), _F32)
    _copy(binder, _as_last(copy, images), images.permute(_LAST))
    return copy


def _for_result(binder: Probe, images: Ref) -> Ref:
    """The images, or memory for them channels-last."""
    return images if _is_last(images) else binder.scratch(tuple(images.shape[i] for i in _LAST), _F32)


def _taps_last(binder: Probe, w: Ref) -> Ref:
    """The weight as a matrix with a row for each filter, its columns in the order of unfolded windows."""
    order = w.permute(_LAST)
    matrix = binder.scratch((w.shape[0], w.size // w.shape[0]), _F32)
    _copy(binder, Ref(matrix.value, order.shape, packed(order.shape, (0, 1, 2, 3)), matrix.offset), order)
    return matrix


def _copy(binder: Probe, target: Ref, source: Ref) -> None:
    """Emit target = source for refs of four axes."""
    places = binder.pointer(target), binder.pointer(source)
    sizes = target.shape[1:]
    binder.launch(
        kernels.native(_copied, 2, 11), target.shape[0] * sizes[0], places, *sizes, *target.strides, *source.strides
    )


def _copied(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
    target, source, *rest = parameters
    sizes, to, of = rest[:3], rest[3:7], rest[7:]
    with b.loop(low, high) as unit:
        first, second = b.op("sdiv", unit, sizes[0]), b.op("srem", unit, sizes[0])
        starts = [b.op("add", b.op("mul", first, s[0]), b.op("mul", second, s[1])) for s in (to, of)]
        with b.loop(_ZERO, sizes[1]) as i, b.loop(_ZERO, sizes[2]) as j:
            at, here = (
                b.op("add", start, b.op("add", b.op("mul", i, s[2]), b.op("mul", j, s[3])))
                for start, s in zip(starts, (to, of), strict=True)
            )
            b.store(b.load("float", 0, element(b, source, here), 4), element(b, target, at), 4)


# -- windows -----------------------------------------------------------------------------------------------------------
def _runs(sizes: _Sizes) -> list[tuple[int, int]]:
    """(first tap, how many) of the taps of a window's row that are neighbours in the image."""
    return [(0, sizes.wide)] if sizes.taps_right == 1 else [(s, 1) for s in range(sizes.wide)]


def _bounds(b: Builder, sizes: _Sizes, j: Val, tap: int, count: int) -> tuple[Val, Val, Val]:
    """Of a run of taps of the window at column j: the first column of the image, and the taps inside it from, up to."""
    column = b.op("add", b.op("mul", j, sizes.right), tap * sizes.taps_right - sizes.left)
    low = b.intrinsic("smin", b.intrinsic("smax", b.op("sub", _ZERO, column), 0), count)
    high = b.intrinsic("smax", b.intrinsic("smin", b.op("sub", number(sizes.width, "i64"), column), count), low)
    return column, low, high


@made_once
def _unfold(sizes: _Sizes):
    """A unit is a row of the result of one image: its windows, zeros where they reach beyond the image."""

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        unfolded, images = parameters
        c = sizes.channels
        with b.loop(low, high) as unit, b.loop(_ZERO, number(sizes.columns, "i64")) as j:
            image, i = b.op("sdiv", unit, sizes.rows), b.op("srem", unit, sizes.rows)
            window = b.op("mul", b.op("add", b.op("mul", unit, sizes.columns), j), sizes.taps)
            for r in range(sizes.tall):
                line = b.op("add", b.op("mul", i, sizes.down), r * sizes.taps_down - sizes.top)
                inside = b.compare("icmp ult", line, sizes.height)
                start = b.op("mul", b.op("add", b.op("mul", image, sizes.height), line), sizes.width)
                for tap, count in _runs(sizes):
                    column, first, last = _bounds(b, sizes, j, tap, count)
                    first, last = (b.op("mul", b.select(inside, v, _ZERO), c) for v in (first, last))
                    to = b.op("add", window, (r * sizes.wide + tap) * c)
                    of = b.op("mul", b.op("add", start, column), c)
                    _zeros(b, unfolded, to, _ZERO, first)
                    _move(b, (unfolded, to), (images, of), first, last, adds=False)
                    _zeros(b, unfolded, to, last, number(count * c, "i64"))

    return emit


@made_once
def _fold(sizes: _Sizes):
    """A unit is a row of an image: the sum of what the windows that reach it hold for it."""

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        unfolded, images = parameters
        c = sizes.channels
        with b.loop(low, high) as unit:
            image, line = b.op("sdiv", unit, sizes.height), b.op("srem", unit, sizes.height)
            start = b.op("mul", unit, sizes.width * c)
            _zeros(b, images, start, _ZERO, number(sizes.width * c, "i64"))
            for r in range(sizes.tall):
                down = b.op("add", line, sizes.top - r * sizes.taps_down)
                i = b.op("sdiv", down, sizes.down)
                reached = b.op("and", b.compare("icmp sge", down, 0), b.compare("icmp slt", i, sizes.rows))
                reached = b.op("and", reached, b.compare("icmp eq", b.op("mul", i, sizes.down), down))
                with b.when(reached), b.loop(_ZERO, number(sizes.columns, "i64")) as j:
                    row = b.op("add", b.op("mul", image, sizes.rows), i)
                    window = b.op("mul", b.op("add", b.op("mul", row, sizes.columns), j), sizes.taps)
                    for tap, count in _runs(sizes):
                        column, first, last = _bounds(b, sizes, j, tap, count)
                        of = b.op("add", window, (r * sizes.wide + tap) * c)
                        to = b.op("add", start, b.op("mul", column, c))
                        first, last = (b.op("mul", v, c) for v in (first, last))
                        _move(b, (images, to), (unfolded, of), first, last, adds=True)

    return emit


def _move(b: Builder, target: tuple[Val, Val], source: tuple[Val, Val], first: Val, last: Val, adds: bool) -> None:
    """Numbers from `first` up to `last` of a run, copied or added. target and source: (address, first element)."""
    n = kernels.lanes()
    whole = b.op("add", first, b.op("and", b.op("sub", last, first), -n))
    for begin, end, lanes in ((first, whole, n), (whole, last, 0)):
        with b.loop(begin, end, lanes or 1) as k:
            x = b.load("float", lanes, element(b, source[0], b.op("add", source[1], k)), 4)
            at = element(b, target[0], b.op("add", target[1], k))
            b.store(b.op("fadd", b.load("float", lanes, at, 4), x) if adds else x, at, 4)


def _zeros(b: Builder, address: Val, start: Val, first: Val, last: Val) -> None:
    n = kernels.lanes()
    whole = b.op("add", first, b.op("and", b.op("sub", last, first), -n))
    for begin, end, lanes in ((first, whole, n), (whole, last, 0)):
        if begin.fixed and end.fixed and begin.text == end.text:
            continue
        with b.loop(begin, end, lanes or 1) as k:
            zero = number(0, "float")
            b.store(b.splat(zero, lanes) if lanes else zero, element(b, address, b.op("add", start, k)), 4)


@made_once
def _column_sums(width: int):
    """A unit is a vector of columns of a matrix (rows, width): their sums."""

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        matrix, out, rows = parameters
        n = kernels.lanes()
        with b.loop(low, high) as unit:
            start = b.op("mul", unit, n)
            with b.when(b.compare("icmp sle", start, width - n)):
                _sum(b, matrix, out, rows, start, n)
            with b.when(b.compare("icmp sgt", start, width - n)), b.loop(start, number(width, "i64")) as column:
                _sum(b, matrix, out, rows, column, 0)

    def _sum(b: Builder, matrix: Val, out: Val, rows: Val, column: Val, lanes: int) -> None:
        zero = number(0, "float")
        zero = b.splat(zero, lanes) if lanes else zero
        whole, part = b.alloca("float", lanes), b.alloca("float", lanes)
        b.put(whole, zero)
        with b.loop(_ZERO, rows, _SUMMED_AT_ONCE) as first:
            b.put(part, zero)
            last = b.intrinsic("smin", b.op("add", first, _SUMMED_AT_ONCE), rows)
            with b.loop(first, last) as row:
                x = b.load("float", lanes, element(b, matrix, b.op("add", b.op("mul", row, width), column)), 4)
                b.put(part, b.op("fadd", b.get(part, "float", lanes), x))
            b.put(whole, b.op("fadd", b.get(whole, "float", lanes), b.get(part, "float", lanes)))
        b.store(b.get(whole, "float", lanes), element(b, out, column), 4)

    return emit
