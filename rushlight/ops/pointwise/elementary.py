"""Elementary functions of each element, rows of a table: sign, roots, exponentials, circular functions, rounding.

In a rule `g` is the incoming gradient, `x` and `y` are the inputs and `out` is the result.
"""

from __future__ import annotations

import math
from operator import index

import numpy as np

from ...core.dispatch.inplace import write
from ...core.dispatch.op import FUNCTION_ROW, SCALAR_ROW, SVML_ROW, binary, composite, primitive, unary
from ...core.tensor.casting import cast_like
from ...core.tensor.node import shown_as
from .building_blocks import (
    F32,
    F64,
    MANY,
    conjugate,
    for_types,
    in_single,
    of_arrays,
    pieced,
    rounded_as,
    widened,
    zero_rule,
    zeros_of,
)  # fmt: skip
from .checks import not_implemented, refuse, tensors_only
from .fused_loops import LARGE, FusedLoop

# ---------------------------------------------------------------------------------------------- size and sign


def _sign_of_floats(x, out=None):
    return np.subtract(x > 0, x < 0, out, dtype=x.dtype)  # 0 for nan and for -0


_sign_of_many = FusedLoop("sign", 1, _sign_of_floats)


def _sgn(x):
    if x.dtype.kind == "b":
        return x.copy()
    if x.dtype.kind == "c":
        return _directions(x)
    if x.dtype.kind not in "fV":
        return np.sign(x)
    return _sign_of_many.kernel(x) if x.size > LARGE else _sign_of_floats(x)


def _directions(x):
    """x / |x| of complex numbers; NumPy's `sign` finds a direction of infinite ones too, which torch does not."""
    r, size = np.asanyarray(np.sign(x)), np.absolute(x)
    lost = ~np.isfinite(size)
    if lost.any():
        r.real[lost], r.imag[lost] = (x.real / size)[lost], (x.imag / size)[lost]
    return r


def _size(x):
    if x.dtype.kind == "b":
        raise not_implemented("abs_cpu", x.dtype)
    return np.absolute(x)


def _sign(x):
    if x.dtype.kind == "c":
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    return _sgn(x)


def _sgn_rule(g, x, out):
    if x._array.dtype.kind != "c":
        return zeros_of(g)
    size = x.abs()
    return ((g - (g * out.conj_physical()).real * out) / size).masked_fill(size == 0, 0)


sign = unary(
    "sign",
    _sign,
    zero_rule,
    """-1, 0 or 1 for each element; 0 for nan. The gradient is 0 everywhere.

    Raises:
        NotImplementedError: `input` is complex, as in `sign(tensor([1.0j]))`.

    >>> sign(tensor([-2.0, 0.0, 3.0]))
    tensor([-1.,  0.,  1.])
    """,
    promote="same",
)
sgn = unary(
    "sgn",
    _sgn,
    _sgn_rule,
    """Each element divided by its absolute value, 0 where that is 0; of real numbers this is `sign`.

    >>> sgn(tensor([3.0 + 4.0j, 0.0]))
    tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """,
    promote="same",
)
abs = unary(
    "abs",
    _size,
    lambda g, x: g * x.sgn(),
    """The absolute value of each element; the gradient at 0 is 0.

    Args:
        input: a tensor. Of complex numbers the result is real; any other type stays.
        out: the tensor to write the result to.
    Raises:
        NotImplementedError: `input` is of bools, as in `abs(tensor([True]))`.

    >>> abs(tensor([-1.5, 2.0]))
    tensor([1.5000, 2.0000])
    """,
    promote="same",
    aliases=("absolute",),
)
composite(name="__abs__", method=True, function=False)(abs)
signbit = unary(
    "signbit", lambda x: np.signbit(x) if x.dtype.kind in "fV" else np.less(x, 0), None,
    """Whether the sign bit of each element is set: true of -0.0 and of negative numbers.

    >>> signbit(tensor([-1.0, -0.0, 0.0]))
    tensor([ True,  True, False])
    """, promote="bool", differentiable=False, inplace=False,
)  # fmt: skip


def _square(x):
    return np.square(x) if x.dtype.kind != "b" else x.astype(np.int64)


