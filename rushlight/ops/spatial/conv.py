"""Convolutions in one, two and three dimensions, and their transposes.

A convolution is linear in its input and in its weight, and its two gradients are again such sums: with x the input, w
the weight and g of the result's shape,

    forward   y[n, k, o]     = sum over c, r of  w[k, c, r] x[n, c, o s + r d - p]
    input     x'[n, c, i]    = sum over k, r of  w[k, c, r] g[n, k, o]    where o s + r d - p = i
    weight    w'[k, c, r]    = sum over n, o of  g[n, k, o] x[n, c, o s + r d - p]

Each of the three is an operator whose gradients are the other two, so that every order of derivative is there. The
transposed convolution is the second. The kernels below are the reference: windows of the padded input as a strided
view, and one matrix product; `backend/onednn` overrides them.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import product as places
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...core.dispatch.aten.calls import output_padding
from ...core.dispatch.aten.operators import operator
from ...core.dispatch.aten.torch_dispatch import ask_mode
from ...core.dispatch.autocast import LOWER, brought
from ...core.dispatch.errors import argument_type
from ...core.dispatch.mode import thread
from ...core.dispatch.op import composite, primitive
from ...core.tensor.channels_last import is_channels_last
from ...core.tensor.dtype import from_numpy
from ...core.tensor.layout import channels_last, channels_last_3d
from ...core.tensor.node import shown_as
from ...core.tensor.placeholder import flags_of
from ...core.tensor.tensor import Tensor, type_word
from ...core.warn import warn
from ..nn.activation import tied
from ..pointwise.building_blocks import F32, conjugate
from ..pointwise.checks import c_word_of, not_implemented, still_of_type
from ..shape.slicing import part

_LAST = {4: channels_last, 5: channels_last_3d}
_CHUNK_ELEMENTS = 1 << 24  # of unrolled windows at a time

# ---------------------------------------------------------------------------------------------- on raw arrays


def pad_spatial(x, padding):
    """x (N, C, *) with zeros around its spatial axes; an entry of `padding` is a number or a pair (before, after)."""
    pads = [p if type(p) is tuple else (p, p) for p in padding]
    if not any(a or b for a, b in pads):
        return x
    out = np.zeros((*x.shape[:2], *(n + a + b for n, (a, b) in zip(x.shape[2:], pads, strict=True))), x.dtype, like=x)
    out[(..., *(slice(a, a + n) for n, (a, _) in zip(x.shape[2:], pads, strict=True)))] = x
    return out


def windows(x, kernel, stride, dilation):
    """A view of all windows of x (N, C, *). Shape: -> (N, C, *kernel, *out)"""
    n = len(kernel)
    steps = x.strides[2:]
    outs = [
        (size - d * (k - 1) - 1) // s + 1 for size, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True)
    ]
    return as_strided(
        x,
        (*x.shape[:2], *kernel, *outs),
        (*x.strides[:2], *(steps[i] * dilation[i] for i in range(n)), *(steps[i] * stride[i] for i in range(n))),
        subok=True,
        writeable=False,
    )


def scatter_windows(out, cols, kernel, stride, dilation):
    """Add windows (N, C, *kernel, *out) to their places in `out` (N, C, *): the transpose of `windows`."""
    outs = cols.shape[2 + len(kernel) :]
    for at in places(*map(range, kernel)):
        where = tuple(
            slice(r * d, r * d + (o - 1) * s + 1, s) for r, d, o, s in zip(at, dilation, outs, stride, strict=True)
        )
        out[(..., *where)] += cols[(slice(None), slice(None), *at)]


def _in_float32(kernel, arrays, rest):
    d = arrays[0].dtype
    r = kernel(*(None if a is None else a.astype(F32) for a in arrays), *rest)
    return tuple(a.astype(d) for a in r) if type(r) is tuple else r.astype(d)


def _narrow(d):
    return d.itemsize == 2 and d.kind not in "iu"


def _forward(x, weight, stride, padding, dilation, groups):
    """The first sum of the module's text."""
    out_channels, per_group, *kernel = weight.shape
    w = weight.reshape(groups, out_channels // groups, per_group * prod(kernel))
    x = pad_spatial(x, padding)
    view = windows(x, kernel, stride, dilation)
    outs, length = view.shape[2 + len(kernel) :], prod(view.shape[2 + len(kernel) :])
    y = np.empty((len(x), groups, w.shape[1], length), x.dtype, like=x)
    step = max(1, _CHUNK_ELEMENTS // max(1, w.shape[2] * groups * length))
    for a in range(0, len(x), step):
        cols = view[a : a + step].reshape(-1, groups, w.shape[2], length)
        np.matmul(w, cols, y[a : a + step])
    return y.reshape(len(x), out_channels, *outs)


def _backward_input(g, weight, input_shape, stride, padding, dilation, groups):
    """The second sum of the module's text."""
    out_channels, per_group, *kernel = weight.shape
    pads = [p if type(p) is tuple else (p, p) for p in padding]
    w = weight.reshape(groups, out_channels // groups, per_group * prod(kernel)).swapaxes(1, 2)
    n, outs = len(g), g.shape[2:]
    g = g.reshape(n, groups, out_channels // groups, prod(outs))
    out = np.zeros(
        (*input_shape[:2], *(s + a + b for s, (a, b) in zip(input_shape[2:], pads, strict=True))), g.dtype, like=g
    )
    step = max(1, _CHUNK_ELEMENTS // max(1, w.shape[1] * groups * prod(outs)))
    for a in range(0, n, step):
        cols = np.matmul(w, g[a : a + step]).reshape(-1, groups * per_group, *kernel, *outs)
        scatter_windows(out[a : a + step], cols, kernel, stride, dilation)
    if out.shape == input_shape:
        return out
    return np.ascontiguousarray(out[(..., *(slice(a, a + s) for s, (a, _) in zip(input_shape[2:], pads, strict=True)))])


def _backward_weight(g, x, weight_shape, stride, padding, dilation, groups):
    """The third sum of the module's text: one product over batch and positions at once."""
    out_channels, per_group, *kernel = weight_shape
    x = pad_spatial(x, padding)
    view = windows(x, kernel, stride, dilation)[(..., *(slice(n) for n in g.shape[2:]))]
    taps, length = per_group * prod(kernel), prod(g.shape[2:])
    w = np.zeros((groups, out_channels // groups, taps), g.dtype, like=g)
    step = max(1, _CHUNK_ELEMENTS // max(1, taps * groups * length))
    g = g.reshape(len(g), groups, out_channels // groups, length)
    for a in range(0, len(g), step):
        cols = np.moveaxis(view[a : a + step], 0, 1 + len(kernel)).reshape(groups, taps, -1)
        part = g[a : a + step].transpose(1, 2, 0, 3).reshape(*w.shape[:2], -1)
        w += np.matmul(part, cols.swapaxes(1, 2))
    return w.reshape(weight_shape)


# ---------------------------------------------------------------------------------------------- the operators


def _is_onednns(input, weight, *options):
    """Whether torch leaves a convolution of volumes to oneDNN, which alone follows channels-last ones."""
    if input.dtype.itemsize == 2:
        return True
    n, *sizes = input.shape
    is_large = n > 1 or prod(sizes[:3]) > 20480
    return input.dtype == np.float32 and (options[-1] > 1 or is_large or min(weight.shape[-2:]) > 3)


@primitive(name="convolution", public=False, follows=(0, 1), follows_volumes=_is_onednns, node="ConvolutionBackward0")
def convolution(input, weight, bias=None, /, stride=(1,), padding=(0,), dilation=(1,), groups=1):
    """The forward sum plus the bias. Shape: (N, C, *), (K, C/groups, *), (K,) -> (N, K, *)"""
    if _narrow(input.dtype):
        return _in_float32(convolution.record.reference, (input, weight, bias), (stride, padding, dilation, groups))
    y = _forward(input, weight, stride, padding, dilation, groups)
    if bias is not None:
        y += bias.reshape(-1, *(1,) * len(stride))
    return y


@convolution.vjp
def _(g, input, weight, bias_shape, stride, padding, dilation, groups, needs):
    still_of_type(g, input, weight)
    for_input, for_weight, for_bias = needs
    steps = (stride, padding, dilation, groups)
    input, weight = conjugate(input), conjugate(weight)
    if thread.state.dispatching and all(isinstance(p, int) for p in padding):
        return _by_mode(g, input, weight, bias_shape, steps, needs, False, [0] * len(stride))
    gx = convolution_input(g, weight, None, input._array.shape, *steps) if for_input else None
    gw = gb = None
    if for_weight and for_bias:
        gw, gb = convolution_weight_and_bias(g, input, weight._array.shape, *steps)
    elif for_weight:
        gw = convolution_weight(g, input, weight._array.shape, *steps)
    elif for_bias:
        gb = channel_sums(g)
    gx, gw = _laid_out_as(input, weight, gx, gw)
    if thread.state.grad:  # torch's one node keeps input and weight for both
        gx = None if gx is None else _of_one_node(gx, input)
        gw = None if gw is None else _of_one_node(gw, weight)
    return gx, gw, gb


def _by_mode(g, input, weight, bias_shape, steps, needs, transposed, more):
    """The gradients by the one call that torch makes, for a mode that is asked for operators."""
    stride, padding, dilation, groups = steps
    sizes = None if bias_shape is None else list(bias_shape)
    options = (list(stride), list(padding), list(dilation), transposed, more, groups, list(needs))
    return ask_mode(operator("convolution_backward").default, (g, input, weight, sizes, *options), {})


def convolution_backward(
    grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    """The gradients of `convolution` with respect to input, weight and bias; None where `output_mask` is False.

    Shape: (N, K, *), (N, C, *), (K, C/groups, *) -> the last two's, and (K,)
    Raises:
        RuntimeError: the sizes do not fit.
    """
    steps = (tuple(stride), tuple(padding), tuple(dilation), groups)
    for_input, for_weight, for_bias = output_mask
    gx = gw = None
    if transposed:
        gx = convolution(grad_output, weight, None, *steps) if for_input else None
        gw = convolution_weight(input, grad_output, weight._array.shape, *steps) if for_weight else None
        gx = None if gx is None else _cropped(gx, input._array.shape)
    else:
        gx = convolution_input(grad_output, weight, None, input._array.shape, *steps) if for_input else None
        gw = convolution_weight(grad_output, input, weight._array.shape, *steps) if for_weight else None
    return *_laid_out_as(input, weight, gx, gw), channel_sums(grad_output) if for_bias else None


def _of_one_node(gradient, operand):
    return shown_as(tied(gradient, operand), "ConvolutionBackwardBackward0") if operand.requires_grad else gradient


def _laid_out_as(input, weight, *gradients):
    """The gradients of both channels-last if one of the two is, else row-major, whatever the incoming gradient is."""
    arrays = input._array, weight._array
    if any(not flags_of(a).c_contiguous and is_channels_last(a) for a in arrays):
        memory_format = _LAST[weight._array.ndim]
        return [None if g is None else g.contiguous(memory_format=memory_format) for g in gradients]
    return [None if g is None else g.contiguous() for g in gradients]


@primitive(
    name="convolution.input", public=False, follows=(0, 1), follows_volumes=_is_onednns, node="ConvolutionBackward0"
)
def convolution_input(input, weight, bias=None, /, shape=(), stride=(1,), padding=(0,), dilation=(1,), groups=1):
    """The input sum, of the given shape, plus a bias: the gradient of the input, and the transposed convolution.

    Shape: (N, K, *), (K, C/groups, *), (C,) -> shape (N, C, *)
    """
    if _narrow(input.dtype):
        rest = (shape, stride, padding, dilation, groups)
        return _in_float32(convolution_input.record.reference, (input, weight, bias), rest)
    x = _backward_input(input, weight, shape, stride, padding, dilation, groups)
    if bias is not None:
        x += bias.reshape(-1, *(1,) * len(stride))
    return x


@convolution_input.vjp
def _(g, input, weight, input_shape, stride, padding, dilation, groups, needs):
    for_input, for_weight, for_bias = needs
    steps = (stride, padding, dilation, groups)
    if thread.state.dispatching:
        more = output_padding(input._array.shape, weight._array.shape, g._array.shape, *steps[:3])
        if more is not None:
            given = (conjugate(input), conjugate(weight))
            return _by_mode(g, *given, (g._array.shape[1],) if for_bias else None, steps, needs, True, more)
    gx = convolution(g, conjugate(weight), None, *steps) if for_input else None
    if for_input:
        gx = _cropped(gx, input_shape)
    gw = convolution_weight(conjugate(input), g, weight._array.shape, *steps) if for_weight else None
    return *_laid_out_as(input, weight, gx, gw), channel_sums(g) if for_bias else None


def _cropped(y, shape):
    """y without the windows that a transposed convolution's input lacks, where its output_padding >= its stride."""
    return y if y._array.shape == shape else part(y, tuple([slice(n) for n in shape]))


@primitive(name="convolution.weight", public=False, node="ConvolutionBackwardBackward0")
def convolution_weight(top, input, /, shape, stride, padding, dilation, groups):
    """The weight sum, of the given shape. Shape: top (N, K, *), (N, C, *) -> shape (K, C/groups, *)"""
    if _narrow(input.dtype):
        rest = (shape, stride, padding, dilation, groups)
        return _in_float32(convolution_weight.record.reference, (top, input), rest)
    return _backward_weight(top, input, shape, stride, padding, dilation, groups)


@convolution_weight.vjp("top")
def _(g, input, top_shape, stride, padding, dilation, groups):
    return _cropped(convolution(conjugate(input), g, None, stride, padding, dilation, groups), top_shape)


@convolution_weight.vjp("input")
def _(g, top, input_shape, stride, padding, dilation, groups):
    return convolution_input(conjugate(top), g, None, input_shape, stride, padding, dilation, groups)


@primitive(name="convolution.weight_and_bias", public=False, outputs=2, node="ConvolutionBackwardBackward0")
def convolution_weight_and_bias(top, input, /, shape, stride, padding, dilation, groups):
    """The weight sum and the sums of `top` over batch and positions. Shape: -> shape, (K,)"""
    if _narrow(input.dtype):
        rest = (shape, stride, padding, dilation, groups)
        return _in_float32(convolution_weight_and_bias.record.reference, (top, input), rest)
    return _backward_weight(top, input, shape, stride, padding, dilation, groups), channel_sums.record.kernel(top)


@convolution_weight_and_bias.vjp
def _(g, top_shape, top, input, stride, padding, dilation, groups, needs):
    for_weight, for_bias = g
    steps = (stride, padding, dilation, groups)
    gt = gx = None
    if needs[0]:
        parts = []
        if for_weight is not None:
            parts.append(_cropped(convolution(conjugate(input), for_weight, None, *steps), top_shape))
        if for_bias is not None:
            parts.append(for_bias.view(-1, *(1,) * len(stride)).expand(top_shape))
        gt = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    if needs[1] and for_weight is not None:
        gx = convolution_input(conjugate(top), for_weight, None, input._array.shape, *steps)
    return gt, gx


@primitive(name="channel_sums", public=False, node="SumBackward1")
def channel_sums(x, /):
    """The sum over all dimensions but the second. Shape: (N, C, *) -> (C,)"""
    n, c = x.shape[:2]
    if _narrow(x.dtype):
        return np.add.reduce(x, (0, *range(2, x.ndim)), F32).astype(x.dtype)
    return np.add.reduce(np.add.reduce(x.reshape(n, c, prod(x.shape[2:])), 2), 0)


@channel_sums.vjp
def _(g, x_shape):
    return g.view(-1, *(1,) * (len(x_shape) - 2)).expand(x_shape)


# ---------------------------------------------------------------------------------------------- checks

_CHECKED: dict[
    tuple, tuple
] = {}  # shapes, types and arguments -> (stride, padding, dilation, groups[, shape of the result])
_CAPACITY = 4096


def _remember(key, steps):
    if len(_CHECKED) >= _CAPACITY:
        _CHECKED.clear()
    with suppress(TypeError):  # a list among the arguments
        _CHECKED[key] = steps
    return steps


def _known(key):
    try:
        return _CHECKED.get(key)
    except TypeError:
        return None


def _check_tensors(name, input, weight, bias):
    for i, (what, t) in enumerate((("input", input), ("weight", weight), ("bias", bias))):
        if not isinstance(t, Tensor) and not (t is None and what == "bias"):
            raise argument_type(name, what, i + 1, t)


def _per_axis(name, what, position, value, n):
    """An argument as a tuple of n ints."""
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,) * n
    values = tuple(value) if isinstance(value, (tuple, list)) else None
    if values is None or not all(hasattr(v, "__index__") for v in values):
        raise argument_type(name, what, position, value, "tuple of ints")
    values = tuple(int(v) for v in values)
    if len(values) == 1:
        return values * n
    if len(values) != n:
        raise RuntimeError(
            f"expected {what} to be a single integer value or a list of {n} values to match the convolution "
            "dimensions, "
            f"but got {what}={list(values)}"
        )
    return values


def _whole(name, value):
    """`groups` as an int: kernels hand it to native code."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__") or getattr(value, "ndim", 0):
        raise argument_type(name, "groups", 7, value, "int")
    return int(value)


def _check_dims(name, n, x):
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: "
            f"{list(x.shape)}"
        )


def _check_steps(stride, padding, output_padding, dilation, groups):
    if any(p < 0 for p in padding if type(p) is int):
        raise RuntimeError("negative padding is not supported")
    if any(p < 0 for p in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("non-positive dilation is not supported")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _check_weight(n, w, groups):
    if w.ndim != n + 2:
        raise RuntimeError(
            f"Expected {n + 2}-dimensional weight for a {n}-dimensional convolution, but got weight of size "
            f"{list(w.shape)} "
            "instead"
        )
    if w.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(w.shape)} instead"
        )
    if w.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            "size "
            f"[{list(w.shape)}] instead"
        )
    if not all(w.shape[2:]):
        raise RuntimeError(f"the kernel of a convolution must not be empty, but got weight of size {list(w.shape)}")


def _check_bias(w, b, channels):
    if b is not None and b.shape != (channels,):
        raise RuntimeError(
            f"Given weight of size {list(w.shape)}, expected bias to be 1-dimensional with {channels} elements, but "
            "got bias "
            f"of size {list(b.shape)} instead"
        )


def _check_sizes(x_shape, kernel, padding, dilation):
    sizes = x_shape[-len(kernel) :]
    padded = [s + (2 * p if type(p) is int else sum(p)) for s, p in zip(sizes, padding, strict=True)]
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    if any(p < k for p, k in zip(padded, spans, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, spans))}). Kernel size can't be greater than actual input size"
        )
    if not all(sizes):
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {list(x_shape)}"
        )


def _check_types(x, w, b, kernel="slow_conv2d_cpu"):
    if b is not None and b.dtype != x.dtype:
        raise RuntimeError(f"Input type ({c_word_of(x)}) and bias type ({c_word_of(b)}) should be the same")
    if x.dtype != w.dtype:
        if x.dtype.kind == "b":
            raise not_implemented(kernel, x.dtype)
        kinds = [type_word(from_numpy(a.dtype)) for a in (x, w)]
        raise RuntimeError(
            f"expected scalar type {kinds[0]} but found {kinds[1]}: the input and the weight of a convolution must have "
            "the same dtype"
        )


def _named_padding(padding, kernel, stride, dilation):
    """The numbers, or pairs of numbers, behind padding='valid' or 'same'."""
    if padding == "valid":
        return (0,) * len(kernel)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(t % 2 for t in totals):
        warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
            "input be "
            "created",
        )
    return tuple((t // 2, t - t // 2) if t % 2 else t // 2 for t in totals)


def _check_forward(name, n, input, weight, bias, stride, padding, dilation, groups):
    """The arguments of a convolution as tuples, or torch's error."""
    _check_tensors(name, input, weight, bias)
    x, w, b = input._array, weight._array, None if bias is None else bias._array
    _check_dims(name, n, x)
    n = max(1, w.ndim - 2)
    stride, dilation = _per_axis(name, "stride", 4, stride, n), _per_axis(name, "dilation", 6, dilation, n)
    if isinstance(padding, str):
        padding = _named_padding(padding, w.shape[2:], stride, dilation)
    else:
        padding = _per_axis(name, "padding", 5, padding, n)
    _check_steps(stride, padding, (), dilation, groups)
    _check_weight(x.ndim - (2 if x.ndim == n + 2 else 1), w, groups)
    channels = x.shape[-n - 1]
    if channels != w.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w.shape)}, expected input{_batched(x, n)} to have "
            f"{w.shape[1] * groups} channels, but got {channels} channels instead"
        )
    _check_bias(w, b, w.shape[0])
    _check_sizes(x.shape, w.shape[2:], padding, dilation)
    _check_types(x, w, b)
    return stride, padding, dilation, groups


def _batched(x, n):
    """The sizes of the input of a convolution along n axes as torch says them: as those of a batch."""
    return list(x.shape) if x.ndim == n + 2 else [1, *x.shape]


def _check_transpose(name, n, input, weight, bias, stride, padding, output_padding, groups, dilation):
    """The arguments of a transposed convolution as tuples and the shape of its result, or torch's error."""
    _check_tensors(name, input, weight, bias)
    x, w, b = input._array, weight._array, None if bias is None else bias._array
    _check_dims(name, n, x)
    stride, padding = _per_axis(name, "stride", 4, stride, n), _per_axis(name, "padding", 5, padding, n)
    output_padding = _per_axis(name, "output_padding", 6, output_padding, n)
    dilation = _per_axis(name, "dilation", 8, dilation, n)
    _check_steps(stride, padding, output_padding, dilation, groups)
    _check_weight(n, w, groups)
    if x.shape[-n - 1] != w.shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(w.shape)}, expected input{_batched(x, n)} to have {w.shape[0]} "
            f"channels, but got {x.shape[-n - 1]} channels instead"
        )
    _check_bias(w, b, w.shape[1] * groups)
    _check_types(x, w, None, "slow_conv_transpose2d_out_cpu")
    if x.dtype.kind in "iub" and x.dtype != np.int64:
        raise not_implemented(f"slow_conv_transpose{max(n, 2)}d_out_cpu", x.dtype)
    if n == 3 and b is not None and b.dtype != x.dtype:
        raise RuntimeError(
            f"expected scalar type {type_word(from_numpy(x.dtype))} but found {type_word(from_numpy(b.dtype))}"
        )
    if any(o >= s and o >= d for o, s, d in zip(output_padding, stride, dilation, strict=True)):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got output_padding: "
            f"{list(output_padding)} stride: {list(stride)} dilation: {list(dilation)}"
        )
    sizes = tuple(
        (i - 1) * s - 2 * p + d * (k - 1) + o + 1
        for i, s, p, d, k, o in zip(x.shape[-n:], stride, padding, dilation, w.shape[2:], output_padding, strict=True)
    )
    if any(s < 0 for s in sizes):
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, x.shape[-n:]))}). Calculated output size per "
            "channel: "
            f"({' x '.join(map(str, sizes))}). Output size is too small"
        )
    batch = x.shape[0] if x.ndim == n + 2 else 1
    return stride, padding, dilation, groups, (batch, w.shape[1] * groups, *sizes)


