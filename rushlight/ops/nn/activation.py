"""Activation functions: exponential units, shrinkers, gates. Rectifiers are in rectifiers.py, the smooth ones in smooth.py.

Each is a primitive with torch's node name behind a function with torch's signature. Where torch computes a gradient in one
kernel (`threshold_backward`), so does this file, with a rule of its own for second derivatives.
"""

from __future__ import annotations

from importlib import import_module
from math import isfinite
from typing import Any

import ml_dtypes
import numpy as np

from ...core.device.backend import on_device_of
from ...core.dispatch.errors import type_error
from ...core.dispatch.inplace import write
from ...core.dispatch.mode import thread
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import check_number, python_number
from ...core.dispatch.slow_path import write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.node import shown_as
from ...core.tensor.tensor import constant, type_word
from ..pointwise.building_blocks import (
    F32,
    MANY,
    SOME,
    ZERO32,
    in_order_of,
    in_single,
    pieced,
    rounded_as,
    widened,
    zero_where,
    zeros_of,
)
from ..pointwise.checks import not_implemented
from ..pointwise.choice import where
from ..special.logistic import sigmoid_of

# ---------------------------------------------------------------------------------------------- tools


def floats_only(x, word):
    """Raise torch's error for a type that is not floating-point."""
    if x.dtype.kind in "biu":
        raise not_implemented(word, x.dtype)


def inplace_of(op, *metadata):
    """The function that writes the result of `op`, called with `metadata`, into its first argument."""
    record = op.record

    names = record.signature.metadata

    def f(input, *given, **named):
        if named:
            values = dict(zip(names, metadata, strict=False)) | dict(zip(names, given, strict=False))
            for name in named:
                if name not in names or name in names[: len(given)]:
                    raise type_error(f"{f.__name__}() got an unexpected keyword argument '{name}'")
            given = tuple((values | named)[name] for name in names[: max(len(metadata), len(values | named))])
        return write(record, input, (), (*given, *metadata[len(given) :]))

    f.__name__ = record.name + "_"
    f.__doc__ = f"""In-place form of `{record.name}`: the result is written into the tensor, which is returned.

    Shape: (*) -> (*)
    """
    return f


def _decide(arguments):
    """The places of the arrays of `cut` that decide the order of its result's memory."""
    return (2, 0) if arguments[-1] else (0, 2)


@primitive(public=False, name="cut", node="HardtanhBackwardBackward0", jit_min_elements=SOME, laid_as=_decide)
def cut(grad, input, mask, /, by_mask=False):
    """`grad` with zeros where `mask` is true, as a function of `input` that is flat; in the memory order of grad or mask."""
    r = zero_where.record.kernel(grad, mask)
    if by_mask or (grad.flags.c_contiguous and mask.flags.c_contiguous):
        return r
    return in_order_of(r, grad, mask)


@cut.vjp
def _(g, input, mask, by_mask, needs):
    return (
        cut(g, input, mask, by_mask) if needs[0] else None,
        zeros_of(g) if needs[1] else None,
        None,
    )


def tied(grad, input):
    """`grad` as a function of `input` too, which it does not change with: torch's backward nodes keep the input."""
    return (
        cut(grad, input, constant(on_device_of(grad._array, np.zeros, grad.shape, bool))) if thread.state.grad else grad
    )


def in_vectors(x):
    """Whether torch's gradient kernels take `x` in vectors: two of 32 bytes at a time, and what remains element by element.

    At nan all comparisons are false, and the two ways ask for opposite ones. Rushlight takes the whole array in one way.
    """
    return x.numel() * x.element_size() >= 64


# ---------------------------------------------------------------------------------------------- exponential units


@widened
@pieced
def _exponential_unit(x, negative, positive, inside):
    """positive * max(x, 0) + negative * (exp(inside * min(x, 0)) - 1)."""
    floats_only(x, "elu_cpu")
    if not negative or not (isfinite(negative) and isfinite(inside)):  # 0 times that is no 0, or another one
        return np.where(x < 0, np.expm1(x * inside) * negative, x * positive)
    zero = ZERO32 if x.dtype is F32 else 0
    left, right = np.minimum(zero, x), np.maximum(zero, x)
    left = np.expm1(left if inside == 1 else left * inside)
    if negative != 1:
        left = left * negative
    return np.add(left, right if positive == 1 else right * positive)


@primitive(public=False, name="elu", jit_min_elements=SOME)
def _elu(input, /, alpha, scale, input_scale):
    alpha, scale, input_scale = map(python_number, (alpha, scale, input_scale))
    return _exponential_unit(input, alpha * scale, scale, input_scale)


