"""Sparse matrices in compressed row form: where each row begins (crow), the columns, and the values.

Operators work on the coordinate form, which is a repetition of row numbers away, and results go back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dispatch.mode import emit_event, thread
from ..core.tensor.layout import sparse_coo, sparse_csr
from ..core.tensor.pickling import after_load
from ..core.tensor.placeholder import Placeholder
from ..core.tensor.tensor import Tensor, alias, wrap
from .coo import SparseTensor, WithoutArray, assemble, convert, rebuild, with_rest
from .entries import values_of
from .printing import describe

_new = object.__new__


class CsrTensor(WithoutArray):
    """A sparse matrix by rows. Made by `sparse_csr_tensor` and `to_sparse_csr`."""

    __slots__ = ()
    layout = sparse_csr
    is_sparse_csr = True
    _layout_word = "SparseCsr"
    _crow: Tensor
    _col: Tensor

    def crow_indices(self) -> Tensor:
        """Where the entries of each row begin, and the number of all entries: (rows + 1,)."""
        return alias(self._crow, Tensor)

    def col_indices(self) -> Tensor:
        """The column of each entry (nnz,)."""
        return alias(self._col, Tensor)

    def values(self) -> Tensor:
        """The value of each entry (nnz,)."""
        return values_of(self._entries)

    def _nnz(self) -> int:
        """How many entries are stored."""
        return self._col._array.shape[0]

    def sparse_dim(self) -> int:
        """2: rows and columns."""
        return 2

    def dense_dim(self) -> int:
        """0: values are numbers."""
        return 0

    def _like(self, values: Tensor) -> Any:
        return assemble_csr(self._crow, self._col, values, self._array.shape)

    def _values_like_mine(self, other: Tensor) -> Tensor:
        if isinstance(other, CsrTensor):
            other = other.to_sparse()
        return self.to_sparse()._values_like_mine(other)

    def to_sparse(self, *sparse_dim: Any, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Any:
        """The matrix in coordinate form, or in another sparse layout."""
        if sparse_dim or layout not in (None, sparse_coo) or blocksize is not None or dense_dim is not None:
            return convert(self, *sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)
        crow, col = self._crow._array, self._col._array
        rows = np.repeat(np.arange(len(crow) - 1), np.diff(crow))
        sorted_rows = (col[1:] > col[:-1]) | (rows[1:] != rows[:-1])
        indices = wrap(np.stack([rows, col.astype(np.int64)]))
        return with_rest(assemble(indices, self._entries, self._array.shape, bool(sorted_rows.all())), self._rest)

    def to_sparse_coo(self) -> Any:
        """The matrix in coordinate form."""
        return self.to_sparse()

    def to_sparse_csr(self, dense_dim: int | None = None) -> Any:
        """The matrix itself."""
        return self

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """The dense matrix. Gradients flow to the stored entries only."""
        return self.to_sparse().to_dense(dtype, masked_grad=masked_grad)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return describe(self)

    def __reduce_ex__(self, protocol: Any):
        return rebuild, (sparse_csr, (self._crow, self._col, self._entries.detach(), self.size()))

    def __deepcopy__(self, memo: dict) -> Any:
        import copy

        if id(self) not in memo:
            crow, col, values = (copy.deepcopy(t, memo) for t in (self._crow, self._col, self._entries))
            memo[id(self)] = assemble_csr(crow, col, values, self._array.shape)
        return memo[id(self)]


def assemble_csr(crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, ...]) -> CsrTensor:
    """The matrix of its parts; nothing is checked."""
    t: Any = _new(CsrTensor)
    if thread.state.level > 1:
        for part in (crow, col, values):
            emit_event("read", part, "the entries of a sparse tensor")
    t._crow, t._col, t._entries = crow, col, values
    t._array = Placeholder(tuple(shape), values._array.dtype)
    t._storage = t._view = None
    return t


def check_rows(crow: np.ndarray, col: np.ndarray, values: np.ndarray, shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise RuntimeError(
            f"tensor dimensionality must be sum of batch, base, and dense dimensions, got size {list(shape)}"
        )
    if len(crow) != shape[0] + 1:
        raise RuntimeError(
            f"crow_indices.shape[-1] must be equal to the number of rows + 1 as {shape[0] + 1}, but got {len(crow)}"
        )
    if len(col) != len(values):
        raise RuntimeError(f"number of specified elements: col_indices has {len(col)}, values has {len(values)}")
    if crow[0] != 0:
        raise RuntimeError("`crow_indices[..., 0] == 0` is not satisfied.")
    if crow[-1] != len(col):
        raise RuntimeError("`crow_indices[..., -1] == nnz` is not satisfied.")
    if (np.diff(crow) < 0).any() or (np.diff(crow) > shape[1]).any():
        raise RuntimeError("`0 <= crow_indices[..., 1:] - crow_indices[..., :-1] <= ncols` is not satisfied.")
    if col.size and (col.min() < 0 or col.max() >= shape[1]):
        raise RuntimeError("`0 <= col_indices < ncols` is not satisfied.")


def from_coo(t: SparseTensor) -> CsrTensor:
    """A sparse matrix in coordinate form by rows."""
    if t._array.ndim != 2 or t.dense_dim():
        raise NotImplementedError(
            f"to_sparse_csr: only matrices are implemented, got {t.sparse_dim()} sparse and {t.dense_dim()} dense dimensions"
        )
    t = t.coalesce()
    rows, cols = t._places._array
    crow = np.zeros(t._array.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=t._array.shape[0]), out=crow[1:])
    return with_rest(assemble_csr(wrap(crow), wrap(cols.copy()), t._entries, t._array.shape), t._rest)


def rebuild_csr(layout: Any, data: tuple) -> Any:
    """A matrix from its pickle: (crow_indices, col_indices, values, size)."""
    if layout is not sparse_csr:
        raise NotImplementedError(f"rebuilding a tensor of layout {layout!r} is not implemented")
    crow, col, values, size = data
    after_load.check(lambda: check_rows(crow._array, col._array, values._array, tuple(size)))
    return assemble_csr(crow, col, values, tuple(size))
