"""Tensors: their memory and its layout, element types, devices, history, printed forms, and how they travel."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What pickles written before look for here: `tensor.py` had the folder's name then."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.tensor"), name)