square = unary(
    "square",
    _square,
    lambda g, x: g * (2 * conjugate(x)),
    """The square of each element.

    Args:
        input: a tensor, whose type is the result's; bools become int64.
        out: the tensor to write the result to.

    >>> square(tensor([-2.0, 3.0]))
    tensor([4., 9.])
    """,
    promote="same",
    node="PowBackward0",
)

# ---------------------------------------------------------------------------------------------- roots, exponentials, logarithms

_LN2, _LN10 = math.log(2), math.log(10)


@widened
def _rsqrt(x):
    r = np.sqrt(x)
    return np.true_divide(1, r)


sqrt = unary(
    "sqrt",
    np.sqrt,
    lambda g, out: g / (2 * conjugate(out)),
    """The square root of each element; nan for negative numbers. Its gradient at 0 is infinite.

    >>> sqrt(tensor([4.0, 2.0, -1.0]))
    tensor([2.0000, 1.4142,    nan])
    """,
)
rsqrt = unary(
    "rsqrt",
    _rsqrt,
    lambda g, out: -0.5 * g * conjugate(out * out * out),
    """1 / sqrt(input) of each element; infinite at 0, nan for negative numbers.

    >>> rsqrt(tensor([4.0, 0.0]))
    tensor([0.5000,    inf])
    """,
    jit_min_elements=MANY,
)
exp = unary(
    "exp",
    np.exp,
    lambda g, out: g * conjugate(out),
    """e to the power of each element.

    >>> exp(tensor([0.0, 1.0, -float("inf")]))
    tensor([1.0000, 2.7183, 0.0000])
    """,
    **FUNCTION_ROW,
)
exp2 = unary(
    "exp2",
    np.exp2,
    lambda g, out: g * conjugate(out) * _LN2,
    """2 to the power of each element.

    >>> exp2(tensor([0.0, 1.0, 3.0]))
    tensor([1., 2., 8.])
    """,
    **FUNCTION_ROW,
)
expm1 = unary(
    "expm1",
    np.expm1,
    lambda g, out: g * conjugate(out + 1),
    """exp(input) - 1 of each element, exact near 0.

    >>> expm1(tensor([0.0, 1e-10]))
    tensor([0.0000e+00, 1.0000e-10])
    """,
    **FUNCTION_ROW,
)
log = unary(
    "log",
    np.log,
    lambda g, x: g / conjugate(x),
    """The natural logarithm of each element; -inf at 0, nan below.

    >>> log(tensor([1.0, 10.0, 0.0]))
    tensor([0.0000, 2.3026,   -inf])
    """,
    **FUNCTION_ROW,
)
log2 = unary(
    "log2",
    np.log2,
    lambda g, x: g / conjugate(x * _LN2),
    """The logarithm to base 2 of each element; -inf at 0, nan below.

    >>> log2(tensor([1.0, 8.0]))
    tensor([0., 3.])
    """,
    **SVML_ROW,
)
log10 = unary(
    "log10",
    np.log10,
    lambda g, x: g / conjugate(x * _LN10),
    """The logarithm to base 10 of each element; -inf at 0, nan below.

    >>> log10(tensor([1.0, 2.0]))
    tensor([0.0000, 0.3010])
    """,
    **FUNCTION_ROW,
)
log1p = unary(
    "log1p",
    np.log1p,
    lambda g, x: g / conjugate(x + 1),
    """log(1 + input) of each element, exact near 0; -inf at -1, nan below.

    >>> log1p(tensor([0.0, 1e-10]))
    tensor([0.0000e+00, 1.0000e-10])
    """,
    **FUNCTION_ROW,
)


def log_add_exp(x, y):
    """The kernel of `logaddexp`; of two complex numbers the one with the larger real part is taken out."""
    if x.dtype.kind != "c":
        return np.logaddexp(x, y)
    first = (x.real >= y.real) | np.isnan(x.real)
    high, low = np.where(first, x, y), np.where(first, y, x)
    r = high + np.log1p(np.exp(low - high))
    endless = np.isinf(high.real) & (high.real == low.real)
    r = np.where(endless, np.where(high.real < 0, low, np.log(np.exp(low) + np.exp(high))), r)
    return np.where(np.isnan(x) | np.isnan(y), x.dtype.type(complex(np.nan, np.nan)), r)


