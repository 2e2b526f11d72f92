"""The largest and smallest elements: max, min, amax, amin, aminmax, argmax, argmin, cummax, cummin.

Along a dimension `max` gives the first largest element and where it is, and its gradient goes there; `amax` shares the
gradient evenly between equal elements. A nan is larger, and smaller, than everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import may_branch_on_data
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.return_types import named
from ...core.dispatch.slow_path import write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, type_word
from ..index.duplicate_index import add_at
from ..pointwise.building_blocks import MANY, SOME, dense, elements_along, zero_where
from ..pointwise.checks import not_implemented
from ..pointwise.choice import maximum, minimum
from .reduction import axes_of, axis_tuple, keep_dims

F32, I64 = np.dtype(np.float32), np.dtype(np.int64)

# ---------------------------------------------------------------------------------------------- one place for each slice


@primitive(public=False, name="put_along", node="ScatterBackward0")
def put_along(input, index, /, shape, dim, keepdim):
    """Zeros of `shape` with `input` at the places `index` along `dim`: the gradient of a selection."""
    if not shape:
        return input.reshape(()).copy()
    r = np.zeros(shape, input.dtype, like=input)
    if not keepdim:
        input, index = np.expand_dims(input, dim), np.expand_dims(index, dim)
    np.put_along_axis(r, index, input, dim)
    return r


@put_along.vjp("input")
def _(g, index, dim, keepdim):
    return take_along(g, index, dim, keepdim)


@primitive(public=False, name="take_along", node="GatherBackward0")
def take_along(input, index, /, dim, keepdim):
    """The elements at the places `index` along `dim`."""
    if not input.ndim:
        return input.copy()
    r = elements_along(input, index if keepdim else np.expand_dims(index, dim), dim)
    return r if keepdim else r.squeeze(dim)


@take_along.vjp("input")
def _(g, index, input_shape, dim, keepdim):
    return put_along(g, index, input_shape, dim, keepdim)


def picked(array, index, dim, keepdim):
    """Kernel of a selection: the elements of `array` at `index` (which has dimension `dim`), and the index."""
    values = elements_along(array, index, dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


def check_not_empty(name, a, dim):
    """Raise torch's error for a reduction without identity over no elements."""
    if a.size == 0 and a.shape[dim] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


def _along(name, ufunc, arg_of):
    reduce = ufunc.reduce

    def kernel(input, dim, keepdim):
        d = wrap_dim(dim, input.ndim)
        if not input.ndim:
            return input.copy(), np.zeros((), I64)
        check_not_empty(name, input, d)
        if input.dtype.kind in "cV":
            if input.dtype.kind == "c":
                raise NotImplementedError(f"\"{name}_values_cpu\" not implemented for 'ComplexFloat'")
            return picked(input, arg_of(input.astype(np.float32), d, True), d, keepdim)
        values, index = dense(reduce(input, d, None, None, keepdim)), arg_of(input, d, keepdim)
        if type(input) is np.ndarray and input.dtype.kind == "f" and not values.all():
            # of equal zeros the first one, with its sign
            return picked(input, index if keepdim else np.expand_dims(index, d), d, keepdim)
        return values, index

    return kernel


_max_kernel = _along("max", np.maximum, lambda a, d, keepdim: a.argmax(d, None, keepdims=keepdim))
_min_kernel = _along("min", np.minimum, lambda a, d, keepdim: a.argmin(d, None, keepdims=keepdim))


@primitive(
    public=False,
    name="max.dim",
    outputs=1,
    returns=named("max", "values", "indices"),
    node="MaxBackward0",
    jit_min_elements=MANY,
)
def _max_along(input, /, dim, keepdim):
    return _max_kernel(input, dim, keepdim)


@primitive(
    public=False,
    name="min.dim",
    outputs=1,
    returns=named("min", "values", "indices"),
    node="MinBackward0",
    jit_min_elements=MANY,
)
def _min_along(input, /, dim, keepdim):
    return _min_kernel(input, dim, keepdim)


def selection_rule(g, out1, input_shape, dim, keepdim):
    """The gradient of an operator that selects one element along `dim`."""
    return put_along(g[0], out1, input_shape, wrap_dim(dim, len(input_shape)), keepdim)


_max_along.vjp(selection_rule)
_min_along.vjp(selection_rule)

# ---------------------------------------------------------------------------------------------- over several dimensions


