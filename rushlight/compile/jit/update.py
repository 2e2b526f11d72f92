"""An optimizer's update as expressions: what one element of a parameter and of its state becomes.

`trace` calls an algorithm's own update once, for one parameter whose tensors are `Traced` and whose numbers are
`Number`: objects that write down what is done to them. Nothing here knows any algorithm.

A **role** is one of the update's lists: the parameters, the gradients, each list of state. A role's arrays are all as
large as their parameter, or all 0-d (a **counter**, such as the number of steps). Numeric options are inputs of the
result, since any of them may change from step to step. Where the update compares

  - a number that depends on options alone, the outcome at the time of tracing becomes a **guard**: the result holds
    while the guards do;
  - a number that depends on a counter, both outcomes are followed, and the result is a tree of `Branch` and `Leaf`.

Roundings are those of `rushlight.optim.dense.Dense`: a number is a float64, an array operation rounds in the array's
type, and a number that meets an array is rounded to that type first. float16 and bfloat16 compute in float32, and each
operation's result is rounded once more, as those of tensors are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..ir.expression import Expr, Sharing, apply, cast, const, load
from ..ir.graph import Value
from ..ir.scalar_ops import SCALAR_OPS
from .options import is_number

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
_DEPTH, _RUNS = (
    8,
    64,
)  # comparisons of counters one after the other, and calls of the update: each can double the leaves


class NotTraceable(Exception):
    """The update does something that has no expression; it then runs on arrays as before."""


class Role(NamedTuple):
    """One of an update's lists: the memory of its arrays' element, and whether its arrays are 0-d counters."""

    value: Value
    counter: bool


class Leaf(NamedTuple):
    """What is written: the new element of each role that changes, by the role's position."""

    stores: dict[int, Expr]


class Branch(NamedTuple):
    """What is written depends on a counter: `yes` where the boolean `condition` holds, else `no`."""

    condition: Expr
    yes: Tree
    no: Tree


Tree = Leaf | Branch


class Update(NamedTuple):
    """A traced update.

    roles: one for each list that is not None, in the update's order. options: its numeric options, name -> float64
    input. guards: (boolean expression over options, its outcome) pairs. tree: what is written.
    """

    roles: tuple[Role, ...]
    options: dict[str, Value]
    guards: tuple[tuple[Expr, bool], ...]
    tree: Tree

    def leaves(self) -> list[Leaf]:
        """The tree's leaves, from left to right."""
        return _leaves(self.tree)

    def written(self) -> tuple[int, ...]:
        """The positions of the roles that some leaf writes."""
        return tuple(sorted({role for leaf in self.leaves() for role in leaf.stores}))


def trace(update: Callable, kinds: Sequence[tuple[Any, bool] | None], options: dict[str, Any]) -> Update:
    """Call ``update([parameter], [gradient], *[state], **options)`` symbolically.

    ``kinds`` gives (dtype, whether it is a counter) of each list, None for a list that is None. Options that are no
    numbers must be hashable and are taken as they are.

    Raises NotTraceable where the update does what expressions cannot say.
    """
    values = [None if kind is None else Value((), kind[0], name=f"role{i}") for i, kind in enumerate(kinds)]
    counters = {v for v, kind in zip(values, kinds, strict=True) if v is not None and kind is not None and kind[1]}
    tracer = _Tracer(update, values, counters, options)
    tree = tracer.follow(())
    roles = tuple(Role(v, v in counters) for v in values if v is not None)
    share = Sharing()
    guards = tuple((share(condition), outcome) for condition, outcome in tracer.guards.values())
    return Update(roles, tracer.options, guards, _shared(share, tree))


