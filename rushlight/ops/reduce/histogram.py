"""Counting and comparing samples: unique, bincount, histograms, searching in sorted values, covariance."""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import assert_all
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.return_types import named
from ...core.dispatch.scalars import check_number, number_as
from ...core.dispatch.slow_path import write_out
from ...core.dispatch.torch_function import told_by_keyword
from ...core.tensor import dtype as dtypes
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, type_word, wrap
from ..creation.spacing import spaced
from ..pointwise.checks import refuse
from ..predicates import result_type
from .std_sort import std_sort

I64, F64 = np.dtype(np.int64), np.dtype(np.float64)

# ---------------------------------------------------------------------------------------------- distinct values


def _distinct(results, return_inverse, return_counts):
    """The tensors that the caller asked for, alone or as a tuple."""
    values, inverse, counts = results
    wanted = [values] + [inverse] * return_inverse + [counts] * return_counts
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


@primitive(public=False, name="unique2", outputs=1, node="Unique2Backward0")
def _unique_all(input, /, counted):
    """counted: whether the places or counts are asked for, which take ten times as long."""
    refuse("unique", input.dtype, "c")
    if not counted:
        ordered = np.sort(_sortable(input), None)
        new = np.ones(len(ordered), bool)
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        return ordered[new].astype(input.dtype), np.zeros(0, I64), np.zeros(0, I64)
    values, inverse, counts = np.unique(_sortable(input), return_inverse=True, return_counts=True, equal_nan=False)
    return values.astype(input.dtype), inverse.reshape(input.shape), counts


def _check_selected(shape, dim):
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    empty = shape.count(0)
    if shape[dim] == 0 and empty > 1:
        raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
    if shape[dim] != 0 and empty:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


@primitive(public=False, name="unique_dim", outputs=1)
def _unique_dim(input, /, dim):
    d = wrap_dim(dim, input.ndim)
    refuse("unique_dim", input.dtype, "c")
    _check_selected(input.shape, d if input.ndim else dim)
    if input.shape[d] == 0:
        return input.copy(), np.zeros(0, I64), np.zeros(0, I64)
    if input.dtype.kind in "fV" and np.isnan(_sortable(input)).any():
        return _unique_with_nans(input, d)
    values, inverse, counts = np.unique(_sortable(input), return_inverse=True, return_counts=True, axis=d)
    return values.astype(input.dtype), inverse.reshape(-1), counts


def _unique_with_nans(input, d):
    """As `np.unique(axis=d)`, where a nan is before nothing and after nothing, and equal to nothing, as in torch."""
    slices = np.moveaxis(input, d, 0)
    rows = slices.reshape(len(slices), -1)

    def is_before(i, j):
        x, y = rows[i], rows[j]
        unequal = np.flatnonzero((x < y) | (x > y))
        return bool(len(unequal)) and bool(x[unequal[0]] < y[unequal[0]])

    order = np.array(std_sort(len(rows), is_before))
    new = np.ones(len(order), bool)
    new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(1)
    inverse = np.empty(len(order), I64)
    inverse[order] = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    values = np.moveaxis(slices[order[starts]], 0, d)
    return np.ascontiguousarray(values), inverse, np.diff(np.append(starts, len(order)))


@primitive(public=False, name="unique_consecutive", outputs=1)
def _unique_runs(input, /, dim):
    refuse("unique", input.dtype, "c")
    if dim is not None:
        _check_selected(input.shape, wrap_dim(dim, input.ndim) if input.ndim else dim)
    a = input.reshape(-1) if dim is None else np.moveaxis(input, wrap_dim(dim, input.ndim), 0)
    new = np.ones(len(a), bool)
    if len(a) > 1:
        new[1:] = (a[1:] != a[:-1]).reshape(len(a) - 1, -1).any(1)
    starts = np.flatnonzero(new)
    values = np.ascontiguousarray(a[new])
    values = values if dim is None else np.moveaxis(values, 0, wrap_dim(dim, input.ndim))  # torch's order in memory
    inverse = np.cumsum(new) - 1
    counts = np.diff(np.append(starts, len(a)))
    return values, inverse.reshape(input.shape) if dim is None else inverse, counts


