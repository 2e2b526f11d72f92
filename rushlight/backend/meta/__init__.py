"""`meta`: a device whose tensors have shape, type and strides, and no data.

Every operator's reference kernel runs as it is, on arrays of zeros that take no memory (`zeros.py`): where the kernel
calls a NumPy function, only the result's shape, type and strides are worked out. Operators whose result's shape depends on
data raise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...core import determinism
from ...core.device.backend import Backend, on_device
from ...core.device.buffer import Buffer
from ...core.device.devices import device as Device
from ...core.dispatch.op import Op
from ...core.random.mersenne import Generator, drawing_from
from ...core.tensor.casting import copy_into
from ...core.tensor.dtype import from_numpy
from .refused import DATA_DEPENDENT, MASKED, REFUSED_FUNCTIONS, refused
from .zeros import Zeros, holds, plain, sample_of, shaped

_NO_DATA = "Cannot copy out of meta tensor; no data!"


class Meta(Backend):
    """The backend of the device `meta`."""

    lacks = DATA_DEPENDENT

    def __init__(self) -> None:
        super().__init__(Device("meta"))
        self.kernels["multinomial"] = self._multinomial
        self.kernels["repeated"] = self._repeated

    def unsupported(self, name: str) -> Exception:
        return refused(name)

    def reference(self, record: Op) -> Callable:
        kernel = record.reference
        return lambda *args, **options: _as_zeros(kernel(*args, **options))

    def kernel(self, record: Op) -> Callable:
        if record.name in MASKED:
            return partial(_unless_masked, super().kernel(record), record.name)
        if record.draws and record.name not in self.kernels:
            return partial(self._drawn, record.reference)
        return super().kernel(record)

    def apply(self, function: Callable, args: tuple, kwargs: dict) -> Any:
        if function in REFUSED_FUNCTIONS:
            raise refused({"array_equal": "equal"}.get(function.__name__, function.__name__))
        if function in _RULES:
            return _RULES[function](*args, **kwargs)
        if function in _CREATORS:
            return _CREATORS[function](self, *args, **kwargs)
        with np.errstate(all="ignore"), drawing_from(_unused):
            try:
                return self._wrapped(function(*_opened(args), **_opened(kwargs)))
            except NotImplementedError:
                raise
            except Exception as error:
                return self._wrapped(_with_memory(function, args, kwargs, error))

    def _drawn(self, draw: Callable, *args: Any, **options: Any) -> Any:
        """What `draw` gives for each element of its arguments, broadcast: of small ones, which tell type and errors."""
        shape = np.broadcast_shapes(*[a.shape for a in args if isinstance(a, Buffer)])
        given = [sample_of(a.outline) if isinstance(a, Buffer) else a for a in args]
        with drawing_from(_unused):
            r = draw(*given, **options)
        parts = r if type(r) is tuple else (r,)
        results = [self._wrapped(shaped(p, _scaled(p.shape, shape))) for p in parts]
        return tuple(results) if type(r) is tuple else results[0]

    def _multinomial(self, input: Buffer, num_samples: int, *rest: Any) -> Buffer:
        return self.buffer((*input.shape[:-1], num_samples), np.int64)

    def _repeated(self, counts: Buffer, n: int, output_size: int | None) -> Buffer:
        if output_size is None:
            raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
        return self.buffer((output_size,), np.int64)

    def draw(self, function: Callable, args: tuple) -> Any:
        if any(isinstance(a, Buffer) for a in args):
            return self._drawn(function, *args)
        for i, a in enumerate(args):
            if isinstance(a, np.dtype):
                n = args[i - 1]
                return self.buffer(n if isinstance(n, tuple) else (n,), a)
        raise TypeError(f"{function} draws neither a shape nor like an array")

    def from_host(self, array: np.ndarray) -> Buffer:
        return self.buffer(array.shape, array.dtype, _dense(array))

    def to_host(self, buffer: Buffer) -> np.ndarray:
        raise NotImplementedError(_NO_DATA)

    def item(self, buffer: Buffer) -> Any:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    def copy_to(self, buffer: Buffer, where: Backend | None, back: Backend | None) -> Any:
        if where is self:
            return buffer
        return on_device(self.to_host(buffer), where)

    def _wrapped(self, r: Any) -> Any:
        if isinstance(r, (np.ndarray, np.generic)):
            a = np.asarray(r)
            kind = from_numpy(a.dtype).numpy
            if holds(a) and a.dtype == kind:
                return Buffer(self, plain(a))
            return self.buffer(a.shape, kind, a.strides)
        if isinstance(r, tuple):
            parts = [self._wrapped(v) for v in r]
            return type(r)(*parts) if hasattr(r, "_fields") else tuple(parts)
        return [self._wrapped(v) for v in r] if type(r) is list else r


def _as_zeros(r: Any) -> Any:
    """A kernel's results, those without memory as what computes nothing."""
    if type(r) is tuple:
        return tuple([_as_zeros(x) for x in r])
    return r.view(Zeros) if type(r) is np.ndarray and holds(r) else r


