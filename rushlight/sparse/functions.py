"""The functions of `torch.sparse`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dispatch.op import OPS
from ..core.tensor.layout import sparse_coo, sparse_csr
from ..core.tensor.size import wrap_dim
from ..core.tensor.tensor import Tensor, wrap
from .compressed import CsrTensor
from .coo import SparseTensor, assemble
from .entries import places_of


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Any:
    """The product of a sparse matrix and a sparse or dense one; gradients of a sparse matrix are sparse.

    Shape: (n, k), (k, m) -> (n, m). `reduce` other than "sum" raises NotImplementedError.
    """
    if reduce not in (None, "sum"):
        raise NotImplementedError(f"torch.sparse.mm(reduce={reduce!r}) is not implemented")
    return OPS["mm"](_masked(mat1), _masked(mat2))


def _masked(t: Any) -> Any:
    """A sparse matrix whose gradient reaches the stored entries only."""
    return t._like(t._entries) if getattr(t, "_rest", None) is not None else t


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """beta * mat + alpha * (mat1 @ mat2) with a sparse mat1, whose gradient is sparse."""
    return OPS["addmm"](mat, _masked(mat1), _masked(mat2), beta=beta, alpha=alpha)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of all entries (dense, 0-d), or over the dimensions `dim`: sparse unless no sparse dimension is left."""
    _check_sparse(input, "sum")
    if dim is None:
        total = input._entries.sum()
        return total if dtype is None else total.to(dtype)
    return OPS["sum"](input, dim, dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """exp(x) / sum exp(x) over the stored entries along `dim`; unstored entries count as minus infinity."""
    return _softmax(input, dim, dtype, log=False)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return _softmax(input, dim, dtype, log=True)


def _softmax(input: Any, dim: int, dtype: Any, log: bool) -> Any:
    _check_sparse(input, "softmax")
    x = input.coalesce()
    values = x._entries if dtype is None else x._entries.to(dtype)
    d, n = wrap_dim(dim, x._array.ndim), x.sparse_dim()
    if d >= n:
        return x._like(OPS["log_softmax" if log else "softmax"](values, d - n + 1))
    others = [k for k in range(n) if k != d]
    places = places_of(x._places._array[others], tuple(x._array.shape[k] for k in others))
    _, groups = np.unique(places, return_inverse=True)
    return x._like(_by_group(values, groups.reshape(-1), log))


def _by_group(values: Any, groups: np.ndarray, log: bool) -> Any:
    """Softmax of values (nnz, *) within their groups."""
    if not groups.size:
        return values
    n = int(groups.max()) + 1
    highest = np.full((n, *values._array.shape[1:]), -np.inf, values._array.dtype)
    np.maximum.at(highest, groups, values._array)
    shifted = values - wrap(highest[groups])
    index = wrap(groups)
    exponentials = shifted.exp()
    sums = exponentials.new_zeros(n, *values._array.shape[1:]).index_add(0, index, exponentials)
    return shifted - sums.log().index_select(0, index) if log else exponentials / sums.index_select(0, index)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: tuple[int, int], layout: Any = None) -> Any:
    """A sparse matrix with rows of `diagonals` on its diagonals number `offsets`.

    Shape: diagonals (D, n), offsets (D,) -> shape. layout: sparse_coo (default) or sparse_csr.
    """
    rows_of = diagonals if diagonals.ndim == 2 else diagonals.unsqueeze(0)  # type: ignore[attr-defined]
    places = offsets._array.reshape(-1)
    if len(places) != rows_of._array.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({rows_of._array.shape[0]}) does not match the number of offsets ({len(places)})"
        )
    if len(set(places.tolist())) != len(places):
        raise RuntimeError("Offset tensor contains duplicate values")
    if layout not in (None, sparse_coo, sparse_csr):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout!r}")
    n, m = shape
    width = rows_of._array.shape[1]
    which, cols = np.indices((len(places), min(width, m))).reshape(2, -1)
    rows = cols - places[which]
    inside = (rows >= 0) & (rows < n)
    which, rows, cols = which[inside], rows[inside], cols[inside]
    values = rows_of.reshape(-1)[wrap(which * width + cols)]  # type: ignore[attr-defined]
    result = assemble(wrap(np.stack([rows, cols]).astype(np.int64)), values, (n, m), False)
    return result.to_sparse_csr() if layout is sparse_csr else result


def sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0, out: Any = None) -> Any:
    """beta * input + alpha * (mat1 @ mat2) at the stored entries of the matrix `input`, which is given by rows."""
    if out is not None:
        raise NotImplementedError("torch.sparse.sampled_addmm(out=...) is not implemented")
    if not isinstance(input, CsrTensor):
        raise RuntimeError("sampled_addmm: Expected self to have CSR layout")
    rows, cols = (wrap(i) for i in input.to_sparse()._places._array)
    dots = (mat1.index_select(0, rows) * mat2.t().index_select(0, cols)).sum(1)
    return input._like(input._entries * beta + dots * alpha)


class check_sparse_tensor_invariants:
    """torch's switch for checking indices. Here they are always checked: it changes nothing but what `is_enabled` says."""

    _enabled = False

    def __init__(self, enable: bool = True):
        self._wanted, self._outer = enable, None

    @staticmethod
    def is_enabled() -> bool:
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        if self._outer is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different one for nesting.")
        self._outer = check_sparse_tensor_invariants._enabled
        check_sparse_tensor_invariants._enabled = self._wanted

    def __exit__(self, *exc: object) -> None:
        check_sparse_tensor_invariants._enabled = bool(self._outer)
        self._outer = None

    def __call__(self, f: Any) -> Any:
        from functools import wraps

        @wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self._wanted):
                return f(*args, **kwargs)

        return call


def _check_sparse(t: Any, name: str) -> None:
    if not isinstance(t, SparseTensor):
        raise RuntimeError(f"torch.sparse.{name}: expected a tensor of layout torch.sparse_coo, got {t.layout!r}")
