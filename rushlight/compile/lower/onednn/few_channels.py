"""Convolution of images with few channels by filters that are few: the first layer of a small network.

oneDNN puts channels into the lanes of a vector, of which 3 input and 6 output channels fill the smaller part. Here lanes
run along an image's rows (plain layout): forward keeps the sums of two rows and a few filters in registers, the
gradient of the weight those of a few filters at all places of a kernel's row. Stride 1, no padding, one group.

One thread, us, here and oneDNN channels-last, of 3 x 32 x 32 by 6 filters of 5 x 5: forward 19 and 42 at batch 4, 291 and
648 at 64; gradient of the weight 31 and 54, 498 and 812. With 16 filters of 3 x 3 oneDNN is as fast. With AVX2 64 and 129, 846 and 1914;
95 and 102, 1379 and 1588 (Zen 4).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.locks import made_once
from ...ir.graph import Extern, Ref
from ..llvm.ir import Builder, Val, number
from . import kernels
from .binder import Probe
from .kernels import element

__all__ = ["bind_backward_weights", "bind_forward", "serves"]

_MOST_CHANNELS, _MOST_FILTERS, _MOST_TAPS, _FEWEST_COLUMNS = 4, 12, 7, 12
_REGISTERS = {16: 31, 8: 15}  # by lanes, but one
_TOGETHER = {16: 2, 8: 1}  # vectors of a row, by lanes
_ONE_THREAD_MULTIPLY_ADDS = 400_000
_ZERO = number(0, "i64")


class _Sizes(NamedTuple):
    """Of an image, a filter and the result."""

    batch: int
    channels: int
    height: int
    width: int
    filters: int
    tall: int
    wide: int
    rows: int
    columns: int


def serves(extern: Extern, x: Ref, w: Ref, y: Ref) -> bool:
    """Whether these kernels compute it, and so whether it likes plain layouts; looks at no strides but the weight's."""
    options = extern.options
    if x.ndim != 4 or not x.dtype == w.dtype == y.dtype == np.float32 or not (x.size and y.size):
        return False
    simple = options["groups"] == 1 and set(options["stride"]) == set(options["dilation"]) == {1}
    simple = simple and not any(p not in (0, (0, 0)) for p in options["padding"]) and not options.get("rounded")
    fits = x.shape[1] <= _MOST_CHANNELS and y.shape[1] <= _MOST_FILTERS and w.shape[3] <= _MOST_TAPS
    outs = tuple(n - k + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True))
    fits = fits and y.shape == (x.shape[0], w.shape[0], *outs) and w.shape[1] == x.shape[1]
    wide = outs[0] >= 2 and outs[1] >= _FEWEST_COLUMNS
    return simple and fits and wide and w.is_row_major() and kernels.available() and kernels.lanes() >= 8


def _sizes(x: Ref, w: Ref, y: Ref) -> _Sizes:
    return _Sizes._make((*x.shape, w.shape[0], *w.shape[2:], *y.shape[2:]))


def _threads(sizes: _Sizes) -> int:
    work = sizes.batch * sizes.filters * sizes.rows * sizes.columns * sizes.channels * sizes.tall * sizes.wide
    return int(work < _ONE_THREAD_MULTIPLY_ADDS)


