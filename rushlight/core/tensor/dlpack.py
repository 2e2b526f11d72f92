"""DLPack, by which libraries hand tensors to one another without copying; NumPy does the work."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from .storage import expose, private_storage, storage_of
from .tensor import Tensor, wrap

__all__ = ["DLDeviceType", "taken_over"]


class DLDeviceType(enum.IntEnum):
    """The kinds of devices that DLPack knows."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


class _Capsule:
    """What NumPy takes a capsule from."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLDeviceType.kDLCPU.value, 0


class _Writable:
    """An array's memory, of which DLPack's first version, which has no flag for that, does not say whether it may be written."""

    def __init__(self, array: np.ndarray):
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def taken_over(source: Any, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of an object that has `__dlpack__`, or of a capsule; on a copy if `copy`."""
    if isinstance(source, Tensor):
        _check(source)
        if copy:
            return wrap(source._array.copy())
        t = wrap(source._array)
        t._storage = private_storage(storage_of(source))
        return t
    if type(source).__name__ == "PyCapsule":
        source = _Capsule(source)
    array = np.from_dlpack(source, copy=copy) if copy is not None else np.from_dlpack(source)
    t = wrap(array if array.flags.writeable or isinstance(source, np.ndarray) else np.asarray(_Writable(array)))
    expose(t)
    return t


def _check(self: Tensor) -> None:
    if not self.is_cpu:
        raise BufferError(f"Cannot pack tensors on {self.device}")
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_sparse or self.is_sparse_csr:
        raise BufferError("Can't export tensors with layout other than torch.strided")
    if self.is_conj():
        raise BufferError("Can't export tensors with the conjugate bit set")


def __dlpack__(
    self: Tensor,
    *,
    stream: Any = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule of the tensor's memory, for another library's `from_dlpack`.

    BufferError for a tensor that requires grad or is sparse, and for types that NumPy has not (bfloat16).
    """
    _check(self)
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if stream not in (None, -1):
        raise AssertionError(f"stream must be None or -1 on the CPU, got {stream}")
    place = None if dl_device is None else (int(dl_device[0]), dl_device[1])
    expose(self)
    array = self.numpy() if self._array.dtype.num < 256 else self._array
    return array.__dlpack__(max_version=max_version, dl_device=place, copy=copy)


def __dlpack_device__(self: Tensor) -> tuple[DLDeviceType, int]:
    """Where the memory is: (DLDeviceType.kDLCPU, 0)."""
    return DLDeviceType.kDLCPU, 0
