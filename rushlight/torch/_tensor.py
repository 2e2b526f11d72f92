"""`torch._tensor`: where torch keeps the class Tensor, and how its subclasses are rebuilt."""

from ..core.tensor.pickling import rebuild_from_type_v2 as _rebuild_from_type_v2
from ..core.tensor.tensor import Tensor

__all__ = ["Tensor", "_rebuild_from_type_v2"]