@_elu.vjp
def _(g, input, alpha, scale, input_scale):
    return _unit_slope(g, input, alpha * scale * input_scale, scale, input_scale)


@primitive(public=False, name="celu", jit_min_elements=SOME)
def _celu(input, /, alpha):
    alpha = python_number(alpha)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _exponential_unit(input, alpha, 1.0, 1.0 / alpha)


@_celu.vjp
def _(g, input, alpha):
    inside = 1.0 / float(np.float32(alpha))  # torch rounds alpha here, in double precision too
    return _unit_slope(g, input, alpha * inside, 1.0, inside)


def _unit_slope(g, x, negative, positive, inside):
    x, h = in_single(x), in_single(g)
    linear, curved = (x > 0, ~(x >= 0)) if in_vectors(g) else (~(x <= 0), x < 0)
    slope = where(linear, positive, negative * (where(curved, x, 0.0) * inside).exp())
    return shown_as(rounded_as(h * slope, g), "EluBackwardBackward0")


_SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@composite(functional=True)
def elu(input, alpha=1.0, inplace=False):
    """The input where it is positive, alpha * (exp(input) - 1) elsewhere.

    Source: Clevert et al., Fast and Accurate Deep Network Learning by Exponential Linear Units, 2015.

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        NotImplementedError: `input` is of integers, as in `elu(tensor([1]))`.

    >>> elu(tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
    return elu_(input, alpha) if inplace else _elu(input, alpha, 1.0, 1.0)


@composite(functional=True)
def selu(input, inplace=False):
    """`elu` with the alpha and scale that keep activations normal.

    Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        NotImplementedError: `input` is of integers, as in `selu(tensor([1]))`.

    >>> selu(tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    return selu_(input) if inplace else _elu(input, *_SELU, 1.0)


@composite(functional=True)
def celu(input, alpha=1.0, inplace=False):
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1)) of each element.

    Source: Barron, Continuously Differentiable Exponential Linear Units, 2017.

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: `alpha` is 0, as in `celu(ones(2), 0)`.

    >>> celu(tensor([-1.0, 1.0]), 0.5)
    tensor([-0.4323,  1.0000])
    """
    return celu_(input, alpha) if inplace else _celu(input, alpha)


elu_ = composite(name="elu_", functional=True)(inplace_of(_elu, 1.0, 1.0, 1.0))
celu_ = composite(name="celu_", functional=True)(inplace_of(_celu, 1.0))


@composite(functional=True)
def selu_(input):
    """In-place form of `selu`: the result is written into the tensor, which is returned.

    Shape: (*) -> (*)
    Raises:
        RuntimeError: the tensor is a leaf that requires grad, as in `selu_(ones(2, requires_grad=True))`.

    >>> selu_(tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    return write(_elu.record, input, (), (*_SELU, 1.0))


# ---------------------------------------------------------------------------------------------- piecewise linear units


_SIXTH = float(np.float32(1 / 6))  # torch rounds it, in double precision too


@primitive(public=False, name="hardsigmoid", jit_min_elements=SOME)
def _hardsigmoid(input, /):
    floats_only(input, "hardsigmoid_cpu")
    return widened(lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6)(input)


@_hardsigmoid.vjp
def _(g, input):
    return cut(g, input, ~((input > -3) & (input < 3))) * _SIXTH


@composite(functional=True)
def hardsigmoid(input, inplace=False):
    """(input + 3) / 6, limited to [0, 1].

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        NotImplementedError: `input` is of integers, as in `hardsigmoid(tensor([1]))`.

    >>> hardsigmoid(tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return hardsigmoid_(input) if inplace else _hardsigmoid(input)


hardsigmoid_ = inplace_of(_hardsigmoid)


@primitive(public=False, name="hardswish", jit_min_elements=SOME)
def _hardswish(input, /):
    floats_only(input, "hardswish_cpu")
    return widened(lambda x: x * np.minimum(np.maximum(x + 3, 0), 6) / 6)(input)


@_hardswish.vjp
def _(g, input):
    x = in_single(input)
    above = (
        where(x >= 3, 1.0, float("nan")) if in_vectors(input) else 1.0
    )  # what is not below 3 may be nan, and is flat
    slope = where(x < 3, x / 3 + 0.5, above)
    return shown_as(cut(rounded_as(in_single(g) * slope, g), input, input <= -3), "HardswishBackwardBackward0")


@composite(functional=True)
def hardswish(input, inplace=False):
    """input * (input + 3) / 6 between -3 and 3; 0 below, the input above.

    Source: Howard et al., Searching for MobileNetV3, 2019.

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        NotImplementedError: `input` is of integers, as in `hardswish(tensor([1]))`.

    >>> hardswish(tensor([-4.0, 1.0, 4.0]))
    tensor([-0.0000, 0.6667, 4.0000])
    """
    return hardswish_(input) if inplace else _hardswish(input)


hardswish_ = inplace_of(_hardswish)


@primitive(name="hardshrink", method=True, functional=True, out=True, jit_min_elements=SOME)
def hardshrink(input, /, lambd=0.5):
    """The input where |input| > lambd, 0 elsewhere.

    Args:
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        NotImplementedError: `input` is of integers, as in `hardshrink(tensor([1]))`.

    >>> hardshrink(tensor([-1.0, 0.2, 0.7]))
    tensor([-1.0000,  0.0000,  0.7000])
    """
    check_number("hardshrink", "lambd", lambd)
    floats_only(input, "hardshrink_cpu")
    bound = input.dtype.type(lambd)
    return np.where((input >= -bound) & (input <= bound), input.dtype.type(0), input)


def _shrink_slope(g, x, lambd):
    return cut(g, x, ~((x < -lambd) | (x > lambd)) if in_vectors(x) else (x >= -lambd) & (x <= lambd))


@hardshrink.vjp
def _(g, input, lambd):
    return shown_as(_shrink_slope(g, input, lambd), "HardshrinkBackwardBackward0")


@primitive(public=False, name="softshrink", jit_min_elements=SOME)
def _softshrink(input, /, lambd):
    floats_only(input, "softshrink_cpu")
    largest, lambd = float(ml_dtypes.finfo(input.dtype).max), python_number(lambd)
    if not 0 <= lambd <= largest:
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {type_word(dtypes.from_numpy(input.dtype))}, but "
            f"found {lambd:g}"
        )
    return widened(lambda x: np.copysign(x - np.minimum(np.maximum(x, -lambd), lambd), x))(input)


@_softshrink.vjp
def _(g, input, lambd):
    return shown_as(_shrink_slope(g, input, lambd), "SoftshrinkBackwardBackward0")


@composite(functional=True)
def softshrink(input, lambd=0.5, *, out=None):
    """The input moved towards 0 by `lambd`, and 0 where |input| <= lambd.

    Args:
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: `lambd` is negative, as in `softshrink(ones(2), -1.0)`.

    >>> softshrink(tensor([-1.0, 0.2, 0.7]))
    tensor([-0.5000,  0.0000,  0.2000])
    """
    result = _softshrink(input, lambd)
    return result if out is None else write_out("softshrink", (input,), result, out)


# ---------------------------------------------------------------------------------------------- gates


@primitive(public=False, name="glu", jit_min_elements=MANY)
def _glu(input, /, dim):
    if not input.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if not -input.ndim <= dim < input.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], but got {dim})"
        )
    n = input.shape[dim]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim % input.ndim} is size {n}")
    floats_only(input, "glu_cpu")
    a, b = np.split(input, 2, axis=dim)
    return widened(lambda x, y: x * sigmoid_of(y))(a, b)


@_glu.vjp
def _(g, input, dim):
    n = input.shape[dim] // 2
    a, s = in_single(input.narrow(dim, 0, n)), in_single(input.narrow(dim, n, n).sigmoid())
    g_single = in_single(g)
    return rounded_as(_joined(g_single * s, (1 - s) * s * a * g_single, dim), g)  # in the order of torch's kernel


@primitive(public=False, name="joined", node="CatBackward0")
def _joined(first, second, /, dim):
    return np.ascontiguousarray(np.concatenate((first, second), axis=dim))


@_joined.vjp
def _(g, dim, first_shape):
    n = first_shape[dim]
    return g.narrow(dim, 0, n), g.narrow(dim, n, g.shape[dim] - n)


@composite(functional=True)
def glu(input, dim=-1):
    """The first half of the input along `dim` times the sigmoid of the second half.

    Source: Dauphin et al., Language Modeling with Gated Convolutional Networks, 2016.

    Shape: (*, 2 n) -> (*, n)
    Raises:
        RuntimeError: the size is odd, as in `glu(ones(3))`.
        RuntimeError: `input` is 0-d, as in `glu(ones(()))`.

    >>> glu(tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    return _glu(input, dim)


def __getattr__(name: str) -> Any:
    """What pickles written before look for here: rectifiers were in this file then."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module(".rectifiers", __package__), name)
