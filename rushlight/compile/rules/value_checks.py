"""Operators that refuse some values: the program checks them and stops."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops import pointwise
from ..lazy import Lazy
from .table import rule


@rule("demand", checks=True)
def demand(b, holds):
    b.check(np.logical_not(holds), ValueError, "a value is not allowed")
    return ()


def _divided(record: Any) -> None:
    """Division of integers, which refuses a divisor of 0; the rest is the kernel's."""

    @rule(record.name, checks=True)
    def divided(b: Any, x: Any, y: Any) -> Any:
        if isinstance(y, Lazy) and y.dtype.kind in "iu" and y.expr.op != "const":
            b.check(y == 0, RuntimeError, "ZeroDivisionError")
        return record.reference(x, y)


for _op in (pointwise.floor_divide, pointwise._div_floor, pointwise._div_trunc, pointwise.remainder, pointwise.fmod):
    _divided(_op.record)
