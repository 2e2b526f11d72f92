"""Tools around training: data loading, and recomputing activations in backward."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rushlight.nn.swapping import set_module, swap_tensors
from rushlight.utils import checkpoint, data

__all__ = ["checkpoint", "data", "set_module", "swap_tensors"]
_LATER = (
    "_pytree",
    "benchmark",
    "collect_env",
    "cpp_extension",
    "deterministic",
    "display",
    "dlpack",
    "flop_counter",
    "hooks",
    "model_zoo",
    "module_tracker",
    "tensorboard",
    "weak",
)


if not TYPE_CHECKING:  # else every name would be one of the module's

    def __getattr__(name: str) -> Any:
        if name in _LATER:
            try:
                return import_module(f".{name}", __name__)
            except ModuleNotFoundError as error:  # what it needs is not installed: hasattr() is False
                raise AttributeError(str(error), name=name) from error
        raise AttributeError(f"module 'torch.utils' has no attribute {name!r}: Rushlight does not have it")
