"""Devices: their names, what one has to bring (`Backend`), and the memory of tensors that are not on the CPU (`Buffer`)."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What pickles written before look for here: `device.py` had the folder's place then."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.device"), name)
