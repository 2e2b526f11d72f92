"""`compatibility`, by which torch marks what stays as it is from release to release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compatibility"]

_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}
_BACK_COMPAT_OBJECTS: dict[Any, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that notes a function as marked, and as one that stays if `is_backward_compatible`."""

    def mark(function: Any) -> Any:
        _MARKED_WITH_COMPATIBILITY[function] = None
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS[function] = None
        return function

    return mark