class _Tracer:
    """Runs the update once for every way through its comparisons of counters."""

    def __init__(self, update: Callable, values: list[Value | None], counters: set[Value], options: dict[str, Any]):
        self.update, self.values, self.counters = update, values, counters
        self.options = {name: Value((), _F64, name=name) for name, x in options.items() if is_number(x)}
        self.arguments = {
            name: Number(self, load(self.options[name].ref()), float(x)) if name in self.options else x
            for name, x in options.items()
        }
        self.guards: dict[str, tuple[Expr, bool]] = {}
        self.runs = 0
        self.outcomes: tuple[bool, ...] = ()
        self.conditions: list[Expr] = []

    def follow(self, outcomes: tuple[bool, ...]) -> Tree:
        """The tree below the comparisons of counters that have these outcomes."""
        conditions, stores = self._run(outcomes)
        if len(conditions) == len(outcomes):
            return Leaf(stores)
        return Branch(conditions[len(outcomes)], self.follow((*outcomes, True)), self.follow((*outcomes, False)))

    def _run(self, outcomes: tuple[bool, ...]) -> tuple[list[Expr], dict[int, Expr]]:
        self.runs += 1
        if self.runs > _RUNS:
            raise NotTraceable("the update rule branches on step counters too often")
        self.outcomes, self.conditions = outcomes, []
        symbols = [None if v is None else Traced(self, load(v.ref())) for v in self.values]
        before = [None if s is None else s.expr for s in symbols]
        lists = [None if s is None else [s] for s in symbols]
        try:
            self.update(*lists, **self.arguments)
        except (AttributeError, TypeError, ArithmeticError, NotImplementedError) as error:
            raise NotTraceable(f"{type(error).__name__}: {error}") from error
        if any(given is not None and given[0] is not s for given, s in zip(lists, symbols, strict=True)):
            raise NotTraceable("the update rule rebinds a tensor instead of writing it in place")
        present = [(s.expr, b) for s, b in zip(symbols, before, strict=True) if s is not None]
        stores = {i: expr for i, (expr, b) in enumerate(present) if expr is not b}
        counters = [v in self.counters for v in self.values if v is not None]
        if any(counters[i] and not self.is_scalar(expr) for i, expr in stores.items()):
            raise NotTraceable("the update rule writes a tensor's value to a step counter")
        return self.conditions, stores

    def is_scalar(self, expr: Expr) -> bool:
        """Whether it loads options and counters only."""
        own = self.options.values()
        return all(ref.value in self.counters or ref.value in own for ref in expr.loads())

    def decide(self, condition: Expr, value: bool | None) -> bool:
        """The outcome of a comparison; ``value`` is its outcome now, None if that depends on a counter."""
        if value is not None:
            self.guards.setdefault(repr(condition), (condition, value))
            return value
        position = len(self.conditions)
        if position >= _DEPTH:
            raise NotTraceable("the update rule branches on step counters too often")
        self.conditions.append(condition)
        return self.outcomes[position] if position < len(self.outcomes) else True


def _shared(share: Sharing, tree: Tree) -> Tree:
    if isinstance(tree, Leaf):
        return Leaf({role: share(expr) for role, expr in tree.stores.items()})
    return Branch(share(tree.condition), _shared(share, tree.yes), _shared(share, tree.no))


def _leaves(tree: Tree) -> list[Leaf]:
    return [tree] if isinstance(tree, Leaf) else _leaves(tree.yes) + _leaves(tree.no)


# ---------------------------------------------------------------------------------------------------- numbers