def bind_forward(extern: Extern, binder: Probe) -> bool:
    """Emit y = x * w + bias; False where it is not for these kernels."""
    x, w, *rest = extern.operands
    bias = rest[0] if rest else None
    (y,) = extern.results
    if not serves(extern, x, w, y) or not (x.is_row_major() and y.is_row_major()) or extern.onto[0] is not None:
        return False
    if bias is not None and (bias.dtype != np.float32 or bias.shape != w.shape[:1] or not bias.is_row_major()):
        return False
    sizes = _sizes(x, w, y)
    function = kernels.native(_forward(sizes._replace(batch=0), bias is not None), 3 + (bias is not None), 0)
    places = tuple(binder.pointer(r) for r in (x, w, y, bias) if r is not None)
    binder.launch(function, sizes.batch * (-(-sizes.rows // 2)), places, threads=_threads(sizes))
    return True


def bind_backward_weights(extern: Extern, binder: Probe) -> bool:
    """Emit the gradients of weight and bias; False where it is not for these kernels."""
    g, x = extern.operands
    dw, *rest = extern.results
    dbias = rest[0] if rest else None
    if not serves(extern, x, dw, g) or not (x.is_row_major() and g.is_row_major()) or any(extern.onto):
        return False
    if _filters_at_once(dw.shape[3]) < 2:  # too few sums at once to hide the latency
        return False
    if dbias is not None and (dbias.dtype != np.float32 or dbias.shape != dw.shape[:1] or not dbias.is_row_major()):
        return False
    sizes = _sizes(x, dw, g)
    function = kernels.native(_backward_weights(sizes._replace(batch=0)), 3, 1)
    places = tuple(map(binder.pointer, (x, g, dw)))
    binder.launch(function, sizes.channels * sizes.tall, places, sizes.batch, threads=_threads(sizes))
    if dbias is not None:
        sums = kernels.native(_plane_sums(sizes.filters, sizes.rows * sizes.columns), 2, 1)
        binder.launch(
            sums, sizes.filters, (binder.pointer(g), binder.pointer(dbias)), sizes.batch, threads=_threads(sizes)
        )
    return True


def _filters_at_once(wide: int) -> int:
    """Of how many filters the gradients at all places of a row fit into registers."""
    return (_REGISTERS[kernels.lanes()] - wide) // wide


def _even(n: int, most: int) -> int:
    """The size of the fewest parts, none larger than `most`, into which n can be divided evenly."""
    return -(-n // -(-n // most))


# -- the functions -----------------------------------------------------------------------------------------------------
@made_once
def _forward(sizes: _Sizes, with_bias: bool):
    n = kernels.lanes()
    vectors, together = -(-sizes.columns // n), _TOGETHER[n]
    at_once = _even(sizes.filters, 6)

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        x, w, y, *bias = parameters
        pairs = -(-sizes.rows // 2)
        with b.loop(low, high) as unit:
            image, i = b.op("sdiv", unit, pairs), b.op("mul", b.op("srem", unit, pairs), 2)
            i = b.select(b.compare("icmp slt", i, sizes.rows - 2), i, number(sizes.rows - 2, "i64"))
            for first in range(0, sizes.filters, at_once):
                filters = range(first, min(first + at_once, sizes.filters))
                for v in range(0, vectors, together):
                    _two_rows(b, x, w, y, bias, image, i, filters, range(v, min(v + together, vectors)))

    def _two_rows(b, x, w, y, bias, image, i, filters, columns) -> None:
        """Two rows of the result for some filters and some vectors of columns."""
        slots = {}
        for k in filters:
            start = number(0, "float")
            if bias:
                start = b.load("float", 0, element(b, bias[0], number(k, "i64")), 4)
            for row in range(2):
                for v in columns:
                    slots[k, row, v] = b.alloca("float", n)
                    b.put(slots[k, row, v], b.splat(start, n))
        with b.loop(_ZERO, number(sizes.channels, "i64")) as c, b.loop(_ZERO, number(sizes.tall, "i64")) as r:
            plane = b.op("add", b.op("mul", image, sizes.channels), c)
            line = b.op("add", b.op("mul", plane, sizes.height), b.op("add", i, r))
            start = b.op("mul", line, sizes.width)
            taps = b.op("mul", b.op("add", b.op("mul", c, sizes.tall), r), sizes.wide)
            for s in range(sizes.wide):
                here = {}
                for row in range(2):
                    for v in columns:
                        at = b.op("add", start, row * sizes.width + s + n * v)
                        here[row, v] = _load(b, element(b, x, at), sizes.columns - n * v)
                for k in filters:
                    at = b.op("add", taps, k * sizes.channels * sizes.tall * sizes.wide + s)
                    factor = b.splat(b.load("float", 0, element(b, w, at), 4), n)
                    for (row, v), value in here.items():
                        slot = slots[k, row, v]
                        b.put(slot, b.fma(value, factor, b.get(slot, "float", n)))
        for (k, row, v), slot in slots.items():
            plane = b.op("add", b.op("mul", image, sizes.filters), k)
            line = b.op("add", b.op("mul", plane, sizes.rows), b.op("add", i, row))
            at = b.op("add", b.op("mul", line, sizes.columns), n * v)
            _store(b, b.get(slot, "float", n), element(b, y, at), sizes.columns - n * v)

    return emit


@made_once
def _backward_weights(sizes: _Sizes):
    n = kernels.lanes()
    vectors = -(-sizes.columns // n)
    at_once = _even(sizes.filters, _filters_at_once(sizes.wide))

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        x, g, dw, batch = parameters
        with b.loop(low, high) as unit:
            for first in range(0, sizes.filters, at_once):
                _one_row(b, x, g, dw, batch, unit, range(first, min(first + at_once, sizes.filters)))

    def _one_row(b, x, g, dw, batch, unit, filters) -> None:
        """A row of the kernels of some filters, for one channel."""
        c, r = b.op("sdiv", unit, sizes.tall), b.op("srem", unit, sizes.tall)
        slots = {(k, s): b.alloca("float", n) for k in filters for s in range(sizes.wide)}
        for slot in slots.values():
            b.put(slot, b.splat(number(0, "float"), n))
        with b.loop(_ZERO, batch) as image, b.loop(_ZERO, number(sizes.rows, "i64")) as i:
            plane = b.op("add", b.op("mul", image, sizes.channels), c)
            start = b.op("mul", b.op("add", b.op("mul", plane, sizes.height), b.op("add", i, r)), sizes.width)
            top = b.op("mul", b.op("add", b.op("mul", image, sizes.filters * sizes.rows), i), sizes.columns)
            for v in range(vectors):
                count = sizes.columns - n * v
                here = [_load(b, element(b, x, b.op("add", start, s + n * v)), count) for s in range(sizes.wide)]
                for k in filters:
                    at = b.op("add", top, k * sizes.rows * sizes.columns + n * v)
                    slope = _load(b, element(b, g, at), count)
                    for s in range(sizes.wide):
                        b.put(slots[k, s], b.fma(slope, here[s], b.get(slots[k, s], "float", n)))
        for (k, s), slot in slots.items():
            at = b.op("add", b.op("mul", unit, sizes.wide), k * sizes.channels * sizes.tall * sizes.wide + s)
            b.store(kernels.lanes_sum(b, b.get(slot, "float", n)), element(b, dw, at), 4)

    return emit


@made_once
def _plane_sums(planes: int, size: int):
    n = kernels.lanes()

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        """For each plane the sum over all images."""
        g, out, batch = parameters
        slot = b.alloca("float", n)
        with b.loop(low, high) as k:
            b.put(slot, b.splat(number(0, "float"), n))
            with b.loop(_ZERO, batch) as image:
                start = b.op("mul", b.op("add", b.op("mul", image, planes), k), size)
                whole = size // n * n
                with b.loop(_ZERO, number(whole, "i64"), n) as j:
                    more = b.load("float", n, element(b, g, b.op("add", start, j)), 4)
                    b.put(slot, b.op("fadd", b.get(slot, "float", n), more))
                if size > whole:
                    more = _load(b, element(b, g, b.op("add", start, whole)), size - whole)
                    b.put(slot, b.op("fadd", b.get(slot, "float", n), more))
            b.store(kernels.lanes_sum(b, b.get(slot, "float", n)), element(b, out, k), 4)

    return emit


def _mask(count: int, n: int) -> str:
    return f"<{n} x i1> <{', '.join('i1 ' + ('true' if i < count else 'false') for i in range(n))}>"


def _load(b: Builder, at: str, count: int) -> Val:
    """A vector of floats, or, where fewer than that are left, these and zeros."""
    n = kernels.lanes()
    if count >= n:
        return b.load("float", n, at, 4)
    symbol = f"@llvm.masked.load.v{n}f32.p0"
    b.declare(symbol, f"declare <{n} x float> {symbol}(ptr, i32, <{n} x i1>, <{n} x float>)")
    text = f"call <{n} x float> {symbol}(ptr {at}, i32 4, {_mask(count, n)}, <{n} x float> zeroinitializer)"
    return b.emit(text, "float", n, pure=False)


def _store(b: Builder, x: Val, at: str, count: int) -> None:
    n = kernels.lanes()
    if count >= n:
        b.store(x, at, 4)
        return
    symbol = f"@llvm.masked.store.v{n}f32.p0"
    b.declare(symbol, f"declare void {symbol}(<{n} x float>, ptr, i32, <{n} x i1>)")
    b.line(f"call void {symbol}({x.type} {x.text}, ptr {at}, i32 4, {_mask(count, n)})")
