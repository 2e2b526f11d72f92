"""Scattering with a reduction: sums, products, means and extremes of what falls on one place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dispatch.inplace import write
from ...core.dispatch.mode import copy_or_target
from ...core.dispatch.op import OPS, composite, primitive
from ...core.tensor.node import shown_as
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, type_word
from ...core.warn import warn_once
from ..pointwise.checks import refuse
from .duplicate_index import UFUNCS, add_at, combine_at
from .index_slices import check_index_type
from .scatter import _gather, _scatter_add, _scatter_parts, _scatter_value, check_source_type, padded


def _identity(reduce: str, kind: np.dtype) -> Any:
    """What a place starts from if the input is left out."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if kind.kind == "b":
        return reduce == "amin"
    if kind.kind in "iu":
        return np.iinfo(kind).min if reduce == "amax" else np.iinfo(kind).max
    return -np.inf if reduce == "amax" else np.inf


@primitive(name="scatter_reduce", public=False)
def _scatter_reduce(input, index, src, /, dim, reduce, include_self):
    if not index.size:
        wrap_dim(dim, input.ndim)  # raises
        check_source_type(input, src)
        return copy_or_target(input, "C")
    out, flat, where, src = _scatter_parts("scatter_reduce", input, index, src, dim)
    if not include_self:
        flat[where] = _identity(reduce, flat.dtype)
    combine_at(UFUNCS[reduce], flat, where, src, is_checked=True)
    if reduce == "mean":
        shape = flat.shape if len(where) == flat.ndim else (flat.shape[0], *(1,) * (flat.ndim - 1))
        counts = np.full(shape, int(include_self), np.int64, like=flat)
        add_at(counts, where, 1, is_checked=True)
        np.maximum(counts, 1, out=counts)
        flat[...] = flat // counts if flat.dtype.kind in "iu" else flat / counts.astype(flat.dtype)
    return out


@_scatter_reduce.vjp
def _(g, out, input, index, src, dim, reduce, include_self, needs):
    g_input, g_src = _RULES[reduce](g, out, input, index, src, dim, include_self)
    if not include_self:
        g_input = _scatter_value(g_input, index, dim, 0)
    return (g_input if needs[0] else None, None, padded(g_src, src._array.shape) if needs[2] else None)


def _cut(src: Tensor, index: Tensor) -> Any:
    """The part of a source that the index reaches."""
    if not src._array.ndim:
        return src.reshape(index._array.shape)  # type: ignore[attr-defined]
    return src if src._array.shape == index._array.shape else src[tuple(slice(0, n) for n in index._array.shape)]  # type: ignore[index]


def _sum_rule(g, out, input, index, src, dim, include_self):
    return g, _gather(g, index, dim)


def _mean_rule(g, out, input, index, src, dim, include_self):
    ones = OPS["ones_like" if include_self else "zeros_like"](input)
    counts = _scatter_add(ones, index, OPS["ones_like"](_cut(src, index)), dim).clamp(min=1)
    return g / counts, _gather(g / counts, index, dim)


def _prod_rule(g, out, input, index, src, dim, include_self):
    src = _cut(src, index)
    whole = input.masked_fill(input == 0, 1)
    g_input = g * _scatter_reduce(whole, index, src, dim, "prod", include_self) / whole
    zero = src == 0
    zeros = _scatter_add(OPS["zeros_like"](input), index, zero.to(input.dtype), dim)
    only = zero & (_gather(zeros, index, dim) == 1)
    others = _scatter_reduce(input, index, src.masked_fill(only, 1), dim, "prod", include_self)
    plain = _gather(g * out, index, dim) / src.masked_fill(zero, 1)
    return g_input, OPS["where"](only, _gather(g * others, index, dim), plain)


def _extreme_rule(g, out, input, index, src, dim, include_self):
    from_input = (input == out).to(g.dtype)
    from_src = (_cut(src, index) == _gather(out, index, dim)).to(g.dtype)
    if not include_self:
        from_input = _scatter_value(from_input, index, dim, 0)
    share = g / _scatter_add(from_input, index, from_src, dim)
    return from_input * share, from_src * _gather(share, index, dim)


