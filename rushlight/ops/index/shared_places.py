"""Writes at named places of a tensor whose elements share memory, as those of windows and of expanded tensors do.

For each operator: where in the memory it writes, what, and how that joins what is there. `places` holds the place of
each element of the tensor, by which the operator's own indices are looked up; writes follow one another in that order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dispatch.scalars import exact
from ...core.tensor.size import wrap_dim
from ..shape import diagonal
from . import index, index_slices, mask, scatter, scatter_reduce, take
from .duplicate_index import UFUNCS


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
    return places[where], value, np.add if accumulate else None


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
    return places[chosen], source.reshape(-1)[: int(chosen.sum())], None


def _zeros(places: np.ndarray, kept: np.ndarray) -> tuple:
    return places[..., ~kept], 0, None


def _lower(places: np.ndarray, arrays: list, diagonal: int = 0) -> tuple:
    return _zeros(places, np.tri(places.shape[-2], places.shape[-1], diagonal, bool))


def _upper(places: np.ndarray, arrays: list, diagonal: int = 0) -> tuple:
    return _zeros(places, ~np.tri(places.shape[-2], places.shape[-1], diagonal - 1, bool))


for _op, _places in (
    (index_slices._index_fill, lambda places, arrays, dim: (_slices(places, arrays[0], dim), arrays[1], None)),
    (index_slices._index_copy, lambda places, arrays, dim: (_slices(places, arrays[0], dim), arrays[1], None)),
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
