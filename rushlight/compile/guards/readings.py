"""What a condition of the kind `Reading` (`checks.py`) compares: each function asks an object for something that may change."""

from __future__ import annotations

from abc import get_cache_token
from contextvars import ContextVar
from typing import Any
from weakref import ReferenceType

from ...core.dispatch.extension_points import namespace
from .checks import MISSING

__all__ = ["class_behind", "in_context", "is_alive", "registrations", "setting", "told"]


def registrations(_: Any) -> Any:
    """A number that changes when a class is registered with an abstract one."""
    return get_cache_token()


def setting(name: str) -> Any:
    """What a function of the library, by name, tells of a setting."""
    return getattr(namespace.value, name)()


def told(function: Any) -> Any:
    """What a function of Python's tells of a setting."""
    return function()


def in_context(variable: ContextVar) -> Any:
    """The value of a context variable, MISSING where it has none."""
    return variable.get(MISSING)


def is_alive(reference: ReferenceType) -> bool:
    """Whether there still is what a reference, which never leads to anything else, refers to."""
    return reference() is not None


def class_behind(reference: ReferenceType) -> type:
    """The class of what a reference refers to."""
    return type(reference())