logaddexp = binary(
    "logaddexp", of_arrays(for_types("fcV", "logaddexp_cpu", log_add_exp)),
    lambda g, x, y: g / conjugate(1 + (y - x).exp()), lambda g, x, y: g / conjugate(1 + (x - y).exp()),
    """log(exp(input) + exp(other)) of each pair of elements, without overflow.

    >>> logaddexp(tensor([1000.0, 0.0]), tensor([1000.0, 0.0]))
    tensor([1.0007e+03, 6.9315e-01])
    """, inplace=False, **SCALAR_ROW,
)  # fmt: skip
logaddexp2 = binary(
    "logaddexp2", of_arrays(for_types("fV", "logaddexp2_cpu", np.logaddexp2)), lambda g, x, y: g / (1 + (y - x).exp2()), lambda g, x, y: g / (1 + (x - y).exp2()),
    """log2(2^input + 2^other) of each pair of elements, without overflow.

    >>> logaddexp2(tensor([1000.0, 0.0]), tensor([1000.0, 0.0]))
    tensor([1.0010e+03, 1.0000e+00])
    """, inplace=False,
)  # fmt: skip

tensors_only(logaddexp, 0, 1)
tensors_only(logaddexp2, 0, 1)

# ---------------------------------------------------------------------------------------------- circular and hyperbolic functions

sin = unary(
    "sin",
    np.sin,
    lambda g, x: g * conjugate(x.cos()),
    """The sine of each element, which is in radians.

    >>> sin(tensor([0.0, 1.57079633]))
    tensor([0., 1.])
    """,
    **FUNCTION_ROW,
)
cos = unary(
    "cos",
    np.cos,
    lambda g, x: g * -conjugate(x.sin()),
    """The cosine of each element, which is in radians.

    >>> cos(tensor([0.0, 3.14159265]))
    tensor([ 1., -1.])
    """,
    **FUNCTION_ROW,
)
tan = unary(
    "tan",
    np.tan,
    lambda g, out: g * conjugate(1 + out * out),
    """The tangent of each element, which is in radians.

    >>> tan(tensor([0.0, 0.78539816]))
    tensor([0., 1.])
    """,
    **FUNCTION_ROW,
)
asin = unary(
    "asin",
    np.arcsin,
    lambda g, x: g * conjugate((1 - x * x).rsqrt()),
    """The inverse sine of each element, in radians from -pi/2 to pi/2; nan outside [-1, 1].

    >>> asin(tensor([0.0, 1.0, -1.0]))
    tensor([ 0.0000,  1.5708, -1.5708])
    """,
    aliases=("arcsin",),
    **SVML_ROW,
)
acos = unary(
    "acos",
    np.arccos,
    lambda g, x: g * -conjugate((1 - x * x).rsqrt()),
    """The inverse cosine of each element, in radians from 0 to pi; nan outside [-1, 1].

    >>> acos(tensor([1.0, 0.0, -1.0]))
    tensor([0.0000, 1.5708, 3.1416])
    """,
    aliases=("arccos",),
    **SVML_ROW,
)
atan = unary(
    "atan",
    np.arctan,
    lambda g, x: g / conjugate(x * x + 1),
    """The inverse tangent of each element, in radians from -pi/2 to pi/2.

    >>> atan(tensor([0.0, 1.0, float("inf")]))
    tensor([0.0000, 0.7854, 1.5708])
    """,
    aliases=("arctan",),
    **SVML_ROW,
)
sinh = unary(
    "sinh",
    np.sinh,
    lambda g, x: g * conjugate(x.cosh()),
    """The hyperbolic sine, (exp(input) - exp(-input)) / 2, of each element.

    >>> sinh(tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """,
    **FUNCTION_ROW,
)
cosh = unary(
    "cosh",
    np.cosh,
    lambda g, x: g * conjugate(x.sinh()),
    """The hyperbolic cosine, (exp(input) + exp(-input)) / 2, of each element.

    >>> cosh(tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """,
    **FUNCTION_ROW,
)


def _tanh_slope(g, out):
    y = in_single(out)
    return shown_as(rounded_as(in_single(g) * conjugate(1 - y * y), g), "TanhBackwardBackward0")