def _extreme(ufunc, a, dim, keepdims, name):
    axis = axes_of(dim, a.ndim)
    if a.dtype.kind == "c":
        word = {"amax": "max_values_cpu", "amin": "min_values_cpu", "aminmax": "aminmax_cpu"}.get(name, f"{name}_all")
        raise not_implemented(word, a.dtype)
    if not a.size and (axis is None or 0 in [a.shape[d] for d in axis_tuple(axis, a.ndim)]):
        _refuse_empty(name, a, None if axis is None else dim)
    return dense(ufunc.reduce(a, axis, None, None, keepdims))


def _refuse_empty(name, a, dim):
    if name == "aminmax":
        if dim is None:
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
            )
        raise IndexError(f"aminmax: Expected reduction dim {wrap_dim(dim, a.ndim)} to have non-zero size.")
    if dim is None:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    empty = next(d for d in (dim if isinstance(dim, (tuple, list)) else (dim,)) if a.shape[d] == 0)
    raise IndexError(f"{name}(): Expected reduction dim {empty} to have non-zero size.")


def _same(x, value):
    """Where `x` equals the extreme value, which may be nan."""
    chosen = x == value
    if x.dtype.category >= 2 and (not may_branch_on_data(x) or bool(np.isnan(value._array).any())):
        chosen = chosen | (x.isnan() & value.isnan())
    return chosen


def shared(g, x, value, dim, keepdim):
    """The gradient of an extreme value, shared evenly by the elements that have it."""
    if x.ndim and not keepdim and dim is not None:
        g, value = keep_dims(g, dim, x.ndim), keep_dims(value, dim, x.ndim)
    chosen = x == value  # NaN is equal to nothing: 0 / 0
    count = chosen.sum(list(axis_tuple(dim, x.ndim)), keepdim=True) if x.ndim else chosen.sum()
    return g * chosen / count


