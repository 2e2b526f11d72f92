"""Operators on each element by itself: rows of a table, simplest first.

A row is a name, a NumPy function, the gradient rules and a sentence. In a rule `g` is the incoming gradient, `x` and `y`
are the inputs and `out` is the result. Comparisons, choices between two values and limits are in `comparison.py`, operators
on bits in `bitwise.py`, complex parts in `complex_parts.py`, the special functions in `special.py`.
"""

from __future__ import annotations

import math

import numpy as np

from ..core import dtype as dtypes
from ..core.inplace import accept_inplace, write
from ..core.record import binary, composite, primitive, publish, unary
from ..core.tensor import Tensor, type_word

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
_SMALL = 1024  # elements below which NumPy's own selection beats arithmetic on bits


def widened(kernel):
    """A kernel of several NumPy calls that works on 16-bit floats in float32, and rounds once at the end."""

    def run(a, *rest):
        d = a.dtype
        if d.itemsize != 2 or d.kind in "iu":
            return kernel(a, *rest)
        rest = [
            b.astype(F32) if isinstance(b, np.ndarray) and b.dtype == d else b
            for b in rest
        ]
        return np.asarray(kernel(a.astype(F32), *rest)).astype(d)

    run.__name__, run.__doc__, run.__module__ = (
        kernel.__name__,
        kernel.__doc__,
        kernel.__module__,
    )
    return run


def bits_of(d: np.dtype):
    """The signed integer type as wide as `d`, or None."""
    return _INTEGERS.get(d.itemsize) if d.kind in "fiu" else None


_INTEGERS = {4: np.dtype(np.int32), 8: np.dtype(np.int64)}


@primitive(public=False, name="zero_where", node="MaskedFillBackward0")
def zero_where(input, mask, /):
    """`input` with zeros where `mask` is true, also for infinities and nans.

    np.where costs 8 ns an element on a mask without order, and clearing the bits 0.4 ns.
    """
    d = input.dtype
    bits = bits_of(d)
    if (
        input.size < _SMALL
        or bits is None
        or mask.dtype.kind != "b"
        or input.shape != mask.shape
    ):
        return np.where(mask, d.type(0), input)
    keep = mask.astype(bits)
    keep -= 1
    keep &= input.view(bits)
    return keep.view(d)


@zero_where.vjp("input")
def _(g, mask):
    return zero_where(g, mask)


@primitive(public=False, name="zeros_of", differentiable=False)
def zeros_of(input, /):
    """Zeros of the shape and type of `input`."""
    return np.zeros_like(input)


def zero_rule(g):
    """The gradient of a function that is flat almost everywhere."""
    return zeros_of(g)


# ---------------------------------------------------------------------------------------------- addition


def refuse_bool(record, one: str, both: str) -> None:
    """Raise torch's error when an operator meets tensors of bools (they are never taken by the fast path)."""

    def guarded(careful):
        def call(record, tensors, metadata, error):
            check_bool(tensors, one, both)
            return careful(record, tensors, metadata, error)

        return call

    for name in ("slow_call", "slow_operator"):
        record.scope[name] = guarded(record.scope[name])


def check_bool(tensors, one: str, both: str) -> None:
    bools = [_is_bool(t) for t in tensors]
    if any(bools):
        raise RuntimeError(both if all(bools) else one)


def _is_bool(t) -> bool:
    return t._array.dtype.kind == "b" if isinstance(t, Tensor) else isinstance(t, bool)


_SUB_BOTH = "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
_SUB_ONE = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
    "or `logical_not()` operator instead."
)

_add = binary(
    "add",
    np.add,
    lambda g: g,
    lambda g: g,
    "The sum of two tensors.",
    operator="add",
    export=False,
)
_sub = binary(
    "sub",
    np.subtract,
    lambda g: g,
    lambda g: -g,
    "The difference of two tensors.",
    operator="sub",
    export=False,
)
_rsub = binary(
    "rsub", lambda x, y: np.subtract(y, x), lambda g: -g, lambda g: g, "other - input.", operator="rsub", export=False,
    inplace=False, node="RsubBackward1",
)  # fmt: skip
del Tensor.__rrsub__
refuse_bool(_sub.record, _SUB_ONE, _SUB_BOTH)
refuse_bool(_rsub.record, _SUB_ONE, _SUB_BOTH)


