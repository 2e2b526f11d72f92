"""`torch.utils._foreach_utils`: tensors sorted for functions that take lists of one dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.device.devices import device
from ..core.tensor.tensor import Tensor

__all__: list[str] = []


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[Any, tuple[list[list[Tensor | None]], list[int]]]:
    """Lists of equal length split by the device and dtype of the first list's tensors.

    (device, dtype) -> (the lists' parts, the places that they come from, if with_indices). Raises RuntimeError where a
    list has another length.
    """
    lists = [list(each) for each in tensorlistlist]
    if any(each and len(each) != len(lists[0]) for each in lists):
        raise RuntimeError(
            "Tensors of the same index must be on the same device and the same dtype except `step` tensors"
        )
    places: dict[Any, list[int]] = {}
    for i, t in enumerate(lists[0]):
        if t is None:
            raise RuntimeError("Tensors of the first list must not be None")
        places.setdefault((t.device, t.dtype), []).append(i)
    return {
        key: ([[each[i] for i in found] if each else [] for each in lists], found if with_indices else [])
        for key, found in places.items()
    }


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The types of accelerators whose kernels take lists."""
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The types of devices for which optimizers have fused steps."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _device_has_foreach_support(device: device) -> bool:
    """Whether the functions that take lists work on a device."""
    return device.type in [*_get_foreach_kernels_supported_devices(), "cpu"]


def _has_foreach_support(tensors: Sequence[Tensor | None], device: device) -> bool:
    """Whether they take these tensors: no instances of subclasses."""
    return _device_has_foreach_support(device) and all(t is None or type(t) is Tensor for t in tensors)
