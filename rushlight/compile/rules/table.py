"""The table of rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ...core.interrupts import may_register
from ...core.tensor.dtype import bfloat16
from ..ir.graph import Call
from ..ir.lazy import Lazy

RULES: dict[str, Callable[..., Any]] = {}  # operator's name -> rule
CHECKING: set[str] = set()  # the operators that refuse some values
_STEPS: dict[str, Callable[[Call], int]] = {}


def rule(
    *names: str, checks: bool = False, steps: Callable[[Call], int] | None = None
) -> Callable[[Callable], Callable]:
    """Decorator: the rule of the operators of these names.

    checks: whether they refuse some values. steps: how many times a call's nodes come one after the other, where the rule
    writes out a loop.
    """

    def register(f: Callable) -> Callable:
        for name in names:
            if not may_register(RULES.get(name), f):
                raise ValueError(f"two rules for {name!r}")
            RULES[name] = f
        CHECKING.update(names if checks else ())
        if steps is not None:
            _STEPS.update(dict.fromkeys(names, steps))
        return f

    return register


def steps_of(call: Call) -> int:
    """How many steps the rule of a call writes out, one after the other; 0 where it writes no loop out."""
    steps = _STEPS.get(call.record.name)
    return 0 if steps is None else steps(call)


def through_float32(rounds: bool = True) -> Callable[[Callable], Callable]:
    """Decorator: operands of bfloat16 are widened to float32, as the eager kernels do.

    rounds: the only result, or the first, gets the first operand's type back, unless an option `dtype` names one; the
    others stay float32.
    """

    def decorate(f: Callable) -> Callable:
        @wraps(f)
        def widened(b: Any, *operands: Any, **options: Any) -> Any:
            if not any(map(_is_short, operands)):
                return f(b, *operands, **options)
            result = f(b, *(x.astype(np.float32) if _is_short(x) else x for x in operands), **options)
            if not (rounds and _is_short(operands[0])) or options.get("dtype") is not None:
                return result
            if isinstance(result, tuple):
                return result[0].astype(bfloat16.numpy), *result[1:]
            return result.astype(bfloat16.numpy)

        return widened

    return decorate


def _is_short(x: Any) -> bool:
    return isinstance(x, Lazy) and x.dtype == bfloat16.numpy
