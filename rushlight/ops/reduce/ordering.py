"""Sorting and what follows from it: sort, topk, kthvalue, median, mode, quantile.

nan counts as the largest value. What equal elements' places are is for `equal_elements.py` to say.
"""

from __future__ import annotations

import operator

import numpy as np

from ...core.device.backend import on_device_of
from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import assert_all
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.return_types import named
from ...core.dispatch.scalars import check_flag
from ...core.dispatch.slow_path import write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import cast, dense_like
from ...core.tensor.node import show_as, shown_as
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, constant
from ..pointwise.building_blocks import F32, add_reduce, elements_along, zero_where
from ..pointwise.checks import refuse
from .equal_elements import expects_equal, kth_place, settled, sorted_places, sorts_as_torch, top_places
from .extremum import picked, put_along, selection_rule
from .reduction import accept_numpy
from .std_sort import std_sort

I64 = np.dtype(np.int64)

# ---------------------------------------------------------------------------------------------- sorting


_FEW = 512  # elements: below, sorting takes no longer than what prepares it
_PLACE = 32  # bits of a key that say where its element is


def _keys(a, dim, descending):
    """int64 numbers in the order of (element, place along `dim`), the place in the low bits; None for what has too many bits.

    NumPy sorts them with vector instructions, twenty times as fast as it sorts floats stably.
    """
    if type(a) is not np.ndarray or a.size < _FEW or a.shape[dim] >= 1 << (_PLACE - 1):
        return None
    if a.dtype == F32:
        bits = _ordered_bits(a)
        bad = np.isnan(a)
        if bad.any():
            bits[bad] = 0x7FFFFFFF
    elif a.dtype.kind in "iub" and (a.dtype.itemsize <= 4 or _in_32_bits(a)):
        bits = a
    else:
        return None
    keys = bits.astype(np.int64, order="C")
    if descending:
        np.invert(keys, out=keys)
    keys <<= _PLACE
    keys |= np.arange(a.shape[dim]).reshape((-1,) + (1,) * (a.ndim - 1 - dim))
    return keys


def _ordered_bits(a):
    """int32 numbers in the order of the float32 numbers `a`; a nan may be anywhere."""
    bits = (a + F32.type(0)).view(np.int32)  # -0.0 becomes 0.0, its equal
    bits ^= (bits >> 31) & 0x7FFFFFFF
    return bits


def _in_32_bits(a):
    return a.dtype.kind == "i" and a.min() >= -(1 << 31) and a.max() < 1 << 31


def _refuse_complex(a):
    if a.dtype.kind == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")


def _order(a, dim, descending):
    """The indices that sort `a` along `dim`, equal elements in their order."""
    _refuse_complex(a)
    if a.dtype.kind == "V" or (a.dtype.kind == "f" and a.dtype.itemsize == 2):
        a = a.astype(F32)
    keys = _keys(a, dim, descending)
    if keys is not None:
        keys.sort(dim)
        keys &= (1 << _PLACE) - 1
        return keys
    if not descending or type(a) is not np.ndarray:  # elsewhere there are no elements
        return a.argsort(dim, "stable")
    n = a.shape[dim]
    reverse = (*(slice(None),) * dim, slice(None, None, -1))
    return n - 1 - a[reverse].argsort(dim, "stable")[reverse]


def _order_of_sort(a, dim, descending, stable):
    """`_order`; unless `stable`, with the order that torch gives to equal elements."""
    if stable or not sorts_as_torch(a, dim, descending):
        return _order(a, dim, descending)
    places = sorted_places(a, dim, descending) if expects_equal(a, dim) else None
    if places is not None:
        return places
    order = _order(a, dim, descending)
    return settled(a, order, elements_along(a, np.ascontiguousarray(order), dim), dim, descending)


@primitive(public=False, name="sort", outputs=1, returns=named("sort", "values", "indices"))
def _sort(input, /, dim, descending, stable):
    d = wrap_dim(dim, input.ndim)
    if not input.ndim:
        _refuse_complex(input)
        return input.copy(), np.zeros((), I64)
    index = np.ascontiguousarray(_order_of_sort(input, d, descending, stable))
    values = elements_along(input, index, d)
    if not input.flags.c_contiguous:
        return _in_order_of(values, input), _in_order_of(index, input)
    return values, index


