"""Pooling to a given size, and maxima put back to their places.

Window i of `out` windows over n elements reaches from floor(i n / out) to ceil((i + 1) n / out).
"""

from __future__ import annotations

from itertools import product as places
from math import prod

import numpy as np

from ...core.dispatch.errors import argument_type, type_error
from ...core.dispatch.op import composite, primitive
from ...core.tensor.dtype import from_numpy
from ...core.tensor.node import shown_as
from ...core.tensor.tensor import Tensor, type_word
from ..index.duplicate_index import add_at
from ..nn.activation import tied
from ..pointwise.building_blocks import F32, zeros_of
from ..random.sample import rand
from .avg_pool import avg_pool_kernel
from .pool import numbers


def bounds(n, out):
    """The windows (start, stop) of an adaptive pooling."""
    return [(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]


def _part(ndim, axis, start, stop):
    return (*(slice(None),) * axis, slice(start, stop), *(slice(None),) * (ndim - axis - 1))


def _refuse_integers(name, d):
    if d.kind in "iub":
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_word(from_numpy(d))}'")


# ---------------------------------------------------------------------------------------------- means


def adaptive_avg_kernel(input, /, size):
    """The means of windows that cover the input. Shape: (*, n axes) -> (*, size)"""
    n, d = len(size), input.dtype
    _refuse_integers(f"adaptive_avg_pool{n}d", d)
    sizes = input.shape[-n:]
    if 0 not in size and all(s % o == 0 for s, o in zip(sizes, size, strict=True)):
        window = tuple(s // o for s, o in zip(sizes, size, strict=True))
        return avg_pool_kernel(input, window, window, (0,) * n, False, True, None)
    x = input.astype(F32) if d.itemsize == 2 else input
    for i, out in enumerate(size):
        axis = x.ndim - n + i
        y = np.empty((*x.shape[:axis], out, *x.shape[axis + 1 :]), x.dtype, like=x)
        for j, (a, b) in enumerate(bounds(x.shape[axis], out)):
            mean = np.add.reduce(x[_part(x.ndim, axis, a, b)], axis, keepdims=True)
            np.divide(mean, b - a, y[_part(x.ndim, axis, j, j + 1)])
        x = y
    return x.astype(d, copy=False)


@primitive(
    name="adaptive_avg_pool.backward",
    public=False,
    follows=(1,),
    follows_volumes=False,
    node="AdaptiveAvgPool2DBackwardBackward0",
)
def adaptive_avg_backward(g, input, /, n):
    """Each element of g spread over its window in the last n axes; of the input only the shape counts."""
    d, sizes = g.dtype, input.shape[input.ndim - n :]
    if d.itemsize == 2:
        return _spread_in_16_bits(g, sizes)
    x = g
    for i, size in enumerate(sizes):
        axis = x.ndim - n + i
        y = np.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype, like=x)
        for j, (a, b) in enumerate(bounds(size, x.shape[axis])):
            y[_part(x.ndim, axis, a, b)] += x[_part(x.ndim, axis, j, j + 1)] / (b - a)
        x = y
    return x


def _spread_in_16_bits(g, sizes):
    """`adaptive_avg_backward`, window by window: each quotient and each sum is rounded, as in torch."""
    n, d = len(sizes), g.dtype
    out = np.zeros((*g.shape[: g.ndim - n], *sizes), d, like=g)
    windows = [list(enumerate(bounds(size, g.shape[g.ndim - n + i]))) for i, size in enumerate(sizes)]
    for window in places(*windows):
        share = g[(..., *(slice(j, j + 1) for j, _ in window))].astype(F32)
        for _, (a, b) in window:
            share = (share / (b - a)).astype(d).astype(F32)
        at = (..., *(slice(a, b) for _, (a, b) in window))
        out[at] = (out[at].astype(F32) + share).astype(d)
    return out


@adaptive_avg_backward.vjp("input")
def _(input):
    return zeros_of(input)


@adaptive_avg_backward.vjp("g")
def _(g, g_shape, n):
    return (_adaptive_avg_3d if n == 3 else _adaptive_avg_2d)(g, g_shape[len(g_shape) - n :])


