"""`torch.ao.quantization.qconfig`: which observers a layer has."""

from rushlight.nn.quantized.observers import QConfig, default_dynamic_qconfig

__all__ = ["QConfig", "default_dynamic_qconfig"]
