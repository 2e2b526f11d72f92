"""Smooth activation functions: gelu, silu, mish, softplus and the sigmoids, each with its gradient kernel."""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.op import binary, composite, primitive
from ...core.dispatch.scalars import python_number
from ...core.dispatch.slow_path import write_out
from ..pointwise.building_blocks import (
    F32,
    F64,
    ONE32,
    ONE64,
    SOME,
    dense,
    in_order_of,
    in_single,
    pieced,
    rounded_as,
    widened,
)
from ..special.error_functions import erf_of
from ..special.logistic import sigmoid_backward, sigmoid_of
from .activation import floats_only, inplace_of

_ROOT_HALF, _PDF = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
_ROOT_HALF32, _HALF32 = np.array(_ROOT_HALF, F32), np.array(0.5, F32)
_TANH_A, _TANH_B = math.sqrt(2 / math.pi), 0.044715


def _normal_cdf(x):
    d = x.dtype
    r = erf_of(np.multiply(x, _ROOT_HALF32 if d is F32 else _ROOT_HALF))
    if not x.ndim:
        return (r + 1) * d.type(0.5)
    np.add(r, ONE32 if d is F32 else ONE64, r)
    return np.multiply(r, _HALF32 if d is F32 else 0.5, r)


def _tanh_inside(x):
    return np.tanh(_TANH_A * (x + _TANH_B * x * x * x))


@widened
@pieced
def _gelu_of(x, approximate):
    floats_only(x, "GeluKernelImpl")
    if approximate == "tanh":
        return 0.5 * x * (1 + _tanh_inside(x))
    return x * _normal_cdf(x)


@primitive(public=False, name="gelu")
def _gelu(input, /, approximate):
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _gelu_of(input, approximate)


@_gelu.vjp
def _(g, input, approximate):
    return _gelu_backward(g, input, approximate)


@widened
@pieced
def _gelu_slope(g, x, approximate):
    if approximate == "tanh":
        t = _tanh_inside(x)
        inner = _TANH_A * (1 + 3 * _TANH_B * x * x)
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner)
    density = np.exp(x * x * -0.5) * x.dtype.type(_PDF)
    return g * (_normal_cdf(x) + x * density)


@primitive(public=False, name="gelu_backward", jit_min_elements=SOME)
def _gelu_backward(grad, input, /, approximate):
    return in_order_of(_gelu_slope(grad, input, approximate), grad, input)


@_gelu_backward.vjp("grad")
def _(g, input, approximate):
    return _gelu_backward(g, input, approximate)


@_gelu_backward.vjp("input")
def _(g, grad, input, approximate):
    return rounded_as(in_single(g) * grad * _gelu_curvature(input, approximate), g)


def _gelu_curvature(x, approximate):
    """The second derivative; of 16-bit floats in float32, since its products overflow in float16 from 30 on."""
    x = in_single(x)
    if approximate == "none":
        return (2 - x * x) * ((-0.5 * x * x).exp() * _PDF)
    t = (_TANH_A * (x + _TANH_B * x * x * x)).tanh()
    d1, d2 = _TANH_A * (1 + 3 * _TANH_B * x * x), 6 * _TANH_A * _TANH_B * x
    return (1 - t * t) * (d1 + 0.5 * x * (d2 - 2 * t * d1 * d1))


