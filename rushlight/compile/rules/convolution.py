"""Convolutions and their gradients: calls of the library."""

from __future__ import annotations

from ..ir.lazy import Untraceable
from .table import rule

_SERVED = ("float32", "bfloat16", "float16")  # 16 bits by way of float32 where no library has them


def _check(*arrays) -> None:
    kinds = {a.dtype for a in arrays if a is not None}
    if len(kinds) > 1 or kinds.pop().name not in _SERVED or not all(a is None or a.size for a in arrays):
        raise Untraceable("a convolution of a dtype other than float32, bfloat16 and float16")


def _steps(b, stride, padding, dilation, groups) -> dict:
    steps = {"stride": tuple(stride), "padding": tuple(padding), "dilation": tuple(dilation), "groups": groups}
    return steps | {"direct": True} if b.as_eager else steps


def _outs(x, weight, stride, padding, dilation):
    pads = [p if isinstance(p, tuple) else (p, p) for p in padding]
    return tuple(
        (n + before + after - d * (k - 1) - 1) // s + 1
        for n, k, s, (before, after), d in zip(x.shape[2:], weight.shape[2:], stride, pads, dilation, strict=True)
    )


@rule("convolution")
def convolution(b, input, weight, bias=None, stride=(1,), padding=(0,), dilation=(1,), groups=1):
    _check(input, weight, bias)
    shape = (input.shape[0], weight.shape[0], *_outs(input, weight, stride, padding, dilation))
    operands = (input.ref(), weight.ref(), *(() if bias is None else (bias.ref(),)))
    steps = _steps(b, stride, padding, dilation, groups)
    return b.lazy(b.extern("convolution_forward", operands, (shape, input.dtype), **steps)[0])


@rule("convolution.input")
def convolution_input(b, input, weight, bias=None, shape=(), stride=(1,), padding=(0,), dilation=(1,), groups=1):
    _check(input, weight, bias)
    steps = _steps(b, stride, padding, dilation, groups)
    out = b.extern("convolution_backward_data", (input.ref(), weight.ref()), (tuple(shape), input.dtype), **steps)[0]
    out = b.lazy(out)
    return out if bias is None else out + bias.reshape(1, -1, *(1,) * (out.ndim - 2))


@rule("convolution.weight")
def convolution_weight(b, top, input, shape, stride, padding, dilation, groups):
    _check(top, input)
    steps = _steps(b, stride, padding, dilation, groups)
    operands = (top.ref(), input.ref())
    return b.lazy(b.extern("convolution_backward_weights", operands, (tuple(shape), input.dtype), **steps)[0])


@rule("convolution.weight_and_bias")
def convolution_weight_and_bias(b, top, input, shape, stride, padding, dilation, groups):
    _check(top, input)
    steps = _steps(b, stride, padding, dilation, groups)
    shapes = ((tuple(shape), input.dtype), (tuple(shape)[:1], input.dtype))
    weight, bias = b.extern("convolution_backward_weights", (top.ref(), input.ref()), *shapes, **steps)
    return b.lazy(weight), b.lazy(bias)
