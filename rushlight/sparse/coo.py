"""Sparse tensors in coordinate form: indices (sparse_dim, nnz) and values (nnz, *dense dimensions)."""

from __future__ import annotations

from functools import cache
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from ..core.dispatch.mode import emit_event, thread
from ..core.tensor.layout import sparse_coo
from ..core.tensor.pickling import after_load
from ..core.tensor.placeholder import Placeholder, no_kernel
from ..core.tensor.tensor import Tensor, alias, wrap
from .entries import as_values, check_indices, gather, indices_of, merge, places_of, scatter, values_of
from .leaves import Sparse
from .printing import describe
from .without_array import rules

_new = object.__new__


@cache
def _compressed() -> ModuleType:
    """The other layouts, made of this one."""
    from . import compressed

    return compressed


class SparseTensor(Sparse):
    """A tensor of which only some entries are stored; all others are zero. Made by `sparse_coo_tensor`."""

    __slots__ = ()
    layout = sparse_coo
    is_sparse = True
    _places: Tensor  # the indices (sparse_dim, nnz)
    _is_coalesced: bool

    # ---------------------------------------------------------------- what it is made of

    def _indices(self) -> Tensor:
        """The indices (sparse_dim, nnz), coalesced or not."""
        return self._places

    def _values(self) -> Tensor:
        """The values (nnz, *dense dimensions), coalesced or not, without history."""
        return self._entries.detach()

    def indices(self) -> Tensor:
        """The indices (sparse_dim, nnz) of a coalesced tensor."""
        self._check_coalesced("indices")
        return alias(self._places, Tensor)

    def values(self) -> Tensor:
        """The values (nnz, *dense dimensions) of a coalesced tensor."""
        self._check_coalesced("values")
        return values_of(self._entries)

    def _check_coalesced(self, what: str) -> None:
        if not self._is_coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def _nnz(self) -> int:
        """How many entries are stored."""
        return self._places._array.shape[1]

    def sparse_dim(self) -> int:
        """How many dimensions the indices have."""
        return self._places._array.shape[0]

    def dense_dim(self) -> int:
        """How many dimensions each value has."""
        return self._array.ndim - self.sparse_dim()

    _dimI, _dimV = sparse_dim, dense_dim

    def is_coalesced(self) -> bool:
        """Whether the indices are known to be sorted and without repetition."""
        return self._is_coalesced

    def _coalesced_(self, coalesced: bool) -> Any:
        """Claim in place that the tensor is coalesced, or not."""
        self._is_coalesced = coalesced
        return self

    def _sizes(self) -> tuple[int, ...]:
        """The sparse dimensions."""
        return self._array.shape[: self.sparse_dim()]

    def _flat(self) -> np.ndarray:
        """The places of the entries in the sparse dimensions taken together."""
        return places_of(self._places._array, self._sizes())

    def _like(self, values: Tensor, coalesced: bool | None = None) -> Any:
        shape = (*self._sizes(), *values._array.shape[1:])
        return assemble(self._places, values, shape, self._is_coalesced if coalesced is None else coalesced)

    def _gradient(self, values: Tensor) -> Any:
        """Coalesced: of repeated places one entry, since each has the gradient of their sum."""
        if self._is_coalesced:
            return self._like(values)
        places, first = np.unique(self._flat(), return_index=True)
        indices = wrap(indices_of(places, self._sizes()))
        return assemble(indices, gather(values, wrap(first)), self._array.shape, True)

    def _values_like_mine(self, other: Tensor) -> Tensor:
        if other._array.shape != self._array.shape:
            raise RuntimeError(f"expected a gradient of size {list(self.shape)}, got {list(other.shape)}")
        if isinstance(other, SparseTensor) and np.array_equal(other._places._array, self._places._array):
            return other._entries
        return mask(other, self)._entries

    # ---------------------------------------------------------------- other forms

    def coalesce(self) -> Any:
        """The same tensor with sorted indices; the values of repeated ones are added up."""
        if self._is_coalesced:
            return self
        places, targets = np.unique(self._flat(), return_inverse=True)
        values = merge(self._entries, wrap(targets.reshape(-1)), len(places))
        return with_rest(assemble(wrap(indices_of(places, self._sizes())), values, self._array.shape, True), self._rest)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """The dense tensor. Gradients flow to the stored entries only, or with masked_grad=False to all."""
        if masked_grad is False and self._rest is None and self._edge is not None:
            raise NotImplementedError(
                "to_dense(masked_grad=False) is implemented for what to_sparse() made of a dense tensor"
            )
        n = prod(self._sizes())
        dense = scatter(self._entries, wrap(self._flat()), n).reshape(self._array.shape)  # type: ignore[attr-defined]
        dense = dense + self._rest if masked_grad is False and self._rest is not None else dense
        return dense if dtype is None else dense.to(dtype)

    def to_sparse(self, *sparse_dim: Any, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Any:
        """The tensor itself, or in another sparse layout."""
        return convert(self, *sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)

    def to_sparse_csr(self, dense_dim: int | None = None) -> Any:
        """The tensor in compressed sparse row form."""
        return _compressed().compressed(self, _compressed().CsrTensor)

    def sparse_mask(self, other: Any) -> Any:
        """The entries at the places of `other`; zeros where this tensor stores none."""
        return mask(self, other)

    # ---------------------------------------------------------------- Python's view of it

    def __getitem__(self, index: Any) -> Any:
        return rules().item(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise no_kernel("index_put_")

    def __iter__(self):
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return (self.select(0, i) for i in range(len(self)))  # type: ignore[attr-defined]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return describe(self)

    def __reduce_ex__(self, protocol: Any):
        if getattr(self, "_is_param", False):
            return self._reduce_parameter(self.detach(), self.requires_grad)  # type: ignore[attr-defined]
        state = (self._places, self._entries.detach(), self.size(), self._is_coalesced)
        return rebuild, (sparse_coo, state)

    def __deepcopy__(self, memo: dict) -> Any:
        import copy

        if id(self) not in memo:
            values = copy.deepcopy(self._entries, memo)
            memo[id(self)] = assemble(copy.deepcopy(self._places, memo), values, self._array.shape, self._is_coalesced)
        return memo[id(self)]


def assemble(indices: Tensor, values: Tensor, shape: tuple[int, ...], coalesced: bool) -> SparseTensor:
    """The sparse tensor of indices (sparse_dim, nnz) and values with their history; nothing is checked."""
    t: Any = _new(SparseTensor)
    if thread.state.level > 1:
        emit_event("read", indices, "the indices of a sparse tensor")
        emit_event("read", values, "the values of a sparse tensor")
    t._places, t._entries, t._is_coalesced = indices, values, coalesced
    t._array = Placeholder(tuple(shape), values._array.dtype)
    t._storage = t._view = None
    return t


def with_rest(t: Any, rest: Tensor | None) -> Any:
    """A new sparse tensor with the history of what it does not store."""
    if rest is not None:
        t._rest = rest
    return t


def empty_like(t: Any, dtype: Any = None) -> Any:
    """A sparse tensor of the size, layout and sparse dimensions of `t`, without entries."""
    n = t.sparse_dim()
    kind = t._entries._array.dtype if dtype is None else dtype.numpy
    values = np.zeros((0, *t._array.shape[n:]), kind)
    empty = assemble(wrap(np.zeros((n, 0), np.int64)), wrap(values), t._array.shape, True)
    return empty if t.layout is sparse_coo else _compressed().compressed(empty, type(t))


def replace(target: Any, result: Any) -> Any:
    """Give a sparse tensor the entries of another in place; the type stays."""
    target._places, target._is_coalesced = result._places, result._is_coalesced
    target._entries = result._entries.to(target.dtype)
    target._rest = result._rest
    return target


def rebuild(layout: Any, data: tuple) -> Any:
    """A sparse tensor from its pickle: (indices, values, size[, is_coalesced])."""
    if layout is not sparse_coo:
        return _compressed().rebuild_compressed(layout, data)
    indices, values, size, *coalesced = data
    after_load.check(lambda: check_indices(indices._array, tuple(size)))
    return assemble(indices, values, tuple(size), bool(coalesced and coalesced[0]))


def mask(source: Tensor, pattern: Any) -> SparseTensor:
    """The entries of `source`, dense or sparse, at the places of the sparse tensor `pattern`."""
    if not isinstance(pattern, SparseTensor):
        raise RuntimeError("sparse_mask: the mask must be a sparse tensor")
    if source._array.shape != pattern._array.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(source.shape)} but mask has size "
            f"{list(pattern.shape)}"
        )
    places = pattern._flat()
    if isinstance(source, SparseTensor):
        values = _picked(source.coalesce(), places)
    else:
        n = pattern.sparse_dim()
        rows = source.reshape(prod(source._array.shape[:n]), *source._array.shape[n:])  # type: ignore[attr-defined]
        values = gather(rows, wrap(places))
    return pattern._like(values)