def _in_order_of(r, a):
    """`r` with the dimensions in the order of those of `a` in memory."""
    laid = dense_like(a, r.dtype)
    laid[...] = r
    return laid


@_sort.vjp
def _(g, out1, input_shape, dim):
    return put_along(g[0], out1, input_shape, wrap_dim(dim, len(input_shape)), True)


@composite(method=True)
def sort(input, dim=-1, descending=False, stable=None, *, out=None, axis=None):
    """The elements in order along `dim`, and where each was: a named tuple (values, indices). A nan counts as the largest.

    Args:
        descending: whether the largest comes first.
        stable: whether equal elements keep their order.
        out: the two tensors to write the results to.
    Shape: (*) -> (*), (*) int64
    Raises:
        IndexError: `dim` is out of range, as in `sort(ones(2), 1)`.

    >>> sort(tensor([3.0, 1.0, 2.0]))
    torch.return_types.sort(
    values=tensor([1., 2., 3.]),
    indices=tensor([1, 2, 0]))
    """
    if axis is not None:
        dim = axis
    if isinstance(dim, bool):
        raise type_error("sort(): argument 'dim' must be int, not bool")
    if stable is not None:
        check_flag("sort", "stable", stable)
    result = _sort(input, dim, descending, bool(stable))
    if stable is not None and result[0]._edge is not None:  # torch's second form
        show_as(result[0]._edge.edges[0], "SortBackward1")
    return result if out is None else write_out("sort", (input,), result, out)


@primitive(public=False, name="argsort", differentiable=False)
def _argsort(input, /, dim, descending, stable):
    d = wrap_dim(dim, input.ndim)
    if not input.ndim:
        _refuse_complex(input)
        return np.zeros((), I64)
    index = np.ascontiguousarray(_order_of_sort(input, d, descending, stable))
    return index if input.flags.c_contiguous else _in_order_of(index, input)


