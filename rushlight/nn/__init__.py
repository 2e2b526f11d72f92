"""Networks: modules, their parameters, and the functions they compute."""

from typing import TYPE_CHECKING

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

if not TYPE_CHECKING:  # to type checkers the names below would be all names

    def __getattr__(name: str):
        """The second names of `rushlight.ao.nn.quantized` and others, which load at their first use."""
        if name in ("intrinsic", "qat", "quantized"):
            from importlib import import_module

            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
