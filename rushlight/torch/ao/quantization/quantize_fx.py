"""`torch.ao.quantization.quantize_fx`: quantization of traced models."""

from rushlight.fx.quantization.convert import convert_fx
from rushlight.fx.quantization.prepare import fuse_fx, prepare_fx, prepare_qat_fx

__all__ = ["convert_fx", "fuse_fx", "prepare_fx", "prepare_qat_fx"]
