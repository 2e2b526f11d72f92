"""float16 in memory and float32 in registers: by the processor (F16C), or by integer arithmetic where it has no such instruction.

Both give the same bits: rounding is to even, subnormal numbers are kept, nan stays nan and becomes quiet.
"""

from __future__ import annotations

from . import engine
from .ir import Builder, Val

__all__ = ["memory_type", "narrow", "widen"]

_SIGN, _INFINITY, _QUIET = 0x80000000, 0x7F800000, 0x00400000  # of float32
_LARGEST_EXPONENT = 0x7C00  # of float16: infinity and nan
_REBIAS = (127 - 15) << 23
_SMALLEST_NORMAL = 113 << 23  # 2^-14 as float32
_TOO_LARGE = 143 << 23  # 2^16
_HALF_ULP = ((127 - 15) + (23 - 10) + 1) << 23  # 0.5: adding it rounds to multiples of 2^-24, float16's smallest number


def memory_type() -> str:
    """The element type of a float16 in memory."""
    return "half" if _by_processor() else "i16"


def _by_processor() -> bool:
    return engine.converts_half()


def widen(b: Builder, x: Val) -> Val:
    """The float32 number that a loaded float16 is."""
    if x.elem == "half":
        return b.convert("fpext", x, "float")
    x = b.convert("zext", x, "i32")
    sign = b.op("shl", b.op("and", x, 0x8000), 16)
    size = b.op("and", x, 0x7FFF)
    shifted = b.op("shl", size, 13)
    normal = b.op("add", shifted, _REBIAS)
    smallest = b.convert("bitcast", b.op("add", shifted, _SMALLEST_NORMAL), "float")
    subnormal = b.convert("bitcast", b.op("fsub", smallest, 2.0**-14), "i32")
    special = b.op("or", shifted, _INFINITY)
    special = b.select(b.compare("icmp ugt", size, _LARGEST_EXPONENT), b.op("or", special, _QUIET), special)
    bits = b.select(b.compare("icmp ult", size, 0x0400), subnormal, normal)
    bits = b.select(b.compare("icmp uge", size, _LARGEST_EXPONENT), special, bits)
    return b.convert("bitcast", b.op("or", bits, sign), "float")


def narrow(b: Builder, x: Val) -> Val:
    """A float32 number rounded to float16, as it is stored."""
    if _by_processor():
        return b.convert("fptrunc", x, "half")
    bits = b.convert("bitcast", x, "i32")
    sign = b.op("and", bits, _SIGN)
    size = b.op("xor", bits, sign)
    odd = b.op("and", b.op("lshr", size, 13), 1)
    normal = b.op("lshr", b.op("add", b.op("add", size, 0x0FFF - _REBIAS), odd), 13)
    sum_ = b.op("fadd", b.convert("bitcast", size, "float"), 0.5)
    subnormal = b.op("sub", b.convert("bitcast", sum_, "i32"), _HALF_ULP)
    quiet = b.op("or", b.op("and", b.op("lshr", size, 13), 0x03FF), 0x7E00)
    special = b.select(b.compare("icmp ugt", size, _INFINITY), quiet, _LARGEST_EXPONENT)
    out = b.select(b.compare("icmp ult", size, _SMALLEST_NORMAL), subnormal, normal)
    out = b.select(b.compare("icmp uge", size, _TOO_LARGE), special, out)
    return b.convert("trunc", b.op("or", out, b.op("lshr", sign, 16)), "i16")
