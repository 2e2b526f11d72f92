"""Padding, and rearranging between channels, pixels and windows."""

from __future__ import annotations

import functools
import itertools
from math import prod
from typing import Any

import numpy as np

from ...core.dispatch.errors import argument_type, type_error
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import exact, type_name
from ...core.tensor.casting import cast_like, copy_in_rows
from ...core.tensor.channels_last import in_channels_last, is_channels_last
from ...core.tensor.tensor import Tensor
from ..pointwise.building_blocks import zeros_of
from ..pointwise.checks import not_implemented
from ..spatial.conv import pad_spatial, scatter_windows, windows
from ..spatial.pool import numbers

# ---------------------------------------------------------------------------------------------- one constant around


@primitive(name="constant_pad_nd", public=False, follows=(0,), node="ConstantPadNdBackward0")
def _constant_pad(input, /, pad, value):
    """The input with `value` around it; negative numbers cut off. `pad` starts with the last dimension."""
    shape, source, target = _padded_places(input.shape, pad)
    if shape is None:  # torch copies the part, in its order
        part = input[source]
        return cast_like(part, part.dtype)
    if value:
        out = np.full(shape, value, input.dtype, like=input)
    else:
        out = np.zeros(shape, input.dtype) if type(input) is np.ndarray else np.zeros(shape, input.dtype, like=input)
    out[target] = input[source]
    return out


@functools.lru_cache(256)
def _padded_places(shape: tuple[int, ...], pad: tuple[int, ...]) -> tuple[Any, tuple[slice, ...], tuple[slice, ...]]:
    """The shape that padding leads to, None where nothing is added, what of the input is kept, and its place in the result."""
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * len(shape):
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {len(shape)} dimensions."
        )
    lead = len(shape) - len(pad) // 2
    pairs = [(0, 0)] * lead + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    padded, source, target = [], [], []
    for n, (a, b) in zip(shape, pairs, strict=True):
        if n + min(a, 0) + min(b, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        padded.append(n + a + b)
        source.append(slice(max(0, -a), n - max(0, -b)))
        target.append(slice(max(0, a), n + a + b - max(0, b)))
    return tuple(padded) if any(p > 0 for p in pad) else None, tuple(source), tuple(target)


@_constant_pad.vjp
def _(g, pad):
    return _constant_pad(g, tuple([-p for p in pad]), 0)


@composite()
def constant_pad_nd(input, pad, value=0):
    """The input with `value` around it.

    Args:
        pad: (before, after) for the last dimension, then for the one before it, ...; negative numbers cut off.
    Shape: (*, n) -> (*, pad[0] + n + pad[1])
    Raises:
        RuntimeError: `pad` has an odd length, as in `constant_pad_nd(ones(2), (1,))`.

    >>> constant_pad_nd(ones(2), (1, 2), 9)
    tensor([9., 1., 1., 9., 9.])
    """
    return _constant_pad(input, tuple(pad), _element(value, input) if value else 0)


def _element(value, input):
    """A number as an element of `input`; a quantized tensor rounds it to a level itself."""
    return value if input.is_quantized else exact(value, input._array.dtype)


# ---------------------------------------------------------------------------------------------- the input itself around


def _positions(n, before, after, mode):
    """Where each element of a padded axis of n elements comes from."""
    if mode == "circular" and min(before, after) < 0:  # what negative numbers cut off is not wrapped around
        core = np.arange(max(0, -before), n - max(0, -after))
        return core[np.arange(-max(0, before), len(core) + max(0, after)) % len(core)]
    return _origins(np.arange(-before, n + after), n, mode)


def _origins(i, n, mode):
    """Where the elements at places i come from, counted from the first element of an axis of n."""
    if mode == "replicate":
        return i.clip(0, n - 1)
    if mode == "circular":
        return i % n
    i = np.abs(i)
    return np.where(i >= n, 2 * (n - 1) - i, i)


def _gathered(input, /, pad, mode):
    """The input with its own elements around it. Shape: (*, n axes) -> (*, n axes)"""
    if type(input) is np.ndarray and min(pad) >= 0:
        return _surrounded(input, pad, mode)
    for i in range(len(pad) // 2):
        axis = input.ndim - 1 - i
        input = input.take(_positions(input.shape[axis], pad[2 * i], pad[2 * i + 1], mode), axis)
    return input


def _surrounded(a, pad, mode):
    """`_gathered` in one new array: the edges along an axis are parts of what is already there."""
    axes = [(a.ndim - 1 - i, before, after) for i, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True))]
    shape, middle = list(a.shape), [slice(None)] * a.ndim
    for axis, before, after in axes:
        shape[axis] += before + after
        middle[axis] = slice(before, before + a.shape[axis])
    out = np.empty(shape, a.dtype)
    out[tuple(middle)] = a
    for axis, before, after in axes:
        middle[axis] = slice(None)
        lines, n = out[tuple(middle)].swapaxes(axis, 0), a.shape[axis]
        for edge in (range(-before, 0), range(n, n + after)):
            if edge:
                source = _origins(np.arange(edge.start, edge.stop), n, mode) + before
                lines[before + edge.start : before + edge.stop] = lines[source]
    return out


