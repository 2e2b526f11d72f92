"""Pooling by means, and by powers. Windows and sizes are those of `pool.py`."""

from __future__ import annotations

import functools
import itertools
import math
from math import prod

import numpy as np

from ...core.dispatch.errors import argument_type
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.slow_path import write_out
from ...core.tensor.channels_last import in_suggested_format, is_channels_last
from ...core.tensor.dtype import from_numpy
from ...core.tensor.tensor import Tensor, type_word
from ..pointwise.building_blocks import F32, zeros_of
from .pool import check_windows, max_pool1d, max_pool2d, max_pool3d, numbers, outputs, pad_for_windows, remembered, tap

# ---------------------------------------------------------------------------------------------- sums of windows


_FEW = 16  # elements of a window, each a pass over the result


def _window_sums(x, outs, window, stride):
    """The sum of each window of x (padded as far as they reach): row by row as torch's, of large windows axis by axis."""
    n = len(window)
    if 1 < math.prod(window) <= _FEW:
        y = None
        for place in itertools.product(*map(range, window)):
            steps = zip(place, outs, stride, strict=True)
            here = x[(..., *[slice(r, r + (o - 1) * s + 1, s) for r, o, s in steps])]
            y = here + 0 if y is None else np.add(y, here, y)  # from zero on: -0.0 becomes 0.0
        return y
    for i in range(n):
        axis, k, s, o = x.ndim - n + i, window[i], stride[i], outs[i]
        if o == 1:
            x = np.add.reduce(x[tap(x.ndim, axis, 0, k, 1)], axis, keepdims=True)
            continue
        first = x[tap(x.ndim, axis, 0, o, s)]
        y = first.copy() if k == 1 else first
        for r in range(1, k):
            here = x[tap(x.ndim, axis, r, o, s)]
            y = np.add(first, here) if r == 1 else np.add(y, here, y)
        x = y
    return x


def _spread(g, reach, window, stride):
    """The transpose of `_window_sums`: each element of g added to all of its window; `reach` is the padded shape."""
    n = len(window)
    for i in reversed(range(n)):
        axis, k, s = g.ndim - n + i, window[i], stride[i]
        o = g.shape[axis]
        out = np.zeros((*g.shape[:axis], reach[i], *g.shape[axis + 1 :]), g.dtype, like=g)
        for r in range(k):
            target = out[tap(g.ndim, axis, r, o, s)]
            np.add(target, g, target)
        g = out
    return g


@functools.lru_cache(256)
def _counts(sizes, outs, window, stride, padding, count_include_pad):
    """How many elements each window's mean is taken over: a number, or an array over the n axes of the result."""
    counts = []
    for n, o, k, s, p in zip(sizes, outs, window, stride, padding, strict=True):
        start = np.arange(o) * s - p
        stop = np.minimum(start + k, n + p)
        counts.append(stop - start if count_include_pad else np.minimum(stop, n) - np.maximum(start, 0))
    if all((c == c[0]).all() for c in counts):
        return math.prod(int(c[0]) for c in counts)
    grid = counts[0]
    for c in counts[1:]:
        grid = np.multiply.outer(grid, c)
    return grid


def _divide(sums, divisor, d):
    if d.kind in "iu":
        return np.trunc(sums / divisor).astype(d)
    return np.divide(sums, np.asarray(divisor, sums.dtype), sums)


def _divisor(sizes, outs, window, stride, padding, count_include_pad, divisor_override):
    return divisor_override or _counts(sizes, outs, window, stride, padding, count_include_pad)


