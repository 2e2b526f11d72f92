"""Copies, fills and joins: stores into parts of one value."""

from __future__ import annotations

import numpy as np

from ..expression import cast
from ..graph import Loop, Ref, Store, Value
from ..lazy import Builder, Lazy, Untraceable
from .table import rule


@rule("clone")
def clone(b, input, order="K"):
    return input


@rule("_to_copy")
def to_copy(b, input, dtype):
    if input.dtype.kind == "f" and dtype.numpy.kind in "iub" and dtype.numpy.kind != "b":
        raise Untraceable("float to integer")
    return input.astype(dtype.numpy)


@rule("copy")
def copy(b, input, src):
    return src.astype(input.dtype).broadcast_to(input.shape)


@rule("zero")
def zero(b, input):
    return np.zeros_like(input)


@rule("fill")
def fill(b, input, value):
    if isinstance(value, Lazy):
        return value.astype(input.dtype).broadcast_to(input.shape)
    return b.constant(value, input.dtype, input.shape)


def _join(b: Builder, parts: list[Lazy], shape: tuple[int, ...], axis: int, dtype) -> Lazy:
    """`parts` one behind the other along an axis."""
    old, start = b.undefined(shape, dtype), 0
    for part in parts:
        value = Value(shape, dtype)
        ref = Ref(value, part.shape, value.strides, start * value.strides[axis])
        if part.size:
            b.nodes.append(Loop(part.shape, [Store(ref, cast(part.expr, dtype), None if ref.covers() else old)]))
            old, start = value, start + part.shape[axis]
    return b.lazy(old.ref())


@rule("cat")
def cat(b, *tensors, dim):
    parts = [t for t in tensors if t.shape != (0,)]
    if not parts or not all(t.ndim for t in parts):
        raise Untraceable("cat")
    axis = dim % parts[0].ndim
    shape = list(parts[0].shape)
    shape[axis] = sum(t.shape[axis] for t in parts)
    return _join(b, parts, tuple(shape), axis, parts[0].dtype)


@rule("stack")
def stack(b, *tensors, dim):
    axis = dim % (tensors[0].ndim + 1)
    parts = [t.reshape(*t.shape[:axis], 1, *t.shape[axis:]) for t in tensors]
    shape = list(parts[0].shape)
    shape[axis] = len(parts)
    return _join(b, parts, tuple(shape), axis, parts[0].dtype)


@rule("tril")
def tril(b, input, diagonal=0):
    return _triangle(b, input, lambda row, column: column - row <= diagonal)


@rule("triu")
def triu(b, input, diagonal=0):
    return _triangle(b, input, lambda row, column: column - row >= diagonal)


def _triangle(b, input, keep):
    if input.ndim < 2:
        raise Untraceable("a triangle of a vector")
    inside = keep(b.positions(input.shape, -2), b.positions(input.shape, -1))
    return np.where(inside, input, input.dtype.type(0))
