"""Operators on each element by itself: rows of a table, simplest first.

A row is a name, a NumPy function, the gradient rules and a sentence. In a rule `g` is the incoming gradient, `x` and `y`
are the inputs and `out` is the result.
"""

from __future__ import annotations

import numpy as np

from ..core.record import binary, composite, unary

# ---------------------------------------------------------------------------------------------- arithmetic

_add = binary(
    "add", np.add, lambda g: g, lambda g: g, "The sum of two tensors.", operator="add", export=False
)
_sub = binary("sub", np.subtract, lambda g: g, lambda g: -g, "The difference of two tensors.", operator="sub", export=False)
mul = binary(
    "mul", np.multiply, lambda g, y: g * y, lambda g, x: g * x, "The product of two tensors.", operator="mul",
    aliases=("multiply",),
)  # fmt: skip
true_divide = binary(
    "true_divide", np.true_divide, lambda g, y: g / y, lambda g, x, y: -g * ((x / y) / y), "The quotient of two tensors.",
    promote="float", operator="truediv", node="DivBackward0",
)  # fmt: skip
neg = unary("neg", np.negative, lambda g: -g, "Minus the input.", promote="same", aliases=("negative",))
exp = unary("exp", np.exp, lambda g, out: g * out, "e to the power of each element.")
log = unary("log", np.log, lambda g, x: g / x, "The natural logarithm of each element.")


@composite(method=True, out=True)
def add(input, other, *, alpha=1):
    """input + alpha * other."""
    return _add(input, other) if alpha == 1 else _add(input, other * alpha)


@composite(method=True, out=True, aliases=("subtract",))
def sub(input, other, *, alpha=1):
    """input - alpha * other."""
    return _sub(input, other) if alpha == 1 else _sub(input, other * alpha)
