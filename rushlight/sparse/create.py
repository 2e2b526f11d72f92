"""Making sparse tensors: from indices and values, from dense tensors, and by the old constructors."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

import numpy as np

from ..core.device import devices
from ..core.dispatch.mode import thread
from ..core.tensor import dtype as dtypes
from ..core.tensor.layout import sparse_coo, sparse_csc, sparse_csr, strided
from ..core.tensor.legacy_types import CPU_TYPES, tensortype
from ..core.tensor.size import Size
from ..core.tensor.tensor import Tensor, alias, wrap
from ..ops.creation.arguments import check_options
from ..ops.creation.from_data import tensor
from .compressed import Compressed, CscTensor, CsrTensor, assemble_compressed, check_compressed, compressed
from .coo import SparseTensor, assemble, with_rest
from .entries import as_values, check_indices, gather, indices_of, unstored


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """A sparse tensor from the places and the values of its entries; repeated places are added up.

    Shape: indices (sparse_dim, nnz), values (nnz, *dense dimensions) -> size, or the smallest that holds the indices.
    `sparse_coo_tensor(size)` has no entries. Gradients flow to `values`. The indices are always checked
    (check_invariants changes nothing): RuntimeError where one is outside `size`.

    >>> s = sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> s.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    devices.check(device)
    check_options(None, pin_memory)
    if values is None:
        return _empty(_size(indices if size is None else size), dtype, requires_grad)
    places, entries = _index_tensor(indices), _value_tensor(values, dtype)
    if places._array.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if not entries._array.ndim:
        entries = entries.expand(places._array.shape[1]).clone()
    if places._array.shape[1] != entries._array.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {places._array.shape[1]}, nnz from values: "
            f"{entries._array.shape[0]}"
        )
    shape = _smallest(places._array, entries._array) if size is None else _size(size)
    _check_shape(places._array, entries._array, shape)
    entries = entries.detach() if requires_grad else as_values(entries)
    t = assemble(places, entries, shape, places._array.shape[1] < 2 if is_coalesced is None else bool(is_coalesced))
    return t.requires_grad_() if requires_grad else t


def _index_tensor(indices: Any) -> Tensor:
    t = indices if isinstance(indices, Tensor) else tensor(indices)
    if not t._array.size and t.dtype.is_floating_point:
        t = t.to(dtypes.int64)
    if t.dtype.is_complex:
        raise RuntimeError("indices must be an int64 tensor")
    return alias(t, Tensor) if t.dtype is dtypes.int64 else t.detach().to(dtypes.int64)


def _value_tensor(values: Any, dtype: Any) -> Any:
    if not isinstance(values, Tensor):
        return tensor(values, dtype=dtype)
    return values if dtype is None else values.to(dtype)  # type: ignore[attr-defined]


def _size(size: Any) -> tuple[int, ...]:
    if isinstance(size, int):
        size = (size,)
    shape = tuple(int(n) for n in size)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def _empty(shape: tuple[int, ...], dtype: Any, requires_grad: bool) -> Any:
    kind = (dtype or dtypes.get_default_dtype()).numpy
    t = assemble(wrap(np.zeros((len(shape), 0), np.int64)), wrap(np.zeros(0, kind)), shape, True)
    return t.requires_grad_() if requires_grad else t


def _smallest(indices: np.ndarray, values: np.ndarray) -> tuple[int, ...]:
    if indices.size:
        if indices.min() < 0:
            raise RuntimeError(f"found negative index {indices.min()} for dim {int(np.argmin(indices.min(1)))}")
        return (*(int(n) + 1 for n in indices.max(1)), *values.shape[1:])
    return (*(0,) * len(indices), *values.shape[1:])