def _check_flags(name: str, **flags) -> None:
    for flag, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise type_error(f"{name}(): argument '{flag}' must be bool, not {type(value).__name__}")


def _sortable(a):
    return a.astype(np.float32) if a.dtype.kind == "V" else a


@told_by_keyword
@composite(method=True)
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements in order, or the distinct slices along `dim`.

    Args:
        sorted: accepted for torch's sake; the result is always in order.
        return_inverse: also give the place of each element of the input in the result.
        return_counts: also give how often each occurs.
        dim: the dimension of the slices; elements of the flattened input by default.
    Shape: (*) -> (n), with inverse (*) int64 and counts (n) int64
    Raises:
        IndexError: `dim` is out of range, as in `unique(ones(2), dim=1)`.
        TypeError: `sorted` is no bool, as in `unique(ones(2), 0)`.

    >>> unique(tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    name = "_unique2" if dim is None else "unique_dim"
    _check_flags(name, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
    results = _unique_all(input, return_inverse or return_counts) if dim is None else _unique_dim(input, dim)
    return _distinct(results, return_inverse, return_counts)


@told_by_keyword
@composite(method=True)
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements (or slices along `dim`) that differ from the one before.

    Args:
        return_inverse: also give the place of each element of the input in the result.
        return_counts: also give the length of each run.
        dim: the dimension of the slices; elements of the flattened input by default.
    Shape: (*) -> (n), with inverse (*) int64 and counts (n) int64
    Raises:
        IndexError: `dim` is out of range, as in `unique_consecutive(ones(2), dim=1)`.

    >>> unique_consecutive(tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    _check_flags("unique_consecutive", return_inverse=return_inverse, return_counts=return_counts)
    return _distinct(_unique_runs(input, dim), return_inverse, return_counts)


# ---------------------------------------------------------------------------------------------- counts


@primitive(method=True, node="NotImplemented")
def bincount(input, weights=None, /, minlength=0):
    """How often each number 0, 1, ... occurs, or the sum of the weights where it does.

    Args:
        input: integers, none negative.
        weights: a tensor of the same shape.
        minlength: the result has at least as many entries.
    Shape: (n), weights (n) -> (max(input) + 1), or `minlength`; int64, or the type of float weights
    Raises:
        RuntimeError: a number is negative, as in `bincount(tensor([-1]))`.
        RuntimeError: the sizes differ, as in `bincount(tensor([1]), ones(2))`.

    >>> bincount(tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if input.dtype.kind not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{type_word(dtypes.from_numpy(input.dtype))}'")
    if input.ndim != 1 or (input.size and input.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(input, minlength=minlength).astype(I64, copy=False)
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    r = np.bincount(input, weights.astype(F64), minlength)
    return r.astype(weights.dtype if weights.dtype == np.float32 else F64)


def _range(a, low, high, margin):
    """The limits of a histogram: those given, or those of the data."""
    if low == high and a.size:
        low, high = float(a.min()), float(a.max())
    if low == high:
        low, high = low - margin, high + margin
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    return low, high


@primitive(method=True, out=True, differentiable=False)
def histc(input, /, bins=100, min=0, max=0):
    """How many elements fall into each of `bins` equal intervals from `min` to `max`.

    Args:
        min, max: the limits; where both are 0, the smallest and the largest element.
        out: the tensor to write the result to.
    Shape: (*) -> (bins), of the input's type
    Raises:
        RuntimeError: there are no bins, as in `histc(ones(2), bins=0)`.
        RuntimeError: min > max, as in `histc(ones(2), bins=2, min=3, max=1)`.

    >>> histc(tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    if input.dtype.kind not in "fV":
        raise NotImplementedError(
            f"\"histogram_cpu\" not implemented for '{type_word(dtypes.from_numpy(input.dtype))}'"
        )
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = _range(input, min, max, 1)
    return _counted(input, low, high, bins)


def _counted(a, low, high, bins):
    """How many elements fall into each of `bins` equal intervals, whose places torch works out in the type of `a`."""
    kind = a.dtype.type
    low, high = kind(low), kind(high)
    a = a[(a >= low) & (a <= high)]
    place = ((a - low) * kind(bins) / (high - low)).astype(I64)
    return np.bincount(np.minimum(place, bins - 1), minlength=bins).astype(a.dtype)


def _equal_edges(values, limits, count, dim, kind):
    """The edges of `count` equal bins of dimension `dim`: between the limits given, or those of the values."""
    if count <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {dim}")
    if limits is None:
        limits = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    low, high = limits
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return spaced(low, high, count + 1, kind)


def _check_grid(kind, range, dims):
    if kind.type not in (np.float32, np.float64):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{type_word(dtypes.from_numpy(kind))}'")
    if range is not None and len(range) != 2 * dims:
        raise RuntimeError(
            f"torch.histogramdd: for a {dims}-dimensional histogram range should have {2 * dims} elements, but got "
            f"{len(range)}"
        )


@primitive(
    public=False, name="histogram", outputs=2, returns=named("histogram", "hist", "bin_edges"), node="NotImplemented"
)
def _histogram(input, bins=None, weight=None, /, count=None, range=None, density=False):
    _check_grid(input.dtype, range, 1)
    if bins is None:
        assert count is not None  # the number of intervals is given instead of their edges
        edges = _equal_edges(input, range, count, 0, input.dtype)
    else:
        edges = bins
    weights = None if weight is None else weight.reshape(-1)
    if not (edges[:-1] <= edges[1:]).all():
        return _counted_by_halving(input.reshape(-1, 1), [edges], weights, density).astype(input.dtype), edges
    hist = np.histogram(input.reshape(-1), edges, weights=weights)[0].astype(F64)
    if density:
        hist = hist / hist.sum() / np.diff(edges)
    return hist.astype(input.dtype), edges


@composite(method=True)
def histogram(input, bins=100, *, range=None, weight=None, density=False, out=None):
    """How many elements fall between each pair of edges: a named tuple (hist, bin_edges).

    Args:
        bins: the edges, ascending, or a number of equal intervals.
        range: (min, max) of equal intervals; by default of the elements.
        weight: what each element counts; 1 by default.
        density: whether to divide by the sum and the widths, so that the integral is 1.
        out: the two tensors to write the results to.
    Shape: (*) -> (bins), (bins + 1)
    Raises:
        NotImplementedError: the elements are not float32 or float64, as in `histogram(tensor([1]), 2)`.
        RuntimeError: the range is reversed, as in `histogram(ones(2), 2, range=(1.0, 0.0))`.
        TypeError: there are edges and a range, as in `histogram(ones(2), ones(2), range=(0.0, 1.0))`.

    >>> histogram(tensor([1.0, 2.0, 1.0]), 2, range=(0.0, 3.0)).hist
    tensor([2., 1.])
    """
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but "
            f"got input({dtypes.c_word(input.dtype)}), and weight({dtypes.c_word(weight.dtype)})"
        )
    if isinstance(bins, Tensor):
        if range is not None:
            raise type_error(
                "histogram() received an invalid combination of arguments: edges as a Tensor leave no range"
            )
        result = _histogram(input, bins, weight, None, range, density)
    else:
        result = _histogram(input, None, weight, bins, range, density)
    return result if out is None else write_out("histogram", (input,), result, out)


def _grid_edges(points, bins, limits):
    """The edges of each dimension's bins, from edges, a number of bins, or one for each dimension."""
    n = points.shape[1]
    bins = [bins] * n if isinstance(bins, int) else list(bins)
    if len(bins) != n:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if isinstance(bins[0], Tensor):
        return [b._array for b in bins]
    pairs = [None] * n if limits is None else list(zip(limits[::2], limits[1::2], strict=True))
    return [_equal_edges(points[:, d], pairs[d], count, d, points.dtype) for d, count in enumerate(bins)]


@composite()
def histogramdd(input, bins, *, range=None, weight=None, density=False, out=None):
    """How many points fall into each cell of a grid: a named tuple (hist, bin_edges).

    Args:
        input: the points, a row each.
        bins: a number of intervals, one for each dimension, or the edges of each.
        range: min and max of each dimension in turn; by default of the points.
        weight: what each point counts; 1 by default.
        density: whether to divide by the sum and the volumes, so that the integral is 1.
        out: the tensors to write the results to.
    Shape: (*, D) -> hist (bins of dimension 0, ..., bins of dimension D - 1), and the D edges
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `histogramdd(ones(2), [2])`.
        NotImplementedError: the elements are not float32 or float64, as in `histogramdd(tensor([[1]]), [2])`.

    >>> histogramdd(tensor([[0.0, 1.0], [1.0, 0.0]]), [2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    points = input._array.reshape(-1, input.shape[-1])
    _check_grid(points.dtype, range, points.shape[1])
    edges = _grid_edges(points, bins, range)
    weights = None if weight is None else weight._array.reshape(-1)
    if all((e[:-1] <= e[1:]).all() for e in edges):
        hist = np.histogramdd(points, edges, weights=weights, density=density)[0]
    else:
        hist = _counted_by_halving(points, edges, weights, density)
    result = _HistogramDD(wrap(hist.astype(points.dtype)), tuple(wrap(e) for e in edges))
    return result if out is None else write_out("histogramdd", (input,), result, out)


def _counted_by_halving(points, edges, weights, density):
    """What torch counts between edges that do not ascend: a point within the first and last is searched by halving."""
    inside = np.ones(len(points), bool)
    places = []
    for x, e in zip(points.T, edges, strict=True):
        inside &= (x >= e[0]) & (x <= e[-1])
        at = _halving(e, x, True) - 1
        places.append(np.where(at == len(e) - 1, at - 1, at))
    hist = np.zeros([len(e) - 1 for e in edges])
    np.add.at(hist, tuple(at[inside] for at in places), 1.0 if weights is None else weights[inside])
    if density:
        hist /= hist.sum()
        for dim, e in enumerate(edges):
            hist /= np.diff(e).reshape(-1, *(1,) * (len(edges) - dim - 1))
    return hist


_HistogramDD = named("histogramdd", "hist", "bin_edges")

# ---------------------------------------------------------------------------------------------- places in sorted values


def _halving(sequence, values, right):
    """`np.searchsorted`; in NaNs and values that are not sorted, the place where torch's halving ends."""
    n = len(sequence)
    if not n or ((sequence[:-1] <= sequence[1:]).all() and sequence[-1] == sequence[-1]):
        return np.searchsorted(sequence, values, "right" if right else "left")
    low, high = np.zeros(values.shape, I64), np.full(values.shape, n, I64)
    for _ in range(n.bit_length()):
        middle = (low + high) >> 1
        found = sequence[np.minimum(middle, n - 1)]
        is_after = ~(found > values) if right else ~(found >= values)
        low, high = np.where((low < high) & is_after, middle + 1, low), np.where(is_after, high, middle)
    return low


def _places(sequence, values, right):
    if sequence.ndim == 1:
        return _halving(sequence, values, right)
    if not values.size or not sequence.size:
        return np.zeros(values.shape, I64)
    rows, wanted = sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1])
    found = [_halving(s, v, right) for s, v in zip(rows, wanted, strict=True)]
    return np.array(found, I64).reshape(values.shape)


@primitive(public=False, name="searchsorted", differentiable=False)
def _searchsorted(sorted_sequence, values, sorter=None, /, out_int32=False, right=False):
    if values.size:  # torch looks for nothing in any type
        refuse("searchsorted_out_cpu", sorted_sequence.dtype, "bc")
    if not values.ndim and sorted_sequence.ndim != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries "
            f"tensor dim({sorted_sequence.ndim}) and input value's dim(0) numel(1)"
        )
    if sorter is not None:
        sorted_sequence = np.take_along_axis(sorted_sequence, sorter, -1)
    if sorted_sequence.ndim != 1 and sorted_sequence.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and input value "
            f"tensor {list(values.shape)}"
        )
    return np.asarray(_places(sorted_sequence, values, right)).astype(np.int32 if out_int32 else I64)


