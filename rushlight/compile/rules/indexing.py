"""Lookups: rows of a table, elements along an axis."""

from __future__ import annotations

from math import prod

import numpy as np

from ..ir.expression import gather, index
from ..ir.graph import Ref
from ..ir.lazy import Builder, Lazy, Untraceable, where
from .table import rule


@rule("embedding", checks=True)
def embedding(b, weight, input, padding_idx, scale_grad_by_freq):
    n = weight.shape[0]
    rows = input.astype(np.int64)
    wrong = (rows < 0) | (rows >= n)
    b.check(wrong, IndexError, f"index out of range in self: the embedding's table has {n} rows")
    rows = where(wrong, np.int64(0), rows)
    shape = (*input.shape, weight.shape[1])
    row = rows.reshape(*input.shape, 1).broadcast_to(shape)
    return Lazy(b, shape, gather(weight.ref(), (row.expr, index(len(shape) - 1))))


@rule("embedding_weighted", checks=True)
def embedding_weighted(b, weight, input, per_sample_weights, padding_idx, scale_grad_by_freq):
    picked = embedding(b, weight, input, padding_idx, scale_grad_by_freq)
    return picked * per_sample_weights.reshape(per_sample_weights.shape[0], 1)


@rule("embedding_dense_backward")
def embedding_dense_backward(b, g, input, shape, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq or g.dtype.kind != "f" or g.dtype.itemsize == 2:
        raise Untraceable(
            "the gradient of an embedding with scale_grad_by_freq=True, or of a dtype other than float32 and float64: leave the "
            "option out, or keep the table in float32"
        )
    operands = (_in_rows(b, g.reshape(-1, shape[1])), input.reshape(-1).ref())
    skip = {"skip": padding_idx} if padding_idx >= 0 else {}
    return b.lazy(b.extern("index_add", operands, (tuple(shape), g.dtype), **skip)[0])


def _along(b, input, dim, i):
    """The elements of `input` at positions `i`, already checked, along an axis. The space is that of `i`."""
    dim = dim % input.ndim
    at = tuple(i.expr if a == dim else index(a) for a in range(input.ndim))
    return Lazy(b, i.shape, gather(input.ref(), at))


def _along_axis(index: Lazy, shape: tuple[int, ...], dim: int) -> Lazy:
    """A vector of places along an axis as an index of a shape."""
    return index.reshape(*(1,) * dim, index.size, *(1,) * (len(shape) - dim - 1)).broadcast_to(shape)


def _checked(b, i, n, text):
    i = i.astype(np.int64)
    wrong = (i < 0) | (i >= n)
    b.check(wrong, IndexError, text)
    return where(wrong, np.int64(0), i)


@rule("gather", checks=True)
def gather_rule(b, input, index, dim, *rest):
    if not input.ndim or not index.ndim or (rest and any(rest)):
        raise Untraceable(
            "gather from or by a number, or with sparse_grad=True: use .reshape(1), and leave the option out"
        )
    n = input.shape[dim % input.ndim]
    return _along(b, input, dim, _checked(b, index, n, f"index out of bounds for dimension {dim} with size {n}"))


@rule("index_select", checks=True)
def index_select(b, input, index, dim):
    if not input.ndim or index.ndim > 1:
        raise Untraceable(
            "index_select from a number, or by an index of several dimensions: flatten it with .reshape(-1)"
        )
    dim = dim % input.ndim
    n = input.shape[dim]
    i = _checked(b, index.reshape(-1), n, "index out of range in self")
    shape = tuple(i.size if a == dim else m for a, m in enumerate(input.shape))
    return _along(b, input, dim, _along_axis(i, shape, dim))


# ---------------------------------------------------------------------------------------------- adding and putting


def _placed_along(b: Builder, kind: str, input: Lazy, index: Lazy, source: Lazy, dim: int) -> Lazy:
    """`input` with `source` added, or put, at the places of `index` (of its shape) along an axis."""
    onto = b.store(input).value
    operands = b.lines(source, dim), b.lines(index, dim)
    return b.lazy(b.extern(kind, operands, (input.shape, input.dtype), axis=dim, onto=(onto,))[0])


def _in_rows(b: Builder, x: Lazy) -> Ref:
    """A C-contiguous window, stored first where it is not."""
    ref = x.ref()
    return ref if ref.is_row_major() else b.store(b.lazy(ref))


def _scattered(kind: str):
    def scattered(b: Builder, input: Lazy, index: Lazy, src: Lazy, dim: int) -> Lazy:
        if not input.ndim or index.ndim != input.ndim or src.ndim not in (0, input.ndim) or not index.size:
            raise Untraceable(
                f"a scatter of dimensions {input.ndim}, {index.ndim} and {src.ndim} by {index.size} indices: the tensors need the "
                "same number of dimensions (.reshape), at least 1, and the index an element"
            )
        dim = dim % input.ndim
        _checked(b, index, input.shape[dim], f"index out of bounds for dimension {dim} with size {input.shape[dim]}")
        src = src[tuple(slice(n) for n in index.shape)] if src.ndim else src.broadcast_to(index.shape)
        return _placed_along(b, kind, input, index, src, dim)

    return scattered


rule("scatter_add", checks=True)(_scattered("scatter_add"))
rule("scatter", checks=True)(_scattered("scatter_put"))


@rule("scatter.value", checks=True)
def scatter_value(b, input, index, dim, value):
    return _scattered("scatter_put")(b, input, index, b.constant(value, input.dtype), dim)


@rule("index_add", checks=True)
def index_add(b, input, index, source, dim, alpha):
    if not input.ndim or index.ndim > 1 or not source.size:
        raise Untraceable(
            "index_add to a number, of nothing, or by an index of several dimensions: flatten it with .reshape(-1)"
        )
    dim = dim % input.ndim
    _checked(b, index, input.shape[dim], "index out of range in self")
    source = source if alpha == 1 else source * source.dtype.type(alpha)
    if dim:
        return _placed_along(b, "scatter_add", input, _along_axis(index, source.shape, dim), source, dim)
    operands = _in_rows(b, source), index.reshape(-1).ref()
    return b.lazy(b.extern("index_add", operands, (input.shape, input.dtype), onto=(b.store(input).value,))[0])


@rule("index_copy", checks=True)
def index_copy(b, input, index, source, dim):
    if not input.ndim or index.ndim > 1 or not source.size:
        raise Untraceable(
            "index_copy to a number, of nothing, or by an index of several dimensions: flatten it with .reshape(-1)"
        )
    dim = dim % input.ndim
    _checked(b, index, input.shape[dim], "index out of range in self")
    return _placed_along(b, "scatter_put", input, _along_axis(index, source.shape, dim), source, dim)


@rule("index_fill", checks=True)
def index_fill(b, input, index, value, dim):
    if not input.ndim or not input.size or not index.size:
        raise Untraceable(
            "index_fill of a number or an empty tensor, or by an empty index: use .reshape(1), or leave the call out"
        )
    dim = dim % input.ndim
    n = input.shape[dim]
    index = _counted(index.reshape(-1).astype(np.int64), n)
    _checked(b, index, n, f"index out of range for a dimension of size {n}")
    source = value.astype(input.dtype).broadcast_to((*input.shape[:dim], index.size, *input.shape[dim + 1 :]))
    return _placed_along(b, "scatter_put", input, _along_axis(index, source.shape, dim), source, dim)


# ---------------------------------------------------------------------------------------------- x[i, j]


def _block(indices: tuple) -> tuple[int, list[Lazy]]:
    """The first dimension that index arrays index, and these: they have to be adjacent."""
    dims = [d for d, i in enumerate(indices) if i is not None]
    if not dims or dims != list(range(dims[0], dims[-1] + 1)) or any(indices[d].dtype.kind == "b" for d in dims):
        raise Untraceable("an index by a mask, or by arrays that are not adjacent")
    return dims[0], [indices[d].astype(np.int64) for d in dims]


def _counted(i: Lazy, n: int) -> Lazy:
    """Places of which negative ones count from the end."""
    return where(i < 0, i + np.int64(n), i)


@rule("index", checks=True)
def index_rule(b, input, *indices):
    first, arrays = _block(indices)
    sizes = input.shape[first : first + len(arrays)]
    places = [
        _checked(b, _counted(i, n), n, f"index out of bounds for dimension {first + k} with size {n}")
        for k, (i, n) in enumerate(zip(arrays, sizes, strict=True))
    ]
    middle = np.broadcast_shapes(*(i.shape for i in places))
    rest = input.ndim - first - len(arrays)
    shape = (*input.shape[:first], *middle, *input.shape[input.ndim - rest :])
    spread = [i.broadcast_to(middle).reshape(*middle, *(1,) * rest).broadcast_to(shape).expr for i in places]
    after = (index(len(shape) - rest + k) for k in range(rest))
    return Lazy(b, shape, gather(input.ref(), (*map(index, range(first)), *spread, *after)))


@rule("index_put", checks=True)
def index_put(b, input, value, *indices, accumulate):
    dim, arrays = _block(indices)
    if len(arrays) > 1 or not arrays[0].size or not input.size:
        raise Untraceable("an assignment by several index arrays")
    n, middle = input.shape[dim], arrays[0].shape
    index = _counted(arrays[0].reshape(-1), n)
    _checked(b, index, n, f"index out of bounds for dimension {dim} with size {n}")
    source = value.astype(input.dtype).broadcast_to((*input.shape[:dim], *middle, *input.shape[dim + 1 :]))
    source = source.reshape(*input.shape[:dim], index.size, *input.shape[dim + 1 :])
    kind = "scatter_add" if accumulate else "scatter_put"
    return _placed_along(b, kind, input, _along_axis(index, source.shape, dim), source, dim)


@rule("_index_backward")
def index_backward(b, g, *indices, shape):
    first, arrays = _block(indices)
    flat, middle = b.constant(0, np.int64), np.broadcast_shapes(*(i.shape for i in arrays))
    for i, n in zip(arrays, shape[first:], strict=False):
        flat = flat * np.int64(n) + _counted(i, n)
    after = shape[first + len(arrays) :]
    rows, size, width = prod(shape[:first]), prod(shape[first : first + len(arrays)]), prod(after)
    g, flat = g.reshape(rows, prod(middle), width), flat.broadcast_to(middle).reshape(-1)
    if rows == 1:
        operands, out = (_in_rows(b, g.reshape(flat.size, width)), flat.ref()), ((size, width), g.dtype)
        return b.lazy(b.extern("index_add", operands, out)[0]).reshape(shape)
    operands = b.lines(g, 1), b.lazy(flat.ref()).reshape(1, flat.size, 1).broadcast_to(g.shape).ref()
    return b.lazy(b.extern("scatter_add", operands, ((rows, size, width), g.dtype), axis=1)[0]).reshape(shape)


# ---------------------------------------------------------------------------------------------- selections


@rule("take_along")
def take_along(b, input, index, dim, keepdim):
    """The index is an operator's own, and is inside."""
    if not input.ndim:
        return input
    dim = dim % input.ndim
    i = index if keepdim else index.reshape(*index.shape[:dim], 1, *index.shape[dim:])
    out = _along(b, input, dim, i.astype(np.int64))
    return out if keepdim else out.reshape(index.shape)


@rule("put_along")
def put_along(b, input, index, shape, dim, keepdim):
    """No place is named twice."""
    if not shape:
        return input.reshape(())
    dim = dim % len(shape)
    one = (*shape[:dim], 1, *shape[dim + 1 :])
    if not keepdim:
        input, index = input.reshape(one), index.reshape(one)
    if index.shape == one:
        hit = b.positions(shape, dim) == index.astype(np.int32)
        return where(hit, input, input.dtype.type(0))
    operands = b.lines(input, dim), b.lines(index, dim)
    return b.lazy(b.extern("scatter_add", operands, (tuple(shape), input.dtype), axis=dim)[0])


@rule("zero_where")
def zero_where(b, input, mask):
    return where(mask, input.dtype.type(0), input)


@rule("cut")
def cut(b, grad, input, mask, by_mask):
    return where(mask, grad.dtype.type(0), grad)


@rule("zeros_of")
def zeros_of(b, input):
    return np.zeros_like(input)