def _scaled(input, other, alpha):
    """alpha * other, checked as torch checks `alpha` against the type of the result."""
    if isinstance(other, Tensor) and isinstance(alpha, (int, float)):
        category = max(
            input.dtype.category if isinstance(input, Tensor) else 0,
            other.dtype.category,
        )
        if isinstance(alpha, bool) and category:
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
        if isinstance(alpha, float) and category < 2:
            raise RuntimeError(
                "For integral input tensors, argument alpha must not be a floating point number."
            )
    return other * alpha


def add(input, other, *, alpha=1, out=None):
    """input + alpha * other.

    >>> add(tensor([1.0, 2.0]), tensor([10.0, 20.0]), alpha=2)
    tensor([21., 42.])
    """
    if alpha != 1:
        other = _scaled(input, other, alpha)
    return _add(input, other) if out is None else _add(input, other, out=out)


def sub(input, other, *, alpha=1, out=None):
    """input - alpha * other."""
    if alpha != 1:
        check_bool((input, other), _SUB_ONE, _SUB_BOTH)
        other = _scaled(input, other, alpha)
    return _sub(input, other) if out is None else _sub(input, other, out=out)


def rsub(input, other, *, alpha=1):
    """other - alpha * input."""
    return (
        _rsub(input, other)
        if alpha == 1
        else _rsub(_scaled(other, input, alpha), other)
    )


publish("add", add, True, False, ())
publish("sub", sub, True, False, ("subtract",))
publish("rsub", rsub, True, False, ())

_plain_add_, _plain_sub_ = Tensor.add_, Tensor.sub_


def add_(self, other, *, alpha=1):
    """self += alpha * other, in place."""
    if alpha == 1:
        return _plain_add_(self, other)
    if add_scaled(self, other, alpha):
        return self
    return write(_add.record, self, (_scaled(self, other, alpha),), ())


def sub_(self, other, *, alpha=1):
    """self -= alpha * other, in place."""
    check_bool((self, other), _SUB_ONE, _SUB_BOTH)
    if alpha == 1:
        return _plain_sub_(self, other)
    if type(alpha) is float and add_scaled(self, other, -alpha):
        return self
    return write(_sub.record, self, (_scaled(self, other, alpha),), ())


def add_scaled(self, other, alpha) -> bool:
    """`self += alpha * other` without history, if that is possible."""
    if (
        type(alpha) is not float
        and type(alpha) is not int
        or not isinstance(other, Tensor)
    ):
        return False
    state = accept_inplace(self, other)
    if state is None:
        return False
    a, b = self._array, other._array
    if (
        a.size <= CHUNK
        or b.shape != a.shape
        or not (a.flags.c_contiguous and b.flags.c_contiguous)
    ):
        state.run(_axpy, a, b, alpha)
    else:
        state.run(_in_chunks, _axpy, (a, b), alpha)
    return True


CHUNK = 16384  # elements: the temporaries of one chunk stay in the cache (2.1 times faster than whole arrays at 7.3 million)


def _axpy(a, b, alpha):
    np.add(a, np.multiply(b, alpha), a)


def _in_chunks(step, arrays, *rest):
    """Call `step` on pieces of contiguous arrays of one shape."""
    flat = [a.reshape(-1) for a in arrays]
    for i in range(0, flat[0].size, CHUNK):
        step(*[a[i : i + CHUNK] for a in flat], *rest)


for _name, _f in (
    ("add_", add_),
    ("__iadd__", add_),
    ("sub_", sub_),
    ("subtract_", sub_),
    ("__isub__", sub_),
):
    setattr(Tensor, _name, _f)

# ---------------------------------------------------------------------------------------------- products and quotients


def conjugate(t):
    """The conjugate of a tensor of complex numbers or of a Python number; any other tensor itself."""
    if not isinstance(t, Tensor):
        return t.conjugate()
    return t if t._array.dtype.kind != "c" else t.conj()


mul = binary(
    "mul", np.multiply, lambda g, y: g * conjugate(y), lambda g, x: g * conjugate(x), "The product of two tensors.",
    operator="mul", aliases=("multiply",),
)  # fmt: skip
_div = binary(
    "div", np.true_divide, lambda g, y: g / conjugate(y), lambda g, x, y: -g * conjugate((x / y) / y),
    "The quotient of two tensors.", promote="float", operator="truediv", export=False,
)  # fmt: skip


