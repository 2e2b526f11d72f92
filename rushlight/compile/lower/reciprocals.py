"""Divisions by a number that all elements of a parameter share, as products with its reciprocal.

The reciprocal is worked out once for each parameter, in float64. Divisions and roots share one slow unit of the
processor: they are most of the time of an update whose arrays are in a cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..ir.expression import Expr, Sharing, apply, cast, const
from ..ir.graph import Value
from ..jit.update import Branch, Leaf, Tree, Update

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


class Divisor(NamedTuple):
    """What was divided by, and the sizes from and to which the product replaces the division."""

    expr: Expr
    low: float
    high: float


class Rewritten(NamedTuple):
    """An update without those divisions; the divisors by the id of the expression that multiplies instead."""

    update: Update
    divisors: dict[int, Divisor]


def scalars(update: Update) -> set[Value]:
    """What is the same for all elements of a parameter."""
    return {*update.options.values(), *(role.value for role in update.roles if role.counter)}


def multiply_roots(update: Update) -> Rewritten:
    """Float32 roots divided by a number, as a product in float64, with the same result.

    The product is off by 2^-52 of its value, but the quotient of two float32 numbers, unless it is subnormal, keeps
    2^-49 away from the middle between two float32 numbers. A root is 2^-75 or more (or 0), so that a divisor below 2^50
    gives no subnormal quotient.
    """
    share = Sharing()
    divisors: dict[int, Divisor] = {}

    def product(x: Expr, divisor: Expr) -> Expr | None:
        if x.op != "sqrt":
            return None
        factor = share(_reciprocal(divisor))
        divisors[id(factor)] = Divisor(share(divisor), 0.0, 2.0**50)
        return cast(apply("mul", cast(x, _F64), factor), _F32)

    return Rewritten(_replace_quotients(update, share, product), divisors)


def multiply_all(update: Update) -> Rewritten:
    """All float32 divisions by a number, as a product in float32: off by one rounding more."""
    share = Sharing()
    divisors: dict[int, Divisor] = {}

    def product(x: Expr, divisor: Expr) -> Expr:
        factor = share(cast(_reciprocal(divisor), _F32))
        divisors[id(factor)] = Divisor(share(divisor), 2.0**-100, 2.0**100)
        return apply("mul", x, factor)

    return Rewritten(_replace_quotients(update, share, product), divisors)


def _reciprocal(x: Expr) -> Expr:
    return apply("div", const(1.0, _F64), cast(x, _F64))


def _replace_quotients(update: Update, share: Sharing, product: Callable[[Expr, Expr], Expr | None]) -> Update:
    """The update with what `product(x, divisor)` gives for float32 quotients of an element x; None leaves one."""
    shared = scalars(update)

    def is_shared(e: Expr) -> bool:
        return all(ref.value in shared for ref in e.loads())

    def change(e: Expr) -> Expr | None:
        if e.op != "div" or e.dtype != _F32 or not is_shared(e.args[1]) or is_shared(e.args[0]):
            return None
        return product(*e.args)

    def rewrite(tree: Tree) -> Tree:
        if isinstance(tree, Branch):
            return Branch(share(tree.condition), rewrite(tree.yes), rewrite(tree.no))
        arrays = {role for role in tree.stores if not update.roles[role].counter}
        return Leaf({r: share(e.rebuild(change) if r in arrays else e) for r, e in tree.stores.items()})

    guards = tuple((share(e), outcome) for e, outcome in update.guards)
    return update._replace(guards=guards, tree=rewrite(update.tree))
