"""Operators on each element by itself: arithmetic, powers, comparison, bits, parts of complex numbers."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What pickles written before look for here: a file with arithmetic and comparisons had the folder's name then."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.arithmetic"), name)