@composite()
def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None):
    """Where each value would be inserted into the sorted values of the last dimension to keep their order.

    Args:
        sorted_sequence: the sorted values.
        input: the values to insert, a tensor or a number.
        out_int32: whether the result is int32 rather than int64.
        right: insert after equal values rather than before.
        side: "left" or "right", instead of `right`.
        sorter: the order in which `sorted_sequence` is sorted, if it is not.
        out: the tensor to write the result to.
    Shape: (*, n), (*, m) -> (*, m); (n), (*) -> (*)
    Raises:
        RuntimeError: the leading dimensions differ, as in `searchsorted(ones(2, 3), ones(3, 1))`.
        RuntimeError: `side` contradicts `right`, as in `searchsorted(ones(2), ones(1), right=True, side="left")`.

    >>> searchsorted(tensor([1.0, 3.0, 5.0]), tensor([3.0, 4.0]))
    tensor([1, 2])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    if not isinstance(input, Tensor):
        check_number("searchsorted", "input", input)
        input = wrap(number_as(input, result_type(sorted_sequence, input)))
    if input.dtype is not sorted_sequence.dtype:
        common = dtypes.promote_types(input.dtype, sorted_sequence.dtype)
        if common.is_complex and input._array.size:
            raise NotImplementedError(f"\"searchsorted_out_cpu\" not implemented for '{type_word(common)}'")
        input, sorted_sequence = input.to(common), sorted_sequence.to(common)
    result = _searchsorted(sorted_sequence, input, sorter, out_int32, right or side == "right")
    return result if out is None else write_out("searchsorted", (input, sorted_sequence), result, out)


@composite()
def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """The interval between `boundaries` that each value falls into.

    Args:
        input: the values, a tensor or a number.
        boundaries: a 1-D tensor in ascending order.
        out_int32: whether the result is int32 rather than int64.
        right: whether an interval includes its left boundary rather than its right one.
        out: the tensor to write the result to.
    Shape: (*), (n) -> (*)
    Raises:
        RuntimeError: `boundaries` is not 1-D, as in `bucketize(ones(2), ones(2, 2))`.

    >>> bucketize(tensor([1.0, 6.0]), tensor([2.0, 4.0]))
    tensor([0, 2])
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


