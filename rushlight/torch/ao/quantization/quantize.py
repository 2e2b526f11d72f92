"""`torch.ao.quantization.quantize`: models with quantized layers."""

from rushlight.nn.quantized.quantize import propagate_qconfig_, quantize_dynamic, swap_module

__all__ = ["propagate_qconfig_", "quantize_dynamic", "swap_module"]