def _check_shape(indices: np.ndarray, values: np.ndarray, shape: tuple[int, ...]) -> None:
    sparse_dim, dense_dim = len(indices), values.ndim - 1
    if len(shape) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )
    if values.shape[1:] != shape[sparse_dim:]:
        raise RuntimeError(
            f"values has incorrect size, expected {[values.shape[0], *shape[sparse_dim:]]}, got {list(values.shape)}"
        )
    check_indices(indices, shape)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> CsrTensor:
    """A sparse matrix by rows: row i has the entries crow_indices[i] to crow_indices[i + 1].

    Shape: crow_indices (n + 1,), col_indices (nnz,), values (nnz,) -> size (n, m). The indices are always checked
    (check_invariants changes nothing). Batches and dense dimensions raise NotImplementedError.
    """
    options = {"dtype": dtype, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad}
    return _compressed_of(CsrTensor, crow_indices, col_indices, values, size, **options)


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> CscTensor:
    """A sparse matrix by columns: column i has the entries ccol_indices[i] to ccol_indices[i + 1].

    Shape: ccol_indices (m + 1,), row_indices (nnz,), values (nnz,) -> size (n, m). The indices are always checked
    (check_invariants changes nothing). Batches and dense dimensions raise NotImplementedError.
    """
    options = {"dtype": dtype, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad}
    return _compressed_of(CscTensor, ccol_indices, row_indices, values, size, **options)


def _compressed_of(
    kind: type[Compressed], starts: Any, others: Any, values: Any, size: Any, *,
    dtype: Any, device: Any, pin_memory: bool, requires_grad: bool,
) -> Any:  # fmt: skip
    devices.check(device)
    check_options(None, pin_memory)
    starts, others, entries = _integers(starts), _integers(others), _value_tensor(values, dtype)
    if starts._array.ndim != 1 or entries._array.ndim != 1:
        name = str(kind.layout).removeprefix("torch.")
        raise NotImplementedError(f"{name}_tensor: batches of matrices and dense dimensions are not implemented")
    if size is None:
        count = len(starts._array) - 1
        most = int(others._array.max()) + 1 if others._array.size else 0
        shape = (most, count) if kind.axis else (count, most)
    else:
        shape = _size(size)
    check_compressed(kind, starts._array, others._array, entries._array, shape)
    entries = entries.detach() if requires_grad else as_values(entries)
    t: Any = assemble_compressed(kind, starts, others, entries, shape)
    return t.requires_grad_() if requires_grad else t


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, layout: Any = None, **options: Any
) -> Any:
    """A sparse matrix by rows or by columns: `sparse_csr_tensor` or `sparse_csc_tensor`, as `layout` says.

    Shape: compressed_indices (n + 1,), plain_indices (nnz,), values (nnz,) -> size
    Raises:
        NotImplementedError: another layout, as in
            `sparse_compressed_tensor(tensor([0, 1]), tensor([0]), ones(1), layout=strided)`.
    """
    makers = {sparse_csr: sparse_csr_tensor, sparse_csc: sparse_csc_tensor}
    if layout not in makers:
        raise NotImplementedError(
            f"sparse_compressed_tensor(layout={layout!r}) is not implemented; there are sparse_csr and sparse_csc"
        )
    return makers[layout](compressed_indices, plain_indices, values, size, **options)


def _integers(indices: Any) -> Any:
    t: Any = indices if isinstance(indices, Tensor) else tensor(indices)
    if t.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"crow_indices and col_indices must be an int32 or int64 type, but got: {t.dtype}")
    return t


def from_dense(t: Any, sparse_dim: int) -> SparseTensor:
    """The entries of a dense tensor that are not zero, by its first `sparse_dim` dimensions."""
    a = t._array
    if not 0 <= sparse_dim <= a.ndim or (not sparse_dim and a.ndim):
        raise RuntimeError(
            f"to_sparse: expected sparse_dim in the range of [{min(a.ndim, 1)}, {a.ndim}], but got {sparse_dim}"
        )
    sizes = a.shape[:sparse_dim]
    rows = t.reshape(prod(sizes), *a.shape[sparse_dim:])
    stored = rows._array != 0
    places = np.flatnonzero(stored.any(tuple(range(1, stored.ndim))))
    made = assemble(wrap(indices_of(places, sizes)), gather(rows, wrap(places)), a.shape, True)
    if t._edge is None or sparse_dim < a.ndim or not thread.state.grad:
        return made
    return with_rest(made, unstored(t, wrap(places)))


