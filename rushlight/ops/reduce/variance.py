"""Variances and standard deviations.

float32 numbers are summed in float64, as torch's. `dim` is None (all dimensions), an int or several.
"""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import check_flag
from ...core.tensor.tensor import Tensor
from ...core.warn import warn
from ..pointwise.building_blocks import CHUNK, F32, F64, MANY, add_reduce, dense, widened
from ..pointwise.choice import where
from .reduction import accept_numpy, average, axes_of, axis_tuple, count_of, full_of, keep_dims, spread


@widened
def _variance(a, axis, correction, keepdims, root=False):
    if a.dtype.kind not in "fcV":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    n = a.size if axis is None else count_of(a.shape, axis)
    if a.dtype is F32 and n:
        if a.size > _SMALL:
            return _variance_of_many(a, axis, n, n - correction, keepdims, root)
        return _variance_of_few(a.astype(F64), axis, n, n - correction, keepdims, root)
    centred = np.subtract(a, add_reduce(a, axis, None, None, True) / (n or math.nan))
    squares = centred.real**2 + centred.imag**2 if a.dtype.kind == "c" else np.multiply(centred, centred)
    free = n - correction
    r = add_reduce(squares, axis, None, None, keepdims) / (free if free > 0 else squares.dtype.type(0))
    return dense(np.sqrt(r) if root else r)


_SMALL = CHUNK  # elements up to which a copy in float64 costs less than sums in float64 of an array in float32


def _variance_of_few(x, axis, n, free, keepdims, root):
    """The variance of a copy in float64 of float32 numbers. Sums along rows are products with a vector: 0.3 us instead of 1."""
    shape = x.shape
    if axis is None:
        x = x.reshape(1, -1)
    elif axis == 0:
        x = x.reshape(n, -1).T
    elif axis == x.ndim - 1:
        x = x.reshape(-1, n)
    else:
        return _variance(x, axis, n - free, keepdims, root).astype(F32)
    mean = x.dot(full_of(n, 1, F64))
    mean /= full_of((), n, F64)  # not a product with 1/n: equal elements have no variance
    x -= mean[:, None]
    x *= x
    r = x.dot(full_of(n, 1 / free, F64)) if free > 0 else x.dot(full_of(n, 1, F64)) / F64.type(0)
    r = (np.sqrt(r, r) if root else r).astype(F32)
    if axis is None:
        return r.reshape([1] * len(shape) if keepdims else ())
    rest = shape[:axis], shape[axis + 1 :]
    return r.reshape((*rest[0], 1, *rest[1]) if keepdims else rest[0] + rest[1])


def _variance_of_many(a, axis, n, free, keepdims, root):
    """The variance of float32 numbers, with sums in float64 as torch's."""
    axes = axis_tuple(axis, a.ndim)
    total = _squares_of_all(a.reshape(-1)) if n == a.size and type(a) is np.ndarray else squares_along(a, axes, n)
    r = np.maximum(total, 0) / (free if free > 0 else F64.type(0))
    r = (np.sqrt(r) if root else r).astype(F32)
    return dense(r.reshape([1 if i in axes else m for i, m in enumerate(a.shape) if keepdims or i not in axes]))


