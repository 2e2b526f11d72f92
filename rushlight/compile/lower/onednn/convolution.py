"""Convolution with one, two or three spatial axes, and its two gradients.

convolution_forward(x, w[, bias]) -> y           with `onto`: added to it
convolution_backward_data(g, w) -> x             the transposed convolution too
convolution_backward_weights(g, x) -> dw[, dbias]
    Shape: x (N, C, *), w (K, C/groups, *), bias (K,), g and y (N, K, *)
    options: stride, padding (a number or a pair (before, after) per axis), dilation, groups

float32, or bfloat16 throughout. option rounded = False: whether float32 factors may be rounded to bfloat16. option direct
= False: whether sums must be those of products of inputs and weights, so not Winograd's (`lower/winograd`).
Activations are best channels-last on both sides; those in another layout are reordered into what the
primitive wants. Weights are laid out as the caller has them and are packed into oneDNN's layout (`packs.py`).
Two cores while others worked, GFLOP/s of forward / backward data / backward weights on ResNet-18's layers at batch 32:

    channels      image   channels-last       blocked             NCHW
    128 -> 256    16 x 16 279 / 224 / 216     258 / 214 / 225     217 / 187 / 211
    256           8 x 8   305 / 326 / 250     301 / 323 / 251     220 / 195 / 222
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....backend.onednn.primitives import (
    BIAS,
    DIFF_BIAS,
    DIFF_DST,
    DIFF_SRC,
    DIFF_WEIGHTS,
    DST,
    FORWARD_TRAINING,
    SRC,
    WEIGHTS,
    Owned,
    dims,
    writes_outside,
)
from ...ir.graph import Extern, Ref, row_major, same_strides
from .binder import Probe, threads_for
from .descriptors import channels_last_order, free, is_in_order, layout, packed, primitive_desc, strided

__all__ = ["bind_backward_data", "bind_backward_weights", "bind_forward"]

_DIRECT = 1
_TYPES = ("float32", "bfloat16")
_FEW_CHANNELS = 16
_LARGE_WEIGHT = 1 << 19


class _Shape(NamedTuple):
    """A convolution's geometry in oneDNN's terms."""

    x: tuple[int, ...]
    weight: tuple[int, ...]
    out: tuple[int, ...]
    groups: int
    steps: tuple
    work: int
    valid: bool
    dtype: np.dtype
    rounding: tuple


def _shape(x: tuple, weight: tuple, options: dict, dtype: np.dtype) -> _Shape:
    stride, dilation, groups = options["stride"], options["dilation"], options["groups"]
    pads = [p if isinstance(p, tuple) else (p, p) for p in options["padding"]]
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, weight[2:], strict=True)]
    sizes = ((n + a + b - span) // s + 1 for n, (a, b), span, s in zip(x[2:], pads, spans, stride, strict=True))
    out = (x[0], weight[0], *sizes)
    before, after = zip(*pads, strict=True)
    # oneDNN counts the zeros between taps: its dilation is torch's less one.
    steps = (dims(stride), dims([d - 1 for d in dilation]), dims(before), dims(after))
    grouped = weight if groups == 1 else (groups, weight[0] // groups, *weight[1:])
    rounding = (("rounded",),) if options.get("rounded") else ()
    valid = min(*x, *weight, *out) > 0 and min(*before, *after) >= 0
    return _Shape(x, grouped, out, groups, steps, math.prod(out) * math.prod(weight[1:]), valid, dtype, rounding)


def bind_forward(extern: Extern, binder: Probe) -> bool:
    """Emit y = x * w + bias; False where it cannot be served."""
    x, w, *rest = extern.operands
    bias = rest[0] if rest else None
    (y,), (onto,) = extern.results, extern.onto
    shape = _shape(x.shape, w.shape, extern.options, x.dtype)
    outside = _layouts(shape, x, w, y)
    if outside is None or (bias is not None and (bias.dtype != x.dtype or bias.shape != w.shape[:1])):
        return False
    if onto is not None:
        if not (y.is_whole() and same_strides(y.shape, onto.strides, y.value.strides)):
            return False
        binder.copy(binder.pointer(y), binder.pointer(onto.ref()), onto.nbytes)
    dbias = None if bias is None else layout(bias)
    with threads_for(shape.work) as threads:
        for src, dst in _choices(shape, x, y, outside, keep_result=onto is not None):
            desc = _forward(shape, src, dst, dbias, (("sum",),) if onto is not None else ())
            if desc is None:
                continue
            arguments = [(SRC, binder.inside(desc, SRC, x, outside[0]))]
            arguments.append((WEIGHTS, binder.packed(desc, WEIGHTS, _grouped(w, shape), outside[1])))
            if bias is not None and dbias is not None:
                arguments.append((BIAS, binder.memory(bias, dbias)))
            out, finish = binder.result(desc, DST, y, outside[2])
            binder.execute(desc, [*arguments, (DST, out)], threads)
            finish()
            return True
    return False


def bind_backward_data(extern: Extern, binder: Probe) -> bool:
    """Emit the gradient of the input; False where it cannot be served."""
    g, w = extern.operands
    (x,) = extern.results
    shape = _shape(x.shape, w.shape, extern.options, x.dtype)
    outside = _layouts(shape, x, w, g)
    if outside is None or extern.onto[0] is not None:
        return False
    with threads_for(shape.work) as threads:
        for src, dst in _choices(shape, x, g, outside):
            hint = _forward(shape, src, dst, None)
            weight = free(shape.weight, shape.dtype)
            kind = "convolution_backward_data"
            desc = hint and primitive_desc(
                kind, _DIRECT, src, weight, dst, *shape.steps, hint, operations=shape.rounding
            )
            if desc is None:
                continue
            arguments = [(DIFF_DST, binder.inside(desc, DIFF_DST, g, outside[2]))]
            arguments.append((WEIGHTS, binder.packed(desc, WEIGHTS, _grouped(w, shape), outside[1])))
            out, finish = binder.result(desc, DIFF_SRC, x, outside[0])
            binder.execute(desc, [*arguments, (DIFF_SRC, out)], threads)
            finish()
            return True
    return False


def bind_backward_weights(extern: Extern, binder: Probe) -> bool:
    """Emit the gradients of weight and bias; False where it cannot be served."""
    g, x = extern.operands
    dw, *rest = extern.results
    dbias = rest[0] if rest else None
    shape = _shape(x.shape, dw.shape, extern.options, x.dtype)
    outside = _layouts(shape, x, dw, g)
    if outside is None or any(o is not None for o in extern.onto):
        return False
    flat = None if dbias is None else strided(dbias.shape, (1,), x.dtype)
    if dbias is not None and (dbias.dtype != x.dtype or dbias.shape != dw.shape[:1] or not dbias.is_row_major()):
        return False
    # Its threads wait for each other inside: a second one saves 3 of 17 us for 1 million multiply-adds on a quiet machine,
    # and costs milliseconds where another process holds the core.
    with threads_for(shape.work / 3) as threads:
        for src, dst in _choices(shape, x, g, outside):
            hint = _forward(shape, src, dst, flat)
            weight = free(shape.weight, shape.dtype)
            kind = "convolution_backward_weights"
            desc = hint and primitive_desc(
                kind, _DIRECT, src, weight, flat, dst, *shape.steps, hint, operations=shape.rounding
            )
            if desc is None or writes_outside(desc, dw.shape[1], extern.options["stride"]):
                continue
            arguments = [(DIFF_DST, binder.inside(desc, DIFF_DST, g, outside[2]))]
            arguments.append((SRC, binder.inside(desc, SRC, x, outside[0])))
            out, finish = binder.result(desc, DIFF_WEIGHTS, _grouped(dw, shape), outside[1])
            arguments.append((DIFF_WEIGHTS, out))
            if dbias is not None and flat is not None:
                arguments.append((DIFF_BIAS, binder.memory(dbias, flat)))
            binder.execute(desc, arguments, threads)
            finish()
            return True
    return False


def _layouts(shape: _Shape, x: Ref, w: Ref, y: Ref) -> tuple[Owned, Owned, Owned] | None:
    """Descriptors of the refs in their layout, or None where the convolution cannot be served."""
    if not shape.valid or shape.out != y.shape or not x.dtype == w.dtype == y.dtype or x.dtype.name not in _TYPES:
        return None
    last = channels_last_order(x.ndim)
    source, target = layout(x, last), layout(y, last)
    weight = layout(_grouped(w, shape))
    return None if source is None or weight is None or target is None else (source, weight, target)


def _grouped(w: Ref, shape: _Shape) -> Ref:
    """The weight's ref with an axis for the groups."""
    if shape.groups == 1:
        return w
    stride = w.strides[0]
    return Ref(w.value, shape.weight, (stride * shape.weight[1], stride, *w.strides[1:]), w.offset)


