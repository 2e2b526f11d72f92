"""Convolution in one, two and three dimensions: forward and both backwards, float32, on contiguous arrays.

Shape: x (N, C, *), weight (K, C/groups, *), bias (K,) -> (N, K, *)
    out = floor((in + before + after - dilation (kernel - 1) - 1) / stride) + 1 along each axis

stride, padding and dilation are tuples with one entry for each spatial axis; an entry of padding is a number or a pair
(before, after). Each function returns NotImplemented where oneDNN is missing or cannot serve, for another dtype and for
empty arrays: the caller then runs the reference kernel.
"""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.extension_points import make_convolution
from . import calls
from .calls import BFLOAT16, FLOAT32, Call, code_of
from .primitives import (
    BIAS,
    DIFF_BIAS,
    DIFF_DST,
    DIFF_SRC,
    DIFF_WEIGHTS,
    DST,
    FORWARD_TRAINING,
    SRC,
    WEIGHTS,
    any_layout,
    channels_last,
    dims,
    plain,
    primitive_desc,
    writes_outside,
)

__all__ = ["conv_backward_input", "conv_backward_weight", "conv_forward", "within_reach"]

_DIRECT = 1
_SERVED = (FLOAT32, BFLOAT16)


def conv_forward(x, weight, bias, stride, padding, dilation, groups):
    """Cross-correlation of x with weight, plus bias (or None)."""
    kind = x.dtype
    if kind not in _SERVED or weight.dtype != kind or not (bias is None or bias.dtype == kind):
        return NotImplemented
    signature = (
        "conv_forward",
        kind,
        x.shape,
        weight.shape,
        None if bias is None else bias.shape,
        stride,
        padding,
        dilation,
        groups,
    )
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _forward)
    if not call:
        return NotImplemented
    if not (x.flags.c_contiguous and weight.flags.c_contiguous):
        x, weight = np.ascontiguousarray(x), np.ascontiguousarray(weight)
    if bias is None:
        return call(x, weight)
    return call(x, weight, np.ascontiguousarray(bias))


def conv_backward_input(g, weight, input_shape, stride, padding, dilation, groups):
    """Gradient with respect to the input, of input_shape, for the gradient g of the output."""
    kind = g.dtype
    if kind not in _SERVED or weight.dtype != kind:
        return NotImplemented
    signature = ("conv_backward_input", kind, g.shape, weight.shape, input_shape, stride, padding, dilation, groups)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _backward_input)
    if not call:
        return NotImplemented
    if not (g.flags.c_contiguous and weight.flags.c_contiguous):
        g, weight = np.ascontiguousarray(g), np.ascontiguousarray(weight)
    return call(g, weight)


def conv_backward_weight(g, x, weight_shape, stride, padding, dilation, groups, with_bias):
    """Gradient with respect to the weight, of weight_shape; with_bias: the pair (of the weight, of the bias)."""
    kind = g.dtype
    if kind not in _SERVED or x.dtype != kind:
        return NotImplemented
    steps = (stride, padding, dilation, groups)
    signature = ("conv_backward_weight", kind, g.shape, x.shape, weight_shape, *steps, with_bias)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _backward_weight)
    if not call:
        return NotImplemented
    if not (g.flags.c_contiguous and x.flags.c_contiguous):
        g, x = np.ascontiguousarray(g), np.ascontiguousarray(x)
    return call(g, x)


def within_reach(out_shape, weight_shape, input_shape, stride, padding, dilation):
    """(sizes, padding) of the part of the input that windows reach, or None where that is all of it.

    A transposed convolution whose output_padding is at or above its stride adds more, for which oneDNN has no words.
    """
    sizes, pads = [], []
    for n, o, k, s, pad, d in zip(
        input_shape[2:], out_shape[2:], weight_shape[2:], stride, padding, dilation, strict=True
    ):
        before, after = pad if isinstance(pad, tuple) else (pad, pad)
        reach = (o - 1) * s + d * (k - 1) + 1 - before
        beyond = n + after >= reach + s
        sizes.append(reach if beyond else n)
        pads.append((before, 0 if beyond else after))
    sizes = tuple(sizes)
    return (sizes, tuple(pads)) if sizes != input_shape[2:] and min(sizes) > 0 else None


# -- what is done once per signature -----------------------------------------------------------------------------------
def _forward(kind, x_shape, weight_shape, bias_shape, stride, padding, dilation, groups):
    geometry = Geometry(kind, x_shape, weight_shape, stride, padding, dilation, groups)
    if not geometry.valid or bias_shape not in (None, weight_shape[:1]):
        return None
    make = make_convolution.value or forward_by_onednn
    return make(geometry, bias_shape)


