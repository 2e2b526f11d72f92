"""Lookups: rows of a table, elements along an axis."""

from __future__ import annotations

import numpy as np

from ..expression import gather, index
from ..lazy import Lazy, Untraceable
from .table import rule


@rule("embedding", checks=True)
def embedding(b, weight, input, padding_idx, scale_grad_by_freq):
    n = weight.shape[0]
    rows = input.astype(np.int64)
    wrong = (rows < 0) | (rows >= n)
    b.check(wrong, IndexError, f"index out of range in self: the embedding's table has {n} rows")
    rows = np.where(wrong, np.int64(0), rows)
    shape = (*input.shape, weight.shape[1])
    row = rows.reshape(*input.shape, 1).broadcast_to(shape)
    return Lazy(b, shape, gather(weight.ref(), (row.expr, index(len(shape) - 1))))


@rule("embedding_dense_backward")
def embedding_dense_backward(b, g, input, shape, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq or g.dtype.kind != "f" or g.dtype.itemsize == 2:
        raise Untraceable("embedding_dense_backward")
    operands = (g.reshape(-1, shape[1]).ref(), input.reshape(-1).ref())
    skip = {"skip": padding_idx} if padding_idx >= 0 else {}
    return b.lazy(b.extern("index_add", operands, (tuple(shape), g.dtype), **skip)[0])


def _along(b, input, dim, i):
    """The elements of `input` at positions `i`, already checked, along an axis. The space is that of `i`."""
    dim = dim % input.ndim
    at = tuple(i.expr if a == dim else index(a) for a in range(input.ndim))
    return Lazy(b, i.shape, gather(input.ref(), at))


def _checked(b, i, n, text):
    i = i.astype(np.int64)
    wrong = (i < 0) | (i >= n)
    b.check(wrong, IndexError, text)
    return np.where(wrong, np.int64(0), i)


@rule("gather", checks=True)
def gather_rule(b, input, index, dim, *rest):
    if not input.ndim or not index.ndim or (rest and any(rest)):
        raise Untraceable("gather")
    n = input.shape[dim % input.ndim]
    return _along(b, input, dim, _checked(b, index, n, f"index out of bounds for dimension {dim} with size {n}"))


@rule("index_select", checks=True)
def index_select(b, input, index, dim):
    if not input.ndim or index.ndim > 1:
        raise Untraceable("index_select")
    dim = dim % input.ndim
    n = input.shape[dim]
    i = _checked(b, index.reshape(-1), n, "index out of range in self")
    shape = tuple(i.size if a == dim else m for a, m in enumerate(input.shape))
    i = i.reshape(*(1,) * dim, i.size, *(1,) * (input.ndim - dim - 1)).broadcast_to(shape)
    return _along(b, input, dim, i)


@rule("zero_where")
def zero_where(b, input, mask):
    return np.where(mask, input.dtype.type(0), input)


@rule("zeros_of")
def zeros_of(b, input):
    return np.zeros_like(input)
