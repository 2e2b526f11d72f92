"""`torch._tensor`: where torch keeps the class Tensor."""

from ..core.tensor.tensor import Tensor

__all__ = ["Tensor"]