def _choices(shape: _Shape, x: Ref, y: Ref, outside: tuple, keep_result: bool = False):
    """Pairs of descriptors of input and output to try, best first. keep_result: the output's layout must be kept."""
    last = channels_last_order(x.ndim)
    source, target = (strided(r.shape, packed(r.shape, last), shape.dtype) for r in (x, y))
    blocked = free(x.shape, shape.dtype), free(y.shape, shape.dtype)
    plain = tuple(strided(r.shape, row_major(r.shape), shape.dtype) for r in (x, y))
    if keep_result:
        return [(first, outside[2]) for first in (source, blocked[0], plain[0], outside[0])]
    # With one side free oneDNN keeps channels last on both but computes by direct convolution instead of many small
    # products. Microseconds forward / backward data on one thread: 6 -> 16 channels of 14 x 14, batch 4: 15 / 38 direct,
    # 19 / 67 by products, 18 / 42 blocked; 512 channels of 4 x 4, batch 16: 8900 / 8700, 12000 / 12600, 8500 / 7700;
    # 64 channels of 32 x 32, batch 8: 3740 / 4520, 3740 / 3750, 4050 / 4920.
    direct = (source, blocked[1])
    products = (source, target)
    small_image = y.shape[-1] <= 4 and math.prod(shape.weight) > _LARGE_WEIGHT
    if min(shape.x[1], shape.out[1]) < _FEW_CHANNELS or small_image:
        return [direct, products, blocked, plain]
    if is_in_order(x, last) or is_in_order(y, last):
        return [products, direct, blocked, plain]
    return [blocked, products, plain]


def _forward(shape: _Shape, src: Owned, dst: Owned, bias: Owned | None, operations: tuple = ()) -> Owned | None:
    """The forward primitive, which the backward ones take as a hint."""
    weight = free(shape.weight, shape.dtype)
    kind = "convolution_forward"
    return primitive_desc(
        kind, FORWARD_TRAINING, _DIRECT, src, weight, bias, dst, *shape.steps, operations=(*shape.rounding, *operations)
    )
