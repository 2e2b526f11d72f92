"""Scalar operators of integers and bool. The last argument of an emitter says whether the integers are signed."""

from __future__ import annotations

from .emitters import Emitter
from .ir import BITS, Builder, Val, number


def _quotient(b: Builder, x: Val, y: Val, signed: bool, kind: str) -> Val:
    """Division of integers: 0 where the divisor is 0, and no trap for the smallest number by -1."""
    zero = b.compare("icmp eq", y, 0)
    safe = b.select(zero, 1, y)
    if not signed:
        z = b.op("udiv" if kind == "floordiv" else "urem", x, safe)
        return b.select(zero, 0, z)
    minus = b.compare("icmp eq", y, -1)
    safe = b.select(minus, 1, safe)
    rest = b.op("srem", x, safe)
    if kind == "fmod":
        return b.select(b.op("or", zero, minus), 0, rest)
    uneven = b.compare("icmp ne", rest, 0)
    differs = b.compare("icmp slt", b.op("xor", rest, safe), 0)
    adjust = b.op("and", uneven, differs)
    if kind == "mod":
        rest = b.select(adjust, b.op("add", rest, safe), rest)
        return b.select(b.op("or", zero, minus), 0, rest)
    z = b.op("sdiv", x, safe)
    z = b.select(adjust, b.op("sub", z, 1), z)
    z = b.select(minus, b.op("sub", number(0, x.elem), x), z)
    return b.select(zero, 0, z)


def _integer_power(b: Builder, x: Val, y: Val, signed: bool) -> Val:
    """Squaring and multiplying; a negative exponent gives the reciprocal cut to an integer."""
    if x.elem == "i1":
        return b.op("or", x, b.op("xor", y, True))
    base, z = x, b.splat(number(1, x.elem), max(x.lanes, y.lanes))
    left = y
    bits = int(y.text).bit_length() if y.fixed and not y.lanes and int(y.text) >= 0 else BITS[x.elem]
    for _ in range(bits):
        z = b.select(b.compare("icmp ne", b.op("and", left, 1), 0), b.op("mul", z, base), z)
        base, left = b.op("mul", base, base), b.op("lshr", left, 1)
    if not signed:
        return z
    unit = b.op("or", b.compare("icmp eq", x, 1), b.compare("icmp eq", x, -1))
    return b.select(b.op("and", b.compare("icmp slt", y, 0), b.op("xor", unit, True)), 0, z)


def _shift(b: Builder, opcode: str, x: Val, y: Val, signed: bool) -> Val:
    """Shifts by the width or more (or by a negative number, which is a large unsigned one) shift everything out."""
    bits = BITS[x.elem]
    inside = b.compare("icmp ult", y, bits)
    if opcode == "shr" and signed:
        return b.op("ashr", x, b.select(inside, y, bits - 1))
    z = b.op("shl" if opcode == "shl" else "lshr", x, b.select(inside, y, 0))
    return b.select(inside, z, 0)


def _pick(b: Builder, word: str, x: Val, y: Val, signed: bool) -> Val:
    return b.select(b.compare(f"icmp {'s' if signed else 'u'}{word}", x, y), x, y)


def _integer_sign(b: Builder, x: Val, signed: bool) -> Val:
    one = b.select(b.compare("icmp ne", x, 0), number(1, x.elem), 0)
    return b.select(b.compare("icmp slt", x, 0), -1, one) if signed else one


def _ordered(word: str) -> Emitter:
    return lambda b, x, y, s: b.compare(f"icmp {'s' if s else 'u'}{word}", x, y)


def _arithmetic(opcode: str, of_bool: str) -> Emitter:
    return lambda b, x, y, s: b.op(of_bool if x.elem == "i1" else opcode, x, y)


INTEGERS: dict[str, Emitter] = {
    "neg": lambda b, x, s: b.op("sub", number(0, x.elem), x),
    "abs": lambda b, x, s: b.select(b.compare("icmp slt", x, 0), b.op("sub", number(0, x.elem), x), x) if s else x,
    "sign": _integer_sign,
    "square": lambda b, x, s: b.op("and" if x.elem == "i1" else "mul", x, x),
    "floor": lambda b, x, s: x,
    "ceil": lambda b, x, s: x,
    "trunc": lambda b, x, s: x,
    "round": lambda b, x, s: x,
    "isnan": lambda b, x, s: b.op("xor", b.compare("icmp eq", x, x), True),
    "isinf": lambda b, x, s: b.op("xor", b.compare("icmp eq", x, x), True),
    "isfinite": lambda b, x, s: b.compare("icmp eq", x, x),
    "signbit": lambda b, x, s: b.compare("icmp slt" if s else "icmp ult", x, 0),
    "not": lambda b, x, s: b.compare("icmp eq", x, 0),
    "invert": lambda b, x, s: b.op("xor", x, -1 if x.elem != "i1" else True),
    "add": _arithmetic("add", "or"),
    "sub": _arithmetic("sub", "xor"),
    "mul": _arithmetic("mul", "and"),
    "floordiv": lambda b, x, y, s: _quotient(b, x, y, s, "floordiv"),
    "mod": lambda b, x, y, s: _quotient(b, x, y, s, "mod"),
    "fmod": lambda b, x, y, s: _quotient(b, x, y, s, "fmod"),
    "pow": _integer_power,
    "maximum": lambda b, x, y, s: _pick(b, "gt", x, y, s),
    "minimum": lambda b, x, y, s: _pick(b, "lt", x, y, s),
    "fmax": lambda b, x, y, s: _pick(b, "gt", x, y, s),
    "fmin": lambda b, x, y, s: _pick(b, "lt", x, y, s),
    "lt": _ordered("lt"),
    "le": _ordered("le"),
    "gt": _ordered("gt"),
    "ge": _ordered("ge"),
    "eq": lambda b, x, y, s: b.compare("icmp eq", x, y),
    "ne": lambda b, x, y, s: b.compare("icmp ne", x, y),
    "and": lambda b, x, y, s: b.op("and", x, y),
    "or": lambda b, x, y, s: b.op("or", x, y),
    "xor": lambda b, x, y, s: b.op("xor", x, y),
    "shl": lambda b, x, y, s: _shift(b, "shl", x, y, s),
    "shr": lambda b, x, y, s: _shift(b, "shr", x, y, s),
    "where": lambda b, c, x, y, s: b.select(c, x, y),
}
