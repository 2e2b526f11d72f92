"""Gradients: `backward`, `grad`, user-defined functions, anomaly detection. Importing it gives tensors `backward`."""

from ..core.dispatch.mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from . import anomaly, checkpoint, forward_ad, function, functional, graph
from .anomaly import detect_anomaly, set_detect_anomaly
from .backward import backward, grad
from .function import Function
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .saved_values import SavedTensor
from .threads import is_multithreading_enabled, is_view_replay_enabled, set_multithreading_enabled
from .variable import Variable

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