_RULES = {"sum": _sum_rule, "mean": _mean_rule, "prod": _prod_rule, "amax": _extreme_rule, "amin": _extreme_rule}


def _check_reduce(reduce: str, allowed: tuple[str, ...]) -> None:
    if reduce not in allowed:
        raise RuntimeError(f"reduce argument must be either {', '.join(allowed[:-1])} or {allowed[-1]}, got {reduce}")


_SCATTERED = ("sum", "prod", "mean", "amax", "amin")


def _reduction(name: str) -> str:
    """A reduction by torch's name for it. "max" and "min" are accepted too, as torch does."""
    name = {"max": "amax", "min": "amin"}.get(name, name)
    _check_reduce(name, _SCATTERED)
    return name


@composite(method=True, out=True)
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """The input, and at the places of `index` along `dim` the reduction of what `src` brings there.

    Args:
        index: int64; a place may be given several times.
        src: a tensor at least as large as `index`.
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: whether the input's element takes part.
        out: the tensor to write the result to.
    Shape: (*), index (*), src (*) -> (*), as `input`
    Raises:
        RuntimeError: `reduce` is another text, as in `scatter_reduce(zeros(2), 0, tensor([0]), ones(1), "x")`.
        RuntimeError: an index is out of range, as in `scatter_reduce(zeros(2), 0, tensor([2]), ones(1), "sum")`.

    >>> scatter_reduce(zeros(2), 0, tensor([0, 0, 1]), tensor([1.0, 3.0, 5.0]), "mean", include_self=False)
    tensor([2., 5.])
    """
    return _scatter_reduce(input, index, src, dim, _reduction(reduce), include_self)


@composite(method=True, function=False)
def scatter_reduce_(self, dim, index, src, reduce, *, include_self=True):
    """In-place `scatter_reduce`."""
    return write(_scatter_reduce.record, self, (index, src), (dim, _reduction(reduce), include_self))


# ---------------------------------------------------------------------------------------------- along an index


def _spread_index(input: Tensor, dim: int, index: Tensor, source: Tensor) -> tuple[Any, Any]:
    """The index of slices as an index of elements, and the source with the input's rank."""
    d = wrap_dim(dim, input._array.ndim)
    if index._array.ndim > 1:
        size = list(index._array.shape)
        raise IndexError(
            f"index_reduce_(): Index is supposed to be a vector, but got dim: {index._array.ndim} with type: "
            f"{type_word(index.dtype)} and size: {size}"
        )
    check_index_type("index_reduce", index._array)
    n, have = index._array.size, source._array.shape[d] if source._array.ndim else 1
    if n != have:
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({n}) should be equal to source.size(dim): ({have}), for dim: {dim}"
        )
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"index_reduce_(): self ({type_word(input.dtype)}) and source ({type_word(source.dtype)}) must have the same "
            "scalar type"
        )
    others = [k for k in range(source._array.ndim) if k != d]
    if source._array.ndim != input._array.ndim or any(source.shape[k] != input.shape[k] for k in others):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(input.shape)} source.shape = {list(source.shape)}"
        )
    if not source._array.ndim:
        source = source.reshape(1)  # type: ignore[attr-defined]
    shape = [1] * source._array.ndim
    shape[d] = -1
    return index.reshape(shape).expand(source._array.shape), source  # type: ignore[attr-defined]


_INDEXED = ("prod", "mean", "amax", "amin")


def _refuse_indexed(input, reduce, include_self):
    """Raise torch's error for types that it does not reduce: in one dimension none of bools and complex numbers."""
    if not include_self:
        refuse("index_reduce_func_exclude_input_init", input._array.dtype, "bc")
    if input._array.ndim <= 1:
        refuse("index_func_", input._array.dtype, "bc")
    elif reduce == "mean":
        refuse("div_floor_cpu", input._array.dtype, "b")
    elif reduce != "prod":
        refuse("maximum_cpu" if reduce == "amax" else "minimum_cpu", input._array.dtype, "c")