# ---------------------------------------------------------------------------------------------- public functions


def _convolve(name, n, input, weight, bias, stride, padding, dilation, groups):
    groups = _whole(name, groups)
    try:
        shapes = input._array.shape, weight._array.shape, None if bias is None else bias._array.shape
        types = input._array.dtype, weight._array.dtype, None if bias is None else bias._array.dtype
        key = (n, *shapes, *types, stride, padding, dilation, groups)
    except AttributeError:
        _check_tensors(name, input, weight, bias)
        raise
    steps = _known(key)
    if steps is None:
        lower = brought(LOWER, input, weight, bias)
        if lower is not None:  # types that differ are right inside an autocast region only: not to be remembered
            input, weight, bias = lower
            return _convolve(name, n, input, weight, bias, stride, padding, dilation, groups)
        steps = _remember(key, _check_forward(name, n, input, weight, bias, stride, padding, dilation, groups))
    if not shapes[1][1]:
        return _of_no_channels(input, weight, *steps[:3])
    if len(shapes[0]) == n + 1:
        return convolution(input.unsqueeze(0), weight, bias, *steps).squeeze(0)
    return convolution(input, weight, bias, *steps)


def _of_no_channels(input, weight, stride, padding, dilation):
    """What torch makes of an input without channels: no channels either, whatever the weight has; the bias has no part."""
    kernel, sizes = weight._array.shape[2:], input._array.shape[-len(stride) :]
    pads = [2 * p if type(p) is int else sum(p) for p in padding]
    outs = [
        (size + pad - d * (k - 1) - 1) // s + 1
        for size, pad, k, s, d in zip(sizes, pads, kernel, stride, dilation, strict=True)
    ]
    empty = input.reshape(0) * weight.reshape(0)
    return empty.reshape((*input._array.shape[: -len(stride) - 1], 0, *outs))


