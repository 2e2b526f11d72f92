"""`torch.ao.quantization.quantize`: models with quantized layers, or with observers."""

from rushlight.nn.quantization.convert import (
    convert,
    get_observer_dict,
    quantize,
    quantize_qat,
)
from rushlight.nn.quantization.prepare import (
    prepare,
    prepare_qat,
)
from rushlight.nn.quantization.quantize import (
    propagate_qconfig_,
    quantize_dynamic,
    swap_module,
)
from rushlight.nn.quantization.stubs import add_quant_dequant

_get_observer_dict = get_observer_dict

__all__ = [
    "add_quant_dequant",
    "convert",
    "prepare",
    "prepare_qat",
    "propagate_qconfig_",
    "quantize",
    "quantize_dynamic",
    "quantize_qat",
    "swap_module",
]
