"""Activations whose kernels pick NumPy's fastest way for the memory at hand: here as the formulas they compute."""

from __future__ import annotations

import math

import numpy as np

from ..ir.expression import apply
from ..ir.lazy import Lazy, Untraceable, where
from .table import rule, through_float32

_ROOT_HALF, _PDF = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
_TANH_A, _TANH_B = math.sqrt(2 / math.pi), 0.044715


def _floats(*arrays: Lazy) -> None:
    if any(not isinstance(a, Lazy) or a.dtype.kind != "f" or a.dtype.itemsize == 2 for a in arrays):
        raise Untraceable("an activation of a dtype other than float32 and float64")


def function(op: str, x: Lazy) -> Lazy:
    """An operator of the expression language that NumPy has no function for."""
    return Lazy(x.builder, x.shape, apply(op, x.expr))


@rule("erf")
@through_float32()
def erf(b, x):
    _floats(x)
    return function("erf", x)


@rule("erfc")
@through_float32()
def erfc(b, x):
    _floats(x)
    return function("erfc", x)


@rule("sigmoid")
@through_float32()
def sigmoid(b, x):
    _floats(x)
    return function("sigmoid", x)


@rule("rsqrt")
@through_float32()
def rsqrt(b, x):
    _floats(x)
    return 1 / np.sqrt(x)


@rule("relu")
def relu(b, input):
    return np.maximum(input, input.dtype.type(0))


@rule("relu_backward", "relu_backward.out")
def relu_backward(b, grad, output):
    return where(output <= output.dtype.type(0), grad.dtype.type(0), grad)


@rule("glu")
@through_float32()
def glu(b, input, dim):
    _floats(input)
    n, before = input.shape[dim] // 2, (slice(None),) * (dim % input.ndim)
    return input[(*before, slice(n))] * function("sigmoid", input[(*before, slice(n, 2 * n))])


@rule("leaky_relu")
@through_float32()
def leaky_relu(b, input, negative_slope):
    _floats(input)
    return where(input > 0, input, input * input.dtype.type(negative_slope))


@rule("leaky_relu_backward")
@through_float32()
def leaky_relu_backward(b, grad, input, slope):
    _floats(grad, input)
    return where(input > 0, grad, grad * grad.dtype.type(slope))


def _normal_cdf(x: Lazy) -> Lazy:
    return (function("erf", x * x.dtype.type(_ROOT_HALF)) + 1) * x.dtype.type(0.5)


def _tanh_inside(x: Lazy) -> Lazy:
    return np.tanh(_TANH_A * (x + _TANH_B * x * x * x))


@rule("gelu")
@through_float32()
def gelu(b, input, approximate):
    _floats(input)
    if approximate == "tanh":
        return 0.5 * input * (1 + _tanh_inside(input))
    return input * _normal_cdf(input)


@rule("gelu_backward")
@through_float32()
def gelu_backward(b, grad, input, approximate):
    _floats(grad, input)
    x = input
    if approximate == "tanh":
        t = _tanh_inside(x)
        inner = _TANH_A * (1 + 3 * _TANH_B * x * x)
        return grad * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner)
    return grad * (_normal_cdf(x) + x * (np.exp(x * x * -0.5) * x.dtype.type(_PDF)))


@rule("silu")
@through_float32()
def silu(b, input):
    _floats(input)
    return input / (1 + np.exp(-input))


@rule("silu_backward")
@through_float32()
def silu_backward(b, x, y):
    _floats(x, y)
    s = function("sigmoid", y)
    return x * s * (1 + y * (1 - s))


@rule("softplus_backward")
@through_float32()
def softplus_backward(b, grad, input, beta, threshold):
    _floats(grad, input)
    t = input * input.dtype.type(beta)
    return where(t > t.dtype.type(threshold), grad, grad * function("sigmoid", t))


@rule("log_sigmoid_backward")
def log_sigmoid_backward(b, grad, input):
    if input.dtype.itemsize > 2:
        _floats(grad, input)
        return grad * function("sigmoid", -input)
    x = input.astype(np.float32)
    z = np.exp(-np.abs(x)).astype(input.dtype).astype(np.float32)  # rounded, as what torch keeps
    share = z / (1 + z)
    return (grad.astype(np.float32) * where(x < 0, 1 - share, share)).astype(grad.dtype)


@rule("binary_cross_entropy", checks=True)
def binary_cross_entropy(b, input, target, weight=None, reduction="mean"):
    _floats(input, target)
    for x, name in ((input, "input"), (target, "target")):
        inside = (x >= 0) & (x <= 1)
        b.check(~inside, RuntimeError, f"all elements of {name} should be between 0 and 1")
    kind = input.dtype.type
    floor = kind(-100)
    loss = (target - kind(1)) * np.maximum(np.log1p(-input), floor) - target * np.maximum(np.log(input), floor)
    loss = loss if weight is None else loss * weight
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else loss.sum() / kind(loss.size)
