"""torch.utils.dlpack: tensors shared with other libraries, through NumPy's DLPack."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor, wrap

__all__ = ["from_dlpack", "to_dlpack"]


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor on the memory of an object that has `__dlpack__`, such as an ndarray or another library's tensor."""
    import numpy as np

    return wrap(np.from_dlpack(ext_tensor))


def to_dlpack(tensor: Tensor) -> Any:
    """The DLPack capsule of a tensor."""
    return tensor.numpy().__dlpack__()
