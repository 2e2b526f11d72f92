"""Scalar expressions: what a loop evaluates at each point of its space.

An expression is a DAG of `Expr`. Leaves are constants, loads from a window (a `Ref` whose shape is the loop's space, or,
with coordinates, one of any shape: a gather), and positions along an axis. Operators are named after what they do to
numbers; `OPERATORS` lists them with their number of arguments. Types are NumPy's; nothing is promoted: both sides of an
operator have one type, and a conversion is written as `cast`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

# Arithmetic follows NumPy where it differs from C: `floordiv` and `mod` round down, `maximum` and `minimum` give nan if
# either side is nan, `round` goes to even, integers wrap around. `div` and `fma` (x y + z, rounded once) are of floats.
OPERATORS: dict[str, int] = {
    "neg": 1, "abs": 1, "sign": 1, "sqrt": 1, "rsqrt": 1, "reciprocal": 1, "square": 1, "exp": 1, "exp2": 1,
    "expm1": 1, "log": 1, "log2": 1, "log10": 1, "log1p": 1, "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1,
    "atan": 1, "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1, "acosh": 1, "atanh": 1, "sigmoid": 1, "erf": 1, "erfc": 1,
    "floor": 1, "ceil": 1, "trunc": 1, "round": 1, "isnan": 1, "isinf": 1, "isfinite": 1, "signbit": 1, "not": 1,
    "invert": 1, "add": 2, "sub": 2, "mul": 2, "div": 2, "floordiv": 2, "mod": 2, "fmod": 2, "pow": 2, "atan2": 2,
    "hypot": 2, "copysign": 2, "maximum": 2, "minimum": 2, "fmax": 2, "fmin": 2, "logaddexp": 2, "lt": 2, "le": 2,
    "gt": 2, "ge": 2, "eq": 2, "ne": 2, "and": 2, "or": 2, "xor": 2, "shl": 2, "shr": 2, "where": 3, "fma": 3,
}  # fmt: skip
_GIVES_BOOL = frozenset(("isnan", "isinf", "isfinite", "signbit", "not", "lt", "le", "gt", "ge", "eq", "ne"))
BOOL = np.dtype(np.bool_)


class Expr:
    """One operation. `op` is an operator's name or "const", "load", "gather", "index", "cast"; `data` is what is fixed.

    const: data the number. load: data the Ref. gather: data the Ref, args one int64 coordinate for each of its axes.
    index: data the axis; the position along it, int64. cast: args[0] converted to `dtype`.
    """

    __slots__ = ("op", "args", "dtype", "data", "_below", "_loads")

    def __init__(self, op: str, args: tuple[Expr, ...], dtype: Any, data: Any = None):
        self.op, self.args, self.dtype, self.data = op, args, np.dtype(dtype), data
        self._below: tuple[Expr, ...] | None = None  # passes walk the same expression dozens of times
        self._loads: tuple[Any, ...] | None = None

    def walk(self) -> tuple[Expr, ...]:
        """Every expression below and this one, arguments first, each once."""
        if self._below is None:
            self._below = tuple(self._found())
        return (*self._below, self)

    def _found(self) -> Iterator[Expr]:
        seen: set[int] = {id(self)}
        stack: list[tuple[Expr, bool]] = [(a, False) for a in reversed(self.args)]
        while stack:
            e, done = stack.pop()
            if done:
                yield e
            elif id(e) not in seen:
                seen.add(id(e))
                stack.append((e, True))
                stack.extend((a, False) for a in reversed(e.args))

    def loads(self) -> tuple[Any, ...]:
        """The windows that it reads, gathered ones included."""
        if self._loads is None:
            self._loads = tuple(e.data for e in self.walk() if e.op in ("load", "gather"))
        return self._loads

    def rebuild(self, change: Callable[[Expr], Expr | None]) -> Expr:
        """A copy in which every expression for which `change` gives another is replaced by that (leaves first)."""
        new: dict[int, Expr] = {}
        for e in self.walk():
            args = tuple(new[id(a)] for a in e.args)
            same = e if all(a is b for a, b in zip(args, e.args, strict=True)) else Expr(e.op, args, e.dtype, e.data)
            changed = change(same)
            new[id(e)] = same if changed is None else changed
        return new[id(self)]

    def __repr__(self) -> str:
        if self.op in ("const", "load"):
            return repr(self.data)
        if self.op == "index":
            return f"i{self.data}"
        args = ", ".join(map(repr, self.args))
        return f"{self.op}({self.data!r} at {args})" if self.op == "gather" else f"{self.op}({args})"


def const(value: Any, dtype: Any) -> Expr:
    """A number, rounded to `dtype`."""
    return Expr("const", (), dtype, np.asarray(value).astype(dtype)[()])


def load(ref: Any) -> Expr:
    """The element of a window at the loop's point."""
    return Expr("load", (), ref.dtype, ref)


def gather(ref: Any, coordinates: tuple[Expr, ...]) -> Expr:
    """The element of a window at computed coordinates, which must be inside it."""
    return Expr("gather", tuple(coordinates), ref.dtype, ref)


def index(axis: int) -> Expr:
    """The point's position along an axis."""
    return Expr("index", (), np.int64, axis)


def cast(x: Expr, dtype: Any) -> Expr:
    """`x` converted to another type; to bool: whether it is not 0."""
    return x if x.dtype == dtype else Expr("cast", (x,), dtype)


def apply(op: str, *args: Expr) -> Expr:
    """An operator on arguments of one type (`where`: the last two)."""
    if OPERATORS[op] != len(args):
        raise TypeError(f"{op} takes {OPERATORS[op]} arguments, not {len(args)}")
    kinds = {a.dtype for a in (args[1:] if op == "where" else args)}
    if len(kinds) != 1:
        raise TypeError(f"{op} of mixed types {sorted(map(str, kinds))}")
    return Expr(op, args, BOOL if op in _GIVES_BOOL else args[-1].dtype)