def _picked(source: SparseTensor, places: np.ndarray) -> Tensor:
    """The values of a coalesced tensor at `places`, zeros where it stores none."""
    known = source._flat()
    at = np.searchsorted(known, places)
    found = at < len(known)
    found[found] = known[at[found]] == places[found]
    if not len(known):
        return wrap(np.zeros((len(places), *source._entries._array.shape[1:]), source._entries._array.dtype))
    picked: Any = gather(source._entries, wrap(np.where(found, at, 0)))
    if found.all():
        return picked
    keep = found.reshape(-1, *(1,) * (picked._array.ndim - 1))
    return picked.masked_fill(wrap(~keep), 0)


def convert(t: Any, *sparse_dim: Any, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Any:
    """What `Tensor.to_sparse` does, for a dense and for a sparse tensor."""
    from . import create

    if sparse_dim and isinstance(sparse_dim[0], type(sparse_coo)):
        layout, sparse_dim = sparse_dim[0], sparse_dim[1:]
    if blocksize is not None:
        raise NotImplementedError("to_sparse(blocksize=...): block sparse layouts are not implemented")
    if layout is not None and layout is not sparse_coo:
        return create.to_layout(t, layout, dense_dim)
    if dense_dim is not None:
        raise RuntimeError("to_sparse: conversion with dense_dim needs a compressed layout")
    if not isinstance(t, Sparse):
        return create.from_dense(t, sparse_dim[0] if sparse_dim else t._array.ndim)
    if isinstance(t, SparseTensor):
        if sparse_dim and sparse_dim[0] != t.sparse_dim():
            raise RuntimeError("to_sparse: conversion from Sparse to Sparse with another sparse_dim is not supported")
        return t
    return t.to_sparse()  # type: ignore[attr-defined]


__all__ = [
    "SparseTensor",
    "as_values",
    "assemble",
    "convert",
    "empty_like",
    "mask",
    "rebuild",
    "replace",
]
