"""`torch.ao.quantization.stubs`: where numbers become levels, and numbers again."""

from rushlight.nn.quantization.stubs import DeQuantStub, QuantStub, QuantWrapper

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]
