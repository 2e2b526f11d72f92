"""Operators that refuse some values: the program checks them and stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...ops.pointwise import arithmetic as pointwise
from ..ir.lazy import Lazy, Untraceable, where
from .table import rule

if TYPE_CHECKING:
    from ...core.dispatch.op import Op


@rule("assert_all", checks=True)
def assert_all(b, holds):
    b.check(np.logical_not(holds), ValueError, "a value is not allowed")
    return ()


def _divided(record: Op) -> None:
    """Division of integers, which refuses a divisor of 0; the rest is the kernel's."""

    @rule(record.name, checks=True)
    def divided(b: Any, x: Any, y: Any) -> Any:
        if isinstance(y, Lazy) and y.dtype.kind in "iu" and y.expr.op != "const":
            b.check(y == 0, RuntimeError, "ZeroDivisionError")
        return _left_over(x, y) if record is pointwise.remainder.record else record.reference(x, y)


def _left_over(x: Any, y: Any) -> Lazy:
    """What the kernel computes, which asks whether a number is 0."""
    is_fixed_integer = isinstance(y, Lazy) and y.expr.op == "const" and y.dtype.kind in "iu"
    if x.dtype.kind == "b" or (is_fixed_integer and not y.expr.data):
        raise Untraceable(
            "remainder of bools, or by the integer 0: convert bools with .long(), divide by another number"
        )
    r = x % y
    return r if r.dtype.kind in "biu" else where(r == 0, np.copysign(r, x), r)


for _op in (pointwise.floor_divide, pointwise._div_floor, pointwise._div_trunc, pointwise.remainder, pointwise.fmod):
    _divided(_op.record)