@composite(method=True, out=True)
def argsort(input, dim=-1, descending=False, stable=False):
    """Where the elements are, in their order along `dim`.

    Args:
        descending: whether the largest comes first.
        stable: whether equal elements keep their order.
        out: the tensor to write the result to.
    Shape: (*) -> (*) int64
    Raises:
        IndexError: `dim` is out of range, as in `argsort(ones(2), 1)`.

    >>> argsort(tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    return _argsort(input, dim, descending, bool(stable))


@composite(method=True, out=True)
def msort(input):
    """The elements in order along the first dimension.

    Args:
        out: the tensor to write the result to.
    Shape: (n, *) -> (n, *)
    Raises:
        TypeError: `input` is not a tensor, as in `msort([2, 1])`.

    >>> msort(tensor([[3, 1], [2, 4]]))
    tensor([[2, 1],
            [3, 4]])
    """
    return _sort(input, 0, False, True)[0]


# ---------------------------------------------------------------------------------------------- selection


def _top_order(a, k, dim, largest):
    """The indices of the k largest or smallest elements along `dim`, best first, of equal ones those that come first."""
    n = a.shape[dim]
    if type(a) is np.ndarray and a.dtype == F32 and a.size >= _FEW and 0 < k <= n // (4 * _BLOCK):
        order = _top_of_blocks(a.swapaxes(dim, -1), k, largest)
        if order is not None:
            return order.swapaxes(-1, dim)
    chosen = None
    if type(a) is np.ndarray and a.size >= _FEW and 0 < k <= n // 8 and a.dtype.kind in "fiu" and a.dtype.itemsize > 2:
        chosen = _chosen(a.swapaxes(dim, -1), k, largest)
    if chosen is None:
        return _order(a, dim, largest)[(*(slice(None),) * dim, slice(k))]
    chosen = chosen.swapaxes(-1, dim)
    return elements_along(chosen, _order(elements_along(a, chosen, dim), dim, largest), dim)


_BLOCK = 16  # elements of which only the best one is looked at first


def _top_of_blocks(a, k, largest):
    """`_top_order` along the last dimension for few of many: a fifth of the time. None for nan, and for too many equal ones.

    At least k elements are as good as the k-th best of the blocks' best ones, and hardly more.
    """
    n, lines = a.shape[-1], a.reshape(-1, a.shape[-1])
    whole = n // _BLOCK * _BLOCK
    blocks = lines[:, :whole].reshape(-1, _BLOCK, n // _BLOCK)
    best = np.concatenate([blocks.max(1) if largest else blocks.min(1), lines[:, whole:]], 1)
    if np.isnan(best).any():
        return None
    rank = best.shape[1] - k if largest else k - 1
    bound = np.partition(best, rank)[:, rank, None]
    places = ((lines >= bound) if largest else (lines <= bound)).reshape(-1).nonzero()[0]
    if places.size > a.size // 4:
        return None
    row, place = np.divmod(places, n)
    bits = _ordered_bits(lines.reshape(-1)[places])
    keys = row << _PLACE
    keys |= (~bits if largest else bits).astype(np.int64) + (1 << (_PLACE - 1))
    order = keys.argsort(kind="stable")
    starts = np.searchsorted(row, np.arange(len(lines)))
    return place[order[starts[:, None] + np.arange(k)]].reshape(*a.shape[:-1], k)


def _chosen(a, k, largest):
    """Where the k largest or smallest elements of the last dimension are, in order of their places. None for nan and ties."""
    n = a.shape[-1]
    rank = n - k if largest else k - 1
    bound = np.partition(a, rank)[..., rank, None]
    places = (
        ((a >= bound) if largest else (a <= bound)).reshape(-1).nonzero()[0]
    )  # of one dimension: a third of the time
    if places.size != a.size // n * k or (a.dtype.kind == "f" and np.isnan(a).any()):
        return None
    return (places % n).reshape(*a.shape[:-1], k)


@primitive(name="topk", method=True, out=True, outputs=1, returns=named("topk", "values", "indices"))
def topk(input, /, k, dim=-1, largest=True, sorted=True):
    """The k largest (or smallest) elements along `dim`, and where they are: a named tuple (values, indices).

    Args:
        largest: False for the smallest.
        sorted: whether the best comes first.
        out: the two tensors to write the results to.
    Shape: (*, n) -> (*, k), (*, k) int64
    Raises:
        RuntimeError: there are less than `k` elements, as in `topk(ones(2), 3)`.
        IndexError: `dim` is out of range, as in `topk(ones(2), 1, dim=1)`.

    >>> topk(tensor([1.0, 4.0, 2.0]), 2)
    torch.return_types.topk(
    values=tensor([4., 2.]),
    indices=tensor([1, 2]))
    """
    d = wrap_dim(dim, input.ndim)
    if not 0 <= k <= (input.shape[d] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if not input.ndim:
        return input.copy(), np.zeros((), I64)
    index = np.ascontiguousarray(_top_order(input, k, d, largest), like=input)
    values = elements_along(input, index, d)
    places = top_places(input, values, d, largest, sorted)
    if places is None:
        return values, index
    index = np.ascontiguousarray(places)
    return elements_along(input, index, d), index


@topk.vjp
def _(g, out1, input_shape, dim):
    return put_along(g[0], out1, input_shape, wrap_dim(dim, len(input_shape)), True)


def _select_ranked(a, rank, dim, keepdim):
    """The element number `rank` (0-based, an int or one for each slice) along `dim`, and where it is."""
    index = _ranked(a, rank, dim)
    if index is None:
        order = _order(a, dim, False)
        index = np.take(order, [rank], dim) if isinstance(rank, int) else elements_along(order, rank, dim)
    return picked(a, np.ascontiguousarray(index), dim, keepdim)


def _ranked(a, rank, dim):
    """Where the element number `rank` is, by partial sorting; None where that is no quicker, and for nan and ties."""
    if not isinstance(rank, int) or type(a) is not np.ndarray or a.size < _FEW or a.dtype.itemsize < 4:
        return None
    value = np.take(np.partition(a, rank, dim), [rank], dim)
    same = a == value
    if add_reduce(same, None, I64) != value.size or (a.dtype.kind == "f" and np.isnan(a).any()):
        return None
    return same.argmax(dim, keepdims=True)


@primitive(name="kthvalue", method=True, out=True, outputs=1, returns=named("kthvalue", "values", "indices"))
def kthvalue(input, /, k, dim=-1, keepdim=False):
    """The k-th smallest element along `dim` (from 1), and where it is: a named tuple (values, indices).

    Args:
        keepdim: whether the reduced dimension stays, with size 1.
        out: the two tensors to write the results to.
    Shape: (*) -> (*), (*) int64, without `dim`
    Raises:
        RuntimeError: there are less than `k` elements, as in `kthvalue(ones(2), 3)`.
        IndexError: `dim` is out of range, as in `kthvalue(ones(2), 1, dim=1)`.

    >>> kthvalue(tensor([3.0, 1.0, 2.0]), 2).values
    tensor(2.)
    """
    k, d = operator.index(k), wrap_dim(dim, input.ndim)
    if not input.ndim:
        if k != 1:
            raise RuntimeError("kthvalue(): selected number k out of range for dimension 0")
        return input.copy(), np.zeros((), I64)
    if input.shape[d] == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {d} to have non-zero size.")
    if not 1 <= k <= input.shape[d]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    refuse("kthvalue_cpu", input.dtype, "bc")
    index = _ranked(input, k - 1, d)
    index = kth_place(input, k, d) if index is None and input.size else index
    if index is None:
        return _select_ranked(input, k - 1, d, keepdim)
    return picked(input, np.ascontiguousarray(index), d, keepdim)


kthvalue.vjp(selection_rule)

# ---------------------------------------------------------------------------------------------- medians


def _median_rank(a, dim, ignore_nan):
    """The rank of the lower median in each slice; that of a nan where one counts."""
    n = a.shape[dim]
    bad = np.isnan(a) if a.dtype.kind in "fV" else None
    if type(a) is np.ndarray and (bad is None or not bad.any()):
        return (n - 1) // 2
    bad = np.zeros(a.shape, bool) if bad is None else bad
    good = n - add_reduce(bad, dim, I64, None, True)
    if ignore_nan:
        return np.maximum(good - 1, 0) // 2
    return np.where(good < n, good, (n - 1) // 2)


def _median_along(name, a, dim, keepdim, ignore_nan):
    d = wrap_dim(dim, a.ndim)
    if a.ndim and a.shape[d] == 0:
        raise IndexError(f"median(): Expected reduction dim {d} to have non-zero size.")
    refuse("median_out", a.dtype, "bc")
    if not a.ndim:
        return a.copy(), np.zeros((), I64)
    return _select_ranked(a, _median_rank(a, d, ignore_nan), d, keepdim)


def _median_all(a, ignore_nan):
    refuse("median_cpu", a.dtype, "bc" if a.size else "")
    if not a.size:
        return cast(np.array(np.nan, F32), a.dtype)
    a = a.reshape(-1)
    rank = _median_rank(a, 0, ignore_nan)
    if isinstance(rank, int) and a.dtype.kind != "V":
        return np.partition(a, rank)[rank, ...].copy()
    return _select_ranked(a, rank, 0, False)[0]


@primitive(public=False, name="median", node="MedianBackward0")
def _median(input, /):
    return _median_all(input, False)


@primitive(public=False, name="nanmedian", node="NanmedianBackward0")
def _nanmedian(input, /):
    return _median_all(input, True)


def _median_rule(g, input, out):
    same = (input == out) | (input.isnan() & out.isnan())
    chosen = same.contiguous()  # so the gradient is C-contiguous, as torch's
    return zero_where((g / chosen.sum()).expand(input.shape), ~chosen)


_median.vjp(_median_rule)
_nanmedian.vjp(_median_rule)


@primitive(
    public=False, name="median.dim", outputs=1, returns=named("median", "values", "indices"), node="MedianBackward1"
)
def _median_dim(input, /, dim, keepdim):
    return _median_along("median", input, dim, keepdim, False)


@primitive(
    public=False,
    name="nanmedian.dim",
    outputs=1,
    returns=named("nanmedian", "values", "indices"),
    node="NanmedianBackward1",
)
def _nanmedian_dim(input, /, dim, keepdim):
    return _median_along("nanmedian", input, dim, keepdim, True)


_median_dim.vjp(selection_rule)
_nanmedian_dim.vjp(selection_rule)


@composite(method=True)
def median(input, dim=..., keepdim=False, *, out=None, axis=None, keepdims=None):
    """The lower median; with `dim` that along it and where it is (values, indices); nan where there is a nan.

    Args:
        dim: an int; all dimensions by default.
        keepdim: whether the reduced dimension stays, with size 1.
        out: the tensor, with `dim` the two tensors, to write the result to.
    Shape: (*) -> (); with `dim` (*), (*) int64, without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `median(ones(2), 1)`.

    >>> median(tensor([4.0, 1.0, 2.0, 3.0]))
    tensor(2.)
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = accept_numpy(dim, keepdim, axis, keepdims)
    if dim is None:
        raise type_error("median(): argument 'dim' (position 2) must be int, not NoneType")
    result = _median(input) if dim is ... else _median_dim(input, dim, keepdim)
    return result if out is None else write_out("median", (input,), result, out)


