"""A simulation of CuPy where there is no GPU: its names and its strictness, NumPy's arithmetic.

As in CuPy an array of the host where one of the GPU is needed raises TypeError, results are arrays and never scalars,
arrays of indices are taken modulo the size, and what CuPy lacks is not there.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

LACKING = {
    "block", "errstate", "frompyfunc", "geomspace", "insert", "matvec", "nditer", "nextafter", "spacing", "unstack", "vecdot",
    "vecmat", "lib.array_utils",
}  # fmt: skip


def _opened(value: Any) -> Any:
    if isinstance(value, ndarray):
        return value.a
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if type(value) in (tuple, list):
        return type(value)([_opened(v) for v in value])
    if type(value) is dict:
        return {k: _opened(v) for k, v in value.items()}
    return value


def _wrapped(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return ndarray(np.asarray(value))
    if isinstance(value, tuple):
        parts = [_wrapped(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return [_wrapped(v) for v in value] if type(value) is list else value


def _within(index: Any, shape: tuple[int, ...]) -> Any:
    """An index into an array of this shape, with arrays of integers modulo the size."""
    several = isinstance(index, tuple)
    parts = list(index) if several else [index]
    dims = [p.ndim if _is_mask(p) else 0 if p is None else 1 for p in parts]
    rest = len(shape) - sum(d for d, p in zip(dims, parts, strict=True) if p is not Ellipsis)
    dim = 0
    for i, part in enumerate(parts):
        if isinstance(part, ndarray) and part.a.dtype.kind in "iu" and part.a.ndim and dim < len(shape) and shape[dim]:
            parts[i] = ndarray(part.a % shape[dim])
        dim += rest if part is Ellipsis else dims[i]
    return _opened(tuple(parts) if several else parts[0])


def _is_mask(part: Any) -> bool:
    return isinstance(part, ndarray) and part.a.dtype.kind == "b"


def _wrapping(function: Any) -> Any:
    """A function of an array and indices along an axis that takes them modulo the size."""

    def run(a: Any, indices: Any, *args: Any, axis: Any = None, **options: Any) -> Any:
        if args and not isinstance(args[0], ndarray):
            axis, args = args[0], args[1:]
        size = a.a.size if axis is None else a.a.shape[axis]
        if isinstance(indices, ndarray) and size:
            indices = ndarray(indices.a % size)
        return _run(function, (a, indices, *args), {"axis": axis, **options})

    return run


def _run(function: Any, args: tuple, kwargs: dict) -> Any:
    out = kwargs.get("out")
    result = _wrapped(function(*_opened(args), **_opened(kwargs)))
    return out if isinstance(out, ndarray) else result


class ndarray(np.lib.mixins.NDArrayOperatorsMixin):
    """cupy.ndarray, whose elements are where only this file opens them."""

    __hash__ = object.__hash__

    def __init__(self, a: np.ndarray):
        self.a = a

    shape = property(lambda self: self.a.shape)
    dtype = property(lambda self: self.a.dtype)
    strides = property(lambda self: self.a.strides)
    ndim = property(lambda self: self.a.ndim)
    size = property(lambda self: self.a.size)
    itemsize = property(lambda self: self.a.itemsize)
    nbytes = property(lambda self: self.a.nbytes)
    flags = property(lambda self: self.a.flags)
    T = property(lambda self: ndarray(self.a.T))
    real = property(lambda self: ndarray(self.a.real), lambda self, value: setattr(self.a, "real", _opened(value)))
    imag = property(lambda self: ndarray(self.a.imag), lambda self, value: setattr(self.a, "imag", _opened(value)))

    @property
    def base(self) -> Any:
        root = self.a
        while (base := getattr(root, "base", None)) is not None:
            root = base.base if type(base).__name__ == "DummyArray" else base  # what as_strided puts between
        return None if root is self.a else _root(root)

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.a.__array_interface__["data"][0])

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _run(getattr(ufunc, method), inputs, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("ctypes", "tobytes_"):
            raise AttributeError(name)
        method = getattr(np.ndarray, name)
        return lambda *args, **kwargs: _run(method, (self, *args), kwargs)

    def view(self, *args: Any) -> ndarray:
        return ndarray(self.a.view(*args))

    def _set_shape_and_strides(self, shape: tuple, strides: tuple, *rest: Any) -> None:
        self.a = np.lib.stride_tricks.as_strided(self.a, shape, strides)

    def __getitem__(self, index: Any) -> Any:
        return _wrapped(self.a[_within(index, self.a.shape)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.a[_within(index, self.a.shape)] = _opened(value)

    def __len__(self) -> int:
        return len(self.a)

    def __bool__(self) -> bool:
        return bool(self.a)

    def __int__(self) -> int:
        return int(self.a)

    def __float__(self) -> float:
        return float(self.a)

    def __index__(self) -> int:
        return self.a.__index__()

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])


def _as_method(method: Any) -> Any:
    return lambda self, *args, **kwargs: _run(method, (self, *args), kwargs)


for _name in ("copy", "astype", "sum", "transpose", "reshape", "fill", "conj", "sort", "argsort", "repeat", "take", "any",
              "all", "max", "min", "mean", "prod", "cumsum", "cumprod", "argmax", "argmin", "squeeze", "swapaxes", "ravel", "flatten",
              "diagonal", "nonzero", "clip", "round", "trace", "var", "std", "partition", "dot", "item", "put"):  # fmt: skip
    setattr(ndarray, _name, _as_method(getattr(np.ndarray, _name)))


def _diagonal(self: ndarray, *args: Any) -> ndarray:
    """A view that can be written, as CuPy's."""
    a = self.a.diagonal(*args)
    a.flags.writeable = self.a.flags.writeable
    return ndarray(a)