_BETA = "index_reduce() is in beta and the API may change at any time."


@composite(method=True, out=True)
def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """The input, and at the slices `index` of `dim` the reduction of what the slices of `source` bring there.

    Args:
        index: a 1-D tensor of integers; a place may be given several times.
        source: of the input's type, with as many slices along `dim` as `index` has entries.
        reduce: "prod", "mean", "amax" or "amin".
        include_self: whether the input's slice takes part.
        out: the tensor to write the result to.
    Shape: (*), index (n), source (*) -> (*), as `input`
    Raises:
        RuntimeError: `reduce` is another text, as in `index_reduce(ones(2), 0, tensor([0]), ones(1), "sum")`.

    >>> index_reduce(ones(2), 0, tensor([0, 0]), tensor([3.0, 5.0]), "amax")
    tensor([5., 1.])
    """
    _check_reduce(reduce, _INDEXED)
    warn_once(_BETA)
    _refuse_indexed(input, reduce, include_self)
    places, source = _spread_index(input, dim, index, source)
    return shown_as(_scatter_reduce(input, places, source, dim, reduce, include_self), "IndexReduceBackward0")


@composite(method=True, function=False)
def index_reduce_(self, dim, index, source, reduce, *, include_self=True):
    """In-place `index_reduce`."""
    _check_reduce(reduce, _INDEXED)
    warn_once(_BETA)
    _refuse_indexed(self, reduce, include_self)
    places, source = _spread_index(self, dim, index, source)
    return write(_scatter_reduce.record, self, (places, source), (dim, reduce, include_self))


# ---------------------------------------------------------------------------------------------- segments

_SEGMENTS = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin", "prod": "prod"}


@primitive(name="segment_places", public=False, differentiable=False)
def _segment_places(counts, /, rows):
    """The segment of each row, for segments of so many rows."""
    if (counts < 0).any() or int(counts.sum()) != rows:
        raise RuntimeError(f"segment_reduce(): Expected all rows of lengths along axis to sum to data.size(0) = {rows}")
    return np.repeat(np.arange(len(counts)), counts)


@composite()
def segment_reduce(
    data, reduce, *, lengths=None, indices=None, offsets: Any = None, axis=0, unsafe=False, initial=None
):
    """The reduction of each segment of rows of `data`.

    Args:
        data: floating-point numbers.
        reduce: "sum", "mean", "max", "min" or "prod".
        lengths: the number of rows of each segment.
        offsets: where each begins, and the end, instead of `lengths`.
        unsafe: leaves the checks out in torch; here they are always made.
        initial: what each segment starts from.
    Shape: (n, *), lengths (s) -> (s, *)
    Raises:
        RuntimeError: the lengths have another sum, as in `segment_reduce(ones(3), "sum", lengths=tensor([1]))`.

    >>> segment_reduce(tensor([1.0, 2.0, 4.0]), "max", lengths=tensor([2, 0, 1]))
    tensor([2., -inf, 4.])
    """
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if reduce not in _SEGMENTS:
        raise RuntimeError(f"unsupported reduction given! {reduce}")
    if axis != 0 or (lengths if lengths is not None else offsets)._array.ndim != 1:
        raise NotImplementedError("segment_reduce: only segments along axis 0, of 1-D lengths, are implemented")
    counts = offsets.diff() if lengths is None else lengths
    ones = (1,) * (data._array.ndim - 1)
    places = _segment_places(counts, data._array.shape[0]).reshape(-1, *ones).expand(data.shape).contiguous()
    shape = (counts._array.size, *data._array.shape[1:])
    how = _SEGMENTS[reduce]
    start = data.new_full(shape, _identity(how, data._array.dtype) if initial is None else initial)
    if how == "mean":
        total = _scatter_reduce(start, places, data, 0, "sum", True)
        divisors = counts.to(data.dtype).reshape(-1, *ones)
        empty = divisors == 0
        mean = total / divisors.masked_fill(empty, 1)
        return mean.masked_fill(empty, float("nan") if initial is None else float(initial))
    return _scatter_reduce(start, places, data, 0, how, True)
