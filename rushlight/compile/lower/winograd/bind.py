"""Which convolutions are computed this way, in which parts, and the steps for it.

Served are kernels of 3 x 3, stride 1, without dilation or groups, of float32 with whole vectors of channels, where
enough tiles share what transforming the weight costs. Where a result is not finite, oneDNN computes it once more: inf
less inf is nan, so that what has been transformed does not say which of both it was.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from ....backend.onednn.library import available, load
from ....backend.onednn.primitives import Owned
from ...ir.graph import Extern, Ref
from ...ir.locations import Place
from ..onednn import convolution, kernels
from ..onednn.binder import Probe
from ..onednn.descriptors import channels_last_order, packed, strided, tidy
from . import forward, gradient, weight
from .points import POINTS
from .product import LANES, Block

__all__ = ["bind_backward_data", "bind_backward_weights", "bind_forward"]

_FEWEST_CHANNELS = 32
_FEWEST_TILES = 64
_WHOLE_TILES = 0.75  # of the outputs that tiles make, the part that there is
_MOST_TILES, _MOST_TILES_OF_GRADIENT = 96, 128
_MOST_CELLS = 1 << 16  # of a weight whose gradient is made in parts, which take so much together at most:
_MOST_PARTIAL_BYTES = 1 << 26
_ORDER = channels_last_order(4)


def bind_forward(extern: Extern, binder: Probe) -> bool:
    """Emit y = x * w + bias; False where it is not for these functions."""
    x, w, *rest = extern.operands
    bias = rest[0] if rest else None
    (y,) = extern.results
    if not _serves(extern, x, w, y) or (bias is not None and not _is_row(bias, y.shape[1])):
        return False
    binder.note("Winograd")
    flag = _emit_product(binder, x, w, y, bias, _padding(extern))
    return _again(binder, flag, extern, convolution.bind_forward)


def bind_backward_data(extern: Extern, binder: Probe) -> bool:
    """Emit the gradient of the input, a convolution with the turned kernel; False where it is not for these functions."""
    g, w = extern.operands
    (x,) = extern.results
    if not _serves(extern, x, w, g):
        return False
    above, left = _padding(extern)
    binder.note("Winograd")
    flag = _emit_product(binder, g, w, x, None, (2 - above, 2 - left), turned=True)
    return _again(binder, flag, extern, convolution.bind_backward_data)


def bind_backward_weights(extern: Extern, binder: Probe) -> bool:
    """Emit the gradients of weight and bias; False where it is not for these functions."""
    g, x = extern.operands
    dw, *rest = extern.results
    dbias = rest[0] if rest else None
    if not _serves(extern, x, dw, g) or (dbias is not None and not _is_row(dbias, dw.shape[0])):
        return False
    binder.note("Winograd")
    flag = _emit_gradient(binder, x, g, dw, dbias, _padding(extern))
    return _again(binder, flag, extern, convolution.bind_backward_weights)


def _emit_product(binder: Probe, x: Ref, w: Ref, y: Ref, bias: Ref | None, pads: tuple, turned: bool = False) -> int:
    """y = x * w + bias, or with a kernel that is turned and whose channels have changed places; the flag's address."""
    sums, channels = x.shape[1], y.shape[1]
    block = Block(6, 2) if LANES == 8 else Block(6, 4) if channels % 64 == 0 else Block(8, 2)
    tiles = _tiles(y)
    count, threads = prod(tiles), load().omp_get_max_threads()
    at_once = _even(-(-count // threads), _MOST_TILES)
    rows = -(-at_once // block.rows) * block.rows
    each = 4 * forward.room_floats(block, rows, sums, channels)
    matrices, room = binder.room(4 * POINTS * sums * channels), binder.room(threads * each)
    spread = kernels.native(weight.spread(block.width, turned), 2, 2)
    binder.launch(spread, w.size // (9 * LANES * LANES), (binder.pointer(w), matrices), *w.shape[:2])
    flag = binder.block(0)
    source, target = _operand(binder, x), _Last(binder, y)
    places = [source.place, matrices, target.place]
    if bias is not None:
        places.append(binder.pointer(bias))
    binder.launch(
        kernels.native(forward.forward(block, bias is not None), len(places) + 2, forward.NUMBERS),
        -(-count // at_once),
        (*places, room, flag),
        *source.numbers,
        *target.numbers,
        *tiles[1:],
        *pads,
        count,
        at_once,
        sums,
        channels,
        each,
        threads,
    )
    target.give_out()
    return flag


def _emit_gradient(binder: Probe, x: Ref, g: Ref, dw: Ref, dbias: Ref | None, pads: tuple) -> int:
    filters, channels = dw.shape[:2]
    tiles = _tiles(g)
    count, threads = prod(tiles), load().omp_get_max_threads()
    parts, groups = _parts(filters, channels, min(threads, count))
    at_once = _even(-(-count // parts), _MOST_TILES_OF_GRADIENT)
    each = 4 * gradient.room_floats(at_once, channels // groups, groups, filters)
    sums, biases = binder.room(4 * POINTS * filters * channels * parts), binder.room(4 * filters * parts)
    room = binder.room(threads * each)
    source, slope = _operand(binder, x), _operand(binder, g)
    binder.launch(
        kernels.native(gradient.gradient(Block(4 if LANES == 8 else 8, 2)), 5, gradient.NUMBERS),
        parts * groups,
        (source.place, slope.place, sums, biases, room),
        *source.numbers,
        *slope.numbers,
        *tiles[1:],
        *pads,
        count,
        at_once,
        channels // groups,
        filters,
        parts,
        groups,
        each,
        threads,
    )
    flag = binder.block(0)
    collect = kernels.native(weight.collect(parts), 3, 3)
    places = (sums, binder.pointer(dw), flag)
    binder.launch(collect, dw.size // (9 * LANES * LANES), places, filters, channels, groups)
    if dbias is not None:
        total = kernels.native(gradient.total(parts), 2, 1)
        binder.launch(total, filters // LANES, (biases, binder.pointer(dbias)), filters, threads=1)
    return flag


def _parts(filters: int, channels: int, threads: int) -> tuple[int, int]:
    """(parts of the tiles, groups of the channels) that are shared out between threads."""
    cells, vectors = filters * channels, channels // LANES
    parts = 1 if cells > _MOST_CELLS else max(1, min(threads, _MOST_PARTIAL_BYTES // (4 * POINTS * cells)))
    groups = max(n for n in range(1, -(-threads // parts) + 1) if vectors % n == 0)
    return parts, groups


def _again(binder: Probe, flag: int, extern: Extern, bind: Callable[[Extern, Probe], bool]) -> bool:
    """Emit oneDNN's way for results that are not finite."""
    binder.reuse_rooms()
    with binder.only_if(flag):
        return bind(extern, binder)


class _Last:
    """An image with channels innermost: as stored, or a copy. numbers: what `Image` wants besides the address."""

    def __init__(self, binder: Probe, ref: Ref):
        self._binder, self._ref, self.strides = binder, ref, tidy(ref.shape, ref.strides, _ORDER)
        self._copy: tuple | None = None
        if self.strides[1] == 1:
            self.place: int | Place = binder.pointer(ref)
        else:
            self.strides = packed(ref.shape, _ORDER)
            inside, self.place = strided(ref.shape, self.strides, ref.dtype), binder.room(4 * ref.size)
            self._copy = inside, binder.memory_at(inside, self.place)
        n, _, h, w = self.strides
        self.numbers = n, h, w, *ref.shape[2:]

    def take_in(self) -> None:
        """Fill the copy, if it is one."""
        if self._copy is not None:
            outside, (inside, memory) = self._outside(), self._copy
            self._binder.reorder(outside.value, self._binder.memory(self._ref, outside), inside.value, memory)

    def give_out(self) -> None:
        """Put the copy where it belongs, if it is one."""
        if self._copy is not None:
            outside, (inside, memory) = self._outside(), self._copy
            self._binder.reorder(inside.value, memory, outside.value, self._binder.memory(self._ref, outside))

    def _outside(self) -> Owned:
        return strided(self._ref.shape, tidy(self._ref.shape, self._ref.strides, _ORDER), self._ref.dtype)


def _operand(binder: Probe, ref: Ref) -> _Last:
    image = _Last(binder, ref)
    image.take_in()
    return image


def _even(n: int, most: int) -> int:
    """The size of the fewest even parts of n, none larger than `most`."""
    return -(-n // -(-n // most))


def _padding(extern: Extern) -> tuple[int, ...]:
    return tuple(p[0] if isinstance(p, tuple) else p for p in extern.options["padding"])


def _serves(extern: Extern, x: Ref, w: Ref, y: Ref) -> bool:
    options = extern.options
    if w.shape[2:] != (3, 3) or not x.dtype == w.dtype == y.dtype == np.float32 or any(extern.onto):
        return False
    simple = options["groups"] == 1 and set(options["stride"]) == set(options["dilation"]) == {1}
    pads = [p if isinstance(p, tuple) else (p, p) for p in options["padding"]]
    if (
        not simple
        or options.get("rounded")
        or options.get("direct")
        or any(not 0 <= p <= 2 for pair in pads for p in pair)
    ):
        return False
    outs = tuple(n + sum(pair) - 2 for n, pair in zip(x.shape[2:], pads, strict=True))
    channels = (x.shape[1], y.shape[1])
    if y.shape != (x.shape[0], w.shape[0], *outs) or w.shape[1] != x.shape[1] or any(c % 32 for c in channels):
        return False
    return _pays(y, channels) and w.is_row_major() and _can_be_last(x) and _can_be_last(y) and _runs()


def _pays(y: Ref, channels: tuple[int, int]) -> bool:
    tiles = _tiles(y)
    return (
        min(channels) >= _FEWEST_CHANNELS
        and prod(tiles) >= _FEWEST_TILES
        and prod(y.shape[2:]) >= _WHOLE_TILES * 4 * prod(tiles[1:])
    )


def _runs() -> bool:
    return available() and kernels.available() and kernels.lanes() == LANES


def _can_be_last(image: Ref) -> bool:
    return min(tidy(image.shape, image.strides, _ORDER)) > 0


def _is_row(bias: Ref, channels: int) -> bool:
    return bias.dtype == np.float32 and bias.shape == (channels,) and bias.is_row_major()


def _tiles(y: Ref) -> tuple[int, int, int]:
    return y.shape[0], -(-y.shape[2] // 2), -(-y.shape[3] // 2)