def _transpose(name, n, input, weight, bias, stride, padding, output_padding, groups, dilation):
    arguments = (stride, padding, output_padding, _whole(name, groups), dilation)
    _check_tensors(name, input, weight, bias)
    shapes = input._array.shape, weight._array.shape, None if bias is None else bias._array.shape
    types = input._array.dtype, weight._array.dtype, None if bias is None else bias._array.dtype
    key = (-n, *shapes, *types, *arguments)
    steps = _known(key)
    if steps is None:
        lower = brought(LOWER, input, weight, bias)
        if lower is not None:
            input, weight, bias = lower
            return _transpose(name, n, input, weight, bias, *arguments)
        steps = _remember(key, _check_transpose(name, n, input, weight, bias, *arguments))
    stride, padding, dilation, groups, shape = steps
    if bias is not None and types[2] != types[0]:  # which torch adds, here alone
        bias = bias.to(input.dtype)
    if len(shapes[0]) == n + 1:
        return convolution_input(input.unsqueeze(0), weight, bias, shape, stride, padding, dilation, groups).squeeze(0)
    return convolution_input(input, weight, bias, shape, stride, padding, dilation, groups)


@composite(functional=True)
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of sequences with a bank of filters.

    Args:
        bias: a tensor that is added, or None.
        stride: the distance of windows.
        padding: zeros added on each side: a number, "valid" (none) or "same" (L' = L, for stride 1).
        dilation: the distance of a window's elements.
        groups: how many groups of channels are computed separately.
    Shape: (N, C, L) or (C, L), weight (K, C/groups, R), bias (K) -> (N, K, L') or (K, L')
    Raises:
        RuntimeError: the channels do not fit, as in `conv1d(ones(1, 2, 4), ones(1, 3, 2))`.
        RuntimeError: the window is larger than the sequence, as in `conv1d(ones(1, 1, 2), ones(1, 1, 3))`.

    >>> conv1d(tensor([[1.0, 2.0, 3.0]]), tensor([[[1.0, -1.0]]]))
    tensor([[-1., -1.]])
    """
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@composite(functional=True)
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """2-D cross-correlation of an image batch with a bank of filters.

    out[n, k] = bias[k] + sum_c weight[k, c] * input[n, c]

    Args:
        bias: a tensor that is added, or None.
        stride: the distance of windows: an int or a pair, as the others.
        padding: zeros added on each side: numbers, "valid" (none) or "same" (H' = H, for stride 1).
        dilation: the distance of a window's elements.
        groups: how many groups of channels are computed separately.
    Shape: input (N, C, H, W) or (C, H, W), weight (K, C/groups, R, S), bias (K) -> (N, K, H', W') or (K, H', W')
        H' = floor((H + 2 padding - dilation (R - 1) - 1) / stride) + 1
    Raises:
        RuntimeError: the channels do not fit, as in `conv2d(ones(1, 2, 4, 4), ones(1, 3, 2, 2))`.
        RuntimeError: the window is larger than the image, as in `conv2d(ones(1, 1, 2, 2), ones(1, 1, 3, 3))`.
        RuntimeError: padding="same" with a stride, as in
            `conv2d(ones(1, 4, 4), ones(1, 1, 3, 3), stride=2, padding="same")`.

    >>> conv2d(ones(1, 1, 3, 3), ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@composite(functional=True)
def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of volumes with a bank of filters; options as in `conv2d`.

    Args:
        bias: a tensor that is added, or None.
        stride: the distance of windows: an int or three, as the others.
        padding: zeros added on each side: numbers, "valid" (none) or "same" (D' = D, for stride 1).
        dilation: the distance of a window's elements.
        groups: how many groups of channels are computed separately.
    Shape: (N, C, D, H, W) or (C, D, H, W), weight (K, C/groups, Q, R, S), bias (K) -> (N, K, D', H', W') or (K, D', H',
        W')
    Raises:
        RuntimeError: the channels do not fit, as in `conv3d(ones(1, 2, 4, 4, 4), ones(1, 3, 2, 2, 2))`.

    >>> conv3d(ones(1, 1, 3, 3, 3), ones(5, 1, 2, 2, 2)).shape
    torch.Size([1, 5, 2, 2, 2])
    """
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@composite(functional=True)
def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The gradient of `conv1d` with respect to its input, as an operator: each element spreads the filters.

    Args:
        bias: a tensor that is added, or None.
        padding: how much is cut off on each side.
        output_padding: how much is added at the end; less than stride or dilation.
        groups: how many groups of channels are computed separately.
    Shape: (N, C, L) or (C, L), weight (C, K/groups, R), bias (K) -> (N, K, L') or (K, L')
        L' = (L - 1) stride - 2 padding + dilation (R - 1) + output_padding + 1
    Raises:
        RuntimeError: the channels do not fit, as in `conv_transpose1d(ones(1, 2, 4), ones(3, 1, 2))`.

    >>> conv_transpose1d(tensor([[1.0, 2.0]]), tensor([[[1.0, 10.0]]]))
    tensor([[ 1., 12., 20.]])
    """
    return _transpose("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite(functional=True)
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The gradient of `conv2d` with respect to its input, as an operator: each element spreads the filters.

    Args:
        bias: a tensor that is added, or None.
        stride: the distance of windows: an int or a pair, as the others.
        padding: how much is cut off on each side.
        output_padding: how much is added at the end; less than stride or dilation.
        groups: how many groups of channels are computed separately.
    Shape: input (N, C, H, W) or (C, H, W), weight (C, K/groups, R, S), bias (K) -> (N, K, H', W') or (K, H', W')
        H' = (H - 1) stride - 2 padding + dilation (R - 1) + output_padding + 1
    Raises:
        RuntimeError: the channels do not fit, as in `conv_transpose2d(ones(1, 2, 4, 4), ones(3, 1, 2, 2))`.
        RuntimeError: `output_padding` is too large, as in
            `conv_transpose2d(ones(1, 2, 2), ones(1, 1, 2, 2), output_padding=1)`.

    >>> conv_transpose2d(tensor([[[1.0, 2.0]]]), ones(1, 1, 2, 2))
    tensor([[[1., 3., 2.],
             [1., 3., 2.]]])
    """
    return _transpose("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite(functional=True)
def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The gradient of `conv3d` with respect to its input, as an operator; options as in `conv_transpose2d`.

    Args:
        bias: a tensor that is added, or None.
        output_padding: how much is added at the end; less than stride or dilation.
    Shape: (N, C, D, H, W) or (C, D, H, W), weight (C, K/groups, Q, R, S), bias (K) -> (N, K, D', H', W') or (K, D', H',
        W')
    Raises:
        RuntimeError: the channels do not fit, as in `conv_transpose3d(ones(1, 2, 4, 4, 4), ones(3, 1, 2, 2, 2))`.

    >>> conv_transpose3d(ones(1, 1, 1, 1, 1), ones(1, 5, 2, 2, 2)).shape
    torch.Size([1, 5, 2, 2, 2])
    """
    return _transpose("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite(functional=True)
def conv_tbc(input, weight, bias, pad=0):
    """`conv1d` on (time, batch, channels).

    Args:
        pad: zeros added at each end.
    Shape: (T, N, C), weight (R, C, K), bias (K) -> (T', N, K), T' = T + 2 pad - R + 1
    Raises:
        RuntimeError: the channels do not fit, as in `conv_tbc(ones(3, 1, 2), ones(2, 3, 1), ones(1))`.

    >>> conv_tbc(ones(3, 1, 2), ones(2, 2, 1), zeros(1)).flatten()
    tensor([4., 4.])
    """
    if input.size(2) != weight.size(1):
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1).contiguous()
