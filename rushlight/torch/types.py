"""`torch.types`: names for annotations."""

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

from ..core.device.devices import device as _device
from ..core.tensor.pickling import Memory as Storage
from ..core.tensor.size import Size
from ..core.tensor.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

_int, _float, _bool, _str, _bytes, _complex = int, float, bool, str, bytes, complex
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize: TypeAlias = Size | Sequence[int]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_TensorOrTensorsOrGradEdge: TypeAlias = Tensor | Sequence[Tensor] | tuple[Any, ...]
_Number = (int, float, bool)
Number: TypeAlias = int | float | bool
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
Device: TypeAlias = Union[_device, str, int, None]
FileLike: TypeAlias = Union[str, "os.PathLike[str]", IO[bytes]]
