"""Arithmetic, comparisons and activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .... import ops
from ....core.tensor import dtype as dtypes
from ....core.tensor.layout import finfo
from ....core.tensor.tensor import Tensor
from ...jit.recording.describe import warn_user
from ..graph import Builder, CannotExport, Item, plain

__all__ = ["ROWS"]


def same(kind: str, **attributes: Any) -> Callable:
    """A row of an ONNX operator that does the same; integers are cast to the result's type before."""
    return lambda g, out, x: g.emit(kind, g.name(x, out.dtype), **attributes)


def binary(kind: str) -> Callable:
    """A row of arithmetic, in the result's type."""
    return lambda g, out, x, y: g.emit(kind, g.name(x, out.dtype), g.name(y, out.dtype))


def comparison(kind: str, negated: bool = False) -> Callable:
    """A row of a comparison, in the type that both operands have in common."""

    def row(g: Builder, out: Tensor, x: Item, y: Item) -> str:
        common = common_type(x, y)
        if common is dtypes.bool_ and kind != "Equal":
            common = dtypes.int32
        name = g.emit(kind, g.name(x, common), g.name(y, common))
        return g.emit("Not", name) if negated else name

    return row


def common_type(x: Item, y: Item) -> dtypes.dtype:
    """The type in which torch compares two operands, of which one may be a number."""
    return ops.result_type(x.value, y.value)


def logical(kind: str) -> Callable:
    """A row on truth values."""
    return lambda g, out, x, y: g.emit(kind, g.name(x, dtypes.bool_), g.name(y, dtypes.bool_))


def bitwise(kind: str) -> Callable:
    """A row on bits, or on truth values."""

    def row(g: Builder, out: Tensor, x: Item, y: Item) -> str:
        name = kind if out.dtype is dtypes.bool_ else f"Bitwise{kind}"
        return g.emit(name, g.name(x, out.dtype), g.name(y, out.dtype))

    return row


def _scaled(g: Builder, name: str, alpha: Item, kind: dtypes.dtype) -> str:
    value = plain(alpha)
    return name if value == 1 else g.emit("Mul", name, g.constant(value, kind))


def add(g: Builder, out: Tensor, x: Item, y: Item, alpha: Item) -> str:
    if out.dtype is dtypes.bool_:
        return g.emit("Or", g.name(x), g.name(y, dtypes.bool_))
    return g.emit("Add", g.name(x, out.dtype), _scaled(g, g.name(y, out.dtype), alpha, out.dtype))


def sub(g: Builder, out: Tensor, x: Item, y: Item, alpha: Item) -> str:
    return g.emit("Sub", g.name(x, out.dtype), _scaled(g, g.name(y, out.dtype), alpha, out.dtype))


def rsub(g: Builder, out: Tensor, x: Item, y: Item, alpha: Item) -> str:
    return sub(g, out, y, x, alpha)