@composite(functional=True)
def gelu(input, *, approximate="none", out=None):
    """input times the normal distribution function of it.

    Source: Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.

    Args:
        approximate: "none", or "tanh" for the approximation 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: `approximate` is another text, as in `gelu(ones(2), approximate="x")`.
        NotImplementedError: `input` is of integers, as in `gelu(tensor([1]))`.

    >>> gelu(tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    result = _gelu(input, approximate)
    return result if out is None else write_out("gelu", (input,), result, out)


@primitive(public=False, name="silu", jit_min_elements=SOME)
def _silu(input, /):
    floats_only(input, "silu_cpu")
    return _silu_of(input)


@widened
@pieced
def _silu_of(x):
    d = x.dtype
    if not x.ndim or (d is not F32 and d is not F64):
        return np.asanyarray(x / (1 + np.exp(-x)))
    r = np.negative(x)
    np.exp(r, r)
    np.add(r, ONE32 if d is F32 else ONE64, r)
    return np.divide(x, r, r)


@_silu.vjp
def _(g, input):
    return _silu_backward(g, input)


@widened
@pieced
def _silu_slope(g, x):
    s = sigmoid_of(x)
    return g * s * (1 + x * (1 - s))


_silu_backward = binary(
    "silu_backward", _silu_slope, lambda g, y: _silu_backward(g, y), lambda g, x, y: g * x * _silu_curvature(y),
    "The gradient of silu.", export=False, inplace=False,
)  # fmt: skip


def _silu_curvature(x):
    s = x.sigmoid()
    return s * (1 - s) * (2 + x * (1 - 2 * s))


@composite(functional=True)
def silu(input, inplace=False):
    """input * sigmoid(input) of each element.

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        NotImplementedError: `input` is of integers, as in `silu(tensor([1]))`.

    >>> silu(tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2689,  0.0000,  0.7311])
    """
    return silu_(input) if inplace else _silu(input)


silu_ = inplace_of(_silu)


@widened
@pieced
def _softplus_of(x, beta, limit):
    t = x if beta == 1 else x * beta
    r = np.log1p(np.exp(np.minimum(t, limit)))
    if beta != 1:
        r = r / beta
    if beta <= 0 or limit < 20:
        return np.where(t > limit, x, r)
    return np.maximum(r, x)  # beyond the limit r is constant; below it softplus is above the input, by 2e-9 at 20


@primitive(public=False, name="mish", jit_min_elements=SOME)
def _mish(input, /):
    floats_only(input, "mish_cpu")
    return _mish_of(input)


@widened
@pieced
def _mish_of(x):
    e = np.exp(np.minimum(x, 20))
    n = e * (e + 2)  # tanh(log(1 + e)) = n / (n + 2), which is 1 in both types for x > 20
    return x * (n / (n + 2))


@_mish.vjp
def _(g, input):
    x = in_single(input)
    t = softplus(x).tanh()
    return rounded_as(in_single(g) * (t + x * x.sigmoid() * (1 - t * t)), g)


@composite(functional=True)
def mish(input, inplace=False):
    """input * tanh(softplus(input)) of each element.

    Source: Misra, Mish, 2019.

    Args:
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        NotImplementedError: `input` is of integers, as in `mish(tensor([1]))`.

    >>> mish(tensor([-1.0, 0.0, 1.0]))
    tensor([-0.3034,  0.0000,  0.8651])
    """
    return mish_(input) if inplace else _mish(input)


mish_ = inplace_of(_mish)


@primitive(public=False, name="softplus", jit_min_elements=SOME)
def _softplus(input, /, beta, threshold):
    floats_only(input, "softplus_cpu")
    return _softplus_of(input, python_number(beta), python_number(threshold))


@_softplus.vjp
def _(g, input, beta, threshold):
    return _softplus_backward(g, input, beta, threshold)


@widened
@pieced
def _softplus_slope(g, x, beta, limit):
    t = x if beta == 1 else x * beta
    return np.where(t > limit, g, g * sigmoid_of(t))


@primitive(public=False, name="softplus_backward", jit_min_elements=SOME)
def _softplus_backward(grad, input, /, beta, threshold):
    return in_order_of(_softplus_slope(grad, input, python_number(beta), python_number(threshold)), grad, input)


@_softplus_backward.vjp("grad")
def _(g, input, beta, threshold):
    return _softplus_backward(g, input, beta, threshold)


@_softplus_backward.vjp("input")
def _(g, grad, input, beta, threshold):
    t = input * beta
    return (
        sigmoid_backward(g * grad, t.sigmoid()) * (t < threshold) * beta
    )  # flat from the threshold on, itself included


@composite(functional=True)
def softplus(input, beta=1.0, threshold=20.0, *, out=None):
    """log(1 + exp(beta * input)) / beta; the input itself where beta * input > threshold.

    Args:
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        NotImplementedError: `input` is of integers, as in `softplus(tensor([1]))`.

    >>> softplus(tensor([-1.0, 0.0, 30.0]))
    tensor([ 0.3133,  0.6931, 30.0000])
    """
    result = _softplus(input, beta, threshold)
    return result if out is None else write_out("softplus", (input,), result, out)


@primitive(
    public=False,
    name="log_sigmoid",
    jit_min_elements=SOME,
    node="LogSigmoidBackward0",
    keeps={"input": None},
    laid_as=lambda _: (),
)
def _log_sigmoid(input, /):
    floats_only(input, "log_sigmoid_cpu")
    return dense(_log_sigmoid_of(input))


@widened
@pieced
def _log_sigmoid_of(x):
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


@_log_sigmoid.vjp
def _(g, input):  # torch keeps exp(-|input|) and reads the input's sign only, as `keeps` does
    return _log_sigmoid_backward(g, input)


@primitive(public=False, name="log_sigmoid_backward", jit_min_elements=SOME)
def _log_sigmoid_backward(grad, input, /):
    slope = _log_sigmoid_slope(
        np.ascontiguousarray(input)
    )  # as torch's buffer, which an expanded grad leaves the order to
    return in_order_of(_weighted(grad, slope), grad, slope)


def _log_sigmoid_slope(x):
    if x.dtype.itemsize > 2:
        return sigmoid_of(-x)
    z = np.exp(-np.abs(x)).astype(F32)  # rounded to the input's type, as what torch keeps
    share = z / (1 + z)
    return np.where(x < 0, 1 - share, share)


def _weighted(grad, slope):
    return (grad * slope).astype(grad.dtype, copy=False)


@_log_sigmoid_backward.vjp("grad")
def _(g, input):
    return _log_sigmoid_backward(g, input)


@_log_sigmoid_backward.vjp("input")
def _(g, grad, input):
    z = input.sigmoid()
    return g * grad * (z - 1) * z


@composite(functional=True)
def logsigmoid(input, *, out=None):
    """log(sigmoid(input)), without overflow.

    Args:
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        NotImplementedError: `input` is of integers, as in `logsigmoid(tensor([1]))`.

    >>> logsigmoid(tensor([-200.0, 0.0]))
    tensor([-200.0000,   -0.6931])
    """
    result = _log_sigmoid(input)
    return result if out is None else write_out("logsigmoid", (input,), result, out)


@composite(functional=True)
def softsign(input):
    """input / (1 + |input|) of each element.

    Shape: (*) -> (*)

    >>> softsign(tensor([-1.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  0.7500])
    """
    return input / (1 + input.abs())


@composite(functional=True)
def tanhshrink(input):
    """input - tanh(input) of each element.

    Shape: (*) -> (*)

    >>> tanhshrink(tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """
    return input - input.tanh()