def _scaled(sample: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """`shape`, with one element in the dimensions where a small result has one."""
    return tuple(n if k > 1 else min(n, k) for k, n in zip(sample, shape, strict=True))


def _unless_masked(kernel: Callable, name: str, *arrays: Any, **options: Any) -> Any:
    """`kernel`, whose result's shape is known if no index is a mask."""
    if any(a is not None and a.dtype.kind == "b" for a in arrays[1:]):
        raise refused(name)
    return kernel(*arrays, **options)


def _plain_type(kind: np.dtype) -> np.dtype:
    return from_numpy(kind).numpy


def _with_arrays(value: Any, array_of: Callable[[Buffer], np.ndarray]) -> Any:
    """Arguments with arrays in the place of buffers."""
    if isinstance(value, Buffer):
        return array_of(value)
    if type(value) in (tuple, list):
        return type(value)([_with_arrays(v, array_of) for v in value])
    if type(value) is dict:
        return {k: _with_arrays(v, array_of) for k, v in value.items()}
    return _plain_type(value) if isinstance(value, np.dtype) else value


def _opened(value: Any) -> Any:
    """Arguments with arrays of zeros in the place of buffers."""
    return _with_arrays(value, lambda buffer: buffer.outline.view(Zeros))


def _with_memory(function: Callable, args: tuple, kwargs: dict, error: Exception) -> Any:
    """The call again on arrays that can be written: of zeros, then with the identity for square matrices.

    So go kernels that write into a copy of their input, and decompositions, which refuse singular matrices. Raises the
    first error where neither goes, or where the arrays are large.
    """
    for fill in (np.zeros, _eye):
        try:
            array_of = partial(_filled, fill=fill)
            return function(*_with_arrays(args, array_of), **_with_arrays(kwargs, array_of))
        except Exception:
            continue
    try:
        raise error
    finally:
        del error


_LARGE = 1 << 30  # bytes of one array


def _filled(buffer: Buffer, fill: Callable) -> np.ndarray:
    """An array with the buffer's shape, type and order in memory, filled with `fill(shape, type)`."""
    if buffer.nbytes > _LARGE:
        raise MemoryError(f"{buffer.nbytes} bytes")
    if not buffer.size:
        return buffer.outline.copy()
    a = np.ndarray(buffer.shape, _plain_type(buffer.dtype), strides=_dense(buffer.outline))
    a[...] = fill(buffer.shape, a.dtype)
    return a


def _eye(shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return np.zeros(shape, kind)
    return np.broadcast_to(np.eye(shape[-1], dtype=kind), shape)


def _dense(a: np.ndarray) -> tuple[int, ...]:
    """The strides of a copy of `a` in the order of its memory."""
    strides, n = [0] * a.ndim, a.itemsize
    for dim in sorted(range(a.ndim), key=lambda d: (-a.strides[d], d), reverse=True):
        strides[dim] = n
        n *= max(a.shape[dim], 1)
    return tuple(strides)


def _copyto(dst: Buffer, src: Any, *rest: Any, **kwargs: Any) -> None:
    np.broadcast_to(_opened(src), dst.shape)  # raises where it does not fit


def _setitem(dst: Buffer, index: Any, value: Any) -> None:
    np.broadcast_to(_opened(value), _opened(dst)[_opened(index)].shape)


_RULES: dict[Callable, Callable] = {
    np.copyto: _copyto,
    copy_into: _copyto,
    np.ndarray.__setitem__: _setitem,
    np.ndarray.fill: lambda dst, value: None,
}


def _made(backend: Backend, shape: Any, *rest: Any, dtype: Any = None, **options: Any) -> Buffer:
    """For zeros, ones and empty: (shape, dtype); for full: (shape, value, dtype)."""
    kind = dtype or (rest[-1] if rest and rest[-1] is not None else np.float64)
    return backend.buffer(tuple(shape) if isinstance(shape, (tuple, list)) else (shape,), kind)


_CREATORS: dict[Callable, Callable] = dict.fromkeys((np.zeros, np.ones, np.empty, np.full, determinism.empty), _made)
_unused = Generator()  # what a kernel draws from that runs for the sake of its result's shape
meta = Meta()


def open_meta(index: int | None) -> Meta:
    """The one meta device, whatever its index."""
    return meta


__all__ = ["Meta", "open_meta"]
