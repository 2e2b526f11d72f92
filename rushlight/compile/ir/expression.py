"""Scalar expressions: what a loop evaluates at each point of its space.

An expression is a DAG of `Expr`. Leaves are constants, loads from a window (a `Ref` whose shape is the loop's space, or,
with coordinates, one of any shape: a gather), and positions along an axis. Operators are named after what they do to
numbers; `scalar_ops.py` lists them. Types are NumPy's; nothing is promoted: both sides of an
operator have one type, and a conversion is written as `cast`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .scalar_ops import SCALAR_OPS

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
            same = e
            if e.args:
                args = tuple([new[id(a)] for a in e.args])
                if args != e.args:  # expressions are equal where they are the same
                    same = Expr(e.op, args, e.dtype, e.data)
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


class Sharing:
    """Makes equal expressions one object, also those of different stores. 0.0 and -0.0 are two."""

    def __init__(self) -> None:
        self.known: dict[tuple, Expr] = {}

    def __call__(self, expr: Expr) -> Expr:
        return expr.rebuild(self._first)

    def _first(self, e: Expr) -> Expr:
        data = e.data.tobytes() if e.op == "const" else e.data
        return self.known.setdefault((e.op, tuple(map(id, e.args)), e.dtype, data), e)


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
    row = SCALAR_OPS[op]
    if row.arity != len(args):
        raise TypeError(f"{op} takes {row.arity} arguments, not {len(args)}")
    kinds = {a.dtype for a in (args[1:] if op == "where" else args)}
    if len(kinds) != 1:
        raise TypeError(f"{op} of mixed types {sorted(map(str, kinds))}")
    return Expr(op, args, BOOL if row.gives_bool else args[-1].dtype)