def mul(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    kind = "And" if out.dtype is dtypes.bool_ else "Mul"
    return g.emit(kind, g.name(x, out.dtype), g.name(y, out.dtype))


def div(g: Builder, out: Tensor, x: Item, y: Item, rounding: Item | None = None) -> str:
    how = None if rounding is None else plain(rounding)
    if how == "floor":
        return floor_divide(g, out, x, y)
    name = g.emit("Div", g.name(x, out.dtype), g.name(y, out.dtype))  # of integers: ONNX cuts towards zero
    return _towards_zero(g, name) if how == "trunc" and out.dtype.is_floating_point else name


def _towards_zero(g: Builder, name: str) -> str:
    return g.emit("Mul", g.emit("Sign", name), g.emit("Floor", g.emit("Abs", name)))


def floor_divide(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    """(x - r) / y with the remainder r, which is a whole number but for rounding."""
    a, b = g.name(x, out.dtype), g.name(y, out.dtype)
    name = g.emit("Div", g.emit("Sub", a, _rest(g, out, a, b)), b)
    return g.emit("Round", name) if out.dtype.is_floating_point else name


def remainder(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    return _rest(g, out, g.name(x, out.dtype), g.name(y, out.dtype))


def _rest(g: Builder, out: Tensor, a: str, b: str) -> str:
    """The remainder with the sign of b."""
    if not out.dtype.is_floating_point:
        return g.emit("Mod", a, b)
    rest, zero = g.emit("Mod", a, b, fmod=1), g.constant(0.0, out.dtype)
    other_sign = g.emit("Less", g.emit("Mul", g.emit("Sign", rest), g.emit("Sign", b)), zero)
    return g.emit("Where", other_sign, g.emit("Add", rest, b), rest)


def fmod(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    return g.emit("Mod", g.name(x, out.dtype), g.name(y, out.dtype), fmod=1)


def round_(g: Builder, out: Tensor, x: Item, decimals: Item | None = None) -> str:
    if decimals is None or plain(decimals) == 0:
        return g.emit("Round", g.name(x))
    digits = plain(decimals)
    factor = g.constant(10.0 ** abs(digits), out.dtype)
    there, back = ("Mul", "Div") if digits > 0 else ("Div", "Mul")
    return g.emit(back, g.emit("Round", g.emit(there, g.name(x), factor)), factor)


def pow(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    return g.emit("Pow", g.name(x, out.dtype), g.name(y, out.dtype))


def rsqrt(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Reciprocal", g.emit("Sqrt", g.name(x, out.dtype)))


def _of_two(g: Builder, kind: dtypes.dtype, value: float) -> str:
    return g.constant(value, kind)


def gelu(g: Builder, out: Tensor, x: Item, approximate: Item) -> str:
    a, kind = g.name(x), out.dtype
    if g.opset >= 20:
        return g.emit("Gelu", a, approximate=plain(approximate))
    if plain(approximate) == "tanh":
        cube = g.emit("Mul", g.emit("Mul", a, a), a)
        inner = g.emit("Add", a, g.emit("Mul", cube, g.constant(0.044715, kind)))
        inner = g.emit("Tanh", g.emit("Mul", inner, g.constant(math.sqrt(2 / math.pi), kind)))
    else:
        inner = g.emit("Erf", g.emit("Mul", a, g.constant(math.sqrt(0.5), kind)))
    return g.emit("Mul", g.emit("Mul", a, g.constant(0.5, kind)), g.emit("Add", inner, g.constant(1.0, kind)))


def silu(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Mul", g.name(x), g.emit("Sigmoid", g.name(x)))


def hardswish(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("HardSwish", g.name(x))


def clamp(g: Builder, out: Tensor, x: Item, low: Item, high: Item) -> str:
    if any(isinstance(bound.value, Tensor) and bound.value.ndim for bound in (low, high)):
        name = g.name(x, out.dtype)
        name = name if low.value is None else g.emit("Max", name, g.name(low, out.dtype))
        return name if high.value is None else g.emit("Min", name, g.name(high, out.dtype))
    return g.emit("Clip", g.name(x, out.dtype), g.optional(low, out.dtype), g.optional(high, out.dtype))


def clamp_min(g: Builder, out: Tensor, x: Item, low: Item) -> str:
    return clamp(g, out, x, low, Item(None))


def clamp_max(g: Builder, out: Tensor, x: Item, high: Item) -> str:
    return clamp(g, out, x, Item(None), high)


def relu6(g: Builder, out: Tensor, x: Item) -> str:
    return clamp(g, out, x, Item(0.0), Item(6.0))


def leaky_relu(g: Builder, out: Tensor, x: Item, slope: Item) -> str:
    return g.emit("LeakyRelu", g.name(x), alpha=float(plain(slope)))


def rrelu(g: Builder, out: Tensor, x: Item, lower: Item, upper: Item, training: Item, generator: Item) -> str:
    if plain(training):
        raise CannotExport("slopes that are drawn")
    return g.emit("LeakyRelu", g.name(x), alpha=(plain(lower) + plain(upper)) / 2)


def elu(g: Builder, out: Tensor, x: Item, alpha: Item, scale: Item, input_scale: Item) -> str:
    if plain(scale) == 1 and plain(input_scale) == 1:
        return g.emit("Elu", g.name(x), alpha=float(plain(alpha)))
    raise CannotExport("a scale other than 1")


def softplus(g: Builder, out: Tensor, x: Item, beta: Item, threshold: Item) -> str:
    if plain(beta) == 1:
        return g.emit("Softplus", g.name(x))
    b = g.constant(float(plain(beta)), out.dtype)
    return g.emit("Div", g.emit("Softplus", g.emit("Mul", g.name(x), b)), b)


def prelu(g: Builder, out: Tensor, x: Item, weight: Item) -> str:
    if weight.value.numel() > 1 and x.value.ndim > 2:
        shape = g.constant([-1, *[1] * (x.value.ndim - 2)])
        return g.emit("PRelu", g.name(x), g.emit("Reshape", g.name(weight), shape))
    return g.emit("PRelu", g.name(x), g.name(weight))


def where(g: Builder, out: Any, condition: Item, *choices: Item) -> str | list[str]:
    """Of a condition alone: the places where it holds, a tensor for each dimension."""
    if not choices:
        holds = g.emit("NonZero", g.name(condition))
        return [g.emit("Gather", holds, g.constant(d), axis=0) for d in range(condition.value.ndim)]
    x, y = choices
    return g.emit("Where", g.name(condition, dtypes.bool_), g.name(x, out.dtype), g.name(y, out.dtype))


def masked_fill(g: Builder, out: Tensor, x: Item, mask: Item, value: Item) -> str:
    return g.emit("Where", g.name(mask, dtypes.bool_), g.name(value, out.dtype), g.name(x, out.dtype))


def addcmul(g: Builder, out: Tensor, x: Item, a: Item, b: Item, value: Item) -> str:
    return g.emit("Add", g.name(x), _scaled(g, g.emit("Mul", g.name(a), g.name(b)), value, out.dtype))


def addcdiv(g: Builder, out: Tensor, x: Item, a: Item, b: Item, value: Item) -> str:
    return g.emit("Add", g.name(x), _scaled(g, g.emit("Div", g.name(a), g.name(b)), value, out.dtype))


def lerp(g: Builder, out: Tensor, x: Item, y: Item, weight: Item) -> str:
    step = g.emit("Mul", g.emit("Sub", g.name(y), g.name(x)), g.name(weight, out.dtype))
    return g.emit("Add", g.name(x), step)


def to_type(g: Builder, out: Tensor, x: Item, *rest: Item) -> str:
    return g.name(x, out.dtype)


def bitwise_not(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Not" if out.dtype is dtypes.bool_ else "BitwiseNot", g.name(x))


def logical_not(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Not", g.name(x, dtypes.bool_))


def log1p(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Log", g.emit("Add", g.name(x, out.dtype), g.constant(1.0, out.dtype)))


def expm1(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Sub", g.emit("Exp", g.name(x, out.dtype)), g.constant(1.0, out.dtype))


def _log_of(base: float) -> Callable:
    return lambda g, out, x: g.emit(
        "Mul", g.emit("Log", g.name(x, out.dtype)), g.constant(1 / math.log(base), out.dtype)
    )


def square(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Mul", g.name(x), g.name(x))


def hardtanh(g: Builder, out: Tensor, x: Item, low: Item, high: Item) -> str:
    return clamp(g, out, x, low, high)


def log_sigmoid(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Neg", g.emit("Softplus", g.emit("Neg", g.name(x))))


def dropout(g: Builder, out: Tensor, x: Item, p: Item, train: Item) -> str:
    if not (plain(train) and plain(p) > 0):
        return g.name(x)
    raise CannotExport("dropout of this kind that trains: call model.eval() first")


def dropout_by_element(g: Builder, out: Tensor, x: Item, p: Item, train: Item) -> str:
    if not (plain(train) and plain(p) > 0):
        return g.name(x)
    warn_user(
        "The model is exported with dropout that trains: it draws random numbers in each run. Call model.eval() first for "
        "one that does not",
        UserWarning,
    )
    if plain(p) == 1:
        return g.emit("Mul", g.name(x), g.constant(0.0, out.dtype))
    return g.emit("Dropout", g.name(x), g.constant(float(plain(p)), out.dtype), g.constant(True, dtypes.bool_))


def trunc(g: Builder, out: Tensor, x: Item) -> str:
    return _towards_zero(g, g.name(x))


def threshold(g: Builder, out: Tensor, x: Item, least: Item, value: Item) -> str:
    above = g.emit("Greater", g.name(x), g.name(least, out.dtype))
    return g.emit("Where", above, g.name(x), g.name(value, out.dtype))


def shrink(soft: bool) -> Callable:
    """A row of `softshrink` and `hardshrink`."""
    return lambda g, out, x, bound: g.emit(
        "Shrink", g.name(x), lambd=float(plain(bound)), bias=float(plain(bound)) if soft else 0.0
    )


def logit(g: Builder, out: Tensor, x: Item, eps: Item) -> str:
    if plain(eps) is not None:
        low = float(plain(eps))
        name = g.emit("Clip", g.name(x), g.constant(low, out.dtype), g.constant(1 - low, out.dtype))
    else:
        name = g.name(x, out.dtype)
    return g.emit("Log", g.emit("Div", name, g.emit("Sub", g.constant(1.0, out.dtype), name)))


def erfc(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Sub", g.constant(1.0, out.dtype), g.emit("Erf", g.name(x, out.dtype)))


def exp2(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Pow", g.constant(2.0, out.dtype), g.name(x, out.dtype))


def frac(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Sub", g.name(x), trunc(g, out, x))


def isfinite(g: Builder, out: Tensor, x: Item) -> str:
    if not x.value.dtype.is_floating_point:
        return g.emit("Equal", g.name(x), g.name(x))
    return g.emit("Not", g.emit("Or", g.emit("IsNaN", g.name(x)), g.emit("IsInf", g.name(x))))


def atan2(g: Builder, out: Tensor, y: Item, x: Item) -> str:
    """atan(y / x), with pi added or subtracted where x < 0."""
    a, b, zero = g.name(y, out.dtype), g.name(x, out.dtype), g.constant(0.0, out.dtype)
    half = g.emit("Where", g.emit("Less", a, zero), g.constant(-math.pi, out.dtype), g.constant(math.pi, out.dtype))
    turn = g.emit("Where", g.emit("Less", b, zero), half, zero)
    angle = g.emit("Add", g.emit("Atan", g.emit("Div", a, b)), turn)
    origin = g.emit("And", g.emit("Equal", a, zero), g.emit("Equal", b, zero))
    return g.emit("Where", origin, zero, angle)


def log_of_sum(g: Builder, kind: dtypes.dtype, a: str, b: str) -> str:
    """log(exp(a) + exp(b)); where both are the same infinity, that."""
    far = g.emit("Exp", g.emit("Neg", g.emit("Abs", g.emit("Sub", a, b))))
    total = g.emit("Add", g.emit("Max", a, b), g.emit("Log", g.emit("Add", far, g.constant(1.0, kind))))
    return g.emit("Where", g.emit("And", g.emit("Equal", a, b), g.emit("IsInf", a)), a, total)


def logaddexp(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    return log_of_sum(g, out.dtype, g.name(x, out.dtype), g.name(y, out.dtype))


def logaddexp2(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    scale = g.constant(math.log(2), out.dtype)
    a, b = (g.emit("Mul", g.name(item, out.dtype), scale) for item in (x, y))
    return g.emit("Div", log_of_sum(g, out.dtype, a, b), scale)


def nan_to_num(g: Builder, out: Tensor, x: Item, nan: Item, above: Item, below: Item) -> str:
    name, limits = g.name(x), finfo(out.dtype) if out.dtype.is_floating_point else None
    if limits is None:
        return name
    for found, item, default in (
        (g.emit("IsNaN", name), nan, 0.0),
        (g.emit("IsInf", name, detect_negative=0), above, limits.max),
        (g.emit("IsInf", name, detect_positive=0), below, limits.min),
    ):
        value = default if plain(item) is None else plain(item)
        name = g.emit("Where", found, g.constant(value, out.dtype), name)
    return name


def one_infinity(other: str) -> Callable:
    """A row of `isposinf` and `isneginf`."""
    return lambda g, out, x: g.emit("IsInf", g.name(x), **{f"detect_{other}": 0})


def number_of_two(kind: str) -> Callable:
    """A row of `fmax` and `fmin`: of a number and NaN, the number."""

    def row(g: Builder, out: Tensor, x: Item, y: Item) -> str:
        a, b = g.name(x, out.dtype), g.name(y, out.dtype)
        name = g.emit(kind, a, b)
        if not out.dtype.is_floating_point:
            return name
        return g.emit("Where", g.emit("IsNaN", a), b, g.emit("Where", g.emit("IsNaN", b), a, name))

    return row


def heaviside(g: Builder, out: Tensor, x: Item, values: Item) -> str:
    name, zero = g.name(x), g.constant(0, out.dtype)
    step = g.cast(g.emit("Greater", name, zero), out.dtype)
    if out.dtype.is_floating_point:
        step = g.emit("Where", g.emit("IsNaN", name), zero, step)
    return g.emit("Where", g.emit("Equal", name, zero), g.name(values), step)


def hypot(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    """The larger size times the root of 1 + (smaller / larger)^2, which does not overflow."""
    a, b = (g.emit("Abs", g.name(item, out.dtype)) for item in (x, y))
    most, least, one = g.emit("Max", a, b), g.emit("Min", a, b), g.constant(1.0, out.dtype)
    share = g.emit("Div", least, g.emit("Where", g.emit("Equal", most, g.constant(0.0, out.dtype)), one, most))
    length = g.emit("Mul", most, g.emit("Sqrt", g.emit("Add", one, square_of(g, share))))
    return g.emit(
        "Where", g.emit("Or", g.emit("IsInf", a), g.emit("IsInf", b)), g.constant(math.inf, out.dtype), length
    )


def square_of(g: Builder, name: str) -> str:
    """A name times itself."""
    return g.emit("Mul", name, name)


def scaled_by(factor: float) -> Callable:
    """A row of `deg2rad` and `rad2deg`."""
    return lambda g, out, x: g.emit("Mul", g.name(x, out.dtype), g.constant(factor, out.dtype))


def xlogy(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    """x log(y), and 0 where x is 0, unless y is NaN."""
    a, b = g.name(x, out.dtype), g.name(y, out.dtype)
    zero = g.constant(0.0, out.dtype)
    nothing = g.emit("And", g.emit("Equal", a, zero), g.emit("Not", g.emit("IsNaN", b)))
    return g.emit("Where", nothing, zero, g.emit("Mul", a, g.emit("Log", b)))


def sinc(g: Builder, out: Tensor, x: Item) -> str:
    angle, zero, one = g.emit("Mul", g.name(x, out.dtype), g.constant(math.pi, out.dtype)), 0.0, 1.0
    at_zero = g.emit("Equal", angle, g.constant(zero, out.dtype))
    safe = g.emit("Where", at_zero, g.constant(one, out.dtype), angle)
    return g.emit("Where", at_zero, g.constant(one, out.dtype), g.emit("Div", g.emit("Sin", safe), safe))


def copysign(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    """1 / -0 is -inf, which tells the sign of a zero; of a NaN there is none in ONNX."""
    size, sign = g.emit("Abs", g.name(x, out.dtype)), g.name(y, out.dtype)
    zero = g.constant(0.0, out.dtype)
    from_zero = g.emit("Less", g.emit("Div", g.constant(1.0, out.dtype), sign), zero)
    negative = g.emit("Or", g.emit("And", g.emit("Equal", sign, zero), from_zero), g.emit("Less", sign, zero))
    return g.emit("Where", negative, g.emit("Neg", size), size)


def shifted(direction: str) -> Callable:
    """A row of shifts of bits: times or by a power of two, rounded down, as ONNX shifts unsigned integers alone."""

    def row(g: Builder, out: Tensor, x: Item, y: Item) -> str:
        power = g.cast(g.emit("Pow", g.constant(2.0, dtypes.float64), g.name(y, dtypes.float64)), out.dtype)
        name = g.name(x, out.dtype)
        if direction == "LEFT":
            return g.emit("Mul", name, power)
        return g.emit("Div", g.emit("Sub", name, g.emit("Mod", name, power)), power)

    return row


ROWS: dict[str, Callable] = {
    **{name: same(kind) for name, kind in {
        "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh",
        "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "floor": "Floor", "log": "Log",
        "mish": "Mish", "neg": "Neg", "reciprocal": "Reciprocal", "relu": "Relu", "sigmoid": "Sigmoid",
        "sign": "Sign", "sgn": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
        "softsign": "Softsign", "selu": "Selu", "expit": "Sigmoid",
    }.items()},
    **{name: binary(kind) for name, kind in {"maximum": "Max", "minimum": "Min"}.items()},
    "true_divide": div, "div": div, "divide": div, "add": add, "sub": sub, "subtract": sub, "rsub": rsub, "mul": mul,
    "multiply": mul, "floor_divide": floor_divide, "remainder": remainder, "pow": pow, "rsqrt": rsqrt, "square": square,
    "log1p": log1p, "expm1": expm1, "log2": _log_of(2), "log10": _log_of(10), "trunc": trunc, "lerp": lerp,
    "addcmul": addcmul, "addcdiv": addcdiv,
    "eq": comparison("Equal"), "ne": comparison("Equal", negated=True), "lt": comparison("Less"),
    "le": comparison("LessOrEqual"), "gt": comparison("Greater"), "ge": comparison("GreaterOrEqual"),
    "logical_and": logical("And"), "logical_or": logical("Or"), "logical_xor": logical("Xor"), "logical_not": logical_not,
    "bitwise_and": bitwise("And"), "bitwise_or": bitwise("Or"), "bitwise_xor": bitwise("Xor"), "bitwise_not": bitwise_not,
    "__and__": bitwise("And"), "__or__": bitwise("Or"), "__xor__": bitwise("Xor"),
    "isnan": lambda g, out, x: g.emit("IsNaN", g.name(x)), "isinf": lambda g, out, x: g.emit("IsInf", g.name(x)),
    "gelu": gelu, "silu": silu, "hardswish": hardswish, "clamp": clamp, "clamp_min": clamp_min, "clamp_max": clamp_max,
    "relu6": relu6, "hardtanh": hardtanh, "leaky_relu": leaky_relu, "rrelu": rrelu, "elu": elu, "softplus": softplus, "prelu": prelu,
    "hardsigmoid": lambda g, out, x: g.emit("HardSigmoid", g.name(x), alpha=1 / 6, beta=0.5),
    "celu": lambda g, out, x, alpha: g.emit("Celu", g.name(x), alpha=float(plain(alpha))),
    "log_sigmoid": log_sigmoid, "where": where, "nonzero_numpy": where, "masked_fill": masked_fill, "to": to_type, "type_as": to_type,
    "round": round_, "fmod": fmod, "threshold": threshold, "softshrink": shrink(True), "hardshrink": shrink(False),
    "logit": logit, "erfc": erfc, "exp2": exp2, "frac": frac, "isfinite": isfinite, "atan2": atan2, "arctan2": atan2,
    "_to_copy": to_type, "dropout": dropout_by_element, "feature_dropout": dropout, "alpha_dropout": dropout,
    "feature_alpha_dropout": dropout, "logaddexp": logaddexp, "logaddexp2": logaddexp2, "nan_to_num": nan_to_num,
    "isposinf": one_infinity("negative"), "isneginf": one_infinity("positive"), "fmax": number_of_two("Max"),
    "fmin": number_of_two("Min"), "heaviside": heaviside, "hypot": hypot, "deg2rad": scaled_by(math.pi / 180),
    "rad2deg": scaled_by(180 / math.pi), "xlogy": xlogy, "sinc": sinc, "copysign": copysign,
    "__lshift__": shifted("LEFT"), "bitwise_left_shift": shifted("LEFT"), "__rshift__": shifted("RIGHT"),
    "bitwise_right_shift": shifted("RIGHT"),
}  # fmt: skip
