"""`torch.ao.quantization.quantization_mappings`: the quantized class of each class of layers."""

from rushlight.nn.quantized.prepare import (
    DEFAULT_QAT_MODULE_MAPPINGS,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
)
from rushlight.nn.quantized.quantize import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    get_default_dynamic_quant_module_mappings,
)

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS",
    "DEFAULT_QAT_MODULE_MAPPINGS",
    "get_default_dynamic_quant_module_mappings",
    "get_default_qat_module_mappings",
    "get_default_qconfig_propagation_list",
]
