"""`torch.ao.nn.intrinsic`: layers that become one quantized layer, as `fuse_modules` makes them."""

from rushlight.nn.quantization.intrinsic import *  # noqa: F403  (__all__ lists them)
from rushlight.nn.quantization.intrinsic import __all__ as __all__
from rushlight.nn.quantization.intrinsic import _FusedModule as _FusedModule

from . import qat as qat
from . import quantized as quantized