ndarray.diagonal = _diagonal  # type: ignore[attr-defined]
_roots: dict[int, tuple[np.ndarray, ndarray]] = {}


def _root(a: np.ndarray) -> ndarray:
    """The one array of the GPU for memory of NumPy's, so that views have the same base."""
    found = _roots.get(id(a))
    if found is None:
        found = _roots[id(a)] = (a, ndarray(a))
    return found[1]


class _Device:
    def __init__(self, index: int):
        self.index = index

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


class _Module:
    """CuPy's module, or one inside it."""

    def __init__(self, module: Any, prefix: str):
        self._module, self._prefix = module, prefix

    def __getattr__(self, name: str) -> Any:
        value = np.copyto if name == "copyto" else getattr(self._module, name)
        if self._prefix + name in LACKING:
            raise AttributeError(name)
        if isinstance(value, type(np)):
            return _Module(value, f"{self._prefix}{name}.")
        if isinstance(value, np.ufunc):
            return _Ufunc(value)
        if isinstance(value, type) or not callable(value):
            return value
        return lambda *args, **kwargs: _run(value, args, kwargs)


class _Ufunc:
    def __init__(self, ufunc: np.ufunc):
        self._ufunc = ufunc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _run(self._ufunc, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._ufunc, name)
        return (lambda *args, **kwargs: _run(value, args, kwargs)) if callable(value) else value


class _Stream:
    def synchronize(self) -> None:
        pass


ndarray.take = lambda self, indices, axis=None: _take(self, indices, axis=axis)  # type: ignore[attr-defined]
_take, _take_along_axis = _wrapping(np.take), _wrapping(np.take_along_axis)
cupy: Any = _Module(np, "")
cupy.take, cupy.take_along_axis = _take, _take_along_axis
cupy.ndarray = ndarray
cupy.asarray = lambda a, dtype=None, order=None: (
    a if isinstance(a, ndarray) and dtype is None else ndarray(np.array(getattr(a, "a", a), dtype, order=order))
)
cupy.array = lambda a, dtype=None, copy=True, **options: ndarray(
    np.array(_opened(a) if not isinstance(a, np.ndarray) else a, dtype, **options)
)
cupy.asnumpy = lambda a, order="C": np.array(a.a, order=order)
cupy.get_default_memory_pool = lambda: SimpleNamespace(
    used_bytes=lambda: 1024, total_bytes=lambda: 4096, free_all_blocks=lambda: None
)
cupy.cuda = SimpleNamespace(
    Device=_Device, get_current_stream=_Stream, memory=SimpleNamespace(OutOfMemoryError=type("OutOfMemoryError", (MemoryError,), {})),
    runtime=SimpleNamespace(
        getDeviceCount=lambda: 1, memGetInfo=lambda: (1 << 20, 1 << 21), getDeviceProperties=lambda index: {"name": b"Simulated"}
    ),
)  # fmt: skip