def from_rows(values: Tensor, rows: Tensor, n: int) -> SparseTensor:
    """The sparse tensor (n, *) with `values` (nnz, *) at `rows` (nnz,): the gradient of a lookup."""
    return assemble(rows.reshape(1, -1), values, (n, *values._array.shape[1:]), False)  # type: ignore[attr-defined]


def to_layout(t: Any, layout: Any, dense_dim: Any = None) -> Any:
    """`t` in another layout."""
    if dense_dim:
        raise NotImplementedError(
            "to_sparse(dense_dim=...): compressed layouts with dense dimensions are not implemented"
        )
    if layout is strided:
        return t.to_dense()
    if layout is sparse_coo:
        return t.to_sparse()
    if layout is sparse_csr:
        return to_csr(t)
    if layout is sparse_csc:
        return to_csc(t)
    raise NotImplementedError(
        f"to_sparse(layout={layout!r}) is not implemented; there are sparse_coo, sparse_csr and sparse_csc"
    )


def to_csr(t: Any, dense_dim: int | None = None) -> Any:
    """What `Tensor.to_sparse_csr` does."""
    if dense_dim:
        raise NotImplementedError("to_sparse_csr(dense_dim=...): dense dimensions are not implemented")
    return compressed(t.to_sparse(), CsrTensor)


def to_csc(t: Any, dense_dim: int | None = None) -> Any:
    """What `Tensor.to_sparse_csc` does."""
    if dense_dim:
        raise NotImplementedError("to_sparse_csc(dense_dim=...): dense dimensions are not implemented")
    return compressed(t.to_sparse(), CscTensor)


# ---------------------------------------------------------------------------------------------- the old constructors


class sparsetype(type):
    """The class of the old sparse tensor types, `torch.sparse.FloatTensor` and its like."""

    dtype: dtypes.dtype

    def __new__(cls, dense: tensortype):
        members = {"dtype": dense.dtype, "is_cuda": False, "__module__": "torch.sparse"}
        return super().__new__(cls, dense.__name__, (), members)

    def __init__(cls, dense: tensortype):
        super().__init__(cls.__name__, (), {})

    def __call__(cls, *args: Any, device: Any = None) -> SparseTensor:
        devices.check(device)
        if not args:
            return _empty((0,), cls.dtype, False)
        if not isinstance(args[0], Tensor):
            sizes = args[0] if isinstance(args[0], (tuple, list, Size)) else args
            _warn("shape", "shape")
            return _empty(_size(sizes), cls.dtype, False)
        if len(args) > 3 or len(args) < 2:
            raise TypeError(f"new() of torch.sparse.{cls.__name__} takes indices, values and a size, got {len(args)}")
        _warn("indices, values, shape" if len(args) == 3 else "indices, values", "indices, values, shape")
        return sparse_coo_tensor(*args)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, SparseTensor) and value.dtype is cls.dtype


def _warn(old: str, new: str) -> None:
    warnings.warn(
        f"torch.sparse.SparseTensor({old}, *, device=) is deprecated.  Please use torch.sparse_coo_tensor({new}, dtype=, "
        "device=).",
        stacklevel=3,
    )


OLD_TYPES = {t.__name__: sparsetype(t) for t in CPU_TYPES}


def _new(self: SparseTensor, *args: Any) -> SparseTensor:
    """`t.new(indices, values[, size])`, and `t.new(*size)`: a sparse tensor, without an entry, of this one's type."""
    if len(args) in (2, 3) and isinstance(args[0], Tensor):
        return sparse_coo_tensor(*args)
    sizes = args[0] if len(args) == 1 and isinstance(args[0], Size) else args
    if not all(isinstance(n, int) for n in sizes):
        raise TypeError("SparseTensor.new() takes indices, values and a size, or sizes; use torch.sparse_coo_tensor()")
    return _new_zeros(self, sizes or (0,))


def _new_zeros(
    self: SparseTensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """A sparse tensor without an entry, of this one's type."""
    devices.check(device)
    sizes = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list, Size)) else size
    t = _empty(_size(sizes), self.dtype if dtype is None else dtype, requires_grad)
    t._is_coalesced = True
    return t


SparseTensor.new = _new  # type: ignore[method-assign]
SparseTensor.new_zeros = SparseTensor.new_empty = _new_zeros  # type: ignore[method-assign]
