"""`torch.ao.quantization.quantize`: models with quantized layers, or with observers."""

from rushlight.nn.quantized.prepare import (
    add_quant_dequant,
    prepare,
    prepare_qat,
)
from rushlight.nn.quantized.quantize import (
    propagate_qconfig_,
    quantize_dynamic,
    swap_module,
)

__all__ = [
    "add_quant_dequant",
    "prepare",
    "prepare_qat",
    "propagate_qconfig_",
    "quantize_dynamic",
    "swap_module",
]
