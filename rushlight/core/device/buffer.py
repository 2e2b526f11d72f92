"""The memory of a tensor that is on another device than the CPU.

A `Buffer` takes the place of the NumPy array in `Tensor._array`. It has the array's shape, type and strides; its elements
are the device's. Two ways lead to them:

- operators: an entry point notices a buffer before it computes anything (by its dtype, which fast paths compare by identity;
  or by the `NoArray` that a kernel of the CPU gets from it), and the slow path runs the kernel that the device has for
  the operator (`Backend.kernel`);
- NumPy functions outside of kernels (`np.copyto(a, b)`, `a + b`, `a.astype(d)`) come here by NumPy's own protocols and go
  to `Backend.apply`.

Nothing is copied to the host unless it was asked for: `np.asarray` of a buffer raises.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dispatch.mode import in_kernel
from ..tensor.dtype import from_numpy
from ..tensor.placeholder import NoArray, Placeholder, marked_type
from .by_item import NumberByItem
from .conjugated import Conjugated

if TYPE_CHECKING:
    from .backend import Backend


def _leave_kernel() -> None:
    """Raise NoArray within a kernel of the CPU, whose operator is then run by the device."""
    if in_kernel.get():
        raise NoArray("a kernel of the CPU met a tensor of another device")


class Buffer(NumberByItem, np.lib.mixins.NDArrayOperatorsMixin):
    """An array on a device.

    backend: the device. outline: an array with the same shape, type and strides, at an address that represents the place
    in the device's memory; there is nothing to read in it. memory: what the device itself keeps.
    """

    __slots__ = ("__weakref__", "backend", "memory", "outline")
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self, backend: Backend, outline: np.ndarray, memory: Any = None):
        self.backend, self.outline, self.memory = backend, outline, memory

    @property
    def dtype(self) -> np.dtype:
        """The type, as a dtype that equals it and is never the same object: fast paths compare types by identity."""
        return marked_type(self.outline.dtype)

    device = property(lambda self: self.backend.device)
    shape = property(lambda self: self.outline.shape)
    strides = property(lambda self: self.outline.strides)
    ndim = property(lambda self: self.outline.ndim)
    size = property(lambda self: self.outline.size)
    itemsize = property(lambda self: self.outline.itemsize)
    nbytes = property(lambda self: self.outline.nbytes)
    flags = property(lambda self: self.outline.flags)
    base = None

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        _leave_kernel()
        raise TypeError(
            f"can't convert {self.backend.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
            "memory first."
        )

    def _apply(self, function: Callable, args: tuple, kwargs: dict) -> Any:
        _leave_kernel()
        return self.backend.apply(function, args, kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self._apply(getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        return self._apply(function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        method = _METHODS.get(name)
        if method is None:
            raise AttributeError(f"a buffer on {self.backend.device} has no attribute {name!r}")
        return lambda *args, **kwargs: self._apply(method, (self, *args), kwargs)

    real = property(lambda self: self._apply(np.real, (self,), {}))
    imag = property(lambda self: self._apply(np.imag, (self,), {}))
    T = property(lambda self: self._apply(np.transpose, (self,), {}))

    def __getitem__(self, index: Any) -> Any:
        return self._apply(np.ndarray.__getitem__, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        self._apply(np.ndarray.__setitem__, (self, index, value), {})

    def __len__(self) -> int:
        return len(self.outline)

    def item(self, *args: Any) -> Any:
        """The one element as a Python number, copied from the device."""
        _leave_kernel()
        return self.backend.item(self)

    def tolist(self) -> Any:
        """The elements as nested lists, copied from the device."""
        _leave_kernel()
        return self.backend.to_host(self).tolist()


_METHODS = {
    name: getattr(np.ndarray, name)
    for name in (
        "all", "any", "argmax", "argmin", "argsort", "astype", "choose", "clip", "compress", "conj", "conjugate", "copy",
        "cumprod", "cumsum", "diagonal", "dot", "fill", "flatten", "max", "mean", "min", "nonzero", "partition", "prod",
        "put", "ravel", "repeat", "reshape", "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes", "take",
        "tobytes", "trace", "transpose", "var", "view",
    )
}  # fmt: skip


def as_array(r: Any) -> Any:
    """A kernel's result as what a tensor holds: an array, or a buffer or a placeholder as it is."""
    return r if isinstance(r, (Buffer, Placeholder)) else np.asarray(r)