def avg_pool_kernel(input, /, window, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """The mean of each window. Shape: (*, n axes) -> (*, n axes)"""
    n, d, ones = len(window), input.dtype, (1,) * len(window)
    if d.kind == "b" or d.kind in "iu" and d.itemsize < 8:
        raise NotImplementedError(f"\"avg_pool{n}d\" not implemented for '{type_word(from_numpy(d))}'")
    sizes = input.shape[-n:]
    outs = outputs(sizes, window, stride, padding, ones, ceil_mode)
    x = input.astype(F32) if d.itemsize == 2 else input
    x = pad_for_windows(x, outs, window, stride, padding, ones, 0)
    sums = _window_sums(x, outs, window, stride)
    divisor = _divisor(sizes, outs, window, stride, padding, count_include_pad, divisor_override)
    means = _divide(sums, divisor, d).astype(d, copy=False)
    return (
        in_suggested_format(means) if n < 3 else np.ascontiguousarray(means)
    )  # torch's of volumes are never channels-last


@primitive(
    name="avg_pool.backward", public=False, follows=(1,), follows_volumes=False, node="AvgPool2DBackwardBackward0"
)
def avg_pool_backward(g, input, /, window, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """Each element of g spread over its window, divided as the mean is; of the input only the shape counts."""
    n, d, shape = len(window), g.dtype, input.shape
    sizes, outs = shape[-n:], g.shape[-n:]
    divisor = _divisor(sizes, outs, window, stride, padding, count_include_pad, divisor_override)
    g = (g.astype(F32) if d.itemsize == 2 else g) / np.asarray(divisor, F32 if d.itemsize == 2 else d)
    reach = [
        max(size + 2 * p, (o - 1) * s + k)
        for size, p, o, s, k in zip(sizes, padding, outs, stride, window, strict=True)
    ]
    out = _spread(g, reach, window, stride)
    if out.shape != shape:
        out = out[(..., *(slice(p, p + size) for p, size in zip(padding, sizes, strict=True)))]
    return np.ascontiguousarray(out, d)


@avg_pool_backward.vjp("input")
def _(input):
    return zeros_of(input)


@avg_pool_backward.vjp("g")
def _(g, window, stride, padding, ceil_mode, count_include_pad, divisor_override):
    operator = avg_pool_3d if len(window) == 3 else avg_pool_2d
    return operator(g, window, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _avg_pool_operator(name, node):
    operator = primitive(name=name, public=False, follows=(0,) if name.endswith("2d") else (), node=node)(
        avg_pool_kernel
    )

    @operator.vjp
    def _(g, input, window, stride, padding, ceil_mode, count_include_pad, divisor_override):
        return avg_pool_backward(g, input, window, stride, padding, ceil_mode, count_include_pad, divisor_override)

    return operator


avg_pool_2d = _avg_pool_operator("avg_pool2d", "AvgPool2DBackward0")
avg_pool_3d = _avg_pool_operator("avg_pool3d", "AvgPool3DBackward0")

# ---------------------------------------------------------------------------------------------- public means


def _check_avg(name, n, shape, kernel_size, stride, padding, ceil_mode, divisor_override):
    window = numbers(name, "kernel_size", 2, kernel_size, n)
    stride = window if stride is None or stride in ((), []) else numbers(name, "stride", 3, stride, n)
    padding = numbers(name, "padding", 4, padding, n)
    if divisor_override == 0 and divisor_override is not None:
        raise RuntimeError("divisor must be not zero")
    check_windows(name, n, shape, window, stride, padding, (1,) * n, ceil_mode)
    if n == 3 and any(i < k for i, k in zip(shape[-3:], window, strict=True)):  # padding or not
        sizes, kernel = ("T: {} H: {} W: {}".format(*shape[-3:]), "kT: {} kH: {} kW: {}".format(*window))
        raise RuntimeError(f"input image ({sizes}) smaller than kernel size ({kernel})")
    return window, stride, padding


def _avg_pool(name, n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    if not isinstance(input, Tensor):
        raise argument_type(name, "input", 1, input)
    ndim = input._array.ndim
    if ndim <= n and n == 3:
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    if ndim <= n:
        raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}], but got -{n + 1})")
    key = ("avg", n, input._array.shape, kernel_size, stride, padding, ceil_mode, divisor_override)
    steps = remembered(key, _check_avg, name, n, *key[2:])
    return (avg_pool_3d if n == 3 else avg_pool_2d)(input, *steps, ceil_mode, count_include_pad, divisor_override)


@composite(functional=True)
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of a sequence.

    Args:
        stride: the distance of windows; `kernel_size` by default.
        padding: zeros added on each side, at most half of `kernel_size`.
        ceil_mode: whether L' is rounded up, so that a last window may reach beyond the end.
        count_include_pad: whether the padding's zeros count as elements.
    Shape: (N, C, L) or (C, L) -> (N, C, L') or (C, L'), L' = floor((L + 2 padding - kernel_size) / stride) + 1
    Raises:
        RuntimeError: the padding is too large, as in `avg_pool1d(ones(1, 4), 2, padding=2)`.

    >>> avg_pool1d(tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
    tensor([[1.5000, 3.5000]])
    """
    if not isinstance(input, Tensor):
        raise argument_type("avg_pool1d", "input", 1, input)
    if input._array.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input._array.ndim}-dimensional tensor for argument #1 'self' (while "
            "checking arguments for avg_pool1d)"
        )
    (k,), (p,) = (
        numbers("avg_pool1d", "kernel_size", 2, kernel_size, 1),
        numbers("avg_pool1d", "padding", 4, padding, 1),
    )
    (s,) = (k,) if stride is None or stride in ((), []) else numbers("avg_pool1d", "stride", 3, stride, 1)
    steps = (1, k), (1, s), (0, p)
    x = input.unsqueeze(-2)
    x = x if is_channels_last(x._array) else input.contiguous().unsqueeze(-2)
    return _avg_pool("avg_pool2d", 2, x, *steps, ceil_mode, count_include_pad, None).squeeze(-2)


@composite(functional=True)
def avg_pool2d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
    *,
    out=None,
):
    """The mean of each window of an image.

    Args:
        kernel_size: an int or a pair, as `stride` and `padding`.
        stride: the distance of windows; `kernel_size` by default.
        padding: zeros added on each side, at most half of `kernel_size`.
        ceil_mode: whether H' and W' are rounded up, so that a last window may reach beyond the end.
        count_include_pad: whether the padding's zeros count as elements.
        divisor_override: what to divide the sums by, instead of the number of elements.
        out: the tensor to write the result to.
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')
        H' = floor((H + 2 padding - kernel_size) / stride) + 1
    Raises:
        RuntimeError: the padding is too large, as in `avg_pool2d(ones(1, 4, 4), 2, padding=2)`.

    >>> avg_pool2d(arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    r = _avg_pool("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return r if out is None else write_out("avg_pool2d", (input,), r, out)


@composite(functional=True)
def avg_pool3d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
    *,
    out=None,
):
    """The mean of each window of a volume; options as in `avg_pool2d`.

    Args:
        kernel_size: an int or three, as `stride` and `padding`.
        stride: the distance of windows; `kernel_size` by default.
        out: the tensor to write the result to.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')
    Raises:
        RuntimeError: the padding is too large, as in `avg_pool3d(ones(1, 4, 4, 4), 2, padding=2)`.

    >>> avg_pool3d(ones(1, 2, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2, 2])
    """
    r = _avg_pool("avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return r if out is None else write_out("avg_pool3d", (input,), r, out)


# ---------------------------------------------------------------------------------------------- powers


def _lp(pool, maximum, input, norm_type, window, stride, ceil_mode):
    if norm_type == math.inf:
        return maximum(input.abs(), window, stride, 0, 1, ceil_mode)
    if norm_type == -math.inf:
        return -maximum(-input.abs(), window, stride, 0, 1, ceil_mode)
    out = pool(input.pow(norm_type), window, stride, 0, ceil_mode)
    return (out.sign() * out.abs().relu()).mul(prod(window)).pow(1.0 / norm_type)


@composite(functional=True)
def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-th root of the sum of p-th powers of each window of a sequence.

    Args:
        norm_type: p.
        stride: the distance of windows; `kernel_size` by default.
    Shape: (N, C, L) or (C, L) -> (N, C, L') or (C, L')

    >>> lp_pool1d(tensor([[3.0, 4.0]]), 2, 2)
    tensor([[5.]])
    """
    return _lp(
        avg_pool1d,
        max_pool1d,
        input,
        norm_type,
        numbers("lp_pool1d", "kernel_size", 3, kernel_size, 1),
        stride,
        ceil_mode,
    )


@composite(functional=True)
def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-th root of the sum of p-th powers of each window of an image.

    Args:
        norm_type: p.
        stride: the distance of windows; `kernel_size` by default.
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')

    >>> lp_pool2d(ones(1, 2, 2), 2, 2)
    tensor([[[2.]]])
    """
    return _lp(
        avg_pool2d,
        max_pool2d,
        input,
        norm_type,
        numbers("lp_pool2d", "kernel_size", 3, kernel_size, 2),
        stride,
        ceil_mode,
    )


@composite(functional=True)
def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-th root of the sum of p-th powers of each window of a volume.

    Args:
        norm_type: p.
        stride: the distance of windows; `kernel_size` by default.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')

    >>> lp_pool3d(ones(1, 2, 2, 2), 1, 2)
    tensor([[[[8.]]]])
    """
    return _lp(
        avg_pool3d,
        max_pool3d,
        input,
        norm_type,
        numbers("lp_pool3d", "kernel_size", 3, kernel_size, 3),
        stride,
        ceil_mode,
    )