def _reject_zero(y) -> None:
    if (
        (y.dtype.kind in "iu" and not y.all())
        if isinstance(y, np.ndarray)
        else (type(y) is int and not y)
    ):
        raise RuntimeError("ZeroDivisionError")


def _whole(x, y) -> bool:
    """Whether a division of `x` by `y` is one of integers; raises for division by zero."""
    if x.dtype.kind not in "biu" if isinstance(x, np.ndarray) else type(x) is float:
        return False
    _reject_zero(y)
    return True


@widened
def _floor_quotient(x, y):
    _whole(x, y)
    return np.floor_divide(x, y)


@widened
def _trunc_quotient(x, y):
    if not _whole(x, y):
        return np.trunc(np.true_divide(x, y))
    q = np.floor_divide(x, y)
    return q + ((q < 0) & (np.remainder(x, y) != 0)).astype(q.dtype)


floor_divide = binary(
    "floor_divide",
    _floor_quotient,
    None,
    None,
    "The quotient rounded down.",
    operator="floordiv",
    node="NotImplemented",
)
_div_floor = binary(
    "div.floor", _floor_quotient, zero_rule, zero_rule, "The quotient rounded down.", export=False,
    inplace=False, node="DivBackward2",
)  # fmt: skip
_div_trunc = binary(
    "div.trunc", _trunc_quotient, zero_rule, zero_rule, "The quotient rounded to zero.", export=False,
    inplace=False, node="DivBackward2",
)  # fmt: skip
_ROUNDED = {"floor": _div_floor, "trunc": _div_trunc}


def _rounded(rounding_mode):
    if rounding_mode is None:
        return _div
    if rounding_mode not in _ROUNDED:
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return _ROUNDED[rounding_mode]


def div(input, other, *, rounding_mode=None, out=None):
    """input / other; integers give floating-point numbers unless `rounding_mode` is 'floor' or 'trunc'."""
    f = _div if rounding_mode is None else _rounded(rounding_mode)
    return f(input, other) if out is None else f(input, other, out=out)


def true_divide(input, other, *, out=None):
    """input / other; integers give floating-point numbers."""
    return _div(input, other) if out is None else _div(input, other, out=out)


publish("div", div, True, False, ("divide",))
publish("true_divide", true_divide, True, False, ())
_plain_div_ = Tensor.div_


def div_(self, other, *, rounding_mode=None):
    """self /= other, in place."""
    if rounding_mode is None:
        return _plain_div_(self, other)
    return write(_rounded(rounding_mode).record, self, (other,), ())


Tensor.div_ = Tensor.divide_ = div_
Tensor.true_divide_ = _plain_div_


def _rtruediv(self, other):
    """other / self, computed as torch does: the reciprocal times `other`."""
    if not isinstance(other, (int, float, complex, np.generic)):
        return NotImplemented
    return self.reciprocal() * other


Tensor.__rtruediv__ = Tensor.__rdiv__ = _rtruediv
Tensor.__div__ = Tensor.__truediv__


def _remainder(x, y):
    if isinstance(y, np.ndarray):
        _reject_zero(y)
    elif not y and x.dtype.kind in "iu":
        raise RuntimeError("ZeroDivisionError")
    return np.remainder(x, y)


@widened
def _fmod(x, y):
    _whole(x, y)
    return np.fmod(x, y)


remainder = binary(
    "remainder", _remainder, lambda g: g, lambda g, x, y: -g * x.div(y, rounding_mode="floor"),
    "What division rounded down leaves over: it has the sign of `other`.", operator="mod", node="RemainderBackward1",
)  # fmt: skip
fmod = binary(
    "fmod", _fmod, lambda g: g, lambda g, x, y: -g * x.div(y, rounding_mode="trunc"),
    "What division rounded to zero leaves over: it has the sign of `input`.", node="FmodBackward1",
)  # fmt: skip

neg = unary(
    "neg",
    np.negative,
    lambda g: -g,
    "Minus the input.",
    promote="same",
    aliases=("negative",),
)
Tensor.__neg__ = neg
_NEG_BOOL = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)
refuse_bool(neg.record, _NEG_BOOL, _NEG_BOOL)


@composite(method=True)
def positive(input):
    """The input itself. Raises RuntimeError for bools."""
    if input._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


Tensor.__pos__ = positive
reciprocal = unary(
    "reciprocal",
    lambda x: np.true_divide(1, x),
    lambda g, out: -g * conjugate(out * out),
    "One divided by each element.",
)