def _adaptive_avg_operator(name, node):
    operator = primitive(name=name, public=False, follows=(0,) if name.endswith("2d") else (), node=node)(
        adaptive_avg_kernel
    )

    @operator.vjp
    def _(g, input, size):
        return adaptive_avg_backward(g, input, len(size))

    return operator


_adaptive_avg_2d = _adaptive_avg_operator("adaptive_avg_pool2d", "AdaptiveAvgPool2DBackward0")
_adaptive_avg_3d = _adaptive_avg_operator("adaptive_avg_pool3d", "AdaptiveAvgPool3DBackward0")


def _output_size(name, n, input, output_size, first=None):
    """The size of the result, with None standing for the input's, or torch's error."""
    if not isinstance(input, Tensor):
        raise argument_type(name, "input", 1, input)
    shape = input._array.shape
    if isinstance(output_size, (tuple, list)):
        if n > 1 and len(shape) <= len(output_size):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        if len(output_size) != n:
            raise RuntimeError(f"{name}: output_size must be {n}")
        output_size = tuple(s if o is None else o for s, o in zip(shape[-n:], output_size, strict=False))
    if output_size is None and n > 1:
        raise type_error(f"object of type 'NoneType' has no len(): output_size of {name}()")
    out = numbers(name, "output_size", 2, output_size, n)
    for i in range(first or max(1, len(shape) - n), len(shape)):
        if not shape[i]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(shape)} "
                f"with dimension {i} being empty"
            )
    if any(o < 0 for o in out):
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{', '.join(map(str, out))}}}"
        )
    return out


def _adaptive_avg(name, n, input, output_size):
    out = _output_size(name, n, input, output_size)
    ndim = input._array.ndim
    if ndim >= n and all(o == 1 for o in out):
        return input.mean(tuple(range(-n, 0)), keepdim=True)
    if ndim not in (n + 1, n + 2):
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got {list(input._array.shape)}")
    return (_adaptive_avg_3d if n == 3 else _adaptive_avg_2d)(input, out)


def _sequence(name, input, output_size):
    """The length of a sequence's result, or torch's error."""
    (out,) = _output_size(name, 1, input, output_size)
    if input._array.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input._array.ndim}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
        )
    return out


@composite(functional=True)
def adaptive_avg_pool1d(input, output_size):
    """The means of `output_size` windows that cover the sequence.

    Shape: (N, C, L) or (C, L) -> (N, C, output_size) or (C, output_size)
    Raises:
        RuntimeError: `input` has neither two nor three dimensions, as in `adaptive_avg_pool1d(ones(2), 1)`.

    >>> adaptive_avg_pool1d(tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
    tensor([[1.5000, 3.5000]])
    """
    out = _sequence("adaptive_avg_pool1d", input, output_size)
    return _adaptive_avg_2d(input.unsqueeze(-2), (1, out)).squeeze(-2)


