"""Operators on the values of sparse tensors: which value is at which place, and back.

A sparse tensor's history is that of its values, so every sparse operator ends in one of these or in dense operators on
values. `places` are positions along one flattened dimension: the sparse dimensions of a tensor taken together.
"""

from __future__ import annotations

import numpy as np

from ..core.dispatch.op import primitive
from ..ops.index.duplicate_index import add_at
from ..ops.pointwise.building_blocks import conjugate

_HALVES = 2  # bytes of the types whose sums are kept in float32


def places_of(indices: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """The places (nnz,) of indices (sparse_dim, nnz) in dimensions of `sizes`."""
    flat = np.zeros(indices.shape[1], np.int64)
    for row, n in zip(indices, sizes, strict=True):
        flat = flat * n + row
    return flat


def check_indices(indices: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError where an index is outside `shape`."""
    if not indices.size:
        return
    for d, (low, high) in enumerate(zip(indices.min(1), indices.max(1), strict=True)):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")
        if high >= shape[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {shape[d]} but found index {high}"
            )


def indices_of(places: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """The indices (sparse_dim, nnz) of places."""
    if not sizes:
        return np.zeros((0, len(places)), np.int64)
    return np.stack(np.unravel_index(places, sizes)).astype(np.int64)


def _added(values: np.ndarray, places: np.ndarray, n: int) -> np.ndarray:
    """Values (nnz, *) added up at their places in (n, *)."""
    if values.dtype.kind == "b":
        out = np.zeros((n, *values.shape[1:]), bool)
        np.logical_or.at(out, places, values)
        return out
    wide = np.float32 if values.dtype.itemsize == _HALVES and values.dtype.kind not in "iu" else values.dtype
    out = np.zeros((n, *values.shape[1:]), wide)
    if values.size:
        add_at(out, (places,), values.astype(wide, copy=False))
    return out.astype(values.dtype, copy=False)


@primitive(name="sparse_coo_tensor", public=False, view=True, node="SparseCooTensorWithDimsAndTensorsBackward0")
def as_values(values, /):
    """The values themselves, as those of a sparse tensor."""
    return values[...]


@as_values.vjp
def _(g):
    return g


@primitive(name="sparse_values", public=False, view=True, node="ValuesBackward0")
def values_of(values, /):
    """The values themselves, as the user gets them."""
    return values[...]


@values_of.vjp
def _(g):
    return g


@primitive(name="sparse_scatter", public=False, node="ToDenseBackward0")
def scatter(values, places, /, n):
    """Values (nnz, *) added up at their places. Shape: -> (n, *)"""
    return _added(values, places, n)


@scatter.vjp("values")
def _(g, places):
    return gather(g, places)


@primitive(name="sparse_gather", public=False, node="SparseMaskBackward0")
def gather(input, places, /):
    """The entries of (n, *) at places. Shape: -> (nnz, *)"""
    return input.take(places, 0)


@gather.vjp("input")
def _(g, places, input_shape):
    return scatter(g, places, input_shape[0])


@primitive(name="coalesce", public=False, node="CoalesceBackward0")
def merge(values, targets, /, n):
    """Values (nnz, *) added up where their targets are equal. Shape: -> (n, *)"""
    return _added(values, targets, n)


@merge.vjp("values")
def _(g, targets):
    return gather(g, targets)


# ---------------------------------------------------------------------------------------------- products


@primitive(name="sparse_mm", public=False, node="MmBackward0")
def times_dense(values, dense, rows, cols, rest=None, /, n=0):
    """The matrix with `values` at (rows, cols) times a dense one. Shape: (nnz,), (k, m) -> (n, m)

    rest: the zeros (n, k) with the history of what the matrix does not store, as `unstored` gives them.
    """
    kind = np.float32 if values.dtype.itemsize == _HALVES and values.dtype.kind not in "iu" else values.dtype
    out = np.zeros((n, dense.shape[1]), kind)
    if not rows.size or not out.size:
        return out.astype(values.dtype, copy=False)
    products = dense.take(cols, 0).astype(kind, copy=False)
    products *= values[:, None]
    add_at(out, (rows,), products)
    return out.astype(values.dtype, copy=False)


@times_dense.vjp("values")
def _(g, dense, rows, cols):
    return (gather(g, rows) * gather(conjugate(dense), cols)).sum(1)


@times_dense.vjp("dense")
def _(g, values, rows, cols, rest, dense_shape):
    across = None if rest is None else conjugate(rest).t()
    return times_dense(conjugate(values), g, cols, rows, across, dense_shape[0])


@times_dense.vjp("rest")
def _(g, dense):
    return g @ conjugate(dense).t()


@primitive(name="unstored", public=False, node="ToSparseBackward0")
def unstored(input, places, /):
    """Zeros in the shape of a dense tensor, with the gradient of its elements elsewhere than at `places`, counted in order.

    A sparse tensor made of it has them together with its values: operators whose gradient reaches all elements use both.
    """
    return np.broadcast_to(np.zeros((), input.dtype), input.shape)


@unstored.vjp("input")
def _(g, places):
    return g.reshape(-1).index_fill(0, places, 0).reshape(g.shape)


@primitive(name="unstored_scaled", public=False, node="MulBackward0")
def unstored_scaled(rest, factor, /):
    """The zeros of `unstored` for the matrix times a number (0-d)."""
    return np.broadcast_to(np.zeros((), np.result_type(rest, factor)), rest.shape)


@unstored_scaled.vjp("rest")
def _(g, factor):
    return g * conjugate(factor)


@primitive(name="unstored_times", public=False, node="BmmBackward0")
def unstored_times(rest, dense, /):
    """The zeros that `rest`, as `unstored` gives it, adds to a batch of products. Shape: (b, n, k), (b, k, m) -> (b, n, m)"""
    return np.zeros((*rest.shape[:-1], dense.shape[-1]), rest.dtype)


@unstored_times.vjp("rest")
def _(g, dense):
    return g @ conjugate(dense).mT


@unstored_times.vjp("dense")
def _(g, rest):
    return unstored_times(conjugate(rest).mT, g)


@primitive(name="sparse_sum", public=False, node="SumBackward0")
def sum_with(values, rest, /):
    """The sum of the values of a sparse tensor and of the zeros that it does not store."""
    return np.asarray(np.add.reduce(values, None, np.int64 if values.dtype.kind in "biu" else None), like=values)


@sum_with.vjp("values")
def _(g, values_shape):
    return g.expand(values_shape)


@sum_with.vjp("rest")
def _(g, rest_shape):
    return g.expand(rest_shape)