@composite(method=True)
def nanmedian(input, dim=..., keepdim=False, *, out=None):
    """The lower median of the elements that are not nan; with `dim` that along it and where it is (values, indices).

    Args:
        dim: an int; all dimensions by default.
        keepdim: whether the reduced dimension stays, with size 1.
        out: the tensor, with `dim` the two tensors, to write the result to.
    Shape: (*) -> (); with `dim` (*), (*) int64, without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `nanmedian(ones(2), 1)`.

    >>> nanmedian(tensor([4.0, float("nan"), 2.0, 3.0]))
    tensor(3.)
    """
    if dim is None:
        raise type_error("nanmedian(): argument 'dim' (position 2) must be int, not NoneType")
    result = _nanmedian(input) if dim is ... else _nanmedian_dim(input, dim, keepdim)
    return result if out is None else write_out("nanmedian", (input,), result, out)


@primitive(name="mode", method=True, out=True, outputs=1, returns=named("mode", "values", "indices"))
def mode(input, /, dim=-1, keepdim=False):
    """The most frequent element along `dim`, the smallest of several, and where it is last: a named tuple (values, indices).

    Args:
        keepdim: whether the reduced dimension stays, with size 1.
        out: the two tensors to write the results to.
    Shape: (*) -> (*), (*) int64, without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `mode(ones(2), 1)`.

    >>> mode(tensor([1, 2, 2, 3])).values
    tensor(2)
    """
    d = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return input.copy(), np.zeros((), I64)
    if input.shape[d] == 0:
        raise IndexError(f"mode(): Expected reduction dim {d} to have non-zero size.")
    order = _order_of_pairs(input, d)
    a = np.moveaxis(elements_along(input, order, d), d, -1)
    n = a.shape[-1]
    new = np.ones(a.shape, bool)
    new[..., 1:] = a[..., 1:] != a[..., :-1]
    start = np.maximum.accumulate(np.where(new, np.arange(n), 0), -1)
    run = np.arange(n) - start  # how many equal elements are before each one
    last = np.argmax(run, -1, keepdims=True)
    index = elements_along(order, np.moveaxis(last, -1, d), d)
    return picked(input, np.ascontiguousarray(index), d, keepdim)