@composite(functional=True)
def adaptive_avg_pool2d(input, output_size):
    """The means of H' x W' windows that cover the image.

    Args:
        output_size: an int, or (H', W') where None keeps a size.
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')

    >>> adaptive_avg_pool2d(arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    return _adaptive_avg("adaptive_avg_pool2d", 2, input, output_size)


@composite(functional=True)
def adaptive_avg_pool3d(input, output_size):
    """The means of D' x H' x W' windows that cover the volume.

    Args:
        output_size: an int, or (D', H', W') where None keeps a size.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')
    Raises:
        RuntimeError: `input` has neither four nor five dimensions, as in `adaptive_avg_pool3d(ones(2, 2), 1)`.

    >>> adaptive_avg_pool3d(ones(1, 2, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2, 2])
    """
    return _adaptive_avg("adaptive_avg_pool3d", 3, input, output_size)


# ---------------------------------------------------------------------------------------------- places


@primitive(name="scatter_places", public=False, node="MaxUnpool2DBackward0")
def scatter_places(input, indices, /, sizes):
    """Zeros with the elements added at flat places of the last axes. Shape: (*, n axes) twice -> (*, sizes)"""
    n = len(sizes)
    lead = input.shape[: input.ndim - n]
    out = np.zeros((prod(lead), prod(sizes)), input.dtype, like=input)
    if not input.size:
        return out.reshape(*lead, *sizes)
    rows = np.arange(len(out))[:, None]
    add_at(out, (rows, indices.reshape(len(out), -1)), input.reshape(len(out), -1))
    return out.reshape(*lead, *sizes)


@primitive(
    name="adaptive_max_pool.backward",
    public=False,
    follows=(1,),
    follows_volumes=False,
    node="AdaptiveMaxPool2DBackwardBackward0",
)
def maxima_backward(g, input, indices, /, n):
    """`scatter_places` over the last n axes of the input, of which only the shape counts."""
    return scatter_places.record.reference(g, indices, input.shape[input.ndim - n :])


@maxima_backward.vjp("g")
def _(g, indices, n):
    return take_places(g, indices, n)


@maxima_backward.vjp("input")
def _(input):
    return zeros_of(input)


@scatter_places.vjp("input")
def _(g, indices, sizes):
    return take_places(g, indices, len(sizes))


@primitive(name="take_places", public=False, node="MaxPool2DWithIndicesBackward0")
def take_places(input, indices, /, n):
    """The elements at flat places of the last n axes. Shape: (*, n axes) twice -> (*, n axes of indices)"""
    lead = input.shape[: input.ndim - n]
    flat = np.take_along_axis(input.reshape(prod(lead), -1), indices.reshape(prod(lead), -1), 1)
    return flat.reshape(indices.shape)


@take_places.vjp("input")
def _(g, indices, input_shape, n):
    return scatter_places(g, indices, input_shape[len(input_shape) - n :])


# ---------------------------------------------------------------------------------------------- maxima


def _maxima(x, starts_stops, sizes):
    """(maxima, their flat places) of the windows given as lists of bounds for each axis; nan counts as the largest."""
    n = len(sizes)
    lead, outs = x.shape[: x.ndim - n], tuple(map(len, starts_stops))
    y, at = np.empty((*lead, *outs), x.dtype, like=x), np.empty((*lead, *outs), np.int64, like=x)
    steps = [prod(sizes[i + 1 :]) for i in range(n)]
    for cell in places(*map(range, outs)):
        box = [starts_stops[i][j] for i, j in enumerate(cell)]
        window = x[(..., *(slice(a, b) for a, b in box))]
        flat = window.reshape(*lead, prod(window.shape[len(lead) :]))
        k = flat.argmax(-1)
        unordered = flat != flat
        if unordered.any():  # torch takes the last nan
            k = np.where(unordered.any(-1), flat.shape[-1] - 1 - unordered[..., ::-1].argmax(-1), k)
        y[(..., *cell)] = np.take_along_axis(flat, k[..., None], -1)[..., 0]
        within = np.unravel_index(k, window.shape[len(lead) :])
        at[(..., *cell)] = sum((w + a) * step for w, (a, _), step in zip(within, box, steps, strict=True))
    return y, at


def adaptive_max_kernel(input, /, size):
    """(the maxima of windows that cover the input, their flat places). Shape: (*, n axes) -> (*, size) twice"""
    n = len(size)
    _refuse_integers(f"adaptive_max_pool{n}d", input.dtype)
    sizes = input.shape[-n:]
    return _maxima(input, [bounds(s, o) for s, o in zip(sizes, size, strict=True)], sizes)


def _adaptive_max_operator(name, node):
    operator = primitive(name=name, public=False, outputs=1, follows=(0,) if name.endswith("2d") else (), node=node)(
        adaptive_max_kernel
    )

    @operator.vjp
    def _(g, out1, input, size):
        return maxima_backward(g[0], input, out1, len(size))

    return operator


_adaptive_max_2d = _adaptive_max_operator("adaptive_max_pool2d", "AdaptiveMaxPool2DBackward0")
_adaptive_max_3d = _adaptive_max_operator("adaptive_max_pool3d", "AdaptiveMaxPool3DBackward0")


def _adaptive_max(name, n, input, output_size, return_indices):
    out = _output_size(name, n, input, output_size, first=1)
    if input._array.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got: {list(input._array.shape)}")
    y, at = (_adaptive_max_3d if n == 3 else _adaptive_max_2d)(input, out)
    return (y, at) if return_indices else y


@composite(functional=True)
def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The maxima of `output_size` windows that cover the sequence.

    Args:
        return_indices: also give their places in the sequence.
    Shape: (N, C, L) or (C, L) -> (N, C, output_size) or (C, output_size)
    Raises:
        RuntimeError: `input` has neither two nor three dimensions, as in `adaptive_max_pool1d(ones(2), 1)`.

    >>> adaptive_max_pool1d(tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
    tensor([[2., 4.]])
    """
    out = _sequence("adaptive_max_pool1d", input, output_size)
    y, at = _adaptive_max_2d(input.unsqueeze(-2), (1, out))
    return (y.squeeze(-2), at.squeeze(-2)) if return_indices else y.squeeze(-2)


