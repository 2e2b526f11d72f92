"""Tools around training: data loading, and recomputing activations in backward."""

from importlib import import_module
from typing import Any

from rushlight.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
_LATER = (
    "_pytree",
    "benchmark",
    "collect_env",
    "cpp_extension",
    "deterministic",
    "dlpack",
    "flop_counter",
    "hooks",
    "model_zoo",
    "module_tracker",
    "tensorboard",
    "weak",
)
_FROM_SWAPPING = ("set_module", "swap_tensors")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(f".{name}", __name__)
    if name in _FROM_SWAPPING:
        return getattr(import_module(".swapping", __name__), name)
    raise AttributeError(f"module 'torch.utils' has no attribute {name!r}: Rushlight does not have it")
