"""Networks: modules, their parameters, and the functions they compute."""

from . import attention, functional, grad, init, modules, parallel, parameter, utils
from .modules import *  # noqa: F403  (the layers; modules/__init__.py lists them)
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "functional",
    "grad",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
]
__all__ += modules.__all__
