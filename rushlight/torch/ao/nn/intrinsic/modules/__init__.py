"""`torch.ao.nn.intrinsic.modules`: layers that become one quantized layer."""

from rushlight.nn.quantization.intrinsic import *  # noqa: F403  (__all__ lists them)
from rushlight.nn.quantization.intrinsic import __all__ as __all__
from rushlight.nn.quantization.intrinsic import _FusedModule as _FusedModule
