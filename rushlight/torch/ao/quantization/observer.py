"""`torch.ao.quantization.observer`: what looks at tensors to choose a scale."""

from rushlight.nn.quantized.observers import (
    MinMaxObserver,
    ObserverBase,
    PlaceholderObserver,
    UniformQuantizationObserverBase,
    default_dynamic_quant_observer,
    default_placeholder_observer,
    default_weight_observer,
)

__all__ = [
    "MinMaxObserver",
    "ObserverBase",
    "PlaceholderObserver",
    "UniformQuantizationObserverBase",
    "default_dynamic_quant_observer",
    "default_placeholder_observer",
    "default_weight_observer",
]
