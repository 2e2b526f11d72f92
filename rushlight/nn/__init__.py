"""Networks: modules, their parameters, and the functions they compute."""

from . import attention, functional, init, modules, parameter, utils
from .modules import *  # noqa: F403  (the layers; modules/__init__.py lists them)
from .parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "attention", "functional", "init", "modules", "parameter", "utils"]
__all__ += modules.__all__
