"""Gradients: `backward`, `grad`, user-defined functions, anomaly detection. Importing it gives tensors `backward`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..core.dispatch.extension_points import profiled_block
from ..core.dispatch.mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from ..core.tensor.storage import tick
from . import anomaly, checkpoint, forward_ad, function, functional, graph
from .anomaly import detect_anomaly, set_detect_anomaly
from .backward import backward, grad
from .checkpoint import _is_checkpoint_valid as _is_checkpoint_valid
from .function import Function
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .saved_values import SavedTensor
from .threads import is_multithreading_enabled, is_view_replay_enabled, set_multithreading_enabled
from .variable import Variable

if TYPE_CHECKING:
    from . import profiler as profiler

__all__ = [
    "Function",
    "GradcheckError",
    "SavedTensor",
    "Variable",
    "anomaly",
    "backward",
    "checkpoint",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


def _get_sequence_nr() -> int:
    """The number that the next node has at least."""
    return tick() + 1


def _profiler_enabled() -> bool:
    """Whether a profiler records operators in this thread."""
    return profiled_block.value is not None


if not TYPE_CHECKING:  # else every name would be one of the module's

    def __getattr__(name: str) -> Any:
        if name == "profiler":  # a training loop does without it
            return import_module(".profiler", __name__)
        raise AttributeError(f"module 'torch.autograd' has no attribute {name!r}: Rushlight does not have it")