def forward_by_onednn(geometry: Geometry, bias_shape: tuple | None) -> Call | None:
    """The call of a forward convolution, or None where oneDNN has none."""
    plain = geometry.plain
    inputs = [(SRC, plain(geometry.x_shape)), (WEIGHTS, plain(geometry.weight_shape))]
    if bias_shape is not None:
        inputs.append((BIAS, plain(bias_shape)))
    with calls.thread.sized_for(geometry.multiply_adds):
        desc = geometry.forward(bias_shape is not None)
        return desc and Call(desc, inputs, [(DST, plain(geometry.out_shape), geometry.out_shape, geometry.kind)])


def _backward_input(kind, g_shape, weight_shape, x_shape, stride, padding, dilation, groups):
    geometry = Geometry(kind, x_shape, weight_shape, stride, padding, dilation, groups)
    if not geometry.valid or geometry.out_shape != g_shape:
        return None
    plain = geometry.plain
    # With 1 to 4 input channels the blocked kernels fill a quarter of a vector or less: 80 ms against 20 for ResNet's
    # first layer at batch 4, and 1.6 against 0.3 for MNIST's at 64.
    src, weights, dst = geometry.layouts(plain if geometry.channels <= 4 and kind == FLOAT32 else geometry.any)
    inputs = [(DIFF_DST, plain(g_shape)), (WEIGHTS, plain(geometry.weight_shape))]
    with calls.thread.sized_for(geometry.multiply_adds):
        hint = geometry.forward(with_bias=False)
        desc = hint and primitive_desc("convolution_backward_data", _DIRECT, src, weights, dst, *geometry.steps, hint)
        return desc and Call(desc, inputs, [(DIFF_SRC, plain(x_shape), x_shape, kind)])


def _backward_weight(kind, g_shape, x_shape, weight_shape, stride, padding, dilation, groups, with_bias):
    geometry = Geometry(kind, x_shape, weight_shape, stride, padding, dilation, groups)
    if not geometry.valid or geometry.out_shape != g_shape:
        return None
    plain = geometry.plain
    # LeNet's second layer (6 channels): 24 us channels-last, 35 blocked.
    layouts = (geometry.channels_last, geometry.any) if 4 < geometry.channels < 16 else (geometry.any,)
    results = [(DIFF_WEIGHTS, plain(geometry.weight_shape), weight_shape, kind)]
    bias = plain(weight_shape[:1]) if with_bias else None
    if bias is not None:
        results.append((DIFF_BIAS, bias, weight_shape[:1], kind))
    with calls.thread.sized_for(geometry.multiply_adds):
        hint = geometry.forward(with_bias)
        for src, weights, dst in map(geometry.layouts, layouts):
            desc = hint and primitive_desc(
                "convolution_backward_weights", _DIRECT, src, weights, bias, dst, *geometry.steps, hint
            )
            if desc is not None and not writes_outside(desc, weight_shape[1], stride):
                return Call(desc, [(DIFF_DST, plain(g_shape)), (SRC, plain(x_shape))], results)
        return None


class Geometry:
    """A convolution's shapes and steps in oneDNN's terms. kernel_shape, options: as they are given."""

    def __init__(self, kind, x_shape, weight_shape, stride, padding, dilation, groups):
        pads = [pad if isinstance(pad, tuple) else (pad, pad) for pad in padding]
        spans = [d * (k - 1) + 1 for d, k in zip(dilation, weight_shape[2:], strict=True)]
        self.kind, self.code = kind, code_of(kind)
        self.x_shape, self.kernel_shape = x_shape, weight_shape
        self.options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        self.out_shape = (
            x_shape[0],
            weight_shape[0],
            *((n + a + b - span) // s + 1 for n, (a, b), span, s in zip(x_shape[2:], pads, spans, stride, strict=True)),
        )
        self.valid = min(*x_shape, *weight_shape, *self.out_shape) > 0
        out_channels, per_group, *kernel = weight_shape
        self.weight_shape = weight_shape if groups == 1 else (groups, out_channels // groups, per_group, *kernel)
        self.multiply_adds = math.prod(self.out_shape) * math.prod(weight_shape[1:])
        self.channels = x_shape[1] if groups == 1 else 16 * -(-x_shape[1] // 16)
        before, after = zip(*pads, strict=True)
        # oneDNN counts the zeros between taps: its dilation is torch's less one.
        self.steps = (dims(stride), dims([d - 1 for d in dilation]), dims(before), dims(after))

    def plain(self, shape):
        """Row-major memory of the convolution's type."""
        return plain(shape, self.code)

    def channels_last(self, shape):
        return channels_last(shape, self.code)

    def any(self, shape):
        return any_layout(shape, self.code)

    def layouts(self, make):
        """Descriptors of input, weight and output, each made by `make` from its shape; the weight's is free."""
        return make(self.x_shape), self.any(self.weight_shape), make(self.out_shape)

    def forward(self, with_bias):
        """The forward primitive, which the backward ones take as a hint."""
        src, weights, dst = self.layouts(self.any)
        bias = self.plain(self.out_shape[1:2]) if with_bias else None
        return primitive_desc("convolution_forward", FORWARD_TRAINING, _DIRECT, src, weights, bias, dst, *self.steps)
