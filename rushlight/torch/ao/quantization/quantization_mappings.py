"""`torch.ao.quantization.quantization_mappings`: the quantized class of each class of layers."""

from rushlight.nn.quantization.mappings import (
    DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    DEFAULT_QAT_MODULE_MAPPINGS,
    DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
    get_dynamic_quant_module_class,
    get_static_quant_module_class,
    no_observer_set,
)
from rushlight.nn.quantization.quantize import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    get_default_dynamic_quant_module_mappings,
)

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS",
    "DEFAULT_MODULE_TO_ACT_POST_PROCESS",
    "DEFAULT_QAT_MODULE_MAPPINGS",
    "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS",
    "get_default_dynamic_quant_module_mappings",
    "get_default_qat_module_mappings",
    "get_default_qconfig_propagation_list",
    "get_default_static_quant_module_mappings",
    "get_dynamic_quant_module_class",
    "get_static_quant_module_class",
    "no_observer_set",
]
