"""`mirror`: a device for tests. Its memory is out of NumPy's reach behind handles, and every transfer is counted.

Kernels are the CPU's reference kernels, run on memory that only this file can open. What takes an array of the host where
the device's is needed, or the other way round, raises; so whatever runs on `mirror` copies only where it was asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rushlight.core.device import devices
from rushlight.core.device.backend import Backend
from rushlight.core.device.buffer import Buffer
from rushlight.core.random.mersenne import Generator, drawing_from
from rushlight.core.tensor import dtype as dtypes


class _Memory:
    """The device's memory: handle -> array."""

    def __init__(self) -> None:
        self.next = 0
        self.blocks: dict[int, np.ndarray] = {}


class _Handle:
    """What a buffer keeps instead of an array: a key of `_Memory.blocks`, which is dropped with it."""

    __slots__ = ("key", "memory")

    def __init__(self, memory: _Memory, array: np.ndarray):
        self.memory, self.key = memory, memory.next
        memory.next += 1
        memory.blocks[self.key] = array

    def __del__(self) -> None:
        del self.memory.blocks[self.key]


class Mirror(Backend):
    """The backend of `mirror:0` and `mirror:1`; to_host and from_host are counted in `to` and `from_`."""

    def __init__(self, index: int):
        super().__init__(devices.device("mirror", index))
        self.generator = Generator()
        self.down = self.up = 0
        self._memory = _Memory()

    def from_host(self, array: np.ndarray) -> Buffer:
        self.up += 1
        return self._wrapped(array.copy(order="K"))

    def to_host(self, buffer: Buffer) -> np.ndarray:
        self.down += 1
        return self._opened(buffer).copy(order="K")

    def apply(self, function: Callable, args: tuple, kwargs: dict) -> Any:
        with np.errstate(all="ignore"), drawing_from(self.generator):
            r = function(*self._opened_all(args), **self._opened_all(kwargs))
        return self._wrapped(r)

    def _opened(self, buffer: Buffer) -> np.ndarray:
        if buffer.backend is not self:
            raise RuntimeError(f"a buffer of {buffer.backend.device} reached {self.device}")
        return self._memory.blocks[buffer.memory.key]

    def _opened_all(self, value: Any) -> Any:
        if isinstance(value, Buffer):
            return self._opened(value)
        if type(value) in (tuple, list):
            return type(value)([self._opened_all(v) for v in value])
        if type(value) is dict:
            return {k: self._opened_all(v) for k, v in value.items()}
        if isinstance(value, np.dtype):
            return dtypes.from_numpy(value).numpy
        if isinstance(value, np.ndarray) and value.ndim:
            raise RuntimeError(f"an array of the host with shape {value.shape} reached {self.device}")
        return value

    def _wrapped(self, value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(value)
            return self.buffer_for(array, _Handle(self._memory, array))
        if isinstance(value, tuple):
            parts = [self._wrapped(v) for v in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return [self._wrapped(v) for v in value] if type(value) is list else value


_devices: dict[int, Mirror] = {}


def open_mirror(index: int | None) -> Mirror:
    """The backend of a device; there are two. Raises RuntimeError for any other index."""
    index = index or 0
    if index > 1:
        raise RuntimeError(f"mirror has 2 devices; there is none with index {index}")
    return _devices.setdefault(index, Mirror(index))


@contextmanager
def copies(up: int | None = 0, down: int | None = 0, index: int = 0) -> Iterator[None]:
    """Assert how many copies to (up) and from (down) the device are made meanwhile; None: any number."""
    m = open_mirror(index)
    before = m.up, m.down
    yield
    assert (up, down) == tuple(
        None if wanted is None else now - then
        for wanted, now, then in zip((up, down), (m.up, m.down), before, strict=True)
    )


devices.register("mirror", open_mirror)
