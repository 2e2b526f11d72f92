"""Pooling: the maximum or the mean of each window of a sequence, an image or a volume.

Windows have stride `stride` over the last n axes (n the length of `window`), whatever axes come before. Along each axis

    out = floor((in + 2 padding - dilation (window - 1) - 1) / stride) + 1

with ceil for floor in ceil mode, less a last window that would start in the padding after the input. Maxima and sums are
taken one axis after another (k + k steps instead of k * k), except where a maximum's place is asked for.
"""

from __future__ import annotations

from itertools import product as places
from math import prod
from typing import Any

import numpy as np

from ...core.dispatch.autocast import FLOAT32, brought
from ...core.dispatch.errors import argument_type
from ...core.dispatch.mode import thread
from ...core.dispatch.op import composite, primitive
from ...core.tensor.channels_last import in_suggested_format
from ...core.tensor.tensor import Tensor
from ..pointwise.building_blocks import F32, zero_where, zeros_of
from .conv import windows

_MANY_TAPS = 32  # from here on one argmax over copied windows beats a step for each place in the window

# ---------------------------------------------------------------------------------------------- geometry


def pooled_size(n, k, s, p, d, ceil_mode):
    """How many windows there are along an axis of n elements."""
    room = n + 2 * p - d * (k - 1) - 1
    if not ceil_mode:
        return room // s + 1
    out = -(-room // s) + 1
    return out - 1 if (out - 1) * s >= n + p else out


def outputs(sizes, window, stride, padding, dilation, ceil_mode):
    return tuple([pooled_size(*axis, ceil_mode) for axis in zip(sizes, window, stride, padding, dilation, strict=True)])


def tap(ndim, axis, start, count, step):
    """The index of `count` entries of one axis from `start` on, at a step of `step`."""
    index = [slice(None)] * ndim
    index[axis] = slice(start, start + (count - 1) * step + 1, step)
    return tuple(index)


def pad_for_windows(x, outs, window, stride, padding, dilation, value):
    """x with `value` around its last axes, as far as the windows reach."""
    sizes = x.shape[x.ndim - len(outs) :]
    after = [
        (o - 1) * s + d * (k - 1) + 1 - n - p
        for n, o, k, s, p, d in zip(sizes, outs, window, stride, padding, dilation, strict=True)
    ]
    if not any(padding) and max(after) <= 0:
        return x
    full = [n + p + max(0, a) for n, p, a in zip(sizes, padding, after, strict=True)]
    out = np.full((*x.shape[: x.ndim - len(outs)], *full), value, x.dtype, like=x)
    out[(..., *(slice(p, p + n) for p, n in zip(padding, sizes, strict=True)))] = x
    return out


def _window_slices(at, outs, stride, dilation):
    """The index of the elements at place `at` of every window."""
    return (
        ...,
        *(slice(r * d, r * d + (o - 1) * s + 1, s) for r, o, s, d in zip(at, outs, stride, dilation, strict=True)),
    )


# ---------------------------------------------------------------------------------------------- maxima


def _lowest(d):
    if d.kind in "iu":
        return np.iinfo(d).min
    return False if d.kind == "b" else -np.inf


def _refuse_bool(x, name):
    if x.dtype.kind == "b":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")


@primitive(name="max_pool.values", public=False, differentiable=False, follows=(0,))
def max_pool_values(input, /, window, stride, padding, dilation, ceil_mode):
    """The maxima alone. Shape: (*, n axes) -> (*, n axes)"""
    x = input = in_suggested_format(input)
    n = len(window)
    _refuse_bool(x, f"max_pool{n}d")
    if are_pairs(x.shape, window, stride, padding) and dilation == (1, 1):
        x = np.maximum(x[..., ::2, :], x[..., 1::2, :])  # the most frequent case in a sixth of the time
        return np.maximum(x[..., ::2], x[..., 1::2])
    outs = outputs(x.shape[-n:], window, stride, padding, dilation, ceil_mode)
    x = pad_for_windows(x, outs, window, stride, padding, dilation, _lowest(x.dtype))
    for i in range(n):
        axis, (k, s, d, o) = x.ndim - n + i, (window[i], stride[i], dilation[i], outs[i])
        y = x[tap(x.ndim, axis, 0, o, s)]
        for r in range(1, k):
            here = x[tap(x.ndim, axis, r * d, o, s)]
            y = np.maximum(y, here) if r == 1 else np.maximum(y, here, out=y)
        x = y
    return x.copy(order="K") if x.base is not None or x is input else x


def _maxima(x, outs, window, stride, dilation, place):
    """(maxima, the place of each in its window); `place` holds the places to start from. x is padded."""
    first, *others = places(*map(range, window))
    y = x[_window_slices(first, outs, stride, dilation)].copy()
    for k, at in enumerate(others, 1):
        here = x[_window_slices(at, outs, stride, dilation)].copy()
        better = np.greater(here, y).view(np.uint8)
        if k < 256:
            better *= np.uint8(k)
        np.maximum(place, better if k < 256 else better * np.int32(k), out=place)
        np.maximum(y, here, out=y)
    if y.dtype.kind not in "iu" and np.isnan(y).any():
        return _maxima_with_nan(x, outs, window, stride, dilation, place)
    return y, place


def are_pairs(shape, window, stride, padding):
    """Whether windows of 2 x 2 tile the image, with nothing left."""
    return window == stride == (2, 2) and padding == (0, 0) and not (shape[-1] | shape[-2]) & 1


def _maxima_of_pairs(x):
    """As `_maxima`, for windows of 2 x 2 side by side: each row's pairs, and of these each column's."""
    left, right = x[..., ::2].copy(), x[..., 1::2].copy()
    larger, place = np.maximum(left, right), np.greater(right, left).view(np.uint8)
    upper, lower = larger[..., ::2, :].copy(), larger[..., 1::2, :].copy()
    is_lower = np.greater(lower, upper).view(np.uint8)
    above, below = place[..., ::2, :].copy(), place[..., 1::2, :].copy()
    below += np.uint8(2)
    below -= above
    below *= is_lower
    return np.maximum(upper, lower), np.add(above, below, out=above)


def _maxima_with_nan(x, outs, window, stride, dilation, place):
    """As `_maxima`: a nan counts as larger than everything before it, another nan included."""
    y = np.full(place.shape, _lowest(x.dtype), x.dtype, like=x)
    for k, at in enumerate(places(*map(range, window))):
        here = x[_window_slices(at, outs, stride, dilation)]
        better = (here > y) | np.isnan(here)
        np.copyto(place, k, where=better)
        np.copyto(y, here, where=better)
    return y, place


def _maxima_of_large_windows(x, outs, window, stride, dilation, place):
    """As `_maxima`, by one argmax over copied windows."""
    lead = x.shape[: x.ndim - len(window)]
    view = windows(x.reshape(1, prod(lead), *x.shape[-len(window) :]), window, stride, dilation)
    view = view[(..., *(slice(o) for o in outs))].reshape(prod(lead), prod(window), prod(outs))
    at = view.argmax(1)
    y = np.take_along_axis(view, at[:, None], 1).reshape(place.shape)
    chosen = at.reshape(place.shape)
    if x.dtype.kind not in "iu":
        chosen = np.where(y == -np.inf, place, chosen)
        unknown = np.isnan(y)
        if unknown.any():
            last = view.shape[1] - 1 - np.isnan(view)[:, ::-1].argmax(1)
            chosen = np.where(unknown, last.reshape(place.shape), chosen)
    return y, chosen.astype(place.dtype)


def _first_places(outs, window, stride, padding, dilation, shape, like):
    """The first place of each window that is not padding, counted row by row."""
    place = np.zeros(shape, np.uint8 if prod(window) <= 256 else np.int32, like=like)
    for i in range(len(window)):
        if padding[i]:
            missing = padding[i] - np.arange(outs[i]) * stride[i]
            first = np.maximum(0, -(-missing // dilation[i])) * prod(window[i + 1 :])
            place += first.astype(place.dtype).reshape(-1, *(1,) * (len(window) - i - 1))
    return place


def max_pool_kernel(input, /, window, stride, padding, dilation, ceil_mode):
    """(the maxima, the place of each in its window counted row by row). Shape: (*, n axes) -> (*, n axes) twice"""
    n = len(window)
    _refuse_bool(input, f"max_pool{n}d")
    sizes = input.shape[-n:]
    outs = outputs(sizes, window, stride, padding, dilation, ceil_mode)
    if are_pairs(input.shape, window, stride, padding) and dilation == (1, 1):
        y, place = _maxima_of_pairs(input)
        if y.dtype.kind in "iu" or not np.isnan(y).any():
            return y, place
    place = _first_places(outs, window, stride, padding, dilation, (*input.shape[:-n], *outs), input)
    x = pad_for_windows(input, outs, window, stride, padding, dilation, _lowest(input.dtype))
    large = prod(window) > _MANY_TAPS and input.size
    return (_maxima_of_large_windows if large else _maxima)(x, outs, window, stride, dilation, place)


_kept = zero_where.record.reference  # np.where costs 8 ns an element here, that 0.5


@primitive(name="max_pool.backward", public=False, follows=(1,), node="MaxPool2DWithIndicesBackwardBackward0")
def max_pool_backward(g, input, place, /, window, stride, padding, dilation, ceil_mode):
    """Each element of g added where its window has its maximum; of the input only the shape counts.

    Shape: g and place (*, n axes) -> that of the input
    """
    shape = input.shape
    n, outs = len(window), g.shape[g.ndim - len(window) :]
    reach = [
        max(size + p, (o - 1) * s + d * (k - 1) + 1)
        for size, o, k, s, p, d in zip(shape[-n:], outs, window, stride, padding, dilation, strict=True)
    ]
    reach = [r + p if r == size + p else r for r, size, p in zip(reach, shape[-n:], padding, strict=True)]
    wide = F32 if g.dtype.itemsize == 2 and g.dtype.kind not in "iu" else g.dtype
    out = np.zeros((*shape[:-n], *reach), wide, like=g)
    disjoint = all(s >= d * (k - 1) + 1 for k, s, d in zip(window, stride, dilation, strict=True))
    g = g.astype(wide, copy=False)
    for k, at in enumerate(places(*map(range, window))):
        target, here = out[_window_slices(at, outs, stride, dilation)], _kept(g, place != k)
        if disjoint:
            target[...] = here
        else:
            target += here
    if out.shape != shape:
        out = np.ascontiguousarray(
            out[(..., *(slice(p, p + size) for p, size in zip(padding, shape[-n:], strict=True)))], like=out
        )
    return out if wide is g.dtype else out.astype(g.dtype)


@max_pool_backward.vjp("g")
def _(g, place, window, stride, padding, dilation, ceil_mode):
    return max_pool_take(g, place, window, stride, padding, dilation, ceil_mode)


@primitive(name="max_pool.take", public=False, node="MaxPool2DWithIndicesBackward0")
def max_pool_take(input, place, /, window, stride, padding, dilation, ceil_mode):
    """The elements of the input at the given places of the windows: the transpose of `max_pool_backward`."""
    n = len(window)
    outs = place.shape[place.ndim - n :]
    x = pad_for_windows(input, outs, window, stride, padding, dilation, 0)
    out = np.zeros(place.shape, input.dtype, like=input)
    for k, at in enumerate(places(*map(range, window))):
        np.copyto(out, x[_window_slices(at, outs, stride, dilation)], where=place == k)
    return out


@max_pool_backward.vjp("input")
def _(input):
    return zeros_of(input)


@max_pool_take.vjp("input")
def _(g, input, place, window, stride, padding, dilation, ceil_mode):
    return max_pool_backward(g, input, place, window, stride, padding, dilation, ceil_mode)


def _max_pool_operator(name, node):
    operator = primitive(name=name, public=False, outputs=1, follows=(0,), node=node)(max_pool_kernel)

    @operator.vjp
    def _(g, out1, input, window, stride, padding, dilation, ceil_mode):
        return max_pool_backward(g[0], input, out1, window, stride, padding, dilation, ceil_mode)

    return operator


max_pool_2d = _max_pool_operator("max_pool2d", "MaxPool2DWithIndicesBackward0")
max_pool_3d = _max_pool_operator("max_pool3d", "MaxPool3DWithIndicesBackward0")


@primitive(name="pool_indices", public=False, differentiable=False, follows=(0,))
def flat_indices(place, /, sizes, window, stride, padding, dilation):
    """torch's indices: the place of each maximum in the input's n axes, flattened. Shape: (*, n axes) -> (*, n axes)"""
    n = len(window)
    where = np.zeros(place.shape, np.int64, like=place)
    rest = place.astype(np.int64)
    for i in range(n):
        within, rest = np.divmod(rest, prod(window[i + 1 :]))
        start = np.arange(place.shape[place.ndim - n + i]) * stride[i] - padding[i]
        where += (within * dilation[i] + start.reshape(-1, *(1,) * (n - i - 1))) * prod(sizes[i + 1 :])
    return where


# ---------------------------------------------------------------------------------------------- checks of maxima

_CHECKED: dict[tuple, tuple] = {}
_CAPACITY = 4096


def remembered(key, check, *arguments):
    """check(*arguments), looked up by `key` where that has been asked before."""
    try:
        known = _CHECKED.get(key)
        if known is None:
            if len(_CHECKED) >= _CAPACITY:
                _CHECKED.clear()
            known = _CHECKED[key] = check(*arguments)
        return known
    except TypeError:  # a list among the arguments
        return check(*arguments)


def numbers(name, what, position, value, n):
    """An argument of a pooling as a tuple of n ints."""
    if type(value) is int:
        return (value,) * n
    values: tuple | None = tuple(value) if isinstance(value, (tuple, list)) else None
    if values is None or not all(hasattr(v, "__index__") for v in values):
        number: Any = value
        if not hasattr(number, "__index__") or isinstance(number, bool):
            raise argument_type(name, what, position, value, "tuple of ints")
        return (number.__index__(),) * n
    if len(values) == 1:
        return (int(values[0]),) * n
    if len(values) != n:
        words = {1: "one int", 2: "two ints", 3: "three ints"}[n]
        raise RuntimeError(f"{name}: {what} must either be a single int, or a tuple of {words}")
    return tuple([int(v) for v in values])


def _check_max(name, n, shape, kernel_size, stride, padding, dilation, ceil_mode):
    """The arguments as tuples, or torch's error."""
    window = numbers(name, "kernel_size", 2, kernel_size, n)
    stride = window if stride is None or stride in ((), []) else numbers(name, "stride", 3, stride, n)
    padding, dilation = numbers(name, "padding", 4, padding, n), numbers(name, "dilation", 5, dilation, n)
    if not isinstance(ceil_mode, bool):
        raise argument_type(name, "ceil_mode", 6, ceil_mode, "bool")
    if n > 1 and len(shape) not in (n + 1, n + 2):
        raise RuntimeError(
            f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input, but got:{list(shape)}"
        )
    check_windows(name, n, shape, window, stride, padding, dilation, ceil_mode)
    return window, stride, padding, dilation, ceil_mode


def check_windows(name, n, shape, window, stride, padding, dilation, ceil_mode):
    """Raise torch's errors for windows that cannot be."""
    if any(s == 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    if any(k <= 0 for k in window):
        raise RuntimeError(f"kernel size should be greater than zero, but got {_letters('k', window)}")
    if any(s <= 0 for s in stride):
        raise RuntimeError(f"stride should be greater than zero, but got {_letters('d', stride)}")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {_letters('dilation', dilation)}")
    if len(shape) not in (n + 1, n + 2) or not all(shape[len(shape) - n - 1 :]):
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(shape)}"
        )
    for p, k, d in zip(padding, window, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={d}"
            )
    if any(p > k // 2 for p, k in zip(padding, window, strict=True)):
        raise RuntimeError(
            f"pad should be smaller than or equal to half of kernel size, but got {_letters('pad', padding)} "
            f"{_letters('k', window)}"
        )
    outs = outputs(shape[-n:], window, stride, padding, dilation, ceil_mode)
    if min(outs) < 1:
        channels = shape[-n - 1]
        sizes, results = ("x".join(map(str, (channels, *sides))) for sides in (shape[-n:], outs))
        raise RuntimeError(
            f"Given input size: ({sizes}). Calculated output size: ({results}). Output size is too small"
        )


def _letters(stem, values):
    return " ".join(f"{stem}{letter}: {v}" for letter, v in zip("THW"[-len(values) :], values, strict=True))


# ---------------------------------------------------------------------------------------------- public maxima


def _max_pool(name, n, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    if not isinstance(input, Tensor):
        raise argument_type(name, "input", 1, input)
    shape = input._array.shape
    key = ("max", n, shape, kernel_size, stride, padding, dilation, ceil_mode)
    steps = remembered(key, _check_max, name, n, *key[2:])
    if not return_indices and (not input.requires_grad or not thread.state.grad):
        return max_pool_values(input, *steps)
    y, place = (max_pool_3d if n == 3 else max_pool_2d)(input, *steps)
    if not return_indices:
        return y
    return y, flat_indices(place, shape[len(shape) - n :], *steps[:4])


@composite(functional=True)
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The maximum of each window of an image.

    Args:
        kernel_size: an int or a pair, as the others.
        stride: the distance of windows; `kernel_size` by default.
        padding: infinitely small elements added on each side, at most half of `kernel_size`.
        dilation: the distance of a window's elements.
        ceil_mode: whether H' and W' are rounded up, so that a last window may reach beyond the end.
        return_indices: also give the places of the maxima in the flattened image.
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')
        H' = floor((H + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1
    Raises:
        RuntimeError: the padding is too large, as in `max_pool2d(ones(1, 4, 4), 2, padding=2)`.
        RuntimeError: the window is larger than the image, as in `max_pool2d(ones(1, 2, 2), 3)`.

    >>> max_pool2d(arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    return _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@composite(functional=True)
def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The maximum of each window of a volume; options as in `max_pool2d`.

    Args:
        kernel_size: an int or three, as the others.
        stride: the distance of windows; `kernel_size` by default.
        return_indices: also give the places of the maxima in the flattened volume.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')
    Raises:
        RuntimeError: the padding is too large, as in `max_pool3d(ones(1, 4, 4, 4), 2, padding=2)`.

    >>> max_pool3d(ones(1, 2, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2, 2])
    """
    if not return_indices:  # with indices it is another operator of torch's, which autocast leaves alone
        (input,) = brought(FLOAT32, input) or (input,)
    return _max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _check_max1d(input, kernel_size, stride, padding, dilation, ceil_mode):
    """The arguments of max_pool1d as ints, or torch's error, which has words of its own for one dimension."""
    name = "max_pool1d"
    if not isinstance(input, Tensor):
        raise argument_type(name, "input", 1, input)
    x = input._array
    if x.ndim not in (2, 3) or not all(x.shape[-2:]):
        raise RuntimeError(
            f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(x.shape)}"
        )
    (k,) = numbers(name, "kernel_size", 2, kernel_size, 1)
    (s,) = (k,) if stride is None or stride in ((), []) else numbers(name, "stride", 3, stride, 1)
    (p,), (d,) = numbers(name, "padding", 4, padding, 1), numbers(name, "dilation", 5, dilation, 1)
    if k <= 0:
        raise RuntimeError(f"{name}() kernel_size must be greater than zero, but got {k}")
    if s <= 0:
        raise RuntimeError(f"{name}() stride must be greater than zero, but got {s}")
    if p < 0:
        raise RuntimeError(f"{name}() padding must be non-negative, but got {p}")
    if p > k // 2:
        raise RuntimeError(
            f"{name}() padding should be at most half of kernel size, but got padding={p} and kernel_size={k}"
        )
    if d <= 0:
        raise RuntimeError(f"{name}() dilation must be greater than zero, but got {d}")
    out = pooled_size(x.shape[-1], k, s, p, d, ceil_mode)
    if out <= 0:
        raise RuntimeError(f"{name}() Invalid computed output size: {out}")
    return k, s, p, d


@composite(functional=True)
def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The maximum of each window of a sequence.

    Args:
        stride: the distance of windows; `kernel_size` by default.
        padding: infinitely small elements added on each side, at most half of `kernel_size`.
        dilation: the distance of a window's elements.
        ceil_mode: whether L' is rounded up, so that a last window may reach beyond the end.
        return_indices: also give the places of the maxima in the sequence.
    Shape: (N, C, L) or (C, L) -> (N, C, L') or (C, L')
        L' = floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1
    Raises:
        RuntimeError: the padding is too large, as in `max_pool1d(ones(1, 4), 2, padding=2)`.

    >>> max_pool1d(tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[3., 4.]])
    """
    k, s, p, d = _check_max1d(input, kernel_size, stride, padding, dilation, ceil_mode)
    steps = (1, k), (1, s), (0, p), (1, d), ceil_mode
    if input._array.dtype.kind in "iub":
        raise NotImplementedError(f"\"max_pool1d_impl\" not implemented for '{input.type().split('.')[-1][:-6]}'")
    x = input.unsqueeze(-2)
    if not return_indices and (not input.requires_grad or not thread.state.grad):
        return max_pool_values(input.contiguous().unsqueeze(-2), *steps).squeeze(-2)
    y, place = max_pool_2d(x, *steps)
    if not return_indices:
        return y.squeeze(-2)
    return y.squeeze(-2), flat_indices(place, x._array.shape[-2:], *steps[:4]).squeeze(-2)


@composite()
def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """`max_pool1d` with return_indices=True.

    Shape: (N, C, L) or (C, L) -> (N, C, L') or (C, L'), twice
    Raises:
        RuntimeError: the padding is too large, as in `max_pool1d_with_indices(ones(1, 4), 2, padding=2)`.

    >>> max_pool1d_with_indices(tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    (tensor([[3., 4.]]), tensor([[1, 3]]))
    """
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)
