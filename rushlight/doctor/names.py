"""What parameters are called: found once, by looking at the modules that exist."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from ..nn import Module

if TYPE_CHECKING:
    from .ledger import Ledger

__all__ = ["give", "modules", "top_modules"]


def modules() -> list[Any]:
    """All modules that exist."""
    return [m for m in gc.get_objects() if isinstance(m, Module) and "_parameters" in m.__dict__]


def top_modules() -> list[Any]:
    """The modules that are no part of another."""
    found = modules()
    inside = {id(child) for m in found for child in m.__dict__["_modules"].values()}
    return [m for m in found if id(m) not in inside]


def give(ledger: Ledger) -> None:
    """Name the tensors of the ledger that are parameters of modules."""
    for module in top_modules():
        for name, parameter in module.named_parameters():
            entry = ledger.known(parameter)
            if entry is not None and not entry.name:
                entry.name = name
