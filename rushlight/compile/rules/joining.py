"""Copies, fills and joins: stores into parts of one value."""

from __future__ import annotations

from math import prod

import numpy as np

from ..ir.expression import cast
from ..ir.graph import Loop, Ref, Store, Value
from ..ir.lazy import Builder, Lazy, Untraceable, where
from .table import rule


@rule("clone")
def clone(b, input, order="K"):
    return input


@rule("_to_copy")
def to_copy(b, input, dtype):
    return input.astype(dtype.numpy)


@rule("_unsafe_view")
def unsafe_view(b, input, *shape):
    return input.reshape(*shape)


@rule("pixel_shuffle")
def pixel_shuffle(b, input, upscale_factor):
    r, (*lead, c, h, w) = upscale_factor, input.shape
    x = input.reshape(prod(lead), c // (r * r), r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(*lead, c // (r * r), h * r, w * r)


@rule("pixel_unshuffle")
def pixel_unshuffle(b, input, downscale_factor):
    r, (*lead, c, h, w) = downscale_factor, input.shape
    x = input.reshape(prod(lead), c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
    return x.reshape(*lead, c * r * r, h // r, w // r)


@rule("repeat")
def repeat(b, input, repeats):
    sizes = (*(1,) * (len(repeats) - input.ndim), *input.shape)
    split = [m for n in sizes for m in (1, n)]
    whole = [m for r, n in zip(repeats, sizes, strict=True) for m in (r, n)]
    return input.reshape(split).broadcast_to(whole).reshape([r * n for r, n in zip(repeats, sizes, strict=True)])


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
    """`parts` one after the other along an axis."""
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
        raise Untraceable("cat of nothing but empty vectors, or of numbers: give each a dimension with .reshape(1)")
    axis = dim % parts[0].ndim
    shape = list(parts[0].shape)
    shape[axis] = sum(t.shape[axis] for t in parts)
    return _join(b, parts, tuple(shape), axis, parts[0].dtype)


@rule("joined")
def joined(b, first, second, dim):
    return cat(b, first, second, dim=dim)


@rule("stack")
def stack(b, *tensors, dim):
    axis = dim % (tensors[0].ndim + 1)
    parts = [t.reshape(*t.shape[:axis], 1, *t.shape[axis:]) for t in tensors]
    shape = list(parts[0].shape)
    shape[axis] = len(parts)
    return _join(b, parts, tuple(shape), axis, parts[0].dtype)


# ---------------------------------------------------------------------------------------------- parts of a whole


def placed(b: Builder, whole: Lazy, part: Lazy, index) -> Lazy:
    """`whole` with `part` at a basic index."""
    old = b.store(whole).value
    new = Value(whole.shape, whole.dtype)
    ref = b.lazy(new.ref())[index].expr.data
    if part.size:
        expr = cast(part.broadcast_to(ref.shape).expr, new.dtype)
        b.nodes.append(Loop(ref.shape, [Store(ref, expr, None if ref.covers() else old)]))
    return b.lazy((new if part.size else old).ref())


def surrounded(b: Builder, x: Lazy, around, value) -> Lazy:
    """`x` with so many `value` before and after each axis, none of them negative; each element is written once."""
    shape = tuple(low + n + high for n, (low, high) in zip(x.shape, around, strict=True))
    inside = [slice(low, low + n) for n, (low, high) in zip(x.shape, around, strict=True)]
    parts = [(x, tuple(inside))]
    for axis, (low, high) in enumerate(around):
        for edge in (slice(0, low), slice(shape[axis] - high, shape[axis])):
            place = (*(slice(None),) * axis, edge, *inside[axis + 1 :])
            sizes = (*shape[:axis], edge.stop - edge.start, *x.shape[axis + 1 :])
            parts.append((b.constant(value, x.dtype, sizes), place))
    out = b.undefined(shape, x.dtype)
    for part, place in parts:
        if part.size:
            old, out = out, Value(shape, x.dtype)
            ref = b.lazy(out.ref())[place].expr.data
            b.nodes.append(Loop(part.shape, [Store(ref, cast(part.expr, x.dtype), None if ref.covers() else old)]))
    return b.lazy(out.ref())


@rule("_embed")
def embed(b, g, shape, index):
    return placed(b, b.constant(0, g.dtype, shape), g, index)


@rule("constant_pad_nd")
def constant_pad(b, input, pad, value):
    pairs = [(0, 0)] * (input.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    cut = tuple(slice(max(0, -low), n - max(0, -high)) for n, (low, high) in zip(input.shape, pairs, strict=True))
    return surrounded(b, input[cut], [(max(0, low), max(0, high)) for low, high in pairs], value)


@rule("shifted")
def shifted(b, input, dim, step, fill):
    dim, n = dim % input.ndim, input.shape[dim]
    if not n:
        return input
    before, after = (slice(None),) * dim, tuple(m for m in input.shape[dim + 1 :])
    edge = b.constant(fill, input.dtype, (*input.shape[:dim], 1, *after))
    kept = input[(*before, slice(n - 1) if step == 1 else slice(1, n))]
    return _join(b, [edge, kept] if step == 1 else [kept, edge], input.shape, dim, input.dtype)


@rule("roll")
def roll(b, input, shifts, dims):
    if not input.size:
        return input
    if dims is None:
        return _rolled(b, input.reshape(-1), shifts, 0).reshape(input.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        input = _rolled(b, input, shift, dim)
    return input


def _rolled(b: Builder, x: Lazy, shift: int, dim: int) -> Lazy:
    n = x.shape[dim]
    cut, before = n - shift % n, (slice(None),) * dim
    return _join(b, [x[(*before, slice(cut, n))], x[(*before, slice(cut))]], x.shape, dim, x.dtype)


@rule("masked_fill", "masked_fill.number")
def masked_fill(b, input, mask, value):
    if mask.dtype != np.bool_:
        raise Untraceable("a mask that is not bool")
    filling = value.astype(input.dtype) if isinstance(value, Lazy) else b.constant(value, input.dtype)
    return where(mask, filling, input)


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
    return where(inside, input, input.dtype.type(0))