@primitive(public=False, name="max", node="MaxBackward1", jit_min_elements=MANY)
def _max_all(input, /):
    if not input.size:
        raise RuntimeError(
            "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    return np.maximum.reduce(input, None) if input.dtype is F32 else _extreme(np.maximum, input, None, False, "max")


@primitive(public=False, name="min", node="MinBackward1", jit_min_elements=MANY)
def _min_all(input, /):
    if input.size and input.dtype is F32:
        return np.minimum.reduce(input, None)
    return _extreme(np.minimum, input, None, False, "min")


def _all_rule(g, input, out):
    chosen = _same(input, out).contiguous()  # so the gradient is C-contiguous, as torch's
    return zero_where((g / chosen.sum()).expand(input.shape), ~chosen)  # the others get none of an infinite one either


_max_all.vjp(_all_rule)
_min_all.vjp(_all_rule)


@primitive(method=True, out=True, jit_min_elements=MANY)
def amax(input, /, dim=(), keepdim=False):
    """The largest element over `dim`; equal ones share the gradient.

    Args:
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `amax(ones(2), 1)`.
        RuntimeError: `input` is empty and `dim` is not given, as in `amax(tensor([]))`.

    >>> amax(tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
    tensor([3., 2.])
    """
    return _extreme(np.maximum, input, dim, keepdim, "amax")


@primitive(method=True, out=True, jit_min_elements=MANY)
def amin(input, /, dim=(), keepdim=False):
    """The smallest element over `dim`; equal ones share the gradient.

    Args:
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `amin(ones(2), 1)`.
        RuntimeError: `input` is empty and `dim` is not given, as in `amin(tensor([]))`.

    >>> amin(tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
    tensor([1., 0.])
    """
    return _extreme(np.minimum, input, dim, keepdim, "amin")


def _amax_rule(g, input, out, dim, keepdim):
    return shared(g, input, out, dim if dim != () else None, keepdim)


amax.vjp(_amax_rule)
amin.vjp(_amax_rule)


@primitive(method=True, out=True, outputs=2, returns=named("aminmax", "min", "max"))
def aminmax(input, /, *, dim=None, keepdim=False):
    """The smallest and the largest element along `dim`: a named tuple (min, max).

    Args:
        dim: an int; all dimensions by default.
        keepdim: whether the reduced dimension stays, with size 1.
        out: the two tensors to write the results to.
    Shape: (*) -> (*), (*) without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `aminmax(ones(2), dim=1)`.
        RuntimeError: `input` is empty, as in `aminmax(tensor([]))`.

    >>> aminmax(tensor([3.0, 1.0, 2.0]))
    torch.return_types.aminmax(
    min=tensor(1.),
    max=tensor(3.))
    """
    return (
        _extreme(np.minimum, input, dim, keepdim, "aminmax"),
        _extreme(np.maximum, input, dim, keepdim, "aminmax"),
    )


@aminmax.vjp
def _(g, input, out0, out1, dim, keepdim):
    low = None if g[0] is None else shared(g[0], input, out0, dim, keepdim)
    high = None if g[1] is None else shared(g[1], input, out1, dim, keepdim)
    return high if low is None else low if high is None else low + high


# ---------------------------------------------------------------------------------------------- max and min as torch spells them


def _dispatch(name, whole, along, pair):
    def wrong(*given):
        words = ", ".join(type(g).__name__ for g in given if g is not ...)
        return type_error(f"{name}() received an invalid combination of arguments - got ({words})")

    def call(input, place, keepdim, dim, other, out, axis, keepdims):
        """place: what was given second by its place, a dimension or the other tensor; dim, axis: what was given by these words."""
        if axis is not None:
            if dim is not ...:
                raise wrong(input, axis, dim)
            dim = axis
        keepdim = keepdim if keepdims is None else keepdims
        if isinstance(input, (int, float)):
            raise wrong(input, place)
        if isinstance(place, Tensor) and keepdim is ... and dim is ...:
            place, other = ..., place
        if other is not None:
            if not (place is dim is keepdim is ...):
                raise wrong(input, place, other, dim, keepdim)
            return pair(input, other) if out is None else pair(input, other, out=out)
        if place is not ... and dim is not ...:
            raise wrong(input, place, dim)
        dim = place if dim is ... else dim
        if isinstance(dim, Tensor) and not dim._array.ndim and dim._array.dtype.kind in "iu":
            dim = dim.item()  # a number
        if dim is None or isinstance(dim, Tensor) or isinstance(keepdim, Tensor) or (dim is ... and keepdim is not ...):
            raise wrong(input, dim, keepdim)
        result = whole(input) if dim is ... else along(input, dim, keepdim is not ... and keepdim)
        return result if out is None else write_out(name, (input,), result, out)

    return call


_max, _min = (
    _dispatch("max", _max_all, _max_along, maximum),
    _dispatch("min", _min_all, _min_along, minimum),
)


@composite(method=True)
def max(input, place=..., keepdim=..., *, dim=..., other=None, out=None, axis=None, keepdims=None):
    """The largest element; with `dim` the largest along it and its index; with a tensor the larger of each pair.

    Args:
        dim: an int, or a tensor for `maximum`; all dimensions by default.
        keepdim: whether the reduced dimension stays, with size 1.
        other: a tensor for `maximum`.
        out: the tensor, with `dim` the two tensors, to write the result to.
    Shape: (*) -> (); with `dim` values (*) and indices (*) int64, without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `max(ones(2), 1)`.
        RuntimeError: `input` is empty, as in `max(tensor([]))`.

    >>> max(tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
    torch.return_types.max(
    values=tensor([3., 2.]),
    indices=tensor([1, 0]))
    """
    if other is None and out is None and axis is None and keepdims is None and isinstance(input, Tensor):  # mostly
        if place is ... and keepdim is ...:
            if dim is ...:
                return _max_all(input)
            if type(dim) is int:
                return _max_along(input, dim, False)
        elif type(place) is int and dim is ... and (keepdim is ... or type(keepdim) is bool):
            return _max_along(input, place, keepdim is True)
    return _max(input, place, keepdim, dim, other, out, axis, keepdims)


@composite(method=True)
def min(input, place=..., keepdim=..., *, dim=..., other=None, out=None, axis=None, keepdims=None):
    """The smallest element; with `dim` the smallest along it and its index; with a tensor the smaller of each pair.

    Args:
        dim: an int, or a tensor for `minimum`; all dimensions by default.
        keepdim: whether the reduced dimension stays, with size 1.
        other: a tensor for `minimum`.
        out: the tensor, with `dim` the two tensors, to write the result to.
    Shape: (*) -> (); with `dim` values (*) and indices (*) int64, without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `min(ones(2), 1)`.
        RuntimeError: `input` is empty, as in `min(tensor([]))`.

    >>> min(tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
    torch.return_types.min(
    values=tensor([1., 0.]),
    indices=tensor([0, 1]))
    """
    if other is None and out is None and axis is None and keepdims is None and isinstance(input, Tensor):  # mostly
        if place is ... and keepdim is ...:
            if dim is ...:
                return _min_all(input)
            if type(dim) is int:
                return _min_along(input, dim, False)
        elif type(place) is int and dim is ... and (keepdim is ... or type(keepdim) is bool):
            return _min_along(input, place, keepdim is True)
    return _min(input, place, keepdim, dim, other, out, axis, keepdims)


def _arg(name, arg, a, dim, keepdim):
    if a.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input")
    if a.dtype.kind == "c":
        word = type_word(dtypes.from_numpy(a.dtype))
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{word}'")
    if dim is None:
        if not a.size:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        r = arg(a)
        return np.full((1,) * a.ndim, r) if keepdim else r
    d = wrap_dim(dim, a.ndim)
    if not a.ndim:
        return np.zeros((), I64)
    check_not_empty(name, a, d)
    return arg(a, d, keepdims=True) if keepdim else a.argmax(d) if arg is np.argmax else a.argmin(d)


@primitive(method=True, out=True, differentiable=False)
def argmax(input, /, dim=None, keepdim=False):
    """Where the first largest element is, along `dim` or in the flattened input.

    Args:
        dim: an int; the flattened input by default.
        keepdim: whether the reduced dimension stays, with size 1.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`; int64
    Raises:
        IndexError: `dim` is out of range, as in `argmax(ones(2), 1)`.
        IndexError: `input` is empty, as in `argmax(tensor([]))`.

    >>> argmax(tensor([1.0, 3.0, 2.0]))
    tensor(1)
    """
    return _arg("argmax", np.argmax, input, dim, keepdim)


@primitive(method=True, out=True, differentiable=False)
def argmin(input, /, dim=None, keepdim=False):
    """Where the first smallest element is, along `dim` or in the flattened input.

    Args:
        dim: an int; the flattened input by default.
        keepdim: whether the reduced dimension stays, with size 1.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`; int64
    Raises:
        IndexError: `dim` is out of range, as in `argmin(ones(2), 1)`.
        IndexError: `input` is empty, as in `argmin(tensor([]))`.

    >>> argmin(tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
    tensor([0, 1])
    """
    return _arg("argmin", np.argmin, input, dim, keepdim)


# ---------------------------------------------------------------------------------------------- running extremes


_OF_RUNNING: dict[str, Any] = {
    "method": True, "out": True, "outputs": 1, "jit_min_elements": SOME, "jit_warmup": 4_000_000,
}  # fmt: skip


def _running(ufunc, a, dim):
    """The running extreme along `dim` and the latest place where it was found."""
    d = wrap_dim(dim, a.ndim)
    if not a.ndim:
        return a.copy(), np.zeros((), I64)
    if a.dtype == np.float16:  # of which NumPy keeps the first of two zeros, where torch takes the last
        values = ufunc.accumulate(a.astype(np.float32), d).astype(a.dtype)
    else:
        values = ufunc.accumulate(a, d)
    n = a.shape[d]
    places = np.arange(n).reshape([n if i == d else 1 for i in range(a.ndim)])
    found = (a == values) | (np.isnan(a) if a.dtype.kind in "fV" else False)
    index = np.maximum.accumulate(np.where(found, places, 0), d)
    return dense(values), dense(index)


@primitive(returns=named("cummax", "values", "indices"), **_OF_RUNNING)
def cummax(input, /, dim):
    """The largest element so far along `dim`, and where it was last seen: a named tuple (values, indices).

    Args:
        out: the two tensors to write the results to.
    Shape: (*) -> (*), (*) int64
    Raises:
        IndexError: `dim` is out of range, as in `cummax(ones(2), 1)`.

    >>> cummax(tensor([1.0, 3.0, 2.0]), 0).values
    tensor([1., 3., 3.])
    """
    return _running(np.maximum, input, dim)


@primitive(returns=named("cummin", "values", "indices"), **_OF_RUNNING)
def cummin(input, /, dim):
    """The smallest element so far along `dim`, and where it was last seen: a named tuple (values, indices).

    Args:
        out: the two tensors to write the results to.
    Shape: (*) -> (*), (*) int64
    Raises:
        IndexError: `dim` is out of range, as in `cummin(ones(2), 1)`.

    >>> cummin(tensor([2.0, 3.0, 1.0]), 0).values
    tensor([2., 2., 1.])
    """
    return _running(np.minimum, input, dim)


@primitive(public=False, name="add_along", node="ScatterAddBackward0")
def add_along(input, index, /, dim, shape):
    """Zeros of `shape` with the elements of `input` added at the places `index` along `dim`."""
    if not shape:
        return input.copy()
    r = np.zeros(shape, input.dtype, like=input)
    places = list(np.ix_(*[np.arange(n) for n in index.shape]))
    places[dim] = index
    add_at(r, tuple(places), input)
    return r


@add_along.vjp("input")
def _(g, index, dim):
    return take_along(g, index, dim, True)


def _running_rule(g, out1, input_shape, dim):
    return add_along(g[0], out1, wrap_dim(dim, len(input_shape)), tuple(input_shape))


cummax.vjp(_running_rule)
cummin.vjp(_running_rule)