def outline_of(a: Any) -> np.ndarray:
    """An array in which shape, strides and address can be looked at: the array itself, or the outline of what is none."""
    return a.outline if isinstance(a, (Buffer, Conjugated)) else a


# ---------------------------------------------------------------------------------------------- addresses without memory


# of 2**47 bytes the longest range that is free: all of it but the ends, or what is below the program at 85 TiB
_SIZES = (120 << 40, 84 << 40, *(1 << bits for bits in range(46, 27, -1)))


class _Space:
    """Addresses for outlines: a range that the system has reserved and that holds zeros, which take no memory."""

    def __init__(self) -> None:
        self.size, self.used = 0, 0
        self.room: np.ndarray = np.empty(0, np.uint8)

    def take(self, n: int) -> int:
        """Where the next n bytes are. Addresses are given again after all have been."""
        if not self.size:
            self._reserve()
        if n > self.size:
            raise MemoryError(f"a tensor of {n} bytes is larger than the {self.size} bytes that can be addressed")
        start = self.used if self.used + n <= self.size else 0
        self.used = start + -(-n // 64) * 64 + 64
        return start

    def _reserve(self) -> None:
        for size in _SIZES:
            try:
                self.room = np.frombuffer(_zeros(size), np.uint8)
            except (OSError, ValueError, OverflowError, MemoryError):
                continue
            self.size = size
            return
        raise MemoryError("no range of addresses can be reserved")


def _zeros(n: int) -> memoryview:
    """Zeros that take memory only where something writes, against the flag: NumPy's `ufunc.at` does not look at it."""
    import mmap

    no_reserve = {"linux": 0x4000, "darwin": 0x40}.get(sys.platform)  # mmap.MAP_NORESERVE, which has a name since 3.13
    if no_reserve is not None:
        return memoryview(mmap.mmap(-1, n, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve)).toreadonly()
    if n > 1 << 32:
        raise MemoryError("no range without memory here")
    return memoryview(mmap.mmap(-1, n)).toreadonly()


_space = _Space()


def outline(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None) -> np.ndarray:
    """An array of zeros that takes no memory and cannot be written, of this shape and these strides (in bytes)."""
    kind = np.dtype(dtype)
    n = kind.itemsize
    if strides is None:
        for k in shape:
            n *= k
    else:
        n += sum((k - 1) * s for k, s in zip(shape, strides, strict=True) if k)
    lowest = sum((k - 1) * s for k, s in zip(shape, strides or (), strict=False) if k and s < 0)
    if lowest:
        n -= 2 * lowest
    start = _space.take(max(n, 1)) - lowest
    return np.ndarray(shape, kind, _space.room, start, strides)


_allocations: dict[int, tuple[weakref.ref, np.ndarray]] = {}


def allocation(owner: Any, nbytes: int) -> np.ndarray:
    """The bytes that represent the memory of `owner`, an object that lives as long as the memory: the same ones each time.

    The outline of what begins `offset` bytes into it is `np.ndarray(shape, dtype, allocation(owner, nbytes), offset, strides)`.
    """
    key = id(owner)
    if key not in _allocations:
        _allocations[key] = (
            weakref.ref(owner, lambda _: _allocations.pop(key, None)),
            outline((max(nbytes, 1),), np.uint8),
        )
    return _allocations[key][1]


def outline_for(array: np.ndarray) -> np.ndarray:
    """The outline of an array of NumPy: arrays that share memory have outlines that do, at the same distance."""
    whole: Any = array
    base: Any = array
    while (base := getattr(base, "base", None)) is not None:  # also through what as_strided puts between
        whole = base if isinstance(base, np.ndarray) else whole
    first = whole.__array_interface__["data"][0]
    offset = array.__array_interface__["data"][0] - first if array.size else 0
    kind = from_numpy(array.dtype).numpy
    return np.ndarray(array.shape, kind, allocation(whole, whole.nbytes), offset, array.strides)


def outlined(a: np.ndarray) -> bool:
    """Whether an array is in the range of outlines."""
    first = _space.room.__array_interface__["data"][0]
    return 0 <= a.__array_interface__["data"][0] - first < _space.size
