"""Operators and conversions of scalar expressions as instructions.

In registers bool is i1, and float16 and bfloat16 are float32 numbers that those types have: every operator's result is
rounded to them, to nearest even, as eager kernels do.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.scalar_ops import SCALAR_OPS
from . import half, vector_math
from .emitters import Emitter, emits, emitter
from .integers import INTEGERS
from .ir import BITS, Builder, Val, number

_REGISTER = {"bool": "i1", "int8": "i8", "uint8": "i8", "int16": "i16", "int32": "i32", "int64": "i64"}
_REGISTER |= {"float16": "float", "bfloat16": "float", "float32": "float", "float64": "double"}
_MEMORY = {**_REGISTER, "bool": "i8", "bfloat16": "i16"}


@functools.cache
def register(dtype: np.dtype) -> str:
    """The element type of a number of `dtype` in registers."""
    return _lookup(_REGISTER, dtype)


@functools.cache
def memory(dtype: np.dtype) -> str:
    """The element type of a number of `dtype` in memory."""
    return half.memory_type() if dtype.name == "float16" else _lookup(_MEMORY, dtype)


def _lookup(table: dict[str, str], dtype: np.dtype) -> str:
    if dtype.name not in table:
        raise NotImplementedError(f"generated code has no {dtype.name}")
    return table[dtype.name]


def is_float(dtype: np.dtype) -> bool:
    return register(dtype) in ("float", "double")


def constant(value: Any, dtype: np.dtype) -> Val:
    return number(float(value) if is_float(dtype) else int(value), register(dtype))


def from_memory(b: Builder, x: Val, dtype: np.dtype) -> Val:
    """A loaded number as registers have it."""
    if memory(dtype) == register(dtype):
        return x
    if dtype.name == "bool":
        return b.compare("icmp ne", x, 0)
    if dtype.name == "float16":
        return half.widen(b, x)
    if dtype.name == "bfloat16":
        return b.convert("bitcast", b.op("shl", b.convert("zext", x, "i32"), 16), "float")
    return x


def to_memory(b: Builder, x: Val, dtype: np.dtype) -> Val:
    """A number as it is stored."""
    if memory(dtype) == register(dtype):
        return x
    if dtype.name == "bool":
        return b.convert("zext", x, "i8")
    if dtype.name == "float16":
        return half.narrow(b, x)
    if dtype.name == "bfloat16":
        return b.convert("trunc", b.op("lshr", b.convert("bitcast", x, "i32"), 16), "i16")
    return x


def rounded(b: Builder, x: Val, dtype: np.dtype) -> Val:
    """A float32 number rounded to float16 or bfloat16; other types stay."""
    if memory(dtype) == register(dtype):
        return x
    if dtype.name == "float16":
        return half.widen(b, half.narrow(b, x))
    if dtype.name == "bfloat16":
        bits = b.convert("bitcast", x, "i32")
        even = b.op("and", b.op("lshr", bits, 16), 1)
        bits = b.op("and", b.op("add", b.op("add", bits, 0x7FFF), even), -65536)
        return b.select(vector_math.is_nan(b, x), x, b.convert("bitcast", bits, "float"))
    return x


# ------------------------------------------------------------------------------------------------ conversions


def cast(b: Builder, x: Val, source: np.dtype, target: np.dtype) -> Val:
    """A number of another type, as eager calls convert it (core/tensor/casting.py)."""
    elem = register(target)
    if target.name == "bool":
        return b.compare("fcmp une" if is_float(source) else "icmp ne", x, 0)
    if is_float(source):
        return _from_float(b, x, target, elem)
    if is_float(target):
        signed = source.kind == "i"
        return rounded(b, b.convert("sitofp" if signed else "uitofp", x, elem), target)
    if BITS[elem] == BITS[x.elem]:
        return x
    if BITS[elem] < BITS[x.elem]:
        return b.convert("trunc", x, elem)
    return b.convert("sext" if source.kind == "i" else "zext", x, elem)


def _from_float(b: Builder, x: Val, target: np.dtype, elem: str) -> Val:
    if elem == "double":
        return x if x.elem == "double" else b.convert("fpext", x, "double")
    if elem == "float":
        if x.elem == "double":
            x = _to_odd(b, x) if target.name == "float16" else b.convert("fptrunc", x, "float")
        return rounded(b, x, target)
    wide = "i64" if elem == "i64" or target.name == "uint8" else "i32"
    limit = 2.0 ** (BITS[wide] - 1)
    inside = b.compare("fcmp olt", x, limit)
    fits = (wide, x.elem) == ("i32", "double")  # such a double can be between the smallest integer and one less
    lowest = b.compare("fcmp ogt", x, -limit - 1) if fits else b.compare("fcmp oge", x, -limit)
    inside = b.op("and", inside, lowest)
    whole = b.select(inside, b.convert("fptosi", x, wide), -(1 << (BITS[wide] - 1)))
    return whole if wide == elem else b.convert("trunc", whole, elem)


def _to_odd(b: Builder, x: Val) -> Val:
    """A double as float32, rounded so that a second rounding to a shorter type gives what a single one would."""
    y = b.convert("fptrunc", x, "float")
    back = b.convert("fpext", y, "double")
    bits = b.convert("bitcast", y, "i32")
    above = b.compare("fcmp ogt", b.intrinsic("fabs", back), b.intrinsic("fabs", x))
    down = b.op("sub", bits, b.convert("zext", above, "i32"))
    odd = b.convert("bitcast", b.op("or", down, 1), "float")
    return b.select(b.compare("fcmp one", back, x), odd, y)


# ------------------------------------------------------------------------------------------------ operators


def operate(b: Builder, op: str, args: list[Val], source: np.dtype, target: np.dtype) -> Val:
    """An operator whose arguments have the type `source` (`where`: its choices) and its result `target`."""
    rule = emitter(op, register(source))
    if rule is None:
        raise NotImplementedError(f"generated code has no {op} of {source.name}")
    if not is_float(source):
        return rule(b, *args, source.kind == "i")
    y = rule(b, *args)
    return y if SCALAR_OPS[op].exact else rounded(b, y, target)


def _compare_float(predicate: str) -> Callable[..., Val]:
    return lambda b, x, y: b.compare(f"fcmp {predicate}", x, y)


def _larger(predicate: str) -> Callable[..., Val]:
    """Of two floats the larger or smaller; nan if one is nan. One instruction where `y` is a constant."""

    def rule(b: Builder, x: Val, y: Val) -> Val:
        z = b.select(b.compare(f"fcmp {predicate}", y, x), y, x)
        return b.select(vector_math.is_nan(b, y), y, z)

    return rule


def _larger_number(predicate: str) -> Callable[..., Val]:
    """Of two floats the larger or smaller; the other one if one is nan."""

    def rule(b: Builder, x: Val, y: Val) -> Val:
        first = b.op("or", b.compare(f"fcmp {predicate}", x, y), vector_math.is_nan(b, y))
        return b.select(first, x, y)

    return rule


def _float_sign(b: Builder, x: Val) -> Val:
    above = b.select(b.compare("fcmp ogt", x, 0.0), number(1.0, x.elem), x)
    return b.select(b.compare("fcmp olt", x, 0.0), -1.0, b.select(b.compare("fcmp oeq", x, 0.0), 0.0, above))


def _truth(b: Builder, x: Val) -> Val:
    return b.compare("fcmp une", x, 0.0)


def _logical(opcode: str) -> Callable[..., Val]:
    def rule(b: Builder, x: Val, y: Val) -> Val:
        return b.op(opcode, _truth(b, x), _truth(b, y))

    return rule


def _divide_down(b: Builder, x: Val, y: Val) -> tuple[Val, Val]:
    """NumPy's floor division and remainder of floats: from fmod, so that both fit together."""
    left_over = emitter("fmod", x.elem)
    assert left_over is not None
    rest = left_over(b, x, y)
    quotient = b.op("fdiv", b.op("fsub", x, rest), y)
    differs = b.op("xor", b.compare("fcmp olt", y, 0.0), b.compare("fcmp olt", rest, 0.0))
    adjust = b.op("and", b.compare("fcmp une", rest, 0.0), differs)
    quotient = b.select(adjust, b.op("fsub", quotient, 1.0), quotient)
    rest_down = b.select(adjust, b.op("fadd", rest, y), rest)
    rest_down = b.select(
        b.compare("fcmp oeq", rest_down, 0.0), b.intrinsic("copysign", number(0.0, x.elem), y), rest_down
    )
    floor = b.intrinsic("floor", quotient)
    floor = b.select(b.compare("fcmp ogt", b.op("fsub", quotient, floor), 0.5), b.op("fadd", floor, 1.0), floor)
    signed_zero = b.intrinsic("copysign", number(0.0, x.elem), b.op("fdiv", x, y))
    quotient = b.select(b.compare("fcmp oeq", quotient, 0.0), signed_zero, floor)
    by_zero = b.compare("fcmp oeq", y, 0.0)
    return b.select(by_zero, b.op("fdiv", x, y), quotient), b.select(by_zero, rest, rest_down)


