"""Special functions: gamma and error functions, Bessel functions, polynomials."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What pickles written before look for here: `special.py` had the folder's name then."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.special"), name)
