"""Picking and placing elements: by index, by mask, by slices, by scatter and gather."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What pickles written before look for here: `index.py` had the folder's name then."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.index"), name)