_NEARLY_FLAT = F32.type(4)
_FEW = 128  # elements: double precision for all takes no longer than to look which need it


@pieced
def tanh_of(x):
    """tanh of an array.

    Without AVX-512 NumPy's float32 loop is a unit off in the last place and never quite 1 below 10. Where the curve is
    nearly flat that is all that 1 - tanh(x)^2 has, so double precision computes there.
    """
    if x.dtype is F32 and x.size <= _FEW and type(x) is np.ndarray:
        return np.tanh(x, dtype=F64).astype(F32)
    r = np.tanh(x)
    if x.dtype is F32 and type(r) is np.ndarray:
        flat = np.abs(x) > _NEARLY_FLAT
        if flat.any():
            r[flat] = np.tanh(x[flat].astype(F64))
    return r


tanh = unary(
    "tanh",
    tanh_of,
    _tanh_slope,
    """The hyperbolic tangent, sinh(input) / cosh(input), of each element; it is within [-1, 1].

    >>> tanh(tensor([-100.0, 0.0, 1.0]))
    tensor([-1.0000,  0.0000,  0.7616])
    """,
    functional=True,
    **FUNCTION_ROW,
)
asinh = unary(
    "asinh", np.arcsinh, lambda g, x: g * conjugate((x * x + 1).rsqrt()), """The inverse hyperbolic sine of each element.

    >>> asinh(tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """,
    aliases=("arcsinh",),
    **FUNCTION_ROW,
)  # fmt: skip
acosh = unary(
    "acosh", np.arccosh, lambda g, x: g * conjugate((x - 1).rsqrt() * (x + 1).rsqrt() if x.is_complex() else (x * x - 1).rsqrt()), """The inverse hyperbolic cosine of each element; nan below 1.

    >>> acosh(tensor([1.0, 2.0, 0.5]))
    tensor([0.0000, 1.3170,    nan])
    """,
    aliases=("arccosh",),
    **FUNCTION_ROW,
)  # fmt: skip
atanh = unary(
    "atanh",
    np.arctanh,
    lambda g, x: g / conjugate(1 - x * x),
    """The inverse hyperbolic tangent of each element: infinite at -1 and 1, nan beyond.

    >>> atanh(tensor([0.0, 0.5, 1.0]))
    tensor([0.0000, 0.5493,    inf])
    """,
    aliases=("arctanh",),
    **FUNCTION_ROW,
)


def _inverse_square(x, y):
    """1 / (x^2 + y^2), but 0 at the origin, where atan2 has torch's gradient 0."""
    s = x * x + y * y
    return s.reciprocal().masked_fill(s == 0, 0)


