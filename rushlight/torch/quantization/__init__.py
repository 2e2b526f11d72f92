"""`torch.quantization`: the older place of the names in `torch.ao.quantization`."""

from ..ao.quantization import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    MinMaxObserver,
    ObserverBase,
    PlaceholderObserver,
    QConfig,
    UniformQuantizationObserverBase,
    default_dynamic_qconfig,
    default_dynamic_quant_observer,
    default_placeholder_observer,
    default_weight_observer,
    get_default_dynamic_quant_module_mappings,
    propagate_qconfig_,
    quantize_dynamic,
    swap_module,
)

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS",
    "MinMaxObserver",
    "ObserverBase",
    "PlaceholderObserver",
    "QConfig",
    "UniformQuantizationObserverBase",
    "default_dynamic_qconfig",
    "default_dynamic_quant_observer",
    "default_placeholder_observer",
    "default_weight_observer",
    "get_default_dynamic_quant_module_mappings",
    "propagate_qconfig_",
    "quantize_dynamic",
    "swap_module",
]
