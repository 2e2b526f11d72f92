"""`torch.utils._python_dispatch`: questions about tensors that wrap others. There is no `__torch_dispatch__` here."""

from __future__ import annotations

from typing import Any

from ..core.tensor.tensor import Tensor

__all__ = ["is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type"]


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether `t` is of a subclass of Tensor that says how it is made of other tensors, and made again."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """The same of a class: it has `__tensor_flatten__` and `__tensor_unflatten__`."""
    both = ("__tensor_flatten__", "__tensor_unflatten__")
    return issubclass(t, Tensor) and t is not Tensor and all(hasattr(t, name) for name in both)