def squares_along(a, axes, n):
    """The sums of squared distances from the means, whose own rounding is put right; by blocks that stay in the cache."""
    rows = max(1, CHUNK * len(a) // a.size)
    if 0 not in axes and len(a) > rows and type(a) is np.ndarray:
        return np.concatenate([squares_along(a[i : i + rows], axes, n) for i in range(0, len(a), rows)])
    mean = add_reduce(a, axes, F64, None, True) / n
    near = mean.astype(F32)
    centred = np.subtract(a, near)
    return add_reduce(np.multiply(centred, centred, centred), axes, F64, None, True) - n * np.square(near - mean)


def _squares_of_all(a):
    """The same over a whole array, in one pass of pieces in float64: 0.7 ms for 1e6, of which no piece takes new pages.

    Distances are taken from the first piece's mean, and the sum put right. What that cancels is bounded, since the first
    piece is part of it all: at most as many times the result as there are pieces.
    """
    mean = np.add.reduce(a[:CHUNK], 0, F64) / CHUNK
    first = second = 0.0
    room = np.empty(CHUNK, F64)
    for i in range(0, a.size, CHUNK):
        piece = a[i : i + CHUNK]
        way = room[: len(piece)]
        np.copyto(way, piece)
        np.subtract(way, mean, way)
        first += np.add.reduce(way)
        second += way.dot(way)
    return np.asanyarray(second - first * first / a.size)


def _variance_rule(g, x, dim, correction, keepdim):
    """The gradient of the variance for x.

    As in torch, an empty list of dimensions, over which all elements are reduced, counts as one element.
    """
    if not x.ndim:
        dim = None
    free = (count_of(x.shape, dim) if dim is None or isinstance(dim, int) or len(dim) else 1) - correction
    mean = x.mean(dim if dim is not None else list(range(x.ndim)), keepdim=True)
    if dim is None and free <= 0:
        return g * where(x == mean, math.nan, math.inf)
    return keep_dims((2.0 / free if free else math.inf) * g, dim, x.ndim) * (x - mean)


@primitive(public=False, name="var", jit_min_elements=MANY)
def _var(input, /, dim, correction, keepdim):
    return _variance(input, axes_of(dim, input.ndim), correction, keepdim)


@_var.vjp
def _(g, input, dim, correction, keepdim):
    return _variance_rule(g, input, dim, correction, keepdim)


@primitive(public=False, name="std", jit_min_elements=MANY)
def _std(input, /, dim, correction, keepdim):
    return _variance(input, axes_of(dim, input.ndim), correction, keepdim, True)


@_std.vjp
def _(g, input, out, dim, correction, keepdim):
    return _variance_rule((g / (out * 2)).masked_fill(out == 0, 0), input, dim, correction, keepdim)


@primitive(public=False, name="var_mean", outputs=2)
def _var_mean(input, /, dim, correction, keepdim):
    axes = axes_of(dim, input.ndim)
    if input.dtype.kind == "c":  # a quotient of complex numbers would carry nan from one part to the other
        parts = [average(a, axes, keepdim, None, input.shape) for a in (input.real, input.imag)]
        mean = np.empty(np.shape(parts[0]), input.dtype, like=input)
        mean.real, mean.imag = parts
        return _variance(input, axes, correction, keepdim), mean
    mean = average(input, axes, keepdim, None, input.shape)
    if input.dtype.kind in "fV" and np.isinf(mean).any():
        mean = _infinite_mean(mean, input, axes)
    return _variance(input, axes, correction, keepdim), mean


def _infinite_mean(mean, a, axes):
    """nan where torch's running mean meets an element after an infinite one, from which it subtracts the mean so far."""
    axes = axis_tuple(axes, a.ndim)
    rows = np.moveaxis(a, axes, range(-len(axes), 0)).reshape(-1, count_of(a.shape, axes)) if axes else a.reshape(-1, 1)
    before = np.isfinite(rows[:, :-1]).all(1).reshape(mean.shape)
    return dense(np.where(np.isinf(mean) & ~before, mean.dtype.type(math.nan), mean))


@_var_mean.vjp
def _(g, input, dim, correction, keepdim):
    return _moments_rule(g[0], g[1], input, dim, correction, keepdim)


@primitive(public=False, name="std_mean", outputs=2)
def _std_mean(input, /, dim, correction, keepdim):
    variance, m = _var_mean.record.kernel(input, dim, correction, keepdim)
    return np.sqrt(variance), m


@_std_mean.vjp
def _(g, input, out0, dim, correction, keepdim):
    slope = None if g[0] is None else (g[0] / (out0 * 2)).masked_fill(out0 == 0, 0)
    return _moments_rule(slope, g[1], input, dim, correction, keepdim)


def _moments_rule(g_var, g_mean, x, dim, correction, keepdim):
    total = None
    if g_var is not None:
        total = _variance_rule(g_var, x, dim, correction, keepdim)
    if g_mean is not None:
        part = spread(g_mean / count_of(x.shape, dim), x.shape, dim, keepdim)
        total = part if total is None else total + part
    return total


def _moment_arguments(name, input, dim, unbiased, keepdim, correction):
    """(dim, correction, keepdim) of the forms f(x, unbiased), f(x, dim, unbiased, keepdim), f(x, dim, correction=...)."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not ...:
        check_flag(name, "unbiased", unbiased, 3)
        if correction is not None:
            raise type_error("'unbiased' and 'correction' cannot both be given")
    if correction is None:
        correction = 1 if unbiased else 0
    elif isinstance(correction, Tensor):
        correction = float(correction) if correction.dtype.category > 1 else int(correction)
    if input.dtype.category < 2:
        what = name if "_" in name else "std and var"
        raise RuntimeError(f"{what} only support floating point and complex dtypes")
    n = count_of(input._array.shape, dim) if input._array.size else 0
    if n - correction <= 0 and input.dtype.category >= 2:
        _warn_degrees_of_freedom(name)
    return dim, correction, keepdim


def _warn_degrees_of_freedom(name: str) -> None:
    warn(
        f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
        "divided by output numel).",
    )


@composite(method=True, out=True)
def var(input, dim=None, unbiased=..., keepdim=False, *, correction=None):
    """The variance over `dim`: sum((x - mean)^2) / (n - correction).

    Args:
        dim: an int or a tuple; all dimensions by default.
        unbiased: True for a correction of 1, False for 0.
        keepdim: whether reduced dimensions stay, with size 1.
        correction: what is subtracted from the number n of elements; 1 by default.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        RuntimeError: `input` is of integers, as in `var(tensor([1, 2]))`.
        IndexError: `dim` is out of range, as in `var(ones(2), 1)`.

    >>> var(tensor([1.0, 2.0, 3.0, 4.0]))
    tensor(1.6667)
    """
    return _var(input, *_moment_arguments("var", input, dim, unbiased, keepdim, correction))


@composite(method=True, out=True)
def std(input, dim=None, unbiased=..., keepdim=False, *, correction=None):
    """The standard deviation over `dim`: the square root of `var`.

    Args:
        dim: an int or a tuple; all dimensions by default.
        unbiased: True for a correction of 1, False for 0.
        keepdim: whether reduced dimensions stay, with size 1.
        correction: what is subtracted from the number of elements; 1 by default.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        RuntimeError: `input` is of integers, as in `std(tensor([1, 2]))`.
        IndexError: `dim` is out of range, as in `std(ones(2), 1)`.

    >>> std(tensor([1.0, 3.0]), correction=0)
    tensor(1.)
    """
    return _std(input, *_moment_arguments("std", input, dim, unbiased, keepdim, correction))


@composite()
def var_mean(input, dim=None, unbiased=..., keepdim=False, *, correction=None, axis=None, keepdims=None):
    """The variance and the mean over `dim`, with the options of `var`.

    Args:
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        correction: what is subtracted from the number of elements; 1 by default.
    Shape: (*) -> (*), (*) without `dim`
    Raises:
        RuntimeError: `input` is of integers, as in `var_mean(tensor([1, 2]))`.

    >>> var_mean(tensor([1.0, 3.0]))
    (tensor(2.), tensor(2.))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = accept_numpy(dim, keepdim, axis, keepdims)
    return _var_mean(input, *_moment_arguments("var_mean", input, dim, unbiased, keepdim, correction))


@composite()
def std_mean(input, dim=None, unbiased=..., keepdim=False, *, correction=None, axis=None, keepdims=None):
    """The standard deviation and the mean over `dim`, with the options of `var`.

    Args:
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        correction: what is subtracted from the number of elements; 1 by default.
    Shape: (*) -> (*), (*) without `dim`
    Raises:
        RuntimeError: `input` is of integers, as in `std_mean(tensor([1, 2]))`.

    >>> std_mean(tensor([1.0, 3.0]), correction=0)
    (tensor(1.), tensor(2.))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = accept_numpy(dim, keepdim, axis, keepdims)
    return _std_mean(input, *_moment_arguments("std_mean", input, dim, unbiased, keepdim, correction))
