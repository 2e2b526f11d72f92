"""Sparse matrices in compressed column form: where each column begins (ccol), the rows, and the values.

Operators work on the coordinate form, as for matrices by rows (`csr.py`), and results go back.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..core.tensor.layout import sparse_coo, sparse_csc
from ..core.tensor.pickling import after_load
from ..core.tensor.placeholder import Placeholder
from ..core.tensor.tensor import Tensor, alias, wrap
from .coo import SparseTensor, WithoutArray, assemble, convert, rebuild, with_rest
from .csr import CsrTensor, assemble_csr
from .entries import gather, values_of
from .printing import describe

__all__ = ["CscTensor", "assemble_csc", "columns_of", "rebuild_csc"]


class CscTensor(WithoutArray):
    """A sparse matrix by columns. Made by `sparse_csc_tensor` and `to_sparse_csc`."""

    __slots__ = ()
    layout = sparse_csc
    _layout_word = "SparseCsc"
    _ccol: Tensor
    _row: Tensor

    def ccol_indices(self) -> Tensor:
        """Where the entries of each column begin, and the number of all entries: (columns + 1,)."""
        return alias(self._ccol, Tensor)

    def row_indices(self) -> Tensor:
        """The row of each entry (nnz,)."""
        return alias(self._row, Tensor)

    def values(self) -> Tensor:
        """The value of each entry (nnz,)."""
        return values_of(self._entries)

    def _nnz(self) -> int:
        """How many entries are stored."""
        return self._row._array.shape[0]

    def sparse_dim(self) -> int:
        """2: rows and columns."""
        return 2

    def dense_dim(self) -> int:
        """0: values are numbers."""
        return 0

    def _like(self, values: Tensor) -> Any:
        return assemble_csc(self._ccol, self._row, values, self._array.shape)

    def _values_like_mine(self, other: Tensor) -> Tensor:
        if isinstance(other, (CsrTensor, CscTensor)):
            other = other.to_sparse()
        return self.to_sparse()._values_like_mine(other)

    def t(self) -> Any:
        """The transposed matrix, by rows: the same indices and values."""
        rows, columns = self._array.shape
        rest = None if self._rest is None else self._rest.t()  # type: ignore[attr-defined]
        return with_rest(assemble_csr(self._ccol, self._row, self._entries, (columns, rows)), rest)

    def to_sparse(self, *sparse_dim: Any, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Any:
        """The matrix in coordinate form, its entries by columns, or in another sparse layout."""
        if sparse_dim or layout not in (None, sparse_coo) or blocksize is not None or dense_dim is not None:
            return convert(self, *sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)
        ccol, row = self._ccol._array, self._row._array
        columns = np.repeat(np.arange(len(ccol) - 1), np.diff(ccol))
        indices = wrap(np.stack([row.astype(np.int64), columns]))
        return with_rest(assemble(indices, self._entries, self._array.shape, False), self._rest)

    def to_sparse_coo(self) -> Any:
        """The matrix in coordinate form."""
        return self.to_sparse()

    def to_sparse_csc(self, dense_dim: int | None = None) -> Any:
        """The matrix itself."""
        return self

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """The dense matrix. Gradients flow to the stored entries only."""
        return self.to_sparse().to_dense(dtype, masked_grad=masked_grad)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return describe(self)

    def __reduce_ex__(self, protocol: Any):
        return rebuild, (sparse_csc, (self._ccol, self._row, self._entries.detach(), self.size()))

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            ccol, row, values = (copy.deepcopy(t, memo) for t in (self._ccol, self._row, self._entries))
            memo[id(self)] = assemble_csc(ccol, row, values, self._array.shape)
        return memo[id(self)]


def assemble_csc(ccol: Tensor, row: Tensor, values: Tensor, shape: tuple[int, ...]) -> CscTensor:
    """The matrix of its parts; nothing is checked."""
    t: Any = object.__new__(CscTensor)
    t._ccol, t._row, t._entries = ccol, row, values
    t._array = Placeholder(tuple(shape), values._array.dtype)
    t._storage = t._view = None
    return t


def check_columns(ccol: np.ndarray, row: np.ndarray, values: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError for parts that are no matrix."""
    if len(shape) != 2:
        raise RuntimeError(
            f"tensor dimensionality must be sum of batch, base, and dense dimensions, got size {list(shape)}"
        )
    if len(ccol) != shape[1] + 1:
        raise RuntimeError(
            f"ccol_indices.shape[-1] must be equal to the number of columns + 1 as {shape[1] + 1}, but got {len(ccol)}"
        )
    if len(row) != len(values):
        raise RuntimeError(f"number of specified elements: row_indices has {len(row)}, values has {len(values)}")
    if ccol[0] != 0:
        raise RuntimeError("`ccol_indices[..., 0] == 0` is not satisfied.")
    if ccol[-1] != len(row):
        raise RuntimeError("`ccol_indices[..., -1] == nnz` is not satisfied.")
    if (np.diff(ccol) < 0).any() or (np.diff(ccol) > shape[0]).any():
        raise RuntimeError("`0 <= ccol_indices[..., 1:] - ccol_indices[..., :-1] <= nrows` is not satisfied.")
    if row.size and (row.min() < 0 or row.max() >= shape[0]):
        raise RuntimeError("`0 <= row_indices < nrows` is not satisfied.")


def columns_of(t: SparseTensor) -> CscTensor:
    """A sparse matrix in coordinate form by columns."""
    if t._array.ndim != 2 or t.dense_dim():
        raise NotImplementedError(
            f"to_sparse_csc: only matrices are implemented, got {t.sparse_dim()} sparse and {t.dense_dim()} dense dimensions"
        )
    t = t.coalesce()
    rows, columns = t._places._array
    order = np.argsort(columns, kind="stable")
    ccol = np.zeros(t._array.shape[1] + 1, np.int64)
    np.cumsum(np.bincount(columns, minlength=t._array.shape[1]), out=ccol[1:])
    values = gather(t._entries, wrap(order))
    return with_rest(assemble_csc(wrap(ccol), wrap(rows[order]), values, t._array.shape), t._rest)


def rebuild_csc(data: tuple) -> Any:
    """A matrix from its pickle: (ccol_indices, row_indices, values, size)."""
    ccol, row, values, size = data
    after_load.check(lambda: check_columns(ccol._array, row._array, values._array, tuple(size)))
    return assemble_csc(ccol, row, values, tuple(size))
