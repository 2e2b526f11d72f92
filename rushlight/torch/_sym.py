"""`torch.sym_*`: Python's functions of numbers, under the names that torch's symbolic shapes give them. Sizes are plain here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
]


class _Symbolic:
    """A number that a program computes later: torch's have one of these classes, and there are none here."""

    def __init__(self, node: Any):
        raise NotImplementedError(f"torch.{type(self).__name__}: sizes are plain numbers in Rushlight")


class SymInt(_Symbolic):
    """What `isinstance(x, torch.SymInt)` asks for: sizes are plain integers."""


class SymFloat(_Symbolic):
    """What `isinstance(x, torch.SymFloat)` asks for: numbers are plain."""


class SymBool(_Symbolic):
    """What `isinstance(x, torch.SymBool)` asks for: conditions are plain bools."""


def sym_float(a: Any) -> Any:
    """The number as a float."""
    return float(a)


def sym_int(a: Any) -> int:
    """The number cut to an integer."""
    return math.floor(a) if a >= 0 else math.ceil(a)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """`t` if `b`, else `f`; both of one type."""
    if not (isinstance(b, bool) and type(t) is type(f)):
        raise AssertionError(f"expected bool and two values of one type, got {type(b)}, {type(t)} and {type(f)}")
    return t if b else f


def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float if either is one."""
    return _common(max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float if either is one."""
    return _common(min, a, b)


def _common(choose: Any, a: Any, b: Any) -> Any:
    return float(choose(a, b)) if isinstance(a, float) or isinstance(b, float) else choose(a, b)


def sym_not(a: Any) -> bool:
    """not a"""
    return not a


def sym_sqrt(a: Any) -> float:
    """The square root."""
    return math.sqrt(a)


def sym_sum(args: Iterable[Any]) -> Any:
    """The sum of the numbers."""
    return sum(args)
