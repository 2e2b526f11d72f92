"""The options of an optimizer's update: which are numbers, which constants, and how they are picked out."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

__all__ = ["constants_of", "is_number", "named", "several"]

_EXACT = 2**53  # integers up to here are float64 numbers


def is_number(option: Any) -> bool:
    """Whether an option is an input: a float (NumPy's float64 is one) or an integer that a float64 can hold."""
    return isinstance(option, float) or (type(option) is int and -_EXACT <= option <= _EXACT)


def constants_of(options: dict[str, Any]) -> tuple:
    """The options that are no numbers."""
    return tuple([(name, repr(value)) for name, value in options.items() if not is_number(value)])


def named(update: Callable) -> str:
    """What the log calls a step."""
    return f"a step of {getattr(update, '__qualname__', update)}"


def several(keys: list) -> Callable[[Any], tuple]:
    """As `itemgetter`, which gives no tuple for less than two keys."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda x: tuple([x[key] for key in keys])
