"""The operators that these functions call, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight import ops as _ops


class _Operators:
    """`rushlight.ops`, except that an operator which does not exist raises NotImplementedError when it is called."""

    def __init__(self) -> None:
        self.__dict__.update(vars(_ops))  # found as plain attributes; __getattr__ sees the missing ones only

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(_ops, name, None)
        return _missing(name) if found is None else found


def _missing(name: str) -> Callable[..., Any]:
    def missing(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"the operator '{name}' is not implemented")

    missing.__name__ = missing.__qualname__ = name
    return missing


ops = _Operators()
