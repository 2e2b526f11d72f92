"""The logistic function and its inverse, products with logarithms, and sinc."""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.op import OPS, SCALAR_ROW, binary, primitive, unary
from ...core.dispatch.scalars import check_number
from ...core.tensor.tensor import Tensor
from ..pointwise.building_blocks import F32, F64, ONE32, ONE64, SOME, conjugate, pieced, widened, zero_where
from ..pointwise.checks import not_implemented, refuse
from ..pointwise.choice import where
from .series import as_float


@pieced
def sigmoid_of(x):
    """1 / (1 + exp(-x)) of an array."""
    d = x.dtype
    if not x.ndim or (d is not F32 and d is not F64):
        return _sigmoid_of_any(x)
    r = np.negative(x)
    np.exp(r, r)
    np.add(r, ONE32 if d is F32 else ONE64, r)
    return np.reciprocal(r, r)


@widened
def _sigmoid_of_any(x):
    return 1 / (1 + np.exp(-x))


def _sigmoid_slope(g, y):
    if y.dtype == np.float16 and g.dtype == y.dtype:  # torch rounds each step of this one to float16
        return g * np.subtract(np.float16(1), y) * y
    return _sigmoid_slope_of(g, y)


@widened
@pieced
def _sigmoid_slope_of(g, y):
    r = np.subtract(ONE32 if y.dtype is F32 else y.dtype.type(1), y)
    if not y.ndim:
        return g * (r * y)
    r *= y
    into = r if r.shape == g.shape and r.flags.c_contiguous and g.flags.c_contiguous else None
    return np.multiply(r, g, into)  # g may have dimensions of a batch, or another order in memory


sigmoid_backward = binary(
    "sigmoid_backward", _sigmoid_slope, lambda g, y: sigmoid_backward(g, y), lambda g, x, y: g * x * (1 - 2 * y),
    "The gradient of sigmoid, g * out * (1 - out).", export=False, inplace=False,
)  # fmt: skip


def _sigmoid_rule(g, out):
    if out._array.dtype.kind == "c" or g._array.ndim == 0 or g._array.dtype is not out._array.dtype:
        return g * conjugate((1 - out) * out)
    return sigmoid_backward(g, out)


sigmoid = unary(
    "sigmoid",
    sigmoid_of,
    _sigmoid_rule,
    """The logistic function 1 / (1 + exp(-input)) of each element.

    >>> sigmoid(tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """,
    functional=True,
    **SCALAR_ROW,  # several NumPy calls
)


@primitive(method=True, out=True, inplace=True, jit_min_elements=SOME)
def logit(input, /, eps=None):
    """log(input / (1 - input)), the inverse of `sigmoid`.

    Args:
        eps: the input is first limited to [eps, 1 - eps]; not without it, where nan is the result outside [0, 1].
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        TypeError: `input` is not a tensor, as in `logit(0.5)`.

    >>> logit(tensor([0.5, 1.0]))
    tensor([0., inf])
    """
    if eps is not None:
        check_number("logit", "eps", eps, "float")
    refuse("logit_cpu", input.dtype, "c")
    x = as_float(input)
    one = x.dtype.type(1)
    if eps is not None:
        low = x.dtype.type(eps)
        x = np.where(x < low, low, np.where(x > one - low, one - low, x))  # the lower limit wins where they cross
    return np.log(x / (one - x))  # rounded after each step, as torch does in 16 bits


@logit.vjp
def _(g, input, eps):
    slope = input * (1 - input)
    if eps is None or eps < 0:
        return where((input < 0) | (input > 1), float("nan"), g / slope)
    return zero_where(g / slope, ~((input >= eps) & (input <= 1 - eps)))  # also at nan


# ---------------------------------------------------------------------------------------------- products with logarithms


def _times_log(word, log):
    def kernel(x, y):  # 16-bit floats round the logarithm too, as in torch
        kind = np.asarray(x).dtype
        if kind.kind == "c":
            raise not_implemented(word, kind)
        y = y if isinstance(y, np.ndarray) else x.dtype.type(y)
        r = x * log(y)
        return np.where(np.asarray(x == 0) & ~np.isnan(y), r.dtype.type(0), r)

    return kernel


def _filled(value, like):
    """A number for the second operand, as a tensor."""
    return value if isinstance(value, Tensor) else like.new_tensor(value)


def _xlogy_slope(g, x, y):
    y = _filled(y, g)
    return OPS["xlogy"](g, y).masked_fill((x == 0) & (y <= 0), 0)  # 0 where the gradient is 0, as torch's


def _xlog1py_slope(g, x, y):
    y = _filled(y, g)
    return OPS["special_xlog1py"](g, y).masked_fill((x == 0) & (y <= -1), 0)


xlogy = binary(
    "xlogy", _times_log("xlogy_cpu", np.log), _xlogy_slope, lambda g, x, y: g * x / y,
    """input * log(other), and 0 where the input is 0 and the other no nan.

    >>> xlogy(tensor([0.0, 2.0]), tensor([0.0, 2.0]))
    tensor([0.0000, 1.3863])
    """, promote="float", aliases=(), number_nodes=("XlogyBackward2", "XlogyBackward1"),
)  # fmt: skip
_xlog1py = binary(
    "special_xlog1py", _times_log("xlog1py_cpu", np.log1p), _xlog1py_slope,
    lambda g, x, y: g * x / (y + 1), """input * log(1 + other), and 0 where the input is 0 and the other no nan.

    >>> special.xlog1py(tensor([0.0, 2.0]), tensor([-1.0, 1.0]))
    tensor([0.0000, 1.3863])
    """, promote="float", method=False, inplace=False, number_nodes=("SpecialXlog1PyBackward2", "SpecialXlog1PyBackward1"),
)  # fmt: skip


@widened
def _entropy(x):
    r = -x * np.log(np.where(x > 0, x, 1))
    return np.where(x > 0, r, np.where(x == 0, 0, np.where(np.isnan(x), x, -np.inf))).astype(x.dtype)


_entr = unary(
    "special_entr", _entropy, lambda g, x: g * (-x.log() - 1),
    """The entropy term -input * log(input) of each element; 0 at 0, -inf below.

    >>> special.entr(tensor([0.5, 0.0, -1.0]))
    tensor([0.3466, 0.0000,   -inf])
    """, method=False, inplace=False,
)  # fmt: skip


@widened
def _sinc(x):
    t = np.multiply(x, math.pi)
    return np.where(x == 0, t.dtype.type(1), np.sin(t) / t)


def _sinc_rule(g, x):
    t = x * math.pi
    squared = t * x
    return where(squared == 0, 0.0, g * conjugate((t * t.cos() - t.sin()) / squared))


sinc = unary(
    "sinc",
    _sinc,
    _sinc_rule,
    """sin(pi * input) / (pi * input) of each element, and 1 at 0.

    >>> sinc(tensor([0.0, 0.5, 1.0]))
    tensor([ 1.0000e+00,  6.3662e-01, -2.7828e-08])
    """,
)
