"""`torch.ao.quantization.fake_quantize`: modules that round as a quantized model would."""

from rushlight.nn.quantization.fake_quantize import *  # noqa: F403  (__all__ lists them)
from rushlight.nn.quantization.fake_quantize import __all__ as __all__