@primitive(name="pad.backward", public=False, node="ReflectionPad2DBackwardBackward0")
def _pad_backward(g, input, /, pad, mode):
    """Each element of g added to where it came from; of the input only the shape counts."""
    axes = range(g.ndim - len(pad) // 2, g.ndim)
    orders = [
        _additions(input.shape[axis], before, after, mode)
        for axis, before, after in zip(axes, pad[-2::-2], pad[-1::-2], strict=True)
    ]
    if mode != "circular":
        added = _added(g, axes, orders, input.shape)
        return in_channels_last(added) if is_channels_last(input) else added
    for axis, (left, middle, right) in zip(axes, orders, strict=True):  # which torch makes by one copy after the other
        shape = (*g.shape[:axis], input.shape[axis], *g.shape[axis + 1 :])
        g = _added(g, range(axis, axis + 1), [(middle, right, left)], shape)
    return g


def _additions(n, before, after, mode):
    """Pairs of places in an axis of n elements and in the padded one, those before, between, and after it."""
    where, before, after = _positions(n, before, after, mode), max(0, before), max(0, after)
    stop = len(where) - after
    middle = [(slice(where[before], where[stop - 1] + 1), slice(before, stop))] if before < stop else []
    return [(where[k], k) for k in range(before)], middle, [(where[k], k) for k in range(stop, len(where))]


def _added(g, axes, orders, shape):
    """Zeros of `shape` with the elements of g added along `axes`, each in the order in which torch adds: row by row."""
    out = np.zeros(shape, g.dtype, like=g)
    to, source = (np.moveaxis(a, axes, range(len(axes))) for a in (out, g))
    for pairs in itertools.product(*[itertools.chain(*order) for order in orders]):
        to[tuple([place for place, _ in pairs])] += source[tuple([k for _, k in pairs])]
    return out


@_pad_backward.vjp("input")
def _(input):
    return zeros_of(input)


@_pad_backward.vjp("g")
def _(g, pad, mode):
    return _pad_operator(mode, len(pad) // 2)(g, pad, mode)


_NODES = {"reflect": "ReflectionPad{}DBackward0", "replicate": "ReplicationPad{}DBackward0", "circular": "CopySlices"}


@functools.cache
def _pad_operator(mode, n):
    name = f"{ {'reflect': 'reflection', 'replicate': 'replication', 'circular': 'circular'}[mode] }_pad{n}d"
    operator = primitive(
        name=name, public=False, follows=() if mode == "circular" else (0,), node=_NODES[mode].format(n)
    )(_gathered)

    @operator.vjp
    def _(g, input, pad, mode):
        return _pad_backward(g, input, pad, mode)

    return operator


def _check_pad(shape, pad, mode):
    """Raise torch's errors for padding with the input's own elements."""
    n = len(pad) // 2
    if mode not in _NODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if not 1 <= n <= 3 or len(shape) not in (n + 1, n + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {len(shape)}D input tensor.\nSupported combinations for "
            "non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: "
            "padding "
            "size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if not all(shape[1:]) or (len(shape) == n + 1 and not shape[0]):
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            "dimensions for "
            f"input, but got: {list(shape)}"
        )
    for i in range(n):
        d = len(shape) - 1 - i
        a, b, size = pad[2 * i], pad[2 * i + 1], shape[d]
        if mode == "reflect" and (a >= size or b >= size):
            raise RuntimeError(
                f"Argument #{2 * (i + 1) + 2}: Padding size should be less than the corresponding input dimension, "
                "but got: "
                f"padding ({a}, {b}) at dimension {d} of input {list(shape)}"
            )
        if mode == "circular" and (a > size or b > size):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if mode == "circular" and max(a, b) > size + min(a, 0) + min(
            b, 0
        ):  # torch copies one part of the result onto another
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                f"location: padding ({a}, {b}) wraps around more than it leaves of dimension {d} of input {list(shape)}"
            )
        if size + a + b < (0 if mode == "circular" else 1):
            raise RuntimeError(
                f"input (size: {size}) is too small for the padding ({a}, {b}) at dimension {d}: the result would have "
                f"{size + a + b} elements there"
            )


def _number_around(value: Any) -> Any:
    """The real number in a tensor without dimensions. Raises torch's TypeError for anything else."""
    if isinstance(value, Tensor) and not value._array.ndim and not value.is_complex():
        return value.item()
    raise type_error(f"pad(): argument 'value' (position 4) must be float, not {type_name(value)}")


@composite(functional=True)
def pad(input, pad, mode="constant", value=None):
    """The input with something around it.

    Args:
        pad: (before, after) for the last dimension, then for the one before it, ...; negative numbers cut off.
        mode: "constant" (`value`), "reflect" (mirrored at the edge element), "replicate" (the edge element) or
            "circular".
        value: 0 by default.
    Shape: (*, n) -> (*, pad[0] + n + pad[1])
    Raises:
        RuntimeError: `pad` has an odd length, as in `pad(ones(2), (1,))`.
        NotImplementedError: `mode` is another text, as in `pad(ones(1, 1, 2), (1, 1), mode="x")`.

    >>> pad(tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    if not isinstance(input, Tensor):
        raise argument_type("pad", "input", 1, input)
    pad = tuple([p if type(p) is int else p.__index__() for p in pad])
    shape = input._array.shape
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * len(shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {len(shape)}"
        )
    if mode == "constant":
        if isinstance(value, (Tensor, np.ndarray, list, tuple, complex, str)):
            value = _number_around(value)
        if isinstance(value, int):
            value = float(value)  # as torch takes it
        return _constant_pad(input, pad, _element(value, input) if value else 0)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    _check_pad(shape, pad, mode)
    return _pad_operator(mode, len(pad) // 2)(input, pad, mode)


# ---------------------------------------------------------------------------------------------- channels and pixels


@primitive(functional=True, follows=(0,))
def pixel_shuffle(input, /, upscale_factor):
    """r^2 channels of each pixel become r x r pixels.

    Args:
        upscale_factor: r.
    Shape: (*, C r^2, H, W) -> (*, C, H r, W r)
    Raises:
        RuntimeError: the channels are no multiple of r^2, as in `pixel_shuffle(ones(3, 2, 2), 2)`.

    >>> pixel_shuffle(ones(1, 8, 2, 3), 2).shape
    torch.Size([1, 2, 4, 6])
    """
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            "but "
            f"input.size(-3)={c} is not divisible by {r * r}"
        )
    x = input.reshape(prod(lead), c // (r * r), r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return copy_in_rows(x).reshape(*lead, c // (r * r), h * r, w * r)


@pixel_shuffle.vjp
def _(g, upscale_factor):
    return pixel_unshuffle(g, upscale_factor)


@primitive(functional=True, follows=(0,))
def pixel_unshuffle(input, /, downscale_factor):
    """r x r pixels become r^2 channels of one.

    Args:
        downscale_factor: r.
    Shape: (*, C, H r, W r) -> (*, C r^2, H, W)
    Raises:
        RuntimeError: a side is no multiple of r, as in `pixel_unshuffle(ones(1, 3, 2), 2)`.

    >>> pixel_unshuffle(ones(1, 2, 4, 6), 2).shape
    torch.Size([1, 8, 2, 3])
    """
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    for side, name, dim in ((h, "height", -2), (w, "width", -1)):
        if side % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({dim})={side} is "
                "not "
                f"divisible by {r}"
            )
    if not input.size:
        return input.copy()
    x = input.reshape(prod(lead), c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
    return copy_in_rows(x).reshape(*lead, c * r * r, h // r, w // r)


@pixel_unshuffle.vjp
def _(g, downscale_factor):
    return pixel_shuffle(g, downscale_factor)


@primitive(functional=True, follows=(0,), aliases=("native_channel_shuffle",))
def channel_shuffle(input, /, groups):
    """The channels of `groups` groups in turn: the first of each group, the second of each, ...

    Shape: (N, C, *) -> (N, C, *)
    Raises:
        RuntimeError: C is no multiple of `groups`, as in `channel_shuffle(ones(1, 3, 1), 2)`.

    >>> channel_shuffle(tensor([[[1], [2], [3], [4]]]), 2).flatten()
    tensor([1, 3, 2, 4])
    """
    if input.ndim <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c, *sides = input.shape
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    x = input.reshape(n, groups, c // groups, prod(sides)).swapaxes(1, 2)
    return copy_in_rows(x).reshape(input.shape)


@channel_shuffle.vjp
def _(g, input_shape, groups):
    return channel_shuffle(g, input_shape[1] // groups)


# ---------------------------------------------------------------------------------------------- windows


@primitive(name="im2col", public=False, node="Im2ColBackward0")
def _im2col(input, /, window, dilation, padding, stride):
    """The windows of an image as columns. Shape: (N, C, H, W) or (C, H, W) -> (N, C R S, L) or (C R S, L)"""
    if input.dtype.kind in "iu":
        raise not_implemented("im2col_out_cpu", input.dtype)
    x = input if input.ndim == 4 else input[None]
    view = windows(pad_spatial(x, padding), window, stride, dilation)
    columns = view.copy().reshape(len(x), view.shape[1] * prod(window), prod(view.shape[4:]))
    return columns if input.ndim == 4 else columns[0]


@_im2col.vjp
def _(g, input_shape, window, dilation, padding, stride):
    return _col2im(g, input_shape[-2:], window, dilation, padding, stride)


@primitive(name="col2im", public=False, node="Col2ImBackward0")
def _col2im(input, /, sizes, window, dilation, padding, stride):
    """Columns added to their windows' places. Shape: (N, C R S, L) or (C R S, L) -> (N, C, *sizes) or (C, *sizes)"""
    if input.dtype.kind in "iu":
        raise not_implemented("col2im_out_cpu", input.dtype)
    lead, channels = input.shape[:-2], input.shape[-2] // prod(window)
    n = prod(lead)
    out = np.zeros((n, channels, *(s + 2 * p for s, p in zip(sizes, padding, strict=True))), input.dtype, like=input)
    blocks = _blocks(sizes, window, dilation, padding, stride)
    scatter_windows(out, input.reshape(n, channels, *window, *blocks), window, stride, dilation)
    if any(padding):
        out = np.ascontiguousarray(
            out[(..., *(slice(p, p + s) for s, p in zip(sizes, padding, strict=True)))], like=out
        )
    return out.reshape(*lead, channels, *sizes)


@_col2im.vjp
def _(g, window, dilation, padding, stride):
    return _im2col(g, window, dilation, padding, stride)


def _blocks(sizes, window, dilation, padding, stride):
    """How many windows there are along each axis."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(sizes, window, dilation, padding, stride, strict=True)
    )


def _window_arguments(kernel_size, dilation, padding, stride):
    """The arguments of fold and unfold as pairs, or torch's error."""
    pairs = []
    for what, value in (("kernel_size", kernel_size), ("dilation", dilation), ("padding", padding), ("stride", stride)):
        if isinstance(value, (tuple, list)) and len(value) not in (1, 2):
            raise RuntimeError(f"It is expected {what} equals to 2, but got size {len(value)}")
        pairs.append(numbers("unfold", what, 2, value, 2))
    window, dilation, padding, stride = pairs
    for name, stem, values in (
        ("kernel size", "kernel", window),
        ("dilation", "dilation", dilation),
        ("stride", "stride", stride),
    ):
        if min(values) <= 0:
            raise RuntimeError(
                f"{name} should be greater than zero, but got {stem}_height: {values[0]} {stem}_width: {values[1]}"
            )
    if min(padding) < 0:
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: {padding[1]}")
    return window, dilation, padding, stride


@composite(functional=True)
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of an image, each as a column.

    Args:
        kernel_size: R, S of a window: an int or a pair, as the others.
        dilation: the distance of a window's elements.
        padding: zeros added on each side.
        stride: the distance of windows.
    Shape: (N, C, H, W) or (C, H, W) -> (N, C R S, L) or (C R S, L), L windows
    Raises:
        RuntimeError: the windows are larger than the image, as in `unfold(ones(1, 2, 2), 3)`.

    >>> unfold(arange(9.0).reshape(1, 3, 3), 2)
    tensor([[0., 1., 3., 4.],
            [1., 2., 4., 5.],
            [3., 4., 6., 7.],
            [4., 5., 7., 8.]])
    """
    if not isinstance(input, Tensor):
        raise argument_type("unfold", "input", 1, input)
    window, dilation, padding, stride = _window_arguments(kernel_size, dilation, padding, stride)
    shape = input._array.shape
    if len(shape) < 3:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-{len(shape)}, {len(shape) - 1}], but got {len(shape)})"
        )
    if len(shape) > 4 or not all(shape[1:]) or (len(shape) == 3 and not shape[0]):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            "input, but "
            f"got: {list(shape)}"
        )
    blocks = _blocks(shape[-2:], window, dilation, padding, stride)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size {shape[-2:]}, kernel_size={window}, dilation={dilation}, "
            f"padding={padding}, "
            f"calculated shape of the array of sliding blocks as {blocks}, but its components must be at least one."
        )
    return _im2col(input, window, dilation, padding, stride)


@composite(functional=True)
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns added up to an image: the transpose of `unfold`.

    Args:
        output_size: H, W: an int or a pair.
        kernel_size: R, S of a window, as in `unfold`; so the other options.
    Shape: (N, C R S, L) or (C R S, L) -> (N, C, H, W) or (C, H, W)
    Raises:
        RuntimeError: there are not as many windows, as in `fold(ones(4, 5), (3, 3), 2)`.

    >>> fold(ones(4, 4), (3, 3), 2)
    tensor([[[1., 2., 1.],
             [2., 4., 2.],
             [1., 2., 1.]]])
    """
    if not isinstance(input, Tensor):
        raise argument_type("fold", "input", 1, input)
    if isinstance(output_size, (tuple, list)) and len(output_size) not in (1, 2):
        raise RuntimeError(f"It is expected output_size equals to 2, but got size {len(output_size)}")
    sizes = numbers("fold", "output_size", 2, output_size, 2)
    window, dilation, padding, stride = _window_arguments(kernel_size, dilation, padding, stride)
    shape = input._array.shape
    if len(shape) not in (2, 3) or not all(shape[-2:]):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            "input, "
            f"but got: {list(shape)}"
        )
    if shape[-2] % prod(window):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            "input.size(1)="
            f"{shape[-2]} and kernel_size={window}."
        )
    blocks = _blocks(sizes, window, dilation, padding, stride)
    if min(blocks) < 1 or shape[-1] != prod(blocks):
        raise RuntimeError(
            f"Given output_size={sizes}, kernel_size={window}, dilation={dilation}, padding={padding}, "
            f"stride={stride}, "
            f"expected size of input's dimension 2 to match the calculated number of sliding blocks {blocks[0]} * "
            f"{blocks[1]} "
            f"= {prod(blocks)}, but got input.size(2)={shape[-1]}."
        )
    return _col2im(input, sizes, window, dilation, padding, stride)
