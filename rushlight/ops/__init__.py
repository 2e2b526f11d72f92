"""Every operator, by torch's name. Importing this package registers them all; `OPS` maps names to functions."""

import importlib

from ..core.record import FUNCTIONAL, OPS

_FILES = (
    "pointwise", "comparison", "bitwise", "power", "special", "reduction", "ordering", "create", "view", "parts", "join", "index",
    "scatter", "sample", "matmul", "activation", "conv", "pool", "resize", "normalize", "loss", "embedding", "linalg",
)  # fmt: skip
for _f in _FILES:
    try:
        importlib.import_module("." + _f, __name__)
    except ModuleNotFoundError as _e:
        if not (_e.name or "").startswith(__name__):
            raise
globals().update(OPS)
__all__ = list(OPS)
