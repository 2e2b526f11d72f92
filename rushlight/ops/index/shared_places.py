"""Writes at named places of a tensor whose elements share memory, as those of windows and of expanded tensors do.

For each operator: where in the memory it writes, what, and how that joins what is there. `places` holds the place of
each element of the tensor, by which the operator's own indices are looked up; writes follow one another in the order of
what is returned, which for `index_put` and `index_copy` is that of the strides, as in torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dispatch.scalars import exact
from ...core.tensor.size import wrap_dim
from ...core.tensor.strides import innermost_first
from ..shape import diagonal
from . import index, index_slices, mask, scatter, scatter_reduce, take
from .duplicate_index import UFUNCS


def _by_strides(steps: list[int], where: np.ndarray, values: Any) -> tuple[np.ndarray, Any]:
    """Places and values with the dimensions sorted by what is written, then by the values; `steps` are 0 where indexed."""
    if not isinstance(values, np.ndarray):
        return where, values
    values = np.broadcast_to(values, where.shape)
    order = innermost_first(where.shape, [steps, values.strides])[::-1]
    return where.transpose(order), values.transpose(order)


def _steps(places: np.ndarray, dims: Any) -> list[int]:
    """How far a step along each of `dims` goes in the memory."""
    return [
        int(np.take(places, 1, d).flat[0] - places.flat[0]) if places.shape[d] > 1 and places.size else 0 for d in dims
    ]


def _index_copy(places: np.ndarray, arrays: list, dim: int) -> tuple:
    where, source = arrays
    steps = _steps(places, range(places.ndim))
    steps[wrap_dim(dim, places.ndim)] = 0
    return *_by_strides(steps, _slices(places, where, dim), source), None


def _slices(places: np.ndarray, where: np.ndarray, dim: int) -> np.ndarray:
    return np.take(places, where.reshape(-1), axis=wrap_dim(dim, places.ndim))


def _index_add(places: np.ndarray, arrays: list, dim: int, alpha: float) -> tuple:
    where, source = arrays
    if alpha != 1:
        source = source * source.dtype.type(exact(alpha, source.dtype))
    return _slices(places, where, dim), source, np.add


def _index_put(places: np.ndarray, arrays: list, accumulate: bool) -> tuple:
    value, *indices = arrays
    where = tuple([slice(None) if i is None else i for i in indices])
    given = [d for d, i in enumerate(indices) if i is not None]
    join = np.add if accumulate else None
    if any(indices[d].dtype.kind == "b" for d in given):
        return places[where], value, join
    start = given[0] if given[-1] - given[0] == len(given) - 1 else 0  # else NumPy puts the indexed dimensions first
    steps = _steps(places, [d for d in range(places.ndim) if d not in given])
    steps[start:start] = [0] * np.broadcast(*(indices[d] for d in given)).ndim
    return *_by_strides(steps, places[where], value), join


def _put(places: np.ndarray, arrays: list, accumulate: bool) -> tuple:
    where, source = arrays
    return places.reshape(-1)[where.reshape(source.shape)], source, np.add if accumulate else None


def _along(places: np.ndarray, arrays: list, dim: int) -> tuple[np.ndarray, Any]:
    """The places that an index tensor names along `dim`, and the part of the source that goes there."""
    where, *source = arrays
    d = wrap_dim(dim, places.ndim)
    reached = tuple([slice(None) if i == d else slice(0, n) for i, n in enumerate(where.shape)])
    part = source[0][tuple([slice(0, n) for n in where.shape])] if source else None
    return np.take_along_axis(places[reached], where, d), part


def _reduced(places: np.ndarray, arrays: list, dim: int, reduce: str, include_self: bool = True) -> tuple:
    if reduce == "mean" or not include_self:
        raise NotImplementedError("a reduction by index into a tensor whose elements share memory: clone() it first")
    return *_along(places, arrays, dim), UFUNCS[reduce]


def _masked_scatter(places: np.ndarray, arrays: list) -> tuple:
    chosen, source = arrays
    chosen = np.broadcast_to(chosen, places.shape)
    return places[chosen], np.ascontiguousarray(source).reshape(-1)[: int(chosen.sum())], None  # torch copies as well


def _zeros(places: np.ndarray, kept: np.ndarray) -> tuple:
    return places[..., ~kept], 0, None


def _lower(places: np.ndarray, arrays: list, diagonal: int = 0) -> tuple:
    return _zeros(places, np.tri(places.shape[-2], places.shape[-1], diagonal, bool))


def _upper(places: np.ndarray, arrays: list, diagonal: int = 0) -> tuple:
    return _zeros(places, ~np.tri(places.shape[-2], places.shape[-1], diagonal - 1, bool))


for _op, _places in (
    (index_slices._index_fill, lambda places, arrays, dim: (_slices(places, arrays[0], dim), arrays[1], None)),
    (index_slices._index_copy, _index_copy),
    (index_slices._index_add, _index_add),
    (index._index_put, _index_put),
    (take._put, _put),
    (scatter._scatter, lambda places, arrays, dim: (*_along(places, arrays, dim), None)),
    (scatter._scatter_value, lambda places, arrays, dim, value: (_along(places, arrays, dim)[0], value, None)),
    (scatter._scatter_add, lambda places, arrays, dim: (*_along(places, arrays, dim), np.add)),
    (scatter._scatter_reduced, _reduced),
    (scatter_reduce._scatter_reduce, _reduced),
    (mask._masked_scatter, _masked_scatter),
    (diagonal.tril, _lower),
    (diagonal.triu, _upper),
):
    _op.record.places = _places
