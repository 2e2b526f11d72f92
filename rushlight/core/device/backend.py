"""What a device has to bring: memory, copies from and to the host, kernels, random numbers.

A package adds a device by a subclass of `Backend` and an entry point of the group `rushlight.devices`, whose name is the
device's type and whose value is a function `open(index)` that returns the backend of the device with that index (None:
the current one). docs/devices.md goes through an example.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from .buffer import Buffer, outline, outline_for
from .devices import device as Device

if TYPE_CHECKING:
    from ..dispatch.op import Op


class Backend(ABC):
    """One device.

    device: what its tensors answer to `.device`. generator: its random stream, which `manual_seed` seeds, too; None where
    it draws nothing. kernels: the device's own kernels by the name of the operator; for any other the reference kernel
    runs by `apply`. lacks: the names of operators that the device does not have, which raise `unsupported`.
    """

    generator: Any = None
    lacks: Collection[str] = ()

    def __init__(self, device: Device):
        self.device = device
        self.kernels: dict[str, Callable] = {"_to_device": self.copy_to}

    @abstractmethod
    def apply(self, function: Callable, args: tuple, kwargs: dict) -> Any:
        """Run a function of NumPy arrays on the device.

        `function` is NumPy's, a method of ndarray, or a kernel in their terms; buffers may be anywhere in the arguments
        (in tuples and lists too), and with them arrays of zero dimensions from the host. Where there is no buffer the
        function makes something new, such as `np.zeros`. Arrays among the results have to be buffers of this device; a
        result that shares memory with an argument has to share it on the device.
        """

    @abstractmethod
    def from_host(self, array: np.ndarray) -> Buffer:
        """A copy on the device, with the same strides where the array has no gaps."""

    @abstractmethod
    def to_host(self, buffer: Any) -> np.ndarray:
        """A copy in the host's memory. Raises NotImplementedError where there is nothing to copy."""

    def copy_to(self, buffer: Any, where: Backend | None, back: Backend | None) -> Any:
        """A copy on another device, None: the CPU. `back` is this one."""
        return on_device(self.to_host(buffer), where)

    def item(self, buffer: Buffer) -> Any:
        """The one element as a Python number."""
        return self.to_host(buffer).item()

    def draw(self, function: Callable, args: tuple) -> Any:
        """Run a function that draws random numbers, from the device's stream where the arguments name no generator."""
        return self.apply(function, args, {})

    def synchronize(self) -> None:  # noqa: B027
        """Wait until everything that was started on the device has finished."""

    def pin(self, t: Any) -> Any:
        """A tensor of the CPU in memory from which copies are fastest: here itself."""
        return t

    def is_pinned(self, t: Any) -> bool:
        """Whether a tensor of the CPU is in such memory."""
        return True

    def manual_seed(self, seed: int) -> None:
        """Restart the device's random stream."""
        if self.generator is not None:
            self.generator.manual_seed(seed)

    def kernel(self, record: Op) -> Callable:
        """The kernel of an operator, on buffers. Raises what `unsupported` returns where the device has none."""
        own = self.kernels.get(record.name)
        if own is not None:
            return own
        if record.name in self.lacks:
            raise self.unsupported(record.name)
        reference = record.ordered_as_on_the_cpu(self.reference(record))
        return lambda *args, **kwargs: self.apply(reference, args, kwargs)

    def reference(self, record: Op) -> Callable:
        """The kernel that `apply` runs for an operator of which the device has none of its own."""
        return record.reference

    def unsupported(self, name: str) -> Exception:
        """The error of an operator that the device does not have, with torch's message."""
        kind = self.device.type.upper()
        return NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the '{kind}' backend: {name} is not implemented for tensors on "
            f"{self.device}; copy them to the CPU with .cpu() first"
        )

    def buffer(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None, memory: Any = None
    ) -> Buffer:
        """A buffer with an outline of its own: memory that no other buffer shares."""
        return Buffer(self, outline(shape, dtype, strides), memory)

    def buffer_for(self, array: np.ndarray, memory: Any = None) -> Buffer:
        """A buffer for what the device keeps as an array of NumPy; those of arrays that share memory share it, too.

        memory: what the buffer keeps, by default the array itself.
        """
        return Buffer(self, outline_for(array), array if memory is None else memory)


def backend_of(values: Any) -> Backend | None:
    """The device that the buffers among `values` are on; None where there are none.

    Raises RuntimeError where they are on several devices.
    """
    found: Backend | None = None
    for a in values:
        if isinstance(a, Buffer):
            if found is not None and a.backend is not found:
                raise not_on_one_device(found.device, a.backend.device)
            found = a.backend
    return found


def operands(where: Backend, record: Op, values: list) -> list:
    """The operands of an operator on a device: numbers from the host are taken as they are, and indices copied.

    Raises RuntimeError for an array of the host with dimensions.
    """
    out = list(values)
    for i, a in enumerate(values):
        if isinstance(a, np.ndarray) and a.ndim:
            if not record.host_indices or not isinstance(values[0], Buffer):
                raise not_on_one_device(where.device, "cpu")
            out[i] = where.from_host(a)
    return out


def not_on_one_device(first: Any, second: Any) -> RuntimeError:
    """torch's error for operands on several devices."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
    )


def run_on(where: Backend | None, function: Callable, *args: Any, **kwargs: Any) -> Any:
    """`function(*args)`, which makes an array, on a device; None: on the CPU."""
    try:
        return function(*args, **kwargs) if where is None else where.apply(function, args, kwargs)
    except MemoryError as error:
        raise out_of_memory(error) from None


def out_of_memory(error: MemoryError) -> RuntimeError:
    """torch's error where NumPy cannot allocate an array: programs that look for a batch size read its text."""
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is None or dtype is None:
        return RuntimeError(f"DefaultCPUAllocator: can't allocate memory: {error}")
    size = math.prod(shape) * dtype.itemsize
    return RuntimeError(
        f"[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
        f"{size} bytes. Error code 12 (Cannot allocate memory)"
    )


def on_device_of(a: Any, function: Callable, *args: Any) -> Any:
    """`function(*args)`, which makes an array, on the device of the array `a`."""
    return a.backend.apply(function, args, {}) if isinstance(a, Buffer) else function(*args)


def on_device(array: np.ndarray, where: Backend | None) -> Any:
    """An array of the host as one of the device; None: the CPU, so the array itself."""
    return array if where is None else where.from_host(array)
