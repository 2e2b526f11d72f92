"""NumPy's functions that CuPy lacks or understands otherwise, from those that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.tensor.storage import address_of
from ...ops.index.scatter import gather_columns
from ...ops.nn.class_loss import mean_of_rows
from ...ops.pointwise.checks import extremes, lowest
from ...ops.shape.slicing import flat_memory, memory_owner, writable_diagonal


def _reduction(name: str, ufunc: str) -> Callable[[Any], Callable]:
    """`np.maximum.reduce` by `cupy.max`, and its like."""

    def make(library: Any) -> Callable:
        run, both = getattr(library, name), getattr(library, ufunc)

        def reduce(
            a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None
        ) -> Any:
            a = library.stack(a) if isinstance(a, (list, tuple)) else library.asarray(a)
            options = {} if dtype is None else {"dtype": dtype}
            if initial is None:
                return run(a, axis=axis, out=out, keepdims=keepdims, **options)
            if not a.size:  # which CuPy refuses
                shape = np.empty(a.shape, bool).any(axis=axis, keepdims=keepdims).shape
                return library.full(shape, initial, dtype or a.dtype)
            return both(run(a, axis=axis, keepdims=keepdims, **options), a.dtype.type(initial))

        return reduce

    return make


def _with_initial(name: str, ufunc: str) -> Callable[[Any], Callable]:
    """`np.max(a, axis, initial=...)`."""
    make_reduce = _reduction(name, ufunc)

    def make(library: Any) -> Callable:
        reduce = make_reduce(library)
        return lambda a, axis=None, out=None, keepdims=False, initial=None: reduce(
            a, axis, None, out, keepdims, initial
        )

    return make


def _scan(ufunc: str) -> Callable[[Any], Callable]:
    """`np.maximum.accumulate` and its like, for functions in which the order of grouping does not matter."""

    def make(library: Any) -> Callable:
        both = getattr(library, ufunc)

        def accumulate(a: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
            r = library.moveaxis(library.array(a, dtype=dtype), axis, 0)
            step = 1
            while step < len(r):  # after it each element covers 2 * step
                r = library.concatenate([r[:step], both(r[step:], r[:-step])])
                step *= 2
            r = library.moveaxis(r, 0, axis)
            if out is None:
                return r
            out[...] = r
            return out

        return accumulate

    return make


def _as_strided(library: Any) -> Callable:
    def as_strided(a: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True) -> Any:
        view = a.view()  # CuPy's own as_strided forgets whose memory it is
        view._set_shape_and_strides(tuple(shape), tuple(strides), True, True)
        return view

    return as_strided


def _refused(library: Any) -> Callable:
    """What CuPy has, but computes otherwise."""

    def refuse(*args: Any, **options: Any) -> Any:
        raise NotImplementedError("the library computes this otherwise")

    return refuse


def _matmul(library: Any) -> Callable:
    return lambda a, b, out=None, **options: library.matmul(a, b, out=out, **options)


def _creator(name: str) -> Callable[[Any], Callable]:
    """A function that makes an array, whose `like` says nothing: every array is the library's."""

    def make(library: Any) -> Callable:
        run = getattr(library, name)
        return lambda *args, like=None, subok=True, **options: run(*args, **options)

    return make


def _of_numbers(name: str) -> Callable[[Any], Callable]:
    """A function that kernels also call with numbers of the host, such as a shape; its result is the host's, then."""

    def make(library: Any) -> Callable:
        run, on_host = getattr(library, name), getattr(np, name)

        def call(a: Any, *rest: Any, **options: Any) -> Any:
            return run(a, *rest, **options) if isinstance(a, library.ndarray) else on_host(a, *rest, **options).tolist()

        return call

    return make


def _vecdot(library: Any) -> Callable:
    def vecdot(a: Any, b: Any, axis: int = -1) -> Any:
        return (library.conj(a) * b).sum(axis)

    return vecdot


_CREATORS = (
    "arange", "array", "asarray", "ascontiguousarray", "asfortranarray", "empty", "empty_like", "eye", "full", "full_like", "identity",
    "ones", "ones_like", "tri", "zeros", "zeros_like",
)  # fmt: skip

OWN: dict[str, Callable[[Any], Callable]] = {
    "add.reduce": _reduction("sum", "add"),
    "multiply.reduce": _reduction("prod", "multiply"),
    "maximum.reduce": _reduction("max", "maximum"),
    "minimum.reduce": _reduction("min", "minimum"),
    "logical_and.reduce": _reduction("all", "logical_and"),
    "logical_or.reduce": _reduction("any", "logical_or"),
    "max": _with_initial("max", "maximum"),
    "min": _with_initial("min", "minimum"),
    **{f"{name}.accumulate": _scan(name) for name in ("maximum", "minimum", "logical_and", "logical_or", "logaddexp")},
    "lib.stride_tricks.as_strided": _as_strided,
    "matmul": _matmul,
    **{f"{name}.at": _refused for name in ("maximum", "minimum", "multiply")},
    **{name: _of_numbers(name) for name in ("argsort", "cumsum", "prod")},
    "vecdot": _vecdot,
    **{name: _creator(name) for name in _CREATORS},
}


def replaced(library: Any) -> dict[Callable, Callable]:
    """What replaces the functions of Rushlight that look at where memory is."""

    as_strided = _as_strided(library)

    def owner(array: Any) -> Any:
        return array if array.base is None else array.base

    def flat(array: Any, dtype: Any) -> Any:
        every = as_strided(array, (array.size,), (array.itemsize,))
        return every if array.dtype == dtype else every.view(dtype)

    return {
        memory_owner: owner,
        flat_memory: flat,
        address_of: lambda a: a.data.ptr,
        extremes: lambda a: (a.min().item(), a.max().item()),
        lowest: lambda a: a.min().item(),
        writable_diagonal: lambda a, offset, dim1, dim2: a.diagonal(offset, dim1, dim2),
        # these take the first way, where NumPy raises for an index that is out of range; CuPy takes it modulo the size
        gather_columns: lambda input, index: None,
        mean_of_rows: lambda x, target: None,
    }
