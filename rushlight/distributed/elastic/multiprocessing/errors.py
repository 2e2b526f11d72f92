"""`record`: marks a program's main function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["ChildFailedError", "record"]

F = TypeVar("F", bound=Callable[..., Any])


class ChildFailedError(Exception):
    """A process that was started has failed."""


def record(fn: F, error_handler: Any = None) -> F:
    """The function itself: its error, with the traceback, is printed by the process in which it is raised."""
    return fn
