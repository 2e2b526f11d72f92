"""Running sums, products and extremes along a dimension, and linear recurrences: native functions over lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.lazy import Builder, Lazy, Untraceable
from .table import rule


def _running(b: Builder, kind: str, dim: int, *arrays: Lazy) -> Lazy:
    """16-bit floats run in float32."""
    x = arrays[0]
    if not x.size:
        return x
    short = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
    axis = dim % x.ndim
    refs = tuple(b.lines(a.astype(np.float32) if short else a, axis) for a in arrays)
    return b.lazy(b.extern(kind, refs, (x.shape, refs[0].dtype), axis=axis)[0]).astype(x.dtype)


def _accumulated(kind: str):
    def accumulated(b: Builder, input: Lazy, dim: int, dtype: Any) -> Lazy:
        if dtype is not None:
            input = input.astype(dtype.numpy)
        elif input.dtype.kind in "biu":
            input = input.astype(np.int64)
        return _running(b, kind, dim, input) if input.ndim else input

    return accumulated


rule("cumsum")(_accumulated("running_sum"))
rule("cumprod")(_accumulated("running_product"))


def _extreme(kind: str):
    def extreme(b: Builder, input: Lazy, dim: int) -> tuple[Lazy, Lazy]:
        """Short floats run in float32, integers in int64, which hold them exactly."""
        if not input.size or not input.ndim:
            raise Untraceable("a running extreme of nothing, or of one number")
        kinds = {"f": np.float64 if input.dtype.itemsize == 8 else np.float32, "V": np.float32}
        wide, axis = kinds.get(input.dtype.kind, np.int64), dim % input.ndim
        found = b.extern(
            kind, (b.lines(input.astype(wide), axis),), (input.shape, wide), (input.shape, np.int64), axis=axis
        )
        values, places = map(b.lazy, found)
        return values.astype(input.dtype), places

    return extreme


rule("cummax")(_extreme("running_maximum"))
rule("cummin")(_extreme("running_minimum"))


@rule("scan")
def scan(b, input, factor, dim):
    if not input.ndim:
        raise Untraceable("a recurrence of zero steps")
    return _running(b, "recurrence", dim, input, factor)
