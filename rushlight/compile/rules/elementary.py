"""Elementwise operators whose kernels look at their operands' memory or test for arrays."""

from __future__ import annotations

import numpy as np

from ..expression import Expr, apply, const, gather, index
from ..lazy import Lazy, Untraceable
from .table import rule


def _of_floats(name: str, function) -> None:
    def elementwise(b, *operands, **metadata):
        arrays = [x for x in operands if isinstance(x, Lazy)]
        if metadata or not arrays or any(x.dtype.kind != "f" or x.dtype.itemsize == 2 for x in arrays):
            raise Untraceable(f"{name} of other types than float32 and float64")
        return function(*operands)

    rule(name)(elementwise)


for _name, _function in {
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "atan2": np.arctan2,
}.items():
    _of_floats(_name, _function)


@rule("xlogy")
def xlogy(b, x, y):
    if any(not isinstance(a, Lazy) or a.dtype.kind != "f" or a.dtype.itemsize == 2 for a in (x, y)):
        raise Untraceable("xlogy")
    return np.where(np.isnan(y), y, np.where(x == 0, x.dtype.type(0), x * np.log(y)))


@rule("flip")
def flip(b, input, dims):
    if not input.ndim:
        return input
    axes = {d % input.ndim for d in ((dims,) if isinstance(dims, int) else dims)}
    at = tuple(_mirrored(i, n) if i in axes else index(i) for i, n in enumerate(input.shape))
    return Lazy(b, input.shape, gather(input.ref(), at))


def _mirrored(axis: int, n: int) -> Expr:
    return apply("sub", const(n - 1, np.int64), index(axis))
