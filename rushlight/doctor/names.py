"""What models and their parameters are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.live_objects import tensors_and_modules
from ..nn import Module

if TYPE_CHECKING:
    from .ledger import Ledger

__all__ = ["give", "models_of", "modules", "top_modules"]


def modules() -> list[Any]:
    """All modules that exist."""
    return [m for m in tensors_and_modules() if isinstance(m, Module) and "_parameters" in m.__dict__]


def top_modules() -> list[Any]:
    """The modules that are no part of another."""
    found = modules()
    inside = {id(child) for m in found for child in m.__dict__["_modules"].values()}
    return [m for m in found if id(m) not in inside]


def models_of(parameters: set[int]) -> list[Any]:
    """The top modules that have one of these parameters."""
    return [m for m in top_modules() if any(id(p) in parameters for p in m.parameters())]


def give(ledger: Ledger, called: dict[int, str]) -> None:
    """Name the tensors of the ledger that are parameters of modules.

    called: the variables of models, by identity. They come before the name where several models have parameters.
    """
    top = [m for m in top_modules() if next(m.parameters(), None) is not None]
    given: dict[str, int] = {}
    for module in top:
        first = called.get(id(module)) or type(module).__name__
        given[first] = given.get(first, 0) + 1
        first = f"{first}#{given[first]}" if given[first] > 1 else first
        for name, parameter in module.named_parameters():
            entry = ledger.known(parameter)
            if entry is not None and not entry.name:
                entry.name = f"{first}.{name}" if len(top) > 1 else name