class Number:
    """A float64 that the update computes with; ``value`` is what it is now if it depends on options alone, else None."""

    __slots__ = ("tracer", "expr", "value")
    __hash__ = None  # pyright: ignore[reportAssignmentType]: it compares by value

    def __init__(self, tracer: _Tracer, expr: Expr, value: float | None):
        self.tracer, self.expr, self.value = tracer, expr, value

    def _join(self, op: str, x: Any, y: Any) -> Any:
        """An operator on two numbers, of which one is this."""
        if not _is_scalar_operand(x) or not _is_scalar_operand(y):
            return NotImplemented
        a, b = _value(x), _value(y)
        value = None if a is None or b is None else _python(op)(a, b)
        if isinstance(value, complex):
            raise NotTraceable("an option is a complex number")
        expr = apply(op, _float64(x), _float64(y))
        if SCALAR_OPS[op].gives_bool:
            return self.tracer.decide(expr, value)
        return Number(self.tracer, expr, value)

    def __add__(self, y: Any) -> Any:
        return self._join("add", self, y)

    def __radd__(self, x: Any) -> Any:
        return self._join("add", x, self)

    def __sub__(self, y: Any) -> Any:
        return self._join("sub", self, y)

    def __rsub__(self, x: Any) -> Any:
        return self._join("sub", x, self)

    def __mul__(self, y: Any) -> Any:
        return self._join("mul", self, y)

    def __rmul__(self, x: Any) -> Any:
        return self._join("mul", x, self)

    def __truediv__(self, y: Any) -> Any:
        return self._join("div", self, y)

    def __rtruediv__(self, x: Any) -> Any:
        return self._join("div", x, self)

    def __pow__(self, y: Any) -> Any:
        return self._join("pow", self, y)

    def __rpow__(self, x: Any) -> Any:
        return self._join("pow", x, self)

    def __lt__(self, y: Any) -> Any:
        return self._join("lt", self, y)

    def __le__(self, y: Any) -> Any:
        return self._join("le", self, y)

    def __gt__(self, y: Any) -> Any:
        return self._join("gt", self, y)

    def __ge__(self, y: Any) -> Any:
        return self._join("ge", self, y)

    def __eq__(self, y: Any) -> Any:
        return self._join("eq", self, y)

    def __ne__(self, y: Any) -> Any:
        return self._join("ne", self, y)

    def __bool__(self) -> bool:
        return self != 0.0

    def __neg__(self) -> Number:
        return Number(self.tracer, apply("neg", self.expr), None if self.value is None else -self.value)

    def __abs__(self) -> Number:
        return Number(self.tracer, apply("abs", self.expr), None if self.value is None else abs(self.value))

    def rounded(self, dtype: np.dtype) -> Number:
        """The number after a detour through another type."""
        value = None if self.value is None else float(dtype.type(self.value))
        return Number(self.tracer, cast(cast(self.expr, dtype), _F64), value)


def _python(op: str) -> Callable[..., Any]:
    """The operator of Python's numbers."""
    return getattr(operator, SCALAR_OPS[op].python)


def _is_scalar_operand(x: Any) -> bool:
    return type(x) is Number or is_number(x)


def _value(x: Any) -> float | None:
    return x.value if type(x) is Number else float(x)


def _float64(x: Any) -> Expr:
    return x.expr if type(x) is Number else const(x, _F64)


def evaluate(expr: Expr, values: dict[Value, float]) -> Any:
    """An expression over options, computed with Python's numbers."""
    known: dict[int, Any] = {}
    for e in expr.walk():
        if e.op == "const":
            known[id(e)] = e.data.item()
        elif e.op == "load":
            known[id(e)] = values[e.data.value]
        elif e.op == "cast":
            known[id(e)] = float(e.dtype.type(known[id(e.args[0])]))
        else:
            known[id(e)] = _python(e.op)(*(known[id(a)] for a in e.args))
    return known[id(expr)]


def holds(update: Update, options: dict[str, Any]) -> bool:
    """Whether the update, traced with other values of its numeric options, is right for these."""
    values = {value: float(options[name]) for name, value in update.options.items()}
    try:
        return all(evaluate(condition, values) == outcome for condition, outcome in update.guards)
    except ArithmeticError:
        return False


# ----------------------------------------------------------------------------------------------------- arrays