_FLOATS: dict[str, Emitter] = {
    "neg": lambda b, x: b.fneg(x),
    "abs": lambda b, x: b.intrinsic("fabs", x),
    "sign": _float_sign,
    "floor": lambda b, x: b.intrinsic("floor", x),
    "ceil": lambda b, x: b.intrinsic("ceil", x),
    "trunc": lambda b, x: b.intrinsic("trunc", x),
    "round": lambda b, x: b.intrinsic("roundeven", x),
    "isnan": lambda b, x: vector_math.is_nan(b, x),
    "isinf": lambda b, x: b.compare("fcmp oeq", b.intrinsic("fabs", x), math.inf),
    "isfinite": lambda b, x: b.compare("fcmp olt", b.intrinsic("fabs", x), math.inf),
    "signbit": lambda b, x: vector_math.is_negative(b, x),
    "not": lambda b, x: b.compare("fcmp oeq", x, 0.0),
    "copysign": lambda b, x, y: b.intrinsic("copysign", x, y),
    "maximum": _larger("ogt"),
    "minimum": _larger("olt"),
    "fmax": _larger_number("oge"),
    "fmin": _larger_number("ole"),
    "lt": _compare_float("olt"),
    "le": _compare_float("ole"),
    "gt": _compare_float("ogt"),
    "ge": _compare_float("oge"),
    "eq": _compare_float("oeq"),
    "ne": _compare_float("une"),
    "sqrt": lambda b, x: b.intrinsic("sqrt", x),
    "rsqrt": lambda b, x: b.op("fdiv", number(1.0, x.elem), b.intrinsic("sqrt", x)),
    "reciprocal": lambda b, x: b.op("fdiv", number(1.0, x.elem), x),
    "square": lambda b, x: b.op("fmul", x, x),
    "add": lambda b, x, y: b.op("fadd", x, y),
    "sub": lambda b, x, y: b.op("fsub", x, y),
    "mul": lambda b, x, y: b.op("fmul", x, y),
    "div": lambda b, x, y: b.op("fdiv", x, y),
    "floordiv": lambda b, x, y: _divide_down(b, x, y)[0],
    "mod": lambda b, x, y: _divide_down(b, x, y)[1],
    "fma": lambda b, x, y, z: b.fma(x, y, z),
    "where": lambda b, c, x, y: b.select(c, x, y),
}
for _name, _rule in _FLOATS.items():
    emits(_name)(_rule)
for _name, _rule in INTEGERS.items():
    emits(_name, "integer")(_rule)
