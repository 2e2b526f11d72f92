"""The compiler's scalar operators: all that is known of each, in one row.

An operator is a row here and, in `lower/llvm/`, the code that it becomes (`@emits(name)`); one that C's math library has
needs the row only (`libm`).

Arithmetic follows NumPy where it differs from C: `floordiv` and `mod` round down, `maximum` and `minimum` give nan if
either side is nan, `round` goes to even, integers wrap around. `div` and `fma` (x y + z, rounded once) are of floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...ops.pointwise.multiply_add import multiply_add

__all__ = ["BY_UFUNC", "LOGICAL", "REDUCTIONS", "SCALAR_OPS", "ScalarOp", "cost", "register"]


class ScalarOp(NamedTuple):
    """A row.

    name: in expressions; numpy: the same of arrays. A kernel's call of it, or of a ufunc in `also`, becomes the operator;
    that of `logical` too, whose arguments become bool first; that of its `reduce` becomes the reduction of that kind.
    kinds: of the types that it takes, in NumPy's letters (bfloat16 and float16 are "f"). cost: of an element of float32, in
    vector instructions that take 0.2 ns; twice that in float64. on_bool: the operator that it is of bool. exact: the
    result of 16-bit floats needs no rounding to their type. libm: the function of C's library that serves types without
    an emitter. python: the name in Python's module `operator`.
    """

    name: str
    numpy: Callable[..., Any]
    kinds: str = "f"
    cost: int = 1
    arity: int = 1
    also: tuple[np.ufunc, ...] = ()
    logical: np.ufunc | None = None
    reduction: str = ""
    on_bool: str = ""
    gives_bool: bool = False
    exact: bool = False
    libm: str = ""
    python: str = ""


SCALAR_OPS: dict[str, ScalarOp] = {}
BY_UFUNC: dict[Callable[..., Any], ScalarOp] = {}
LOGICAL: dict[np.ufunc, ScalarOp] = {}
REDUCTIONS: dict[Callable[..., Any], str] = {}


def register(op: ScalarOp) -> ScalarOp:
    """Add a row. Raises ValueError for a name that is there."""
    if op.name in SCALAR_OPS:
        raise ValueError(f"scalar operator {op.name!r} is registered twice")
    SCALAR_OPS[op.name] = op
    if op.logical is not None:
        LOGICAL[op.logical] = op
    for function in (op.numpy, *op.also):
        if isinstance(function, np.ufunc) and function is not op.logical:
            BY_UFUNC[function] = op
    if op.reduction:
        REDUCTIONS.update(dict.fromkeys((op.numpy, *filter(None, (op.logical,))), op.reduction))
    return op


# What an expression has besides operators. A load is of memory that a cache holds.
_OTHERS = {"const": 0, "load": 1, "index": 1, "cast": 1, "gather": 16}


def cost(op: str) -> int:
    """What one element costs: see `ScalarOp`."""
    return SCALAR_OPS[op].cost if op in SCALAR_OPS else _OTHERS[op]


def _of_math(function: Callable[[float], float]) -> Callable[[Any], Any]:
    def of_array(x: Any) -> Any:
        x = np.asarray(x)
        return np.array([function(v) for v in x.ravel().tolist()]).astype(x.dtype).reshape(x.shape)

    return of_array


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


_ANY, _BITS = "fiub", "iub"
_UNARY = (
    ScalarOp("neg", np.negative, "fiu", exact=True, python="neg"),
    ScalarOp("abs", np.absolute, "fiu", also=(np.fabs,), exact=True, python="abs"),
    ScalarOp("sign", np.sign, "fiu", exact=True),
    ScalarOp("square", np.square, "fiu"),
    ScalarOp("sqrt", np.sqrt, cost=10),
    ScalarOp("rsqrt", lambda x: 1 / np.sqrt(x), cost=12),
    ScalarOp("reciprocal", np.reciprocal, cost=8),
    ScalarOp("exp", np.exp, cost=14, libm="exp"),
    ScalarOp("exp2", np.exp2, cost=40, libm="exp2"),
    ScalarOp("expm1", np.expm1, cost=16, libm="expm1"),
    ScalarOp("log", np.log, cost=20, libm="log"),
    ScalarOp("log2", np.log2, cost=80, libm="log2"),
    ScalarOp("log10", np.log10, cost=50, libm="log10"),
    ScalarOp("log1p", np.log1p, cost=24, libm="log1p"),
    ScalarOp("sin", np.sin, cost=16, libm="sin"),
    ScalarOp("cos", np.cos, cost=16, libm="cos"),
    ScalarOp("tan", np.tan, cost=50, libm="tan"),
    ScalarOp("asin", np.arcsin, cost=60, libm="asin"),
    ScalarOp("acos", np.arccos, cost=60, libm="acos"),
    ScalarOp("atan", np.arctan, cost=50, libm="atan"),
    ScalarOp("sinh", np.sinh, cost=50, libm="sinh"),
    ScalarOp("cosh", np.cosh, cost=50, libm="cosh"),
    ScalarOp("tanh", np.tanh, cost=20, libm="tanh"),
    ScalarOp("asinh", np.arcsinh, cost=120, libm="asinh"),
    ScalarOp("acosh", np.arccosh, cost=105, libm="acosh"),
    ScalarOp("atanh", np.arctanh, cost=90, libm="atanh"),
    ScalarOp("sigmoid", _sigmoid, cost=22),
    ScalarOp("erf", _of_math(math.erf), cost=18, libm="erf"),
    ScalarOp("erfc", _of_math(math.erfc), cost=830, libm="erfc"),
    ScalarOp("floor", np.floor, _ANY, exact=True),
    ScalarOp("ceil", np.ceil, _ANY, exact=True),
    ScalarOp("trunc", np.trunc, _ANY, exact=True),
    ScalarOp("round", np.rint, "f", exact=True),
    ScalarOp("isnan", np.isnan, _ANY, gives_bool=True, exact=True),
    ScalarOp("isinf", np.isinf, _ANY, gives_bool=True, exact=True),
    ScalarOp("isfinite", np.isfinite, _ANY, gives_bool=True, exact=True),
    ScalarOp("signbit", np.signbit, "f", gives_bool=True, exact=True),
    ScalarOp("not", np.logical_not, _ANY, logical=np.logical_not, gives_bool=True, exact=True),
    ScalarOp("invert", np.invert, _BITS, on_bool="not", python="invert"),
)
_BINARY = (
    ScalarOp("add", np.add, _ANY, on_bool="or", reduction="sum", python="add"),
    ScalarOp("sub", np.subtract, "fiu", python="sub"),
    ScalarOp("mul", np.multiply, _ANY, on_bool="and", reduction="prod", python="mul"),
    ScalarOp("div", np.true_divide, cost=8, python="truediv"),
    ScalarOp("floordiv", np.floor_divide, "fiu", cost=40, python="floordiv"),
    ScalarOp("mod", np.remainder, "fiu", cost=30, python="mod"),
    ScalarOp("fmod", np.fmod, "fiu", cost=24, libm="fmod"),
    ScalarOp("pow", np.power, "fiu", cost=170, also=(np.float_power,), libm="pow", python="pow"),
    ScalarOp("atan2", np.arctan2, cost=60, libm="atan2"),
    ScalarOp("hypot", np.hypot, cost=18, libm="hypot"),
    ScalarOp("copysign", np.copysign, exact=True),
    ScalarOp("maximum", np.maximum, _ANY, on_bool="or", reduction="max", exact=True),
    ScalarOp("minimum", np.minimum, _ANY, on_bool="and", reduction="min", exact=True),
    ScalarOp("fmax", np.fmax, "fiu", exact=True),
    ScalarOp("fmin", np.fmin, "fiu", exact=True),
    ScalarOp("logaddexp", np.logaddexp, cost=175),
    ScalarOp("lt", np.less, _ANY, gives_bool=True, exact=True, python="lt"),
    ScalarOp("le", np.less_equal, _ANY, gives_bool=True, exact=True, python="le"),
    ScalarOp("gt", np.greater, _ANY, gives_bool=True, exact=True, python="gt"),
    ScalarOp("ge", np.greater_equal, _ANY, gives_bool=True, exact=True, python="ge"),
    ScalarOp("eq", np.equal, _ANY, gives_bool=True, exact=True, python="eq"),
    ScalarOp("ne", np.not_equal, _ANY, gives_bool=True, exact=True, python="ne"),
    ScalarOp("and", np.bitwise_and, _BITS, logical=np.logical_and, reduction="all", python="and_"),
    ScalarOp("or", np.bitwise_or, _BITS, logical=np.logical_or, reduction="any", python="or_"),
    ScalarOp("xor", np.bitwise_xor, _BITS, logical=np.logical_xor, python="xor"),
    ScalarOp("shl", np.left_shift, "iu", python="lshift"),
    ScalarOp("shr", np.right_shift, "iu", python="rshift"),
)
_TERNARY = (ScalarOp("where", np.where, _ANY, exact=True), ScalarOp("fma", multiply_add))
for _arity, _rows in enumerate((_UNARY, _BINARY, _TERNARY), 1):
    for _row in _rows:
        register(_row._replace(arity=_arity))
