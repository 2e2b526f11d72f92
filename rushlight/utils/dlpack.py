"""torch.utils.dlpack: tensors shared with other libraries, through NumPy's DLPack."""

from __future__ import annotations

from typing import Any

from ..core.device.devices import check
from ..core.tensor.dlpack import DLDeviceType, taken_over
from ..core.tensor.tensor import Tensor

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of an object that has `__dlpack__`, such as an ndarray or another library's tensor, or of a
    DLPack capsule. copy: True copies, False raises rather than copying."""
    check(device)
    return taken_over(ext_tensor, copy)


def to_dlpack(tensor: Tensor) -> Any:
    """The DLPack capsule of a tensor."""
    return tensor.__dlpack__()  # type: ignore[attr-defined]
