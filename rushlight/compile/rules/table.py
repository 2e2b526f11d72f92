"""The table of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RULES: dict[str, Callable[..., Any]] = {}  # operator's name -> rule


def rule(*names: str) -> Callable[[Callable], Callable]:
    """Decorator: the rule of the operators of these names."""

    def register(f: Callable) -> Callable:
        for name in names:
            if name in RULES:
                raise ValueError(f"two rules for {name!r}")
            RULES[name] = f
        return f

    return register
