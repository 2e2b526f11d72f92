"""`torch.ao.quantization`: `quantize_dynamic`, and the observers that choose the scale of its weights."""

from .observer import (
    MinMaxObserver,
    ObserverBase,
    PlaceholderObserver,
    UniformQuantizationObserverBase,
    default_dynamic_quant_observer,
    default_placeholder_observer,
    default_weight_observer,
)
from .qconfig import (
    QConfig,
    default_dynamic_qconfig,
)
from .quantization_mappings import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    get_default_dynamic_quant_module_mappings,
)
from .quantize import (
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
