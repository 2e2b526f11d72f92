"""Softmax and the normalisations, written over whole arrays: fusing gives one pass over each row."""

from __future__ import annotations

import math

import numpy as np

from ...core.tensor.dtype import bfloat16
from ...ops.nn.normalize import _group_norm, _group_norm_backward
from ..ir.lazy import Lazy, Untraceable
from .table import rule, through_float32


def _floats(*arrays: Lazy | None) -> None:
    if any(a is not None and (a.dtype.kind != "f" or a.dtype.itemsize == 2) for a in arrays):
        raise Untraceable("a normalisation of a dtype other than float32 and float64")


def _scores(input: Lazy, dtype) -> Lazy:
    x = input if dtype is None else input.astype(dtype.numpy)
    _floats(x)
    if not x.ndim or not x.size:
        raise Untraceable("softmax of an empty axis")
    return x


@rule("softmax")
@through_float32()
def softmax(b, input, dim, dtype):
    x = _scores(input, dtype)
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


@rule("softmax_backward")
@through_float32()
def softmax_backward(b, grad, output, dim):
    _floats(grad, output)
    r = grad * output
    return r - output * r.sum(dim % grad.ndim, keepdims=True)


@rule("log_softmax")
def log_softmax(b, input, dim, dtype):
    is_narrow = input.dtype == bfloat16.numpy and dtype is None and dim in (-1, input.ndim - 1)
    return (_log_softmax_of_narrow_rows if is_narrow else _log_softmax)(b, input, dim=dim, dtype=dtype)


@through_float32()
def _log_softmax(b, input, dim, dtype):
    x = _scores(input, dtype)
    r = x - x.max(dim, keepdims=True)
    return r - np.log(np.exp(r).sum(dim, keepdims=True))


@through_float32()
def _log_softmax_of_narrow_rows(b, input, dim, dtype):
    """The sum and its logarithm are rounded to bfloat16, as in the eager kernel."""
    x = _scores(input, dtype)
    r = x - x.max(dim, keepdims=True)
    total = np.exp(r).sum(dim, keepdims=True).astype(bfloat16.numpy)
    return r - np.log(total.astype(np.float32)).astype(bfloat16.numpy).astype(np.float32)


@rule("log_softmax_backward")
@through_float32()
def log_softmax_backward(b, grad, output, dim):
    _floats(grad, output)
    return grad - np.exp(output) * grad.sum(dim % grad.ndim, keepdims=True)


def moments(x: Lazy, axes: tuple[int, ...]) -> tuple[Lazy, Lazy]:
    """(mean, biased variance) over axes, dimensions kept."""
    n = x.dtype.type(math.prod(x.shape[a] for a in axes))
    mean = x.sum(axes, keepdims=True) / n
    d = x - mean
    return mean, (d * d).sum(axes, keepdims=True) / n


@rule("native_layer_norm")
@through_float32()
def layer_norm(b, input, weight=None, bias=None, normalized_shape=(), eps=1e-5):
    _floats(input, weight, bias)
    axes = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    n = input.dtype.type(math.prod(normalized_shape))
    mean = input.sum(axes, keepdims=True) / n
    rest = (input - mean).sum(axes, keepdims=True) / n  # what rounding left: rstd multiplies it on nearly constant rows
    d = input - mean - rest
    rstd = 1 / np.sqrt((d * d).sum(axes, keepdims=True) / n + eps)
    mean, out = mean + rest, d * rstd
    if weight is not None:
        out = out * weight
    if bias is not None:
        out = out + bias
    return out, mean, rstd


def _channels(p: Lazy | None, ndim: int) -> Lazy:
    assert p is not None  # outside training both are given
    return p.reshape(1, -1, *(1,) * (ndim - 2))


@rule("native_batch_norm")
@through_float32()
def batch_norm(b, input, weight=None, bias=None, running_mean=None, running_var=None, training=True, eps=1e-5):
    _floats(input, weight, bias, running_mean, running_var)
    if input.ndim < 2:
        raise Untraceable("batch norm of a vector")
    n = input.ndim
    if training:
        mean, var = moments(input, (0, *range(2, n)))
    else:
        mean, var = _channels(running_mean, n), _channels(running_var, n)
    rstd = 1 / np.sqrt(var + eps)
    out = (input - mean) * (rstd if weight is None else rstd * _channels(weight, n))
    return (out if bias is None else out + _channels(bias, n)), mean, rstd, var


@rule("native_layer_norm_backward")
@through_float32(rounds=False)
def layer_norm_backward(b, grad, input, mean, rstd, weight=None, normalized_shape=(), eps=1e-5):
    _floats(grad, input, mean, rstd, weight)
    k = input.ndim - len(normalized_shape)
    inner, lead = tuple(range(k, input.ndim)), tuple(range(k))
    n = input.dtype.type(math.prod(normalized_shape))
    xhat = (input - mean) * rstd
    gw = (grad * xhat).sum(lead) if lead else grad * xhat
    gb = grad.sum(lead) if lead else grad
    gy = grad if weight is None else grad * weight
    shift = gy.sum(inner, keepdims=True) / n
    slope = (gy * xhat).sum(inner, keepdims=True) / n
    return (gy - shift - xhat * slope) * rstd, gw, gb


@rule("native_batch_norm_backward")
@through_float32(rounds=False)
def batch_norm_backward(b, grad, input, mean, rstd, weight=None, training=True):
    _floats(grad, input, mean, rstd, weight)
    axes = (0, *range(2, input.ndim))
    xhat = (input - mean) * rstd
    gw, gb = (grad * xhat).sum(axes), grad.sum(axes)
    scale = rstd if weight is None else rstd * _channels(weight, input.ndim)
    if not training:
        return grad * scale, gw, gb
    n = input.dtype.type(input.size // max(input.shape[1], 1))
    gx = (grad - _channels(gb / n, input.ndim) - xhat * _channels(gw / n, input.ndim)) * scale
    return gx, gw, gb


# these kernels' own code serves float32 and float64
rule("native_group_norm")(through_float32()(lambda b, *a, **options: _group_norm.record.reference(*a, **options)))
rule("native_group_norm_backward")(
    through_float32(rounds=False)(lambda b, *a, **options: _group_norm_backward.record.reference(*a, **options))
)
