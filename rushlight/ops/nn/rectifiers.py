"""Rectifiers: zero, or a slope, below a threshold.

Where torch computes a gradient in one kernel (`threshold_backward`), so does this file, with a rule of its own for second
derivatives.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from ...core.dispatch.aten.operators import register
from ...core.dispatch.inplace import write
from ...core.dispatch.mode import take_target, thread
from ...core.dispatch.op import binary, composite, primitive, unary
from ...core.dispatch.scalars import check_number, exact
from ...core.random import uniform
from ...core.tensor.node import shown_as
from ...core.tensor.tensor import type_word, wrap
from ..creation.arguments import backend_like
from ..pointwise.building_blocks import (
    CHUNK,
    F32,
    SOME,
    ZERO32,
    bits_of,
    in_memory_order,
    in_order_of,
    in_single,
    pieced,
    widened,
    zeros_of,
)
from ..pointwise.checks import not_implemented
from ..pointwise.choice import select, where
from ..random.sample import drawn
from .activation import cut, floats_only, in_vectors, inplace_of, tied

_FEW, _PIECE = 4096, 2 * CHUNK  # elements
_ZEROS32 = np.zeros(_PIECE, F32)
_ZEROS32.flags.writeable = False


def _rectify(x):
    if x.dtype is F32:  # of two zeros NumPy takes the second, as torch x: -0 stays
        if x.size < _FEW or type(x) is not np.ndarray or not x.flags.c_contiguous:
            return np.maximum(ZERO32, x)
        if x.size <= _PIECE:  # of two arrays in 0.2 ns an element, of a number and an array in 0.6
            return np.maximum(_ZEROS32[: x.size].reshape(x.shape), x)
        out = x if take_target(x) else np.empty_like(x)
        flat, to = x.reshape(-1), out.reshape(-1)
        for i in range(0, x.size, _PIECE):
            part = flat[i : i + _PIECE]
            np.maximum(_ZEROS32[: part.size], part, out=to[i : i + _PIECE])
        return out
    if x.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    if x.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    bits = _LAST_BELOW_NAN.get(x.dtype)
    return np.maximum(0, x) if bits is None else _rectified_bits(x, bits)


# The bits of minus infinity without the sign: what is above is nan. NumPy's maximum of bfloat16 takes 2.8 ns an element.
_LAST_BELOW_NAN = {np.dtype(np.float16): 0x7C00, np.dtype(ml_dtypes.bfloat16): 0x7F80}


@in_memory_order
@pieced
def _rectified_bits(x, last_below_nan):
    """max(x, 0) of a 16-bit float by its bits: negative numbers become 0, nans stay."""
    bits = np.ascontiguousarray(x).view(np.int16)
    if not x.size or bits.view(np.uint16).max() > 0x8000 + last_below_nan:  # negative nans
        return np.maximum(x, x.dtype.type(0))
    positive = np.right_shift(bits, 15)
    np.invert(positive, positive)
    return np.bitwise_and(bits, positive, positive).view(x.dtype).reshape(x.shape)  # of none, too, which became (1,)


@pieced
def _where_positive(g, y):
    """g where y > 0 (or nan), 0 elsewhere."""
    bits = bits_of(g.dtype)
    y = y.astype(F32) if y.dtype.kind == "V" else y
    drop = np.less_equal(y, ZERO32 if y.dtype is F32 else 0)
    if g.size < 1024 or bits is None or g.shape != y.shape:
        r = np.where(drop, g.dtype.type(0), g)
        return r if r.strides == y.strides else in_order_of(r, y, g)
    keep = drop.astype(bits)
    keep -= 1
    keep &= g.view(bits)
    return keep.view(g.dtype)


_relu_backward = binary(
    "relu_backward", _where_positive, lambda g, y: _relu_backward(g, y), lambda g: zeros_of(g), "The gradient of relu.",
    export=False, inplace=False, node="ThresholdBackwardBackward0", laid_as=lambda _: (1, 0),
)  # fmt: skip
_relu = unary(
    "relu", _rectify, lambda g, out: _relu_backward(g, out), "max(input, 0) of each element.", promote="same",
    functional=("relu_",), out=False, export=False, jit_min_elements=1 << 16,
)  # fmt: skip


@composite(functional=True)
def relu(input, inplace=False):
    """max(input, 0) of each element.

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: `input` is of bools, as in `relu(tensor([True]))`.

    >>> relu(tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return input.relu_() if inplace else _relu(input)


@primitive(public=False, name="threshold", jit_min_elements=SOME)
def _threshold(input, /, threshold, value):
    if input.dtype.kind in "iu":
        threshold, value = exact(threshold, input.dtype), exact(value, input.dtype)
    bound = np.float32(threshold) if input.dtype.itemsize == 2 and input.dtype.kind != "i" else threshold
    return np.where(input <= bound, input.dtype.type(value), input)


@_threshold.vjp
def _(g, input, threshold):
    return shown_as(cut(g, input, in_single(input) <= threshold, True), "ThresholdBackwardBackward0")


@composite(functional=True)
def threshold(input, threshold, value, inplace=False):
    """The input where it is above `threshold`, `value` elsewhere.

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)

    >>> threshold(tensor([0.5, 2.0]), 1.0, 9.0)
    tensor([9., 2.])
    """
    return threshold_(input, threshold, value) if inplace else _threshold(input, threshold, value)


threshold_ = composite(name="threshold_", functional=True)(inplace_of(_threshold))


@primitive(public=False, name="hardtanh", jit_min_elements=SOME)
def _hardtanh(input, /, min_val, max_val):
    check_number("hardtanh", "min_val", min_val)
    check_number("hardtanh", "max_val", max_val)
    if input.dtype.kind in "biu":
        if input.dtype.kind == "b":
            raise RuntimeError("Bool inputs not supported for hardtanh")
        if input.dtype.kind == "u" and (min_val < 0 or max_val < 0):
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        min_val, max_val = int(min_val), int(max_val)
    else:
        min_val, max_val = input.dtype.type(min_val), input.dtype.type(max_val)
    r = np.maximum(input, min_val)
    return np.minimum(r, max_val)


@_hardtanh.vjp
def _(g, input, min_val, max_val):
    x = in_single(input)
    flat = ~((x > min_val) & (x < max_val)) if in_vectors(input) else (x <= min_val) | (x >= max_val)
    return cut(g, input, flat)


@composite(functional=True)
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """Each element, but at least `min_val` and at most `max_val`.

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        ValueError: min_val > max_val, as in `hardtanh(ones(2), 1.0, 0.0)`.

    >>> hardtanh(tensor([-2.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return hardtanh_(input, min_val, max_val) if inplace else _hardtanh(input, min_val, max_val)


hardtanh_ = composite(name="hardtanh_", functional=True)(inplace_of(_hardtanh, -1.0, 1.0))


@composite(functional=True)
def relu6(input, inplace=False):
    """min(max(input, 0), 6) of each element.

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)

    >>> relu6(tensor([-1.0, 3.0, 9.0]))
    tensor([0., 3., 6.])
    """
    return hardtanh_(input, 0.0, 6.0) if inplace else _hardtanh(input, 0.0, 6.0)


@primitive(public=False, name="leaky_relu", jit_min_elements=SOME)
def _leaky_relu(input, /, negative_slope):
    floats_only(input, "leaky_relu_cpu")
    return _leaky(input, negative_slope)


@widened
def _leaky(x, slope):
    scaled = x * x.dtype.type(slope)
    if 0 < slope <= 1:  # infinity times 0 is not 0
        return np.maximum(x, scaled)
    return select(x > 0, x, np.asarray(scaled))


@_leaky_relu.vjp
def _(g, input, negative_slope):
    return _sloped(g, input, negative_slope)


@primitive(public=False, name="leaky_relu_backward", jit_min_elements=SOME, laid_as=lambda _: (1, 0))
def _sloped(grad, input, /, slope):
    """grad where input > 0, slope * grad elsewhere."""
    r = _slope_of(grad, input, slope)
    return r if grad.flags.c_contiguous and input.flags.c_contiguous else in_order_of(r, input, grad)


def _sloped_by_torchs_arguments(grad_output, self, negative_slope, self_is_result):
    return _sloped(grad_output, self, negative_slope)  # a result has the sign of its input


register("leaky_relu_backward", _sloped_by_torchs_arguments)


@widened
def _slope_of(g, x, slope):
    return select(x > 0, g, np.asarray(g * g.dtype.type(slope)))


@_sloped.vjp("grad")
def _(g, input, slope):
    return _sloped(g, input, slope)


@_sloped.vjp("input")
def _(g):
    return zeros_of(g)


@composite(functional=True)
def leaky_relu(input, negative_slope=0.01, inplace=False):
    """The input where it is positive, negative_slope * input elsewhere.

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        NotImplementedError: `input` is of integers, as in `leaky_relu(tensor([1]))`.

    >>> leaky_relu(tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return leaky_relu_(input, negative_slope) if inplace else _leaky_relu(input, negative_slope)


@composite(functional=True)
def leaky_relu_(input, negative_slope=0.01):
    """In-place form of `leaky_relu`: the result is written into the tensor, which is returned.

    Shape: (*) -> (*)
    Raises:
        RuntimeError: the tensor is a leaf that requires grad, as in `leaky_relu_(ones(2, requires_grad=True))`.

    >>> leaky_relu_(tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    if negative_slope < 0 and input.requires_grad and thread.state.grad:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is "
            "caused by calling in-place forward function with a negative slope, please call out-of-place version instead."
        )
    return write(_leaky_relu.record, input, (), (negative_slope,))


@primitive(public=False, name="prelu_kernel", node="PreluKernelBackward0", jit_min_elements=SOME)
def _prelu(input, weight, /):
    scaled = weight * input
    if type(weight) is np.ndarray and weight.size and weight.min() > 0 and weight.max() <= 1:
        return np.maximum(scaled, input)  # a tenth of the time
    return np.where(input > 0, input, scaled)


@_prelu.vjp
def _(g, input, weight, needs):
    positive = input > 0
    scaled, of_weight = weight * g, positive
    if thread.state.grad:  # derivatives of this are torch's: those of an element 0 are a positive one's
        of_weight, at_zero = input >= 0, input == 0
        scaled = where(at_zero, scaled.detach() + (g - g.detach()), scaled)
    return (
        shown_as(tied(where(positive, g, scaled), input), "PreluKernelBackwardBackward0") if needs[0] else None,
        shown_as(cut(input * g, weight, of_weight), "PreluKernelBackwardBackward0") if needs[1] else None,
    )


@composite(method=True, functional=True)
def prelu(input, weight):
    """The input where it is positive, weight * input elsewhere; one weight, or one for each channel.

    Source: He et al., Delving Deep into Rectifiers, 2015.

    Shape: input (N, C, *), weight (C) or (1) -> (N, C, *)
    Raises:
        RuntimeError: the number of weights differs from the channels, as in `prelu(ones(1, 2), ones(3))`.
        RuntimeError: the types differ, as in `prelu(ones(2), ones(1, dtype=float64))`.

    >>> prelu(tensor([[-1.0, -1.0]]), tensor([0.5, 2.0]))
    tensor([[-0.5000, -2.0000]])
    """
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {type_word(input.dtype)} and {type_word(weight.dtype)}"
        )
    if weight.ndim > 1 and weight.numel() != 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.numel() != 1:
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
        weight = weight.reshape([-1 if d == 1 else 1 for d in range(max(input.ndim, 2))][: input.ndim])
    elif weight.ndim != input.ndim:
        weight = weight.reshape([1] * input.ndim)
    return _prelu(input, weight)


@primitive(public=False, name="rrelu_with_noise", node="RreluWithNoiseBackward0")
def _noisy_slope(input, noise, /):
    return input * noise


@_noisy_slope.vjp("input")
def _(g, input, noise):
    return cut(g * noise, input, noise != noise)


def _rrelu_noise(input, lower, upper):
    """A random slope for each element that is not positive, drawn in order, and 1 for the others."""
    return wrap(drawn("rrelu", _slopes, None, input._array, lower, upper, where=backend_like(input)))


def _slopes(generator, a, lower, upper):
    noise = np.ones(a.shape, a.dtype)
    negative = a <= 0
    count = int(negative.sum())
    if count:
        noise[negative] = uniform(generator, count, np.float64, lower, upper)
    return noise


@composite(functional=True)
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """`leaky_relu` with a random slope from [lower, upper) for each element in training, and their mean otherwise.

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: lower > upper, as in `rrelu(ones(2), 0.5, 0.1)`.

    >>> rrelu(tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    for name, bound in (("lower", lower), ("upper", upper)):
        if not (inplace or math.isfinite(bound)):  # torch's form that writes has no such check
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {float(bound)}")
    if not lower <= upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return shown_as(
            leaky_relu(input if inplace else input.contiguous(), (lower + upper) / 2, inplace),
            "RreluWithNoiseBackward0",
        )
    if input._array.dtype == np.float16:
        raise not_implemented("rrelu_with_noise_out_cpu", input._array.dtype)
    for bound in (lower, upper):
        exact(bound, input._array.dtype)
    noise = _rrelu_noise(input, lower, upper)
    return write(_noisy_slope.record, input, (noise,), ()) if inplace else _noisy_slope(input, noise)


@composite(functional=True)
def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """In-place form of `rrelu`: the result is written into the tensor, which is returned.

    Shape: (*) -> (*)
    Raises:
        RuntimeError: the tensor is a leaf that requires grad, as in `rrelu_(ones(2, requires_grad=True))`.

    >>> rrelu_(tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    return rrelu(input, lower, upper, training, True)
