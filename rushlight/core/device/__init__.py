"""Devices: their names, what one has to bring (`Backend`), and what tensors hold in the place of an array in main memory:
a device's memory (`Buffer`), or elements that are worked out when they are read (`Conjugated`)."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What pickles written before look for here: `device.py` had the folder's place then."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.device"), name)