# ---------------------------------------------------------------------------------------------- size and sign


def _sgn(x):
    return np.sign(x) if x.dtype.kind != "b" else x.copy()


def _sign(x):
    if x.dtype.kind == "c":
        raise RuntimeError(
            "Unlike NumPy, torch.sign doesn't allow complex numbers. Please use torch.sgn instead."
        )
    return _sgn(x)


def _sgn_rule(g, x, out):
    if x._array.dtype.kind != "c":
        return zeros_of(g)
    size = x.abs()
    return ((g - (g * out.conj()).real * out) / size).masked_fill(size == 0, 0)


sign = unary(
    "sign", _sign, zero_rule, "-1, 0 or 1 for each element; nan stays.", promote="same"
)
sgn = unary(
    "sgn", _sgn, _sgn_rule, "Each element divided by its size; 0 for 0.", promote="same"
)
abs = unary(
    "abs",
    np.absolute,
    lambda g, x: g * x.sgn(),
    "The size of each element.",
    promote="same",
    aliases=("absolute",),
)
Tensor.__abs__ = abs
signbit = unary(
    "signbit", lambda x: np.signbit(x) if x.dtype.kind in "fV" else np.less(x, 0), None,
    "Whether the sign bit of each element is set.", promote="bool", differentiable=False, inplace=False,
)  # fmt: skip
square = unary(
    "square",
    np.square,
    lambda g, x: g * (2 * conjugate(x)),
    "The square of each element.",
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
    "The square root of each element.",
)
rsqrt = unary(
    "rsqrt",
    _rsqrt,
    lambda g, out: -0.5 * g * conjugate(out * out * out),
    "One divided by the square root of each element.",
)
exp = unary(
    "exp", np.exp, lambda g, out: g * conjugate(out), "e to the power of each element."
)
exp2 = unary(
    "exp2",
    np.exp2,
    lambda g, out: g * conjugate(out) * _LN2,
    "2 to the power of each element.",
)
expm1 = unary(
    "expm1",
    np.expm1,
    lambda g, out: g * conjugate(out + 1),
    "exp(input) - 1, exact near 0.",
)
log = unary(
    "log",
    np.log,
    lambda g, x: g / conjugate(x),
    "The natural logarithm of each element.",
)
log2 = unary(
    "log2",
    np.log2,
    lambda g, x: g / conjugate(x * _LN2),
    "The logarithm to base 2 of each element.",
)
log10 = unary(
    "log10",
    np.log10,
    lambda g, x: g / conjugate(x * _LN10),
    "The logarithm to base 10 of each element.",
)
log1p = unary(
    "log1p",
    np.log1p,
    lambda g, x: g / conjugate(x + 1),
    "log(1 + input), exact near 0.",
)


