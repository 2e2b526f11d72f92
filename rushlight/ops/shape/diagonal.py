"""Triangles and diagonals: tril, triu, diag, diag_embed, diagflat."""

from __future__ import annotations

import functools
from operator import index

import numpy as np

from ...core.dispatch.op import MEMORY_BOUND, composite, primitive
from ...core.tensor.node import shown_as
from ...core.tensor.size import wrap_dim
from .slicing import writable_diagonal
from .view import flatten

_LARGEST_KEPT = 1 << 16  # elements of a mask


def _triangle(a, diagonal, cut):
    """`np.tril` or `np.triu`; the mask of a small matrix, which attention asks for in each call, is kept."""
    n, m = a.shape[-2:]
    if type(a) is not np.ndarray or n * m > _LARGEST_KEPT:
        return np.asarray(cut(a, diagonal), order="C")
    zero = np.zeros((), a.dtype)
    if cut is np.tril:
        return np.asarray(np.where(_up_to(n, m, diagonal), a, zero), order="C")
    return np.asarray(np.where(_up_to(n, m, diagonal - 1), zero, a), order="C")


@functools.lru_cache(32)
def _up_to(n, m, diagonal):
    """Whether an element is on this diagonal or below it. Shape: -> (n, m)"""
    return np.tri(n, m, diagonal, bool)


@primitive(method=True, inplace=True, out=True, **MEMORY_BOUND)
def tril(input, /, diagonal=0):
    """The lower triangle of (a batch of) matrices, zeros elsewhere.

    Args:
        diagonal: the last diagonal that stays, above the main one (below it if negative).
        out: the tensor to write the result to.
    Shape: (*, n, m) -> (*, n, m)
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `tril(ones(2))`.

    >>> tril(tensor([[1, 2], [3, 4]]))
    tensor([[1, 0],
            [3, 4]])
    """
    if input.ndim < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    return _triangle(input, index(diagonal), np.tril)


@tril.vjp
def _(g, diagonal):
    return g.tril(diagonal)


@primitive(method=True, inplace=True, out=True, **MEMORY_BOUND)
def triu(input, /, diagonal=0):
    """The upper triangle of (a batch of) matrices, zeros elsewhere.

    Args:
        diagonal: the first diagonal that stays, above the main one (below it if negative).
        out: the tensor to write the result to.
    Shape: (*, n, m) -> (*, n, m)
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `triu(ones(2))`.

    >>> triu(tensor([[1, 2], [3, 4]]), diagonal=1)
    tensor([[0, 2],
            [0, 0]])
    """
    if input.ndim < 2:
        raise RuntimeError("triu: input tensor must have at least 2 dimensions")
    return _triangle(input, index(diagonal), np.triu)


@triu.vjp
def _(g, diagonal):
    return g.triu(diagonal)


@primitive(method=True)
def diag_embed(input, /, offset=0, dim1=-2, dim2=-1):
    """Matrices over `dim1` and `dim2` with the last dimension of the input on their diagonal.

    Args:
        offset: above the main diagonal (below it if negative).
    Shape: (*, n) -> (*, n, n)
    Raises:
        RuntimeError: the dimensions are the same, as in `diag_embed(ones(2), 0, 1, 1)`.

    >>> diag_embed(tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    d1, d2 = wrap_dim(dim1, input.ndim + 1), wrap_dim(dim2, input.ndim + 1)
    if not input.ndim:
        raise RuntimeError("diag_embed: input must have at least one dimension")
    n = input.shape[-1] + abs(offset)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    shape = list(input.shape[:-1])
    for d in sorted((d1, d2)):
        shape.insert(d, n)
    out = np.zeros(shape, input.dtype, like=input)
    writable_diagonal(out, offset, d1, d2)[...] = input
    return out


@diag_embed.vjp
def _(g, offset, dim1, dim2):
    return g.diagonal(offset, dim1, dim2)


@composite(method=True)
def diagflat(input, offset=0):
    """A matrix with the flattened input on its diagonal.

    Args:
        offset: above the main diagonal (below it if negative).
    Shape: (*) of n elements -> (n + |offset|, n + |offset|)

    >>> diagflat(tensor([1, 2]), 1)
    tensor([[0, 1, 0],
            [0, 0, 2],
            [0, 0, 0]])
    """
    return diag_embed(flatten(input), offset)


@composite(method=True, out=True)
def diag(input, diagonal=0):
    """The diagonal of a matrix, or a matrix with the given diagonal, as a copy.

    Args:
        diagonal: above the main one (below it if negative).
        out: the tensor to write the result to.
    Shape: (n, n) -> (n); (n) -> (n, n)
    Raises:
        RuntimeError: `input` has neither one nor two dimensions, as in `diag(ones(1, 1, 1))`.

    >>> diag(tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    n = input._array.ndim
    if n not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {n}D")
    return (
        diag_embed(input, diagonal) if n == 1 else shown_as(input.diagonal(diagonal).clone(), "DiagonalBackward0_copy")
    )
