"""Tools around training: data loading, and recomputing activations in backward."""

from importlib import import_module
from typing import Any

from rushlight.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
_LATER = (
    "_pytree",
    "collect_env",
    "cpp_extension",
    "deterministic",
    "dlpack",
    "hooks",
    "model_zoo",
    "tensorboard",
    "weak",
)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'torch.utils' has no attribute {name!r}: Rushlight does not have it")