logaddexp = binary(
    "logaddexp", np.logaddexp, lambda g, x, out: g * (x - out).exp(), lambda g, y, out: g * (y - out).exp(),
    "log(exp(input) + exp(other)).", promote="float", inplace=False,
)  # fmt: skip
logaddexp2 = binary(
    "logaddexp2", np.logaddexp2, lambda g, x, out: g * (x - out).exp2(), lambda g, y, out: g * (y - out).exp2(),
    "log2(2**input + 2**other).", promote="float", inplace=False,
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- circular and hyperbolic functions

sin = unary(
    "sin", np.sin, lambda g, x: g * conjugate(x.cos()), "The sine of each element."
)
cos = unary(
    "cos", np.cos, lambda g, x: g * -conjugate(x.sin()), "The cosine of each element."
)
tan = unary(
    "tan",
    np.tan,
    lambda g, out: g * conjugate(1 + out * out),
    "The tangent of each element.",
)
asin = unary(
    "asin",
    np.arcsin,
    lambda g, x: g * conjugate((1 - x * x).rsqrt()),
    "The inverse sine.",
    aliases=("arcsin",),
)
acos = unary(
    "acos",
    np.arccos,
    lambda g, x: g * -conjugate((1 - x * x).rsqrt()),
    "The inverse cosine.",
    aliases=("arccos",),
)
atan = unary(
    "atan",
    np.arctan,
    lambda g, x: g / conjugate(x * x + 1),
    "The inverse tangent.",
    aliases=("arctan",),
)
sinh = unary(
    "sinh", np.sinh, lambda g, x: g * conjugate(x.cosh()), "The hyperbolic sine."
)
cosh = unary(
    "cosh", np.cosh, lambda g, x: g * conjugate(x.sinh()), "The hyperbolic cosine."
)
tanh = unary(
    "tanh",
    np.tanh,
    lambda g, out: g * conjugate(1 - out * out),
    "The hyperbolic tangent.",
    functional=True,
)
asinh = unary(
    "asinh", np.arcsinh, lambda g, x: g * conjugate((x * x + 1).rsqrt()), "The inverse hyperbolic sine.",
    aliases=("arcsinh",),
)  # fmt: skip
acosh = unary(
    "acosh", np.arccosh, lambda g, x: g * conjugate((x - 1).rsqrt() * (x + 1).rsqrt()), "The inverse hyperbolic cosine.",
    aliases=("arccosh",),
)  # fmt: skip
atanh = unary(
    "atanh",
    np.arctanh,
    lambda g, x: g / conjugate(1 - x * x),
    "The inverse hyperbolic tangent.",
    aliases=("arctanh",),
)
atan2 = binary(
    "atan2", np.arctan2, lambda g, x, y: g * y / (x * x + y * y), lambda g, x, y: g * -x / (x * x + y * y),
    "The angle of the point (other, input), from -pi to pi.", promote="float", aliases=("arctan2",),
)  # fmt: skip
hypot = binary(
    "hypot", np.hypot, lambda g, x, out: g * (x / out), lambda g, y, out: g * (y / out),
    "sqrt(input**2 + other**2).",
)  # fmt: skip
deg2rad = unary(
    "deg2rad", lambda x: np.multiply(x, math.pi / 180), lambda g: g * (math.pi / 180), "Degrees as radians.",
    node="Deg2RadBackward0",
)  # fmt: skip
rad2deg = unary(
    "rad2deg", lambda x: np.multiply(x, 180 / math.pi), lambda g: g * (180 / math.pi), "Radians as degrees.",
    node="Rad2DegBackward0",
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- rounding


def _rounding(ufunc):
    """NumPy's ufunc on floats; integers are round already."""
    return lambda x: ufunc(x) if x.dtype.kind in "fV" else x.copy()


_ROUND = "rounded {}. Integers stay as they are."
floor = unary(
    "floor",
    _rounding(np.floor),
    zero_rule,
    "Each element " + _ROUND.format("down"),
    promote="same",
)
ceil = unary(
    "ceil",
    _rounding(np.ceil),
    zero_rule,
    "Each element " + _ROUND.format("up"),
    promote="same",
)
trunc = unary(
    "trunc",
    _rounding(np.trunc),
    zero_rule,
    "Each element " + _ROUND.format("to zero"),
    promote="same",
    aliases=("fix",),
)
frac = unary(
    "frac",
    lambda x: np.subtract(x, np.trunc(x)),
    lambda g: g,
    "What truncation takes away.",
    promote="same",
)


@primitive(public=False, name="round", inplace=True)
def _round(input, /):
    """The nearest integer, halves to even."""
    return np.rint(input) if input.dtype.kind in "fV" else input.copy()


@_round.vjp
def _(g):
    return zeros_of(g)


@primitive(public=False, name="round.decimals", node="RoundBackward1")
def _round_decimals(input, /, decimals):
    if input.dtype.kind not in "fV":
        raise RuntimeError(
            f"\"round_cpu\" not implemented for '{type_word(dtypes.from_numpy(input.dtype))}'"
        )
    scale = 10.0 ** (decimals if decimals >= 0 else -decimals)
    a = (
        np.rint(input * scale) / scale
        if decimals >= 0
        else np.rint(input / scale) * scale
    )
    return a.astype(input.dtype)


@_round_decimals.vjp
def _(g):
    return zeros_of(g)


@composite(method=True, out=True)
def round(input, *, decimals=0):
    """Each element rounded to `decimals` places, halves to even.

    >>> round(tensor([0.5, 1.5, -2.7]))
    tensor([ 0.,  2., -3.])
    """
    return _round(input) if decimals == 0 else _round_decimals(input, decimals)


def round_(self, *, decimals=0):
    """Round in place to `decimals` places."""
    record = _round.record if decimals == 0 else _round_decimals.record
    return write(record, self, (), () if decimals == 0 else (decimals,))


Tensor.round_ = round_
