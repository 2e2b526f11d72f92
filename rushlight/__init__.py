"""Rushlight: PyTorch's way of training in a small package."""

from . import core, ops, autograd
from .core.dtype import *
from .core.dtype import bool_ as bool
from .core.device import device
from .core.mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .core.size import Size
from .core.tensor import Tensor
from .core.random import Generator, default_generator, initial_seed, manual_seed, seed
from .ops import *

def __getattr__(name):
    import importlib
    if name in ("nn", "optim", "utils", "vision", "serialization", "compat", "testing", "backend"):
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'rushlight' has no attribute {name!r}")