def _order_of_pairs(input, d):
    """The order in which torch's `std::sort` leaves the elements: equal ones of over 16 in an order of its own.

    Nan is before nothing. Without nan that order is computed of small tensors only: it takes 1 us for each comparison.
    """
    order = _order(input, d, False)
    if type(input) is not np.ndarray:
        return order
    lines = np.moveaxis(input.astype(np.float64) if input.dtype.kind == "V" else input, d, -1)
    has_nan = lines.dtype.kind == "f" and bool(np.isnan(lines).any())
    if not has_nan and not (lines.shape[-1] > 16 and lines.size <= _SORTED_AS_TORCH):
        return order
    orders = np.moveaxis(order, d, -1)
    for at in np.ndindex(lines.shape[:-1]):
        x = lines[at].tolist()
        orders[at] = std_sort(len(x), lambda i, j, x=x: x[i] < x[j])
    return order


_SORTED_AS_TORCH = 1 << 15  # elements: 0.1 s


mode.vjp(selection_rule)

# ---------------------------------------------------------------------------------------------- quantiles

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(name, input, q, interpolation):
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if isinstance(q, Tensor):
        if q.ndim > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
        if q.dtype is not input.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
        if not assert_all((q >= 0) & (q <= 1)):
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    elif not 0 <= q <= 1:
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not input.numel():
        raise RuntimeError(f"{name}() input tensor must be non-empty")