# ---------------------------------------------------------------------------------------------- covariance


def _weights(input, fweights, aweights):
    """The product of both kinds of weights, and their sums."""
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        if w.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} dimensions"
            )
        if w.numel() != input.shape[-1]:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got {w.numel()} "
                f"!= {input.shape[-1]}"
            )
        if name == "aweights" and not w.is_floating_point():
            raise RuntimeError(
                f"cov(): expected aweights to have floating point dtype but got aweights with {type_word(w.dtype)} dtype"
            )
        if name == "fweights" and w.dtype.category != 1:
            raise RuntimeError(
                f"cov(): expected fweights to have integral dtype but got fweights with {type_word(w.dtype)} dtype"
            )
        if not assert_all(w >= 0):
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if fweights is None or aweights is None:
        return fweights if aweights is None else aweights
    return fweights * aweights


@composite(method=True)
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariances of the variables, which are the rows; a 1-D input is one variable.

    Args:
        correction: what is subtracted from the number of observations.
        fweights: how often each observation counts, integers.
        aweights: the relative weight of each observation.
    Shape: (variables, observations) -> (variables, variables)
    Raises:
        RuntimeError: `input` has more than two dimensions, as in `cov(ones(1, 2, 2))`.

    >>> cov(tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if input.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if input.ndim == 2 else input.reshape(1, -1)
    n = x.shape[1]
    w = _weights(x, fweights, aweights)
    total = n if w is None else w.sum()
    mean = x.sum(1) / n if w is None else (x * w).sum(1) / total
    if w is None or aweights is None or correction == 0:
        free = total - correction
    else:
        squared = (w * aweights).sum()
        free = total - correction * squared / total
    centred = x - mean.unsqueeze(1)
    weighed = centred if w is None else centred * w
    c = centred.matmul(weighed.t().conj_physical())
    free = max(free, 0) if not isinstance(free, Tensor) else free.clamp(min=0)
    return (c / free).squeeze()


@composite(method=True)
def corrcoef(input):
    """The correlations of the variables, which are the rows.

    Shape: (variables, observations) -> (variables, variables)
    Raises:
        RuntimeError: `input` has more than two dimensions, as in `corrcoef(ones(1, 2, 2))`.

    >>> corrcoef(tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    c = cov(input)
    if c.ndim == 0:
        return c / c
    deviation = c.diagonal().sqrt()
    c = c / deviation.view(-1, 1) / deviation.view(1, -1)
    return c.clamp(-1, 1) if not c.is_complex() else c