atan2 = binary(
    "atan2", of_arrays(np.arctan2),
    lambda g, x, y: g * y * _inverse_square(x, y), lambda g, x, y: g * -x * _inverse_square(x, y),
    """The angle of the point (other, input), in radians from -pi to pi.

    >>> atan2(tensor([1.0, -1.0]), tensor([1.0, -1.0]))
    tensor([ 0.7854, -2.3562])
    """, promote="float", aliases=("arctan2",), **FUNCTION_ROW,
)  # fmt: skip
hypot = binary(
    "hypot", of_arrays(for_types("fV", "hypot_cpu", np.hypot)), lambda g, x, out: g * x / out, lambda g, y, out: g * y / out,
    """sqrt(input^2 + other^2) of each pair of elements, without overflow between.

    >>> hypot(tensor([3.0]), tensor([4.0]))
    tensor([5.])
    """, **SCALAR_ROW,
)  # fmt: skip
tensors_only(atan2, 0, 1)
tensors_only(hypot, 0, 1)
deg2rad = unary(
    "deg2rad", widened(lambda x: np.multiply(x, math.pi / 180)), lambda g: g * (math.pi / 180), """Degrees as radians: input * pi / 180.

    >>> deg2rad(tensor([180.0, 90.0]))
    tensor([3.1416, 1.5708])
    """,
    node="Deg2RadBackward0",
)  # fmt: skip
rad2deg = unary(
    "rad2deg", widened(lambda x: np.multiply(x, 180 / math.pi)), lambda g: g * (180 / math.pi), """Radians as degrees: input * 180 / pi.

    >>> rad2deg(tensor([3.14159265]))
    tensor([180.])
    """,
    node="Rad2DegBackward0",
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- rounding


def _rounding(ufunc, word):
    """NumPy's ufunc on floats; integers are round already."""

    def kernel(x):
        if x.dtype.kind == "b":
            raise not_implemented(word, x.dtype)
        if x.dtype.kind == "c":
            raise NotImplementedError(f"{word.partition('_')[0]} is not supported for complex inputs")
        return ufunc(x) if x.dtype.kind in "fV" else cast_like(x, x.dtype)

    return kernel


floor = unary(
    "floor",
    _rounding(np.floor, "floor_vml_cpu"),
    zero_rule,
    """Each element rounded down; integers stay as they are. The gradient is 0 everywhere.

    Raises:
        NotImplementedError: `input` is of bools, as in `floor(tensor([True]))`.

    >>> floor(tensor([1.5, -1.5]))
    tensor([ 1., -2.])
    """,
    promote="same",
)
ceil = unary(
    "ceil",
    _rounding(np.ceil, "ceil_vml_cpu"),
    zero_rule,
    """Each element rounded up; integers stay as they are. The gradient is 0 everywhere.

    Raises:
        NotImplementedError: `input` is of bools, as in `ceil(tensor([True]))`.

    >>> ceil(tensor([1.5, -1.5]))
    tensor([ 2., -1.])
    """,
    promote="same",
)
trunc = unary(
    "trunc",
    _rounding(np.trunc, "trunc_vml_cpu"),
    zero_rule,
    """Each element rounded to zero; integers stay as they are. The gradient is 0 everywhere.

    Raises:
        NotImplementedError: `input` is of bools, as in `trunc(tensor([True]))`.

    >>> trunc(tensor([1.5, -1.5]))
    tensor([ 1., -1.])
    """,
    promote="same",
    aliases=("fix",),
)
frac = unary(
    "frac",
    for_types("fV", "frac_cpu", lambda x: np.subtract(x, np.trunc(x))),
    lambda g: g,
    """input - trunc(input): what follows the point, with the sign of the element.

    Raises:
        NotImplementedError: `input` is of integers, as in `frac(tensor([1]))`.

    >>> frac(tensor([1.5, -1.25]))
    tensor([ 0.5000, -0.2500])
    """,
    promote="same",
)


@primitive(public=False, name="round", inplace=True)
def _round(input, /):
    """The nearest integer, halves to even."""
    if input.dtype.kind == "b":
        raise not_implemented("round_vml_cpu", input.dtype)
    refuse("round_vml_cpu", input.dtype, "c")
    return np.rint(input) if input.dtype.kind in "fV" else cast_like(input, input.dtype)


@_round.vjp
def _(g):
    return zeros_of(g)


@primitive(public=False, name="round.decimals", node="RoundBackward1")
def _round_decimals(input, /, decimals):
    if input.dtype.kind not in "fV":
        raise not_implemented("round_vml_cpu", input.dtype)
    return _rounded(input, decimals)


@widened
def _rounded(x, decimals):
    scale = 10.0 ** (decimals if decimals >= 0 else -decimals)
    a = np.rint(x * scale) / scale if decimals >= 0 else np.rint(x / scale) * scale
    return a.astype(x.dtype)


@_round_decimals.vjp
def _(g):
    return zeros_of(g)


@composite(method=True, out=True)
def round(input, *, decimals=0):
    """Each element rounded to `decimals` places, halves to even. The gradient is 0 everywhere.

    Args:
        decimals: places after the point; a negative number rounds before it.
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        NotImplementedError: `input` is of bools, as in `round(tensor([True]))`.

    >>> round(tensor([0.5, 1.5, 2.5]))
    tensor([0., 2., 2.])
    >>> round(tensor([1234.567]), decimals=-2)
    tensor([1200.])
    """
    return _round(input) if decimals == 0 else _round_decimals(input, index(decimals))


@composite(method=True, function=False)
def round_(self, *, decimals=0):
    """Round in place to `decimals` places."""
    record = _round.record if decimals == 0 else _round_decimals.record
    return write(record, self, (), () if decimals == 0 else (index(decimals),))
