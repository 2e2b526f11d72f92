"""`torch.ao.nn.qat`: layers that round their weights as quantized ones would."""

from rushlight.nn.quantization.qat import Conv1d, Conv2d, Conv3d, Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]
