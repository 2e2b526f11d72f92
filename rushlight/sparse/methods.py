"""The methods that dense tensors have because sparse ones exist. Sparse tensors have their own of most of them."""

from __future__ import annotations

from typing import Any

from ..core.dispatch.errors import argument_type
from ..core.dispatch.op import composite
from ..core.tensor.tensor import Tensor
from . import create, products
from .coo import SparseTensor, convert, empty_like, mask, replace


def to_sparse(self: Any, *sparse_dim: Any, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Any:
    """The sparse tensor of the entries that are not zero, by the first `sparse_dim` dimensions (default: all)."""
    return convert(self, *sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


def to_sparse_coo(self: Any) -> Any:
    """`to_sparse()`: coordinate form."""
    return self.to_sparse()


def to_sparse_csr(self: Any, dense_dim: int | None = None) -> Any:
    """The sparse matrix of the entries that are not zero, by rows."""
    return create.to_csr(self, dense_dim)


def to_sparse_csc(self: Any, dense_dim: int | None = None) -> Any:
    """The sparse matrix of the entries that are not zero, by columns."""
    return create.to_csc(self, dense_dim)


def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """The tensor itself, as `dtype` if that is given: it is dense already."""
    if dtype is not None and isinstance(dtype, Tensor):
        raise argument_type("to_dense", "dtype", 1, dtype, "torch.dtype")
    return self if dtype is None else self.to(dtype)


def sparse_mask(self: Any, other: Any) -> Any:
    """The entries at the places of the sparse tensor `other`, as a sparse tensor."""
    return mask(self, other)


def _as_sparse_rows(self: Any, rows: Any, n: int) -> Any:
    """The sparse tensor (n, *) with this tensor (nnz, *) at `rows` (nnz,)."""
    return create.from_rows(self, rows, n)


def smm(self: Any, mat: Any) -> Any:
    """`torch.smm`."""
    return products.smm(self, mat)


def sspaddmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`torch.sspaddmm`."""
    return products.sspaddmm(self, mat1, mat2, beta=beta, alpha=alpha)


def sparse_dim(self: Any) -> int:
    """0: a dense tensor has no sparse dimensions."""
    return 0


def dense_dim(self: Any) -> int:
    """The number of dimensions: all of them are dense."""
    return self._array.ndim


def _only_sparse(name: str, expected: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        layout = "SparseCsr" if self.is_sparse_csr else "Sparse" if self.is_sparse else "Strided"
        layout = getattr(self, "_layout_word", layout)
        raise RuntimeError(f"{name} expected {expected} tensor layout but got {layout}")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Of a {expected} tensor only; any other raises RuntimeError."
    return method


METHODS: dict[str, Any] = {
    f.__name__: f
    for f in (
        to_sparse,
        to_sparse_coo,
        to_sparse_csr,
        to_sparse_csc,
        to_dense,
        sparse_mask,
        _as_sparse_rows,
        smm,
        sspaddmm,
        sparse_dim,
        dense_dim,
    )
}
for _name in ("coalesce", "is_coalesced", "indices", "_indices", "_values", "_coalesced_", "_dimI", "_dimV"):
    METHODS[_name] = _only_sparse(_name, "sparse coordinate")
for _name in ("values", "_nnz"):
    METHODS[_name] = _only_sparse(_name, "sparse")
for _name in ("crow_indices", "col_indices"):
    METHODS[_name] = _only_sparse(_name, "sparse row compressed")
for _name in ("ccol_indices", "row_indices"):
    METHODS[_name] = _only_sparse(_name, "sparse column compressed")
for _name, _method in METHODS.items():
    composite(name=_name, method=True, function=False)(_method)


# ---------------------------------------------------------------------------------------------- in place


def _zero_(self: Any) -> Any:
    """Remove all entries in place."""
    return replace(self, empty_like(self))


def _copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Take over the entries of another sparse tensor of the same size."""
    if not isinstance(src, SparseTensor) or src._array.shape != self._array.shape:
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = sparse")
    return replace(self, src.clone())  # type: ignore[attr-defined]


SparseTensor.zero_ = _zero_  # type: ignore[attr-defined]
SparseTensor.copy_ = _copy_  # type: ignore[attr-defined]