def _ranks(q, x, ignore_nan, interpolation):
    """The places of the quantiles in the sorted rows of `x`, where nan comes last; `q` may have a history."""
    last = x.size(-1) - 1
    nan = x.detach().isnan()
    if ignore_nan:
        rank = q * (last - nan.sum(-1, keepdim=True)).clamp_min(0).to(x.dtype)
    else:
        rank = (q * float(last)).masked_fill(nan.any(-1, keepdim=True), float(last))
    rounding = {"lower": rank.floor, "higher": rank.ceil, "nearest": rank.round}.get(interpolation)
    return rounding() if rounding else rank


def _quantile(name, input, q, dim, keepdim, interpolation, ignore_nan):
    _check_quantile(name, input, q, interpolation)
    many = isinstance(q, Tensor) and q.ndim == 1
    q = (
        q.reshape(-1)
        if isinstance(q, Tensor)
        else constant(on_device_of(input._array, np.full, 1, q, input.dtype.numpy))
    )
    ndim = input.ndim
    d = None if dim is None else wrap_dim(dim, ndim)
    x = input.reshape(-1) if d is None or not ndim else input.movedim(d, -1)
    x = _sort(x, -1, False, True)[0]
    r = _interpolated(x, _ranks(q, x, ignore_nan, interpolation), interpolation)
    if keepdim and ndim:
        r = r.reshape([1] * ndim + [q.numel()]) if d is None else r.unsqueeze(-2).movedim(-2, d)
    return shown_as(r.movedim(-1, 0) if many else r.squeeze(-1), "SqueezeBackward4")


def _interpolated(x, rank, interpolation):
    """The values at fractional places `rank` of the sorted rows of `x`."""
    below = rank.detach().floor()
    r = x.gather(-1, below.to(dtypes.int64))
    if interpolation not in ("linear", "midpoint"):
        return r
    weight = constant(np.full_like(rank._array, 0.5)) if interpolation == "midpoint" else rank - below
    return r.lerp(x.gather(-1, rank.detach().ceil().to(dtypes.int64)), weight)


@composite(method=True, out=True)
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The value below which a share `q` of the elements along `dim` is.

    Args:
        q: a number in [0, 1], or a tensor of them.
        dim: an int; the flattened input by default.
        keepdim: whether the reduced dimension stays, with size 1.
        interpolation: between two elements: "linear", "lower", "higher", "nearest" or "midpoint".
        out: the tensor to write the result to.
    Shape: (*), q () -> (*) without `dim`; q (Q) -> (Q, *)
    Raises:
        RuntimeError: `q` is outside [0, 1], as in `quantile(ones(2), 1.5)`.
        RuntimeError: `input` is of integers, as in `quantile(tensor([1, 2]), 0.5)`.
        RuntimeError: `interpolation` is another text, as in `quantile(ones(2), 0.5, interpolation="x")`.

    >>> quantile(tensor([0.0, 1.0, 2.0]), 0.25)
    tensor(0.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite(method=True, out=True)
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """`quantile` of the elements that are not nan.

    Args:
        q: a number in [0, 1], or a tensor of them.
        dim: an int; the flattened input by default.
        keepdim: whether the reduced dimension stays, with size 1.
        interpolation: between two elements: "linear", "lower", "higher", "nearest" or "midpoint".
        out: the tensor to write the result to.
    Shape: (*), q () -> (*) without `dim`; q (Q) -> (Q, *)
    Raises:
        RuntimeError: `q` is outside [0, 1], as in `nanquantile(ones(2), 1.5)`.

    >>> nanquantile(tensor([0.0, float("nan"), 2.0]), 0.5)
    tensor(1.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)
