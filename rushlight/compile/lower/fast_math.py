"""The quick variant of an update's float32 arithmetic, for processors with AVX-512: the same numbers to rounding.

  - A root comes from `vrsqrt14ps`, a Newton step and a correction by the residual, at most one unit in the last place
    off. Where a vector has an argument that is neither 0 nor within 2^-100 and 2^100, those lanes get the exact root.
  - A division by a number of the parameter is a product with its reciprocal (`reciprocals.multiply_all`).

A division by an array stays one: `vdivps` alone (10 cycles for 16 elements) hides behind the loads and stores of Adam
(9 cycles from the second-level cache); with `vsqrtps` on the same unit (12 more) it does not.

What an element becomes does not depend on its neighbours, so neither on how threads share the work.
"""

from __future__ import annotations

import numpy as np

from ..ir.expression import Expr
from ..jit.update import Update
from .llvm.engine import features
from .llvm.ir import Builder, Val
from .reciprocals import scalars

UNROLL = (
    4  # vectors in a turn of the loop: Adam over 100,000 elements, unaligned: 26.5 us one, 24.7 us two, 23.7 us four
)
_F32 = np.dtype(np.float32)
_LOW, _SPAN = 27 << 23, 200 << 23  # the bits of 2^-100, and of 2^100 over it


def serves(update: Update) -> bool:
    """Whether the quick variant gains anything: there is a float32 root, or a division by a number, of elements."""
    shared = scalars(update)

    def is_slow(e: Expr) -> bool:
        if e.dtype != _F32 or e.op not in ("sqrt", "div"):
            return False
        return e.op == "sqrt" or all(ref.value in shared for ref in e.args[1].loads())

    arrays = [e for leaf in update.leaves() for r, e in leaf.stores.items() if not update.roles[r].counter]
    return "avx512f" in features() and any(is_slow(e) for expr in arrays for e in expr.walk())


def root(b: Builder, x: Val) -> Val:
    """Square roots of 16 floats."""
    y = _reciprocal_root(b, b.select(b.compare("fcmp ogt", x, 2.0**-100), x, 2.0**-100))
    s = b.op("fmul", x, y)  # off by 2^-14 of it; 0 where x is
    rest = b.fma(b.fneg(s), s, x)
    z = b.fma(rest, b.op("fmul", y, 0.5), s)
    bits = b.convert("bitcast", x, "i32")
    outside = b.compare("icmp ugt", b.op("sub", bits, _LOW), _SPAN)
    abnormal = b.op("and", outside, b.compare("icmp ne", bits, 0))
    room = b.alloca("float", x.lanes)
    b.put(room, z)
    with b.when(b.any_lane(abnormal), unlikely=True):
        b.put(room, b.select(abnormal, b.intrinsic("sqrt", x), z))
    return b.get(room, "float", x.lanes)


def _reciprocal_root(b: Builder, x: Val) -> Val:
    """1 / sqrt(x) to 14 bits."""
    symbol = "@llvm.x86.avx512.rsqrt14.ps.512"
    b.declare(symbol, f"declare {x.type} {symbol}({x.type}, {x.type}, i16)")
    return b.emit(f"call {x.type} {symbol}({x.type} {x.text}, {x.type} zeroinitializer, i16 -1)", "float", x.lanes)
