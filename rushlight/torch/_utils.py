"""`torch._utils`: what programs and libraries take from torch's inner tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import ops
from ..core.device.devices import NO_ACCELERATOR
from ..core.device.devices import device as Device
from ..core.tensor.pickling import rebuild_meta_tensor as _rebuild_meta_tensor_no_storage
from ..core.tensor.pickling import rebuild_tensor_v2 as _rebuild_tensor_v2
from ..core.tensor.pickling import rebuild_tensor_v3 as _rebuild_tensor_v3
from ..core.tensor.tensor import Tensor
from ..nn.parameter import _rebuild_parameter, _rebuild_parameter_with_state

__all__ = [
    "_element_size",
    "_flatten_dense_tensors",
    "_get_all_device_indices",
    "_get_available_device_type",
    "_get_device_index",
    "_rebuild_meta_tensor_no_storage",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_tensor_v2",
    "_rebuild_tensor_v3",
    "_take_tensors",
    "_unflatten_dense_tensors",
]


def __getattr__(name: str) -> Any:
    if name == "ExceptionWrapper":
        from ..utils.data.failure import ExceptionWrapper

        return ExceptionWrapper
    raise AttributeError(f"module 'torch._utils' has no attribute {name!r}: Rushlight does not have it")


def _element_size(dtype: Any) -> int:
    """The size of an element in bytes."""
    return dtype.itemsize


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements in one dimension. Shape: any -> (sum of the numbers of elements,)"""
    return ops.cat([t.reshape(-1) for t in tensors])  # type: ignore[attr-defined]


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of `flat` in the shapes of `tensors`, one after the other."""
    parts = ops.split(flat, [t.numel() for t in tensors])
    return tuple(part.view(t.shape) for part, t in zip(parts, tensors, strict=True))


def _take_tensors(tensors: Sequence[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Groups of tensors of one type, of up to `size_limit` bytes each (a larger tensor is a group of its own)."""
    groups: dict[str, tuple[list[Tensor], int]] = {}
    for t in tensors:
        kind = t.type()  # type: ignore[attr-defined]
        group, size = groups.get(kind, ([], 0))
        if group and size + t.nbytes > size_limit:
            yield group
            group, size = [], 0
        groups[kind] = [*group, t], size + t.nbytes
    for group, _ in groups.values():
        if group:
            yield group


def _get_available_device_type() -> None:
    """The type of the accelerator: None, there is none."""


def _get_all_device_indices() -> None:
    """The indices of the accelerators: None, there are none."""


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of a device: -1 for the CPU with allow_cpu=True; raises ValueError or RuntimeError otherwise."""
    device = Device(device) if isinstance(device, str) else device
    if isinstance(device, int):
        return device
    if device is not None and device.type == "cpu":
        if not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        return -1 if device.index is None else device.index
    if device is not None and device.index is not None:
        return device.index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {device}")
    raise RuntimeError(NO_ACCELERATOR)