@composite(functional=True)
def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The maxima of H' x W' windows that cover the image.

    Args:
        output_size: an int, or (H', W') where None keeps a size.
        return_indices: also give their places in the flattened image.
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')
    Raises:
        RuntimeError: `input` has neither three nor four dimensions, as in `adaptive_max_pool2d(ones(2, 2), 1)`.

    >>> adaptive_max_pool2d(arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, return_indices)


@composite(functional=True)
def adaptive_max_pool3d(input, output_size, return_indices=False):
    """The maxima of D' x H' x W' windows that cover the volume.

    Args:
        output_size: an int, or (D', H', W') where None keeps a size.
        return_indices: also give their places in the flattened volume.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')
    Raises:
        RuntimeError: `input` has neither four nor five dimensions, as in `adaptive_max_pool3d(ones(2, 2), 1)`.

    >>> adaptive_max_pool3d(ones(1, 2, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2, 2])
    """
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size, return_indices)


# ---------------------------------------------------------------------------------------------- maxima put back


def max_unpool_kernel(input, indices, /, sizes):
    """Zeros with the elements at flat places of the last axes. Shape: (*, n axes) twice -> (*, sizes)"""
    n, volume = len(sizes), prod(sizes)
    if indices.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {type_word(from_numpy(indices.dtype))}")
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Input to max_unpooling{n}d should be a {n + 1}d or {n + 2}d Tensor, but got a tensor with {input.ndim} "
            "dimensions."
        )
    if indices.shape != input.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices "
            "tensor "
            f"with shape: {list(indices.shape)}"
        )
    wrong = indices[(indices < 0) | (indices >= volume)]
    if wrong.size:
        sides = "x".join(map(str, sizes))
        raise RuntimeError(f"Found an invalid max index: {wrong[0]} (output volumes are of size {sides})")
    lead = input.shape[:-n]
    out = np.zeros((prod(lead), volume), input.dtype, like=input)
    if input.size:
        np.put_along_axis(out, indices.reshape(prod(lead), -1), input.reshape(prod(lead), -1), 1)
    return out.reshape(*lead, *sizes)


def _max_unpool_operator(name, node):
    operator = primitive(name=name, public=False, follows=(0,) if name.endswith("2d") else (), node=node)(
        max_unpool_kernel
    )

    @operator.vjp("input")
    def _(g, indices, sizes):
        return take_places(g, indices, len(sizes))

    return operator


_max_unpool_2d = _max_unpool_operator("max_unpool2d", "MaxUnpool2DBackward0")
_max_unpool_3d = _max_unpool_operator("max_unpool3d", "MaxUnpool3DBackward0")


