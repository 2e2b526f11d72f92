"""Products with sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dispatch.errors import argument_type
from ..core.dispatch.op import OPS
from ..core.tensor.tensor import Tensor, type_word, wrap
from .coo import SparseTensor, assemble
from .entries import gather, indices_of, merge, places_of, times_dense, unstored_times


def mm(x: Any, y: Any) -> Any:
    """x @ y for matrices of which one or both are sparse; sparse only if both are."""
    for m, name in ((x, "self"), (y, "mat2")):
        if m._array.ndim != 2 or (isinstance(m, SparseTensor) and m.dense_dim()):
            raise RuntimeError(f"mm: expected {name} to be a matrix, got {m._array.ndim}D tensor {list(m.shape)}")
    if x._array.shape[1] != y._array.shape[0]:
        (n, k), (m, p) = x._array.shape, y._array.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {m}x{p})")
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"mm: expected both matrices to have the same dtype, got {type_word(x.dtype)} and {type_word(y.dtype)}"
        )
    if not isinstance(y, SparseTensor):
        return _times(x, y)
    if not isinstance(x, SparseTensor):
        return _times(y.t(), x.t()).t()  # type: ignore[attr-defined]
    return _sparse_times_sparse(x, y)


def _times(x: Any, y: Any) -> Any:
    rows, cols = x._places._array
    return times_dense(x._entries, y, wrap(rows), wrap(cols), x._rest, x._array.shape[0])


def _sparse_times_sparse(x: Any, y: Any) -> Any:
    """One product for each pair of an entry of x and one of y in the row of its column, added up by place."""
    y = y.coalesce()
    (rows, cols), (y_rows, y_cols) = x._places._array, y._places._array
    starts = np.searchsorted(y_rows, np.arange(y._array.shape[0] + 1))
    counts = np.diff(starts)[cols]
    left = np.repeat(np.arange(len(cols)), counts)
    right = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts) + starts[cols[left]]
    sizes = (x._array.shape[0], y._array.shape[1])
    places, targets = np.unique(places_of(np.stack([rows[left], y_cols[right]]), sizes), return_inverse=True)
    products = gather(x._entries, wrap(left)) * gather(y._entries, wrap(right))
    values = merge(products, wrap(targets.reshape(-1)), len(places))
    return assemble(wrap(indices_of(places, sizes)), values, sizes, True)


def mv(x: Any, y: Any) -> Any:
    """A sparse matrix times a vector."""
    if isinstance(y, SparseTensor):
        raise RuntimeError("mv: a sparse vector is not supported")
    return mm(x, y.unsqueeze(1)).squeeze(1)


def vector_matrix(x: Any, y: Any) -> Any:
    """A vector times a sparse matrix."""
    if isinstance(x, SparseTensor):
        raise RuntimeError("matmul: a sparse vector is not supported")
    return mv(y.t(), x)


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight^T + bias for a dense or sparse x and weight."""
    out = mm(x, weight.t())
    return out if bias is None else out + bias


def bmm(x: Any, y: Any) -> Any:
    """A batch of sparse matrices times a batch of dense ones, as one large matrix."""
    if isinstance(y, SparseTensor) or x._array.ndim != 3 or y._array.ndim != 3 or x.dense_dim():
        raise RuntimeError("bmm: only a batch of sparse matrices times a batch of dense ones is supported")
    (b, n, k), (c, l, m) = x._array.shape, y._array.shape
    if b != c or k != l:
        raise RuntimeError(
            f"bmm: Expected size for first two dimensions of mat2 to be: [{b}, {k}] but got: [{c}, {l}]."
        )
    batch, rows, cols = x._places._array
    indices = wrap(np.stack([batch * n + rows, batch * k + cols]))
    large = assemble(indices, x._entries, (b * n, b * k), x._is_coalesced)
    out = mm(large, y.reshape(b * k, m)).reshape(b, n, m)
    rest = x._rest
    return out if rest is None else out + unstored_times(rest, y)


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * (mat1 @ mat2)."""
    product = mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    if isinstance(input, SparseTensor) and not isinstance(product, SparseTensor):
        raise RuntimeError("addmm: a sparse 'input' needs two sparse matrices")
    if beta == 0 and not isinstance(input, SparseTensor):
        return product.to_dense() if isinstance(product, SparseTensor) else product
    input = input if beta == 1 else input * beta
    return input + product


# ---------------------------------------------------------------------------------------------- the public names


def _matrix(value: Any, name: str, argument: str, position: int) -> Any:
    if not isinstance(value, Tensor):
        raise argument_type(name, argument, position, value)
    return value


def spmm(input: Any, mat2: Any) -> Any:
    """The product of two matrices, `mm`; the first is usually sparse."""
    return OPS["mm"](_matrix(input, "spmm", "input", 1), _matrix(mat2, "spmm", "mat2", 2))


def dsmm(input: Any, mat2: Any) -> Any:
    """The product of a dense and a sparse matrix, `mm`."""
    return OPS["mm"](_matrix(input, "dsmm", "input", 1), _matrix(mat2, "dsmm", "mat2", 2))


def smm(input: Any, mat: Any) -> Any:
    """The product of a sparse and a dense matrix as a sparse one."""
    _check_sspaddmm(input, mat)
    return OPS["mm"](input, mat).to_sparse()


def hspmm(mat1: Any, mat2: Any) -> Any:
    """The product of a sparse and a dense matrix, of which the rows that mat1 stores: sparse_dim 1, dense_dim 1."""
    mat1 = _sparse(mat1, "hspmm").coalesce()
    rows, targets = np.unique(mat1._places._array[0], return_inverse=True)
    cols = wrap(mat1._places._array[1])
    values = times_dense(mat1._entries, mat2, wrap(targets.reshape(-1)), cols, None, len(rows))
    return assemble(wrap(rows[None]), values, (mat1._array.shape[0], mat2._array.shape[1]), len(rows) < 2)


def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * (mat1 @ mat2) with sparse input and mat1: sparse."""
    _check_sspaddmm(mat1, mat2)
    return input * beta + OPS["mm"](mat1, mat2).to_sparse() * alpha


def _check_sspaddmm(mat1: Any, mat2: Any) -> None:
    if not isinstance(mat1, SparseTensor):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    if isinstance(mat2, SparseTensor):
        raise RuntimeError("sspaddmm: expected 'mat2' to have strided layout, got 'mat2' with layout Sparse")


def saddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`addmm`: the old name for a sparse mat1."""
    return OPS["addmm"](input, mat1, mat2, beta=beta, alpha=alpha)


def _sparse(t: Any, name: str) -> Any:
    if not isinstance(t, SparseTensor):
        raise RuntimeError(f"{name}: Argument #1: tensor must be sparse, got a {type(t).__name__} that is dense")
    return t


__all__ = ["dsmm", "hspmm", "saddmm", "smm", "spmm", "sspaddmm"]
