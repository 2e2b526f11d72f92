"""`torch._tensor`: where torch keeps the class Tensor."""

from ..core.tensor import Tensor

__all__ = ["Tensor"]
