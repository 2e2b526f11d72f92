"""`torch.ao.nn.intrinsic.qat`: layers with batch norm or ReLU that round their weights."""

from rushlight.nn.quantization.qat_fused import *  # noqa: F403  (__all__ lists them)
from rushlight.nn.quantization.qat_fused import __all__ as __all__