class Traced:
    """One element of an array, with the methods of `Dense`; a method that writes in place replaces its expression."""

    __slots__ = ("tracer", "expr")
    requires_grad = False

    def __init__(self, tracer: _Tracer, expr: Expr):
        self.tracer, self.expr = tracer, expr

    @property
    def kind(self) -> np.dtype:
        """The type in which operations compute."""
        return self.expr.dtype if self.expr.dtype.itemsize > 2 else _F32

    @property
    def x(self) -> Expr:
        """The element as operations take it."""
        return cast(self.expr, self.kind)

    def _number(self, x: Any, kind: np.dtype | None = None) -> Expr:
        """A Python number or `Number` in a type, by default the one in which operations compute."""
        kind = kind or self.kind
        if type(x) is Number:
            return cast(x.expr, kind)
        if isinstance(x, int | float) and math.isfinite(x):
            return const(x, kind)
        raise NotTraceable(f"an operand is of type {type(x).__name__}")

    def _operand(self, x: Any) -> Expr:
        return x.x if type(x) is Traced else self._number(x)

    def _scaled(self, x: Any, factor: Any) -> Expr:
        """x times a number. A factor of exactly 1, which `Dense` leaves out, changes no bit."""
        x = self._operand(x)
        return x if type(factor) is not Number and factor == 1 else apply("mul", x, self._number(factor))

    def _sum(self, other: Any, alpha: Any) -> Expr:
        """This and alpha times another, rounded once. Numbers take the array's own type first."""
        other = other.x if type(other) is Traced else self._own(other)
        if type(alpha) is not Number and alpha == 1:
            return apply("add", self.x, other)
        return apply("fma", other, self._own(alpha), self.x)

    def _own(self, x: Any) -> Expr:
        """A number as the array's type has it."""
        return cast(self._number(x, self.expr.dtype), self.kind)

    def _set(self, expr: Expr) -> Traced:
        self.expr = cast(expr, self.expr.dtype)
        return self

    def _new(self, expr: Expr) -> Traced:
        return Traced(self.tracer, cast(expr, self.expr.dtype))

    def is_complex(self) -> bool:
        return False

    def item(self) -> Number:
        """The number of a counter."""
        if not self.tracer.is_scalar(self.expr):
            raise NotTraceable("the update rule reads a tensor's value as a number")
        return Number(self.tracer, cast(self.expr, _F64), None)

    def __iadd__(self, count: Any) -> Traced:
        return self._set(apply("add", self.item().expr, _float64(count)))

    def __imul__(self, other: Any) -> Traced:
        return self.mul_(other)

    # ------------------------------------------------------------------------------------------------- in place

    def add_(self, other: Any, *, alpha: Any = 1) -> Traced:
        return self._set(self._sum(other, alpha))

    def mul_(self, other: Any) -> Traced:
        return self._set(apply("mul", self.x, self._operand(other)))

    def div_(self, other: Any) -> Traced:
        return self._set(apply("div", self.x, self._operand(other)))

    def sqrt_(self) -> Traced:
        return self._set(apply("sqrt", self.x))

    def lerp_(self, end: Traced, weight: Any) -> Traced:
        weight = weight.rounded(self.kind) if type(weight) is Number else float(self.kind.type(weight))
        way, part = apply("sub", end.x, self.x), self._number(weight)
        if abs(weight) < 0.5:
            return self._set(apply("fma", way, part, self.x))
        rest = apply("sub", part, const(1, self.kind))
        return self._set(apply("fma", way, rest, end.x))

    def addcmul_(self, x: Traced, y: Traced, *, value: Any = 1) -> Traced:
        return self._set(apply("fma", self._scaled(x, value), y.x, self.x))

    def addcdiv_(self, x: Traced, y: Traced, *, value: Any = 1) -> Traced:
        return self._set(apply("add", self.x, apply("div", self._scaled(x, value), y.x)))

    def copy_(self, other: Traced) -> Traced:
        return self._set(other.expr)

    def fill_(self, value: Any) -> Traced:
        return self._set(self._number(value))

    # ----------------------------------------------------------------------------------------------- new arrays

    def __neg__(self) -> Traced:
        return self._new(apply("neg", self.x))

    def add(self, other: Any, *, alpha: Any = 1) -> Traced:
        return self._new(self._sum(other, alpha))

    def sub(self, other: Traced) -> Traced:
        return self._new(apply("sub", self.x, other.x))

    def mul(self, other: Any) -> Traced:
        return self._new(apply("mul", self.x, self._operand(other)))

    def div(self, other: Any) -> Traced:
        return self._new(apply("div", self.x, self._operand(other)))

    __mul__, __truediv__ = mul, div

    def __rtruediv__(self, number: Any) -> Traced:
        return self._new(apply("div", const(1.0, self.kind), self.x)).mul(number)

    def addcmul(self, x: Traced, y: Traced, *, value: Any = 1) -> Traced:
        return self._new(apply("fma", self._scaled(x, value), y.x, self.x))

    def sqrt(self) -> Traced:
        return self._new(apply("sqrt", self.x))

    def abs(self) -> Traced:
        return self._new(apply("abs", self.x))

    def maximum(self, other: Traced) -> Traced:
        return self._new(apply("maximum", self.x, other.x))
