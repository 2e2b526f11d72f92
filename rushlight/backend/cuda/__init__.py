"""`cuda`: NVIDIA's GPUs, by CuPy (extra `rushlight[cuda]`), where RUSHLIGHT_CUDA=1 asks for them.

Every operator's reference kernel runs on the GPU with CuPy in the place of NumPy (`translate.py`). What CuPy does not have
or does otherwise is computed on the host by the same kernel, with one warning for each operator, as torch's MPS backend
does on request. Random numbers are those of the CPU's stream, copied: a seed gives the CPU's numbers here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...core.device.backend import Backend
from ...core.device.buffer import Buffer, allocation
from ...core.device.devices import absent
from ...core.device.devices import device as Device
from ...core.dispatch.op import Op
from ...core.random.mersenne import Generator, drawing_from
from ...core.tensor.dtype import from_numpy
from .. import gpus
from .functions import OWN, replaced
from .translate import Translator


class Cuda(Backend):
    """The backend of one GPU.

    library: CuPy, or what replaces it in tests.
    """

    def __init__(self, index: int, library: Any):
        super().__init__(Device("cuda", index))
        self.library = library
        self.generator = Generator()
        self._translate = Translator(library, {name: make(library) for name, make in OWN.items()}, replaced(library))
        self._on_host: set[str] = set()  # operators about which the warning was given
        self._gpu = library.cuda.Device(index)
        own = {"lerp.scalar": _lerp, "addcmul": _addcmul, "addcdiv": _addcdiv}
        self.kernels.update({name: partial(self._run_own, kernel) for name, kernel in own.items()})

    # ------------------------------------------------------------------------------------------ copies

    def from_host(self, array: np.ndarray) -> Buffer:
        with self._gpu:
            return self._wrapped(self._sent(array))

    def to_host(self, buffer: Buffer) -> np.ndarray:
        array = self._opened(buffer)
        with self._gpu:
            return self._received(array)

    def _sent(self, array: np.ndarray) -> Any:
        """The elements on the GPU, with the same strides where the array has no gaps."""
        order = _order(array)
        return self.library.asarray(array.transpose(order), order="C").transpose(np.argsort(order).tolist())

    def _received(self, array: Any) -> np.ndarray:
        order = _order(array)
        return self.library.asnumpy(array.transpose(order), order="C").transpose(np.argsort(order).tolist())

    def copy_to(self, buffer: Buffer, where: Backend | None, back: Backend | None) -> Any:
        if where is self:
            return self.apply(np.ndarray.copy, (buffer,), {"order": "K"})
        return super().copy_to(buffer, where, back)

    def synchronize(self) -> None:
        with self._gpu:
            self.library.cuda.get_current_stream().synchronize()

    def memory(self) -> tuple[int, int, int, int]:
        """Bytes in arrays, bytes that CuPy's pool holds for them, and the GPU's free and total bytes."""
        with self._gpu:
            pool = self.library.get_default_memory_pool()
            return (pool.used_bytes(), pool.total_bytes(), *self.library.cuda.runtime.memGetInfo())

    def empty_cache(self) -> None:
        """Give the bytes of CuPy's pool that no array uses back to the driver."""
        with self._gpu:
            self.library.get_default_memory_pool().free_all_blocks()

    def name(self) -> str:
        """What the maker calls the GPU."""
        return self.library.cuda.runtime.getDeviceProperties(self.device.index)["name"].decode()

    # ------------------------------------------------------------------------------------------ kernels

    def kernel(self, record: Op) -> Callable:
        own = self.kernels.get(record.name)
        if own is not None:
            return own
        if record.view:
            return lambda *args, **kwargs: self._on_gpu(record.reference, args, kwargs)
        reference = record.ordered_as_on_the_cpu(record.reference)
        if record.draws or record.name in _ON_HOST:
            return lambda *args, **kwargs: self._by_host(reference, args, kwargs)
        if record.name in ("index", "index_put"):
            return lambda *args, **kwargs: self._indexed(reference, args, kwargs, record.name)
        return lambda *args, **kwargs: self._run(reference, args, kwargs, record.name)

    def _run_own(self, kernel: Callable, *args: Any, **options: Any) -> Any:
        return self._on_gpu(kernel, args, options)

    def _indexed(self, function: Callable, args: tuple, kwargs: dict, name: str) -> Any:
        """Run a kernel that leaves it to NumPy to raise for an index that is out of range; CuPy takes it modulo the size."""
        input, *indices = args if name == "index" else (args[0], *args[2:])
        dim = 0
        for index in indices:
            if index is None:
                dim += 1
                continue
            kind = index.dtype.kind
            if kind in "iu" and index.size:
                low, high = (int(f(self._opened(index))) for f in (self.library.min, self.library.max))
                if dim >= input.ndim or low < -input.shape[dim] or high >= input.shape[dim]:
                    return self._by_host(function, args, kwargs)
            dim += index.ndim if kind == "b" else 1
        return self._run(function, args, kwargs, name)

    def draw(self, function: Callable, args: tuple) -> Any:
        return self._by_host(function, args, {})

    def apply(self, function: Callable, args: tuple, kwargs: dict) -> Any:
        return self._run(function, args, kwargs, getattr(function, "__name__", "this operation"))

    def _run(self, function: Callable, args: tuple, kwargs: dict, name: str) -> Any:
        """Run a function on the GPU; on the host, where that raises."""
        try:
            return self._on_gpu(function, args, kwargs)
        except self.library.cuda.memory.OutOfMemoryError as error:
            raise _out_of_memory(error, self) from None
        except Exception as error:
            result = self._by_host(function, args, kwargs)  # raises the CPU's error for arguments that are wrong
            self._tell(name, error)
            return result

    def _on_gpu(self, function: Callable, args: tuple, kwargs: dict) -> Any:
        with self._gpu, np.errstate(all="ignore"):
            given, options = self._opened_all(args), self._opened_all(kwargs)
            return self._wrapped(self._translate(function)(*given, **options))

    def _tell(self, name: str, error: Exception) -> None:
        if name not in self._on_host:
            self._on_host.add(name)
            why = f"{type(error).__name__}: {error}".splitlines()[0]
            warnings.warn(
                f"The operator {name!r} is computed on the CPU for tensors on {self.device}: {why}",
                UserWarning,
                stacklevel=4,
            )

    def _by_host(self, function: Callable, args: tuple, kwargs: dict) -> Any:
        """Run a function on the host, on copies; those that it changed are copied back."""
        copies: list[tuple[Buffer, np.ndarray, bytes]] = []

        def received(value: Any) -> Any:
            if isinstance(value, Buffer):
                array = self.to_host(value)
                copies.append((value, array, array.tobytes()))
                return array
            return value

        with np.errstate(all="ignore"), drawing_from(self.generator):
            result = function(*_replaced(args, received), **_replaced(kwargs, received))
        for buffer, array, before in copies:
            if array.tobytes() != before:
                with self._gpu:
                    self._opened(buffer)[...] = self._sent(array)
            if any(np.shares_memory(r, array) for r in _arrays(result)):
                if result is array:
                    return buffer
                raise NotImplementedError(
                    f"{getattr(function, '__name__', function)} returns a view that cannot be made on {self.device}"
                )
        with self._gpu:
            return self._wrapped(result)

    # ------------------------------------------------------------------------------------------ buffers

    def _opened(self, buffer: Buffer) -> Any:
        if buffer.backend is not self:
            raise RuntimeError(f"a buffer of {buffer.backend.device} reached {self.device}")
        return buffer.memory

    def _opened_all(self, value: Any) -> Any:
        return _replaced(value, self._given)

    def _given(self, value: Any) -> Any:
        if isinstance(value, Buffer):
            return self._opened(value)
        return value[()] if isinstance(value, np.ndarray) and not value.ndim else value  # a number of the host

    def _wrapped(self, value: Any) -> Any:
        if isinstance(value, self.library.ndarray):
            return Buffer(self, _outline(value), value)
        if isinstance(value, (np.ndarray, np.generic)):
            return self._wrapped(self._sent(np.asarray(value)))
        if isinstance(value, tuple):
            parts = [self._wrapped(v) for v in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return [self._wrapped(v) for v in value] if type(value) is list else value


# atomic maxima, minima and products, which CuPy has for some types only and with other results
_ON_HOST = frozenset(("scatter_reduce", "index_reduce", "segment_reduce"))


# multiply and add round twice here, once on the CPU (ops/pointwise/multiply_add.py)
def _lerp(a: Any, b: Any, weight: float) -> Any:
    return a + weight * (b - a) if abs(weight) < 0.5 else b - (b - a) * (1 - weight)


def _addcmul(a: Any, x: Any, y: Any, *, value: Any = 1) -> Any:
    return a + value * x * y


def _addcdiv(a: Any, x: Any, y: Any, *, value: Any = 1) -> Any:
    return a + value * x / y


def _order(array: Any) -> list[int]:
    """The dimensions from the one with the largest steps in memory to that with the smallest."""
    strides = array.strides
    return sorted(range(array.ndim), key=lambda d: (-abs(strides[d]), d))


def _outline(array: Any) -> np.ndarray:
    root = array if array.base is None else array.base
    kind = from_numpy(array.dtype).numpy
    offset = array.data.ptr - root.data.ptr if array.size else 0
    return np.ndarray(array.shape, kind, allocation(root, root.nbytes), offset, array.strides)


def _replaced(value: Any, by: Callable[[Any], Any]) -> Any:
    """Arguments with `by(v)` for each v in them, in tuples, lists and dicts too; marked types become NumPy's own."""
    if type(value) in (tuple, list):
        return type(value)([_replaced(v, by) for v in value])
    if type(value) is dict:
        return {k: _replaced(v, by) for k, v in value.items()}
    return from_numpy(value).numpy if isinstance(value, np.dtype) else by(value)


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in _arrays(v)]
    return [value] if isinstance(value, np.ndarray) else []


def _out_of_memory(error: Exception, where: Cuda) -> Exception:
    return gpus.OutOfMemoryError(f"CUDA out of memory on {where.device}. {error}")


_opened: dict[int, Cuda] = {}


def open_cuda(index: int | None) -> Cuda:
    """The backend of a GPU, by default of the first one.

    Raises AssertionError, as torch does, where there is none or RUSHLIGHT_CUDA=1 is not set, and RuntimeError for one that is
    not there.
    """
    n = gpus.count()
    if not n:
        raise absent(Device("cuda", index))
    library, index = gpus.cupy(), index or 0
    if index >= n:
        raise RuntimeError(f"CUDA error: invalid device ordinal: there is no cuda:{index}; this machine has {n}")
    if index not in _opened:
        _opened[index] = Cuda(index, library)
    return _opened[index]


__all__ = ["Cuda", "open_cuda"]