def _unpooled_size(input, window, stride, padding, output_size):
    n = len(window)
    shape = input._array.shape
    default = [(shape[i - n] - 1) * stride[i] + window[i] - 2 * padding[i] for i in range(n)]
    if output_size is None:
        return tuple(default)
    size = tuple(output_size)[-n:] if len(output_size) == n + 2 else tuple(output_size)
    if len(size) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of "
            f"'{len(output_size)}'"
        )
    for i in range(n):
        least, most = default[i] - stride[i], default[i] + stride[i]
        if not least < size[i] < most:
            raise ValueError(f'invalid output_size "{size}" (dim {i} must be between {least} and {most})')
    return size


def _unpool_steps(name, n, input, kernel_size, stride, padding, output_size):
    if not isinstance(input, Tensor):
        raise argument_type(name, "input", 1, input)
    window = numbers(name, "kernel_size", 3, kernel_size, n)
    stride = window if stride is None else numbers(name, "stride", 4, stride, n)
    return _unpooled_size(input, window, stride, numbers(name, "padding", 5, padding, n), output_size)


@composite(functional=True)
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros with the maxima of `max_pool1d` at their places.

    Args:
        indices: the places that `max_pool1d` gave.
        stride: the distance of windows; `kernel_size` by default.
        output_size: the sequence's length, where several are possible.
    Shape: (N, C, L') or (C, L') twice -> (N, C, L) or (C, L), L = (L' - 1) stride + kernel_size - 2 padding
    Raises:
        ValueError: the output size is impossible, as in
            `max_unpool1d(ones(1, 2), tensor([[0, 2]]), 2, output_size=(9,))`.

    >>> max_unpool1d(tensor([[5.0, 7.0]]), tensor([[1, 2]]), 2)
    tensor([[0., 5., 7., 0.]])
    """
    (size,) = _unpool_steps("max_unpool1d", 1, input, kernel_size, stride, padding, output_size)
    return _max_unpool_2d(input.unsqueeze(-2), indices.unsqueeze(-2), (1, size)).squeeze(-2)


@composite(functional=True)
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros with the maxima of `max_pool2d` at their places.

    Args:
        indices: the places in the flattened image that `max_pool2d` gave.
        stride: the distance of windows; `kernel_size` by default.
        output_size: H, W, where several are possible.
    Shape: (N, C, H', W') or (C, H', W') twice -> (N, C, H, W) or (C, H, W), H = (H' - 1) stride + kernel_size - 2
        padding
    Raises:
        ValueError: the output size is impossible, as in
            `max_unpool2d(ones(1, 1, 1), tensor([[[0]]]), 2, output_size=(9, 9))`.

    >>> max_unpool2d(tensor([[[5.0]]]), tensor([[[2]]]), 2)
    tensor([[[0., 0.],
             [5., 0.]]])
    """
    return _max_unpool_2d(
        input, indices, _unpool_steps("max_unpool2d", 2, input, kernel_size, stride, padding, output_size)
    )


@composite(functional=True)
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros with the maxima of `max_pool3d` at their places.

    Args:
        indices: the places in the flattened volume that `max_pool3d` gave.
        stride: the distance of windows; `kernel_size` by default.
        output_size: D, H, W, where several are possible.
    Shape: (N, C, D', H', W') or (C, D', H', W') twice -> (N, C, D, H, W) or (C, D, H, W)

    >>> max_unpool3d(ones(1, 1, 1, 1), zeros(1, 1, 1, 1, dtype=int64), 2).shape
    torch.Size([1, 2, 2, 2])
    """
    return _max_unpool_3d(
        input, indices, _unpool_steps("max_unpool3d", 3, input, kernel_size, stride, padding, output_size)
    )


# ---------------------------------------------------------------------------------------------- windows at random
# places


def _fractional_starts(sample, n, out, k):
    """Where the `out` windows of k elements over n begin, for one random number. As in arXiv:1412.6071."""
    if out == 1:
        return [n - k]
    alpha = (n - k) / (out - 1)
    return [int((i + sample) * alpha) - int(sample * alpha) for i in range(out - 1)] + [n - k]


def fractional_max_kernel(input, samples, /, window, size):
    """(maxima of windows at random places, their flat places).

    Shape: (N, C, *), samples (N, C, n) -> (N, C, *) twice
    """
    n = len(window)
    sizes = input.shape[-n:]
    x = input if input.ndim == n + 2 else input[None]
    y = np.empty((*x.shape[:2], *size), x.dtype, like=x)
    at = np.empty(y.shape, np.int64, like=x)
    for b, c in places(range(x.shape[0]), range(x.shape[1])):
        windows = []
        for i in range(n):  # torch takes the samples of images from the last axis on, those of volumes from the first
            sample = samples[b, c, 1 - i if n == 2 else i]
            starts = _fractional_starts(float(sample), sizes[i], size[i], window[i])
            windows.append([(s, s + window[i]) for s in starts])
        y[b, c], at[b, c] = _maxima(x[b, c], windows, sizes)
    return (y, at) if input.ndim == n + 2 else (y[0], at[0])


def _fractional_operator(name, node):
    operator = primitive(name=name, public=False, outputs=1, node=f"{node}Backward0")(fractional_max_kernel)

    @operator.vjp
    def _(g, input, out1, window):
        slope = scatter_places(g[0], out1, input._array.shape[-len(window) :])
        return shown_as(tied(slope, input), f"{node}BackwardBackward0"), None

    return operator


_fractional_2d = _fractional_operator("fractional_max_pool2d", "FractionalMaxPool2D")
_fractional_3d = _fractional_operator("fractional_max_pool3d", "FractionalMaxPool3D")


def _check_places(name: str, sizes: tuple[int, ...], out: tuple[int, ...], window: tuple[int, ...]) -> None:
    """Raise torch's error where the windows do not fit; in three dimensions torch asks for one place more."""
    n = len(sizes)
    for axis, s, o, k in zip(("time", "height", "width")[-n:], sizes, out, window, strict=True):
        if o + k - 1 > s - (n == 3):
            function = name + "_out" if n == 3 else name
            raise RuntimeError(f"{function}(): pool {axis} {k} too large relative to input {axis} {s}")


def _fractional(name, n, input, kernel_size, output_size, output_ratio, return_indices, samples):
    shape = input._array.shape
    window = numbers(name, "kernel_size", 2, kernel_size, n)
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * n
        output_size = tuple(int(s * r) for s, r in zip(shape[-n:], ratios, strict=True))
    out = numbers(name, "output_size", 3, output_size, n)
    if len(shape) not in (n + 1, n + 2):
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got: {list(shape)}")
    _check_places(name, shape[-n:], out, window)
    if samples is None:
        samples = rand(1 if len(shape) == n + 1 else shape[0], shape[-n - 1], n, dtype=input.dtype, device=input.device)
    y, at = (_fractional_3d if n == 3 else _fractional_2d)(input, samples, window, out)
    return (y, at) if return_indices else y


@composite(functional=True)
def fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """The maxima of windows at random places.

    Source: Graham, Fractional Max-Pooling, 2014.

    Args:
        kernel_size: an int or a pair.
        output_size: H', W': an int or a pair.
        output_ratio: H' / H and W' / W in (0, 1), instead of `output_size`.
        return_indices: also give the places of the maxima in the flattened image.
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')
    Raises:
        ValueError: neither size nor ratio is given, as in `fractional_max_pool2d(ones(1, 4, 4), 2)`.

    >>> fractional_max_pool2d(ones(1, 1, 4, 4), 2, output_size=3).shape
    torch.Size([1, 1, 3, 3])
    """
    name = "fractional_max_pool2d"
    return _fractional(name, 2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


@composite(functional=True)
def fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """The maxima of windows at random places.

    Source: Graham, Fractional Max-Pooling, 2014.

    Args:
        kernel_size: an int or three.
        output_size: D', H', W': an int or three.
        output_ratio: the result's share of each size in (0, 1), instead of `output_size`.
        return_indices: also give the places of the maxima in the flattened volume.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')
    Raises:
        ValueError: neither size nor ratio is given, as in `fractional_max_pool3d(ones(1, 4, 4, 4), 2)`.
    """
    name = "fractional_max_pool3d"
    return _fractional(name, 3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
