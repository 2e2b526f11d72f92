"""`torch.ao.nn.quantized`: layers of quantized tensors, and `dynamic`, those that quantize activations in each call."""

from . import dynamic as dynamic
from .modules import *  # noqa: F403  (__all__ lists them)
from .modules import __all__ as __all__
