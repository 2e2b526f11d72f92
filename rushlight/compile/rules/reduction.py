"""Sums and extremes whose kernels choose one of NumPy's methods by memory layout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ops.reduce.variance import squares_along
from ..ir.lazy import Builder, Lazy, Untraceable, maximum
from .table import rule, through_float32


def axes_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """torch's `dim` as a tuple of axes; None and () are all."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    return tuple(sorted(d % ndim if ndim else 0 for d in ((dim,) if isinstance(dim, int) else dim)))


def total(x: Lazy, axes: tuple[int, ...], keepdim: bool, dtype: Any = None) -> Lazy:
    """The sum in torch's type: integers in int64, 16-bit floats accumulated in float32."""
    if dtype is not None:
        x = x.astype(dtype.numpy)
    if x.dtype.kind not in "biuf" and x.dtype.name != "bfloat16":
        raise Untraceable(f"a sum of {x.dtype}")
    if not x.ndim:
        return x.astype(np.int64) if x.dtype.kind in "biu" and dtype is None else x
    if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
        return x.astype(np.float32).sum(axes, keepdims=keepdim).astype(x.dtype)
    kind = x.dtype if dtype is not None and x.dtype.kind != "b" else np.int64 if x.dtype.kind in "biu" else None
    return x.sum(axes, kind, keepdims=keepdim)


@rule("sum")
def sum_all(b, input):
    return total(input, tuple(range(input.ndim)), False)


@rule("sum.dim")
def sum_dim(b, input, dim, keepdim, dtype):
    out = total(input, axes_of(dim, input.ndim), keepdim, dtype)
    return out if dtype is None else out.astype(dtype.numpy)


@rule("mean")
@through_float32()
def mean_all(b, input, dtype=None):
    return mean_dim(b, input, None, False, dtype)


@rule("mean.dim")
@through_float32()
def mean_dim(b, input, dim, keepdim, dtype):
    x = input if dtype is None else input.astype(dtype.numpy)
    if x.dtype.kind != "f" or x.dtype.itemsize == 2:
        raise Untraceable(f"a mean of {x.dtype}")
    if not x.ndim:
        return x
    axes = axes_of(dim, x.ndim)
    out = x.sum(axes, keepdims=keepdim)
    return out / x.dtype.type(math.prod(x.shape[a] for a in axes))


@rule("spread")
def spread(b, input, shape, dim, keepdim):
    if dim is not None and not keepdim and input.ndim != len(shape):
        axes = axes_of(dim, len(shape))
        input = input.reshape([1 if d in axes else n for d, n in enumerate(shape)])
    return input.broadcast_to(tuple(shape))


@rule("linalg_vector_norm")
def vector_norm(b, input, ord, dim, keepdim, dtype):
    x = input if dtype is None else input.astype(dtype.numpy)
    if x.dtype.kind != "f" or x.dtype.itemsize == 2 or not x.ndim:
        raise Untraceable(
            f"a norm of {x.dtype} of shape {x.shape}: convert to float32 with .float(); of a number take .abs()"
        )
    axes = axes_of(dim, x.ndim)
    if ord == 2:
        return np.sqrt((x * x).sum(axes, keepdims=keepdim))
    if ord == 1:
        return np.abs(x).sum(axes, keepdims=keepdim)
    if ord == math.inf and x.size:
        return np.abs(x).max(axes, keepdims=keepdim)
    raise Untraceable(f"a norm of order {ord}: orders 1, 2 and inf are compiled; write it with .abs(), ** and .sum()")


def _variance(input: Lazy, dim: Any, correction: float, keepdim: bool) -> Lazy:
    """The kernel's method for many elements of float32, for any number of elements: in float64."""
    if input.dtype != np.float32 or not input.size or not input.ndim:
        raise Untraceable(f"a variance of {input.dtype}, or of an empty axis")
    axes = axes_of(dim, input.ndim)
    n = math.prod(input.shape[a] for a in axes)
    total = maximum(squares_along(input, axes, n), 0) / np.float64(max(n - correction, 0))
    return total if keepdim else total.squeeze(axes)


@rule("var")
def var(b, input, dim, correction, keepdim):
    return _variance(input, dim, correction, keepdim).astype(np.float32)


@rule("std")
def std(b, input, dim, correction, keepdim):
    return np.sqrt(_variance(input, dim, correction, keepdim)).astype(np.float32)


def _extreme(kind: str):
    def extreme(b, input, *metadata):
        if metadata or input.dtype.itemsize == 2 or not input.size:
            raise Untraceable("max or min with options, of 16-bit floats or of an empty tensor")
        if not input.ndim:
            return input
        return input.max() if kind == "max" else input.min()

    return extreme


rule("max")(_extreme("max"))
rule("min")(_extreme("min"))


@rule("amax")
def amax(b, input, dim, keepdim):
    return input.max(axes_of(dim, input.ndim), keepdims=keepdim) if input.ndim else input


@rule("amin")
def amin(b, input, dim, keepdim):
    return input.min(axes_of(dim, input.ndim), keepdims=keepdim) if input.ndim else input


def _logical(kind: str):
    def logical(b, input, dim, keepdim):
        axes = () if isinstance(dim, list | tuple) and not dim else axes_of(dim, input.ndim)
        out = b.reduce(kind, input.astype(np.bool_), axes, keepdim)
        return out.astype(np.uint8) if input.dtype == np.uint8 else out

    return logical


rule("any")(_logical("any"))
rule("all")(_logical("all"))

# ---------------------------------------------------------------------------------------------- places of extremes


def _wide(x: Lazy) -> Lazy:
    """16-bit floats in float32, which holds each of them."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


def _found(b: Builder, kind: str, x: Lazy, axes: tuple[int, ...], keepdim: bool) -> Lazy:
    if not x.size:
        raise Untraceable(f"{kind} of an empty axis")
    return b.reduce(kind, x, axes, keepdim)


def _arg(kind: str):
    def arg(b, input, dim, keepdim):
        if input.dtype.kind == "b":
            raise Untraceable(f"{kind} of bools")
        if not input.ndim:
            return b.constant(0, np.int64)
        return _found(b, kind, _wide(input), axes_of(dim, input.ndim), keepdim)

    return arg


def _along(kind: str):
    def along(b, input, dim, keepdim):
        if not input.ndim:
            return input, b.constant(0, np.int64)
        axes, x = axes_of(dim, input.ndim), _wide(input)
        place = _found(b, "arg" + kind, x, axes, keepdim)
        value = x.max(axes, keepdims=keepdim) if kind == "max" else x.min(axes, keepdims=keepdim)
        return value.astype(input.dtype), place

    return along


for _kind in ("max", "min"):
    rule("arg" + _kind)(_arg("arg" + _kind))
    rule(_kind + ".dim")(_along(_kind))
