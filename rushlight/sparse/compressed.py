"""Sparse matrices by rows or by columns: where each row (column) begins, the columns (rows) of the entries, their values.

Operators work on the coordinate form, which is a repetition of row (column) numbers away, and results go back.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import numpy as np

from ..core.dispatch.mode import emit_event, thread
from ..core.tensor.layout import sparse_coo, sparse_csc, sparse_csr
from ..core.tensor.pickling import after_load
from ..core.tensor.placeholder import Placeholder
from ..core.tensor.tensor import Tensor, alias, wrap
from .coo import SparseTensor, assemble, convert, rebuild, with_rest
from .entries import gather, values_of
from .leaves import Sparse
from .printing import describe
from .without_array import rules

__all__ = [
    "Compressed", "CscTensor", "CsrTensor", "assemble_compressed", "check_compressed", "compressed", "rebuild_compressed",
]  # fmt: skip


class Compressed(Sparse):
    """What matrices by rows and by columns have in common.

    axis: the dimension whose indices are compressed. indices_named: the names of the two index tensors. lines: what the axis and
    the other dimension are called.
    """

    __slots__ = ()
    axis: int
    indices_named: tuple[str, str]
    lines: tuple[str, str]
    _starts: Tensor
    _others: Tensor

    def values(self) -> Tensor:
        """The value of each entry (nnz,)."""
        return values_of(self._entries)

    def _nnz(self) -> int:
        """How many entries are stored."""
        return self._others._array.shape[0]

    def sparse_dim(self) -> int:
        """2: rows and columns."""
        return 2

    def dense_dim(self) -> int:
        """0: values are numbers."""
        return 0

    def _like(self, values: Tensor) -> Any:
        return assemble_compressed(type(self), self._starts, self._others, values, self._array.shape)

    def _coalesced_(self, coalesced: bool) -> Any:
        """The matrix itself: it has no such mark."""
        return self

    def _flat(self) -> np.ndarray:
        return self.detach().to_sparse()._flat()

    def _values_like_mine(self, other: Tensor) -> Tensor:
        if isinstance(other, Compressed):
            other = other.to_sparse()
        return self.to_sparse()._values_like_mine(other)

    def to_sparse(self, *sparse_dim: Any, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Any:
        """The matrix in coordinate form, its entries in their order here, or in another sparse layout."""
        if sparse_dim or layout not in (None, sparse_coo) or blocksize is not None or dense_dim is not None:
            return convert(self, *sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)
        starts, others = self._starts._array, self._others._array
        numbers = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        by_rows = not self.axis
        is_sorted = by_rows and bool(((others[1:] > others[:-1]) | (numbers[1:] != numbers[:-1])).all())
        others = others.astype(np.int64)
        indices = wrap(np.stack([numbers, others] if by_rows else [others, numbers]))
        return with_rest(assemble(indices, self._entries, self._array.shape, is_sorted), self._rest)

    def to_sparse_coo(self) -> Any:
        """The matrix in coordinate form."""
        return self.to_sparse()

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """The dense matrix. Gradients flow to the stored entries only, or with masked_grad=False to all."""
        return self.to_sparse().to_dense(dtype, masked_grad=masked_grad)

    def __getitem__(self, index: Any) -> Any:
        return rules().item(self.to_sparse(), index)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return describe(self)

    def __reduce_ex__(self, protocol: Any):
        return rebuild, (self.layout, (self._starts, self._others, self._entries.detach(), self.size()))

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            starts, others, values = (copy.deepcopy(t, memo) for t in (self._starts, self._others, self._entries))
            memo[id(self)] = assemble_compressed(type(self), starts, others, values, self._array.shape)
        return memo[id(self)]


class CsrTensor(Compressed):
    """A sparse matrix by rows. Made by `sparse_csr_tensor` and `to_sparse_csr`."""

    __slots__ = ()
    layout = sparse_csr
    is_sparse_csr = True
    _layout_word = "SparseCsr"
    axis, indices_named, lines = 0, ("crow_indices", "col_indices"), ("row", "col")

    def crow_indices(self) -> Tensor:
        """Where the entries of each row begin, and the number of all entries: (rows + 1,)."""
        return alias(self._starts, Tensor)

    def col_indices(self) -> Tensor:
        """The column of each entry (nnz,)."""
        return alias(self._others, Tensor)

    def to_sparse_csr(self, dense_dim: int | None = None) -> Any:
        """The matrix itself."""
        return self


class CscTensor(Compressed):
    """A sparse matrix by columns. Made by `sparse_csc_tensor` and `to_sparse_csc`."""

    __slots__ = ()
    layout = sparse_csc
    _layout_word = "SparseCsc"
    axis, indices_named, lines = 1, ("ccol_indices", "row_indices"), ("column", "row")

    def ccol_indices(self) -> Tensor:
        """Where the entries of each column begin, and the number of all entries: (columns + 1,)."""
        return alias(self._starts, Tensor)

    def row_indices(self) -> Tensor:
        """The row of each entry (nnz,)."""
        return alias(self._others, Tensor)

    def t(self) -> Any:
        """The transposed matrix, by rows: the same indices and values."""
        rest = None if self._rest is None else self._rest.t()  # type: ignore[attr-defined]
        shape = self._array.shape[::-1]
        return with_rest(assemble_compressed(CsrTensor, self._starts, self._others, self._entries, shape), rest)

    def to_sparse_csc(self, dense_dim: int | None = None) -> Any:
        """The matrix itself."""
        return self


_Kind = TypeVar("_Kind", bound=Compressed)


def assemble_compressed(
    kind: type[_Kind], starts: Tensor, others: Tensor, values: Tensor, shape: tuple[int, ...]
) -> _Kind:
    """The matrix of its parts; nothing is checked."""
    t: Any = object.__new__(kind)
    if thread.state.level > 1:
        for part in (starts, others, values):
            emit_event("read", part, "the entries of a sparse tensor")
    t._starts, t._others, t._entries = starts, others, values
    t._array = Placeholder(tuple(shape), values._array.dtype)
    t._storage = t._view = None
    return t


def check_compressed(
    kind: type[Compressed], starts: np.ndarray, others: np.ndarray, values: np.ndarray, shape: tuple[int, ...]
) -> None:
    """Raise RuntimeError for parts that are no matrix."""
    (compressed_name, plain_name), (line, other) = kind.indices_named, kind.lines
    if len(shape) != 2:
        raise RuntimeError(
            f"tensor dimensionality must be sum of batch, base, and dense dimensions, got size {list(shape)}"
        )
    count, most = shape[kind.axis], shape[1 - kind.axis]
    if len(starts) != count + 1:
        raise RuntimeError(
            f"{compressed_name}.shape[-1] must be equal to the number of {line}s + 1 as {count + 1}, but got {len(starts)}"
        )
    if len(others) != len(values):
        raise RuntimeError(f"number of specified elements: {plain_name} has {len(others)}, values has {len(values)}")
    if starts[0] != 0:
        raise RuntimeError(f"`{compressed_name}[..., 0] == 0` is not satisfied.")
    if starts[-1] != len(others):
        raise RuntimeError(f"`{compressed_name}[..., -1] == nnz` is not satisfied.")
    if (np.diff(starts) < 0).any() or (np.diff(starts) > most).any():
        raise RuntimeError(
            f"`0 <= {compressed_name}[..., 1:] - {compressed_name}[..., :-1] <= n{other}s` is not satisfied."
        )
    if others.size and (others.min() < 0 or others.max() >= most):
        raise RuntimeError(f"`0 <= {plain_name} < n{other}s` is not satisfied.")


def compressed(t: SparseTensor, kind: type[_Kind]) -> _Kind:
    """A sparse matrix in coordinate form, by rows or by columns."""
    if t._array.ndim != 2 or t.dense_dim():
        raise NotImplementedError(
            f"to_{str(kind.layout).removeprefix('torch.')}: only matrices are implemented, got {t.sparse_dim()} sparse and "
            f"{t.dense_dim()} dense dimensions"
        )
    t = t.coalesce()
    numbers, others, values = t._places._array[kind.axis], t._places._array[1 - kind.axis], t._entries
    if kind.axis:
        order = np.argsort(numbers, kind="stable")
        others, values = others[order], gather(values, wrap(order))
    count = t._array.shape[kind.axis]
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=count), out=starts[1:])
    return with_rest(assemble_compressed(kind, wrap(starts), wrap(others.copy()), values, t._array.shape), t._rest)


def rebuild_compressed(layout: Any, data: tuple) -> Any:
    """A matrix from its pickle: (compressed indices, plain indices, values, size)."""
    kind = {sparse_csr: CsrTensor, sparse_csc: CscTensor}.get(layout)
    if kind is None:
        raise NotImplementedError(f"rebuilding a tensor of layout {layout!r} is not implemented")
    starts, others, values, size = data
    after_load.check(lambda: check_compressed(kind, starts._array, others._array, values._array, tuple(size)))
    return assemble_compressed(kind, starts, others, values, tuple(size))
