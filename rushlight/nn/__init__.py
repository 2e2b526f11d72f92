"""Networks: modules, their parameters, and the functions they compute."""

from . import functional, init, modules, parameter, utils
from .modules import *
from .parameter import Buffer, Parameter
