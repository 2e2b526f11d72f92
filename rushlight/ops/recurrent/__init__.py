"""Recurrent layers over whole sequences, with their gradients."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What pickles written before look for here: `recurrent.py` had the folder's name then."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.recurrent"), name)
