"""Elements picked and placed by boolean masks: masked_fill, masked_select, masked_scatter, nonzero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.inplace import accept_write, write
from ...core.dispatch.mode import emit_event, may_branch_on_data
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import NUMBERS, check_flag, exact, fits, type_name
from ...core.dispatch.slow_path import write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.dtype import c_word
from ...core.tensor.node import shown_as, written_as
from ...core.tensor.size import broadcast_shapes
from ...core.tensor.tensor import Tensor, constant, type_word, wrap
from ...core.warn import warn
from ..pointwise.building_blocks import MANY
from ..pointwise.checks import word
from ..twins import twins
from .scatter import padded

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


def check_bools(name: str, mask: np.ndarray) -> None:
    if mask.dtype != np.bool_:
        kind = dtypes.from_numpy(mask.dtype)
        shown = c_word(kind) if name == "masked_fill_" else type_word(kind)
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {shown}")


def _in_rows(_):
    """No array decides the order of a result's memory."""
    return ()


@primitive(name="masked_fill", public=False, node="MaskedFillBackward1", jit_min_elements=MANY, laid_as=_in_rows)
def _masked_fill(input, mask, value, /):
    check_bools("masked_fill_", mask)
    return np.asarray(np.where(mask, value, input), order="C")


@_masked_fill.vjp("input")
def _(g, mask):
    return _masked_fill(g, mask, g.new_zeros(()))


@_masked_fill.vjp("value")
def _(g, mask):
    return (g * mask).sum()


@primitive(
    name="masked_fill.number",
    public=False,
    node="MaskedFillBackward0",
    jit_min_elements=MANY,
    laid_as=_in_rows,
)
def _masked_fill_number(input, mask, /, value):
    if mask.dtype != np.bool_:
        check_bools("masked_fill_", mask)
    if mask.shape != input.shape:
        broadcast_shapes(mask.shape, input.shape)  # raises with the mask first, as torch does
    return np.asarray(np.where(mask, value, input), order="C")


@_masked_fill_number.vjp("input")
def _(g, mask):
    return _masked_fill_number(g, mask, 0.0)


def _mask_value(x: Tensor, mask: Tensor, value: Any) -> tuple:
    if not isinstance(mask, Tensor):
        raise type_error(f"masked_fill(): argument 'mask' (position 1) must be Tensor, not {type(mask).__name__}")
    d = x.dtype
    if not isinstance(value, Tensor):
        if not isinstance(value, NUMBERS):
            raise type_error(
                f"masked_fill() received an invalid combination of arguments - got (Tensor, {type_name(value)}), but "
                "expected one of:\n * (Tensor mask, Tensor value)\n * (Tensor mask, Number value)\n"
            )
        value = constant(np.asarray(exact(value, d.numpy), d.numpy))
    elif value._array.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} dimension(s)."
        )
    elif value.dtype is not d:
        if may_branch_on_data(value) or value.dtype.category == 3:
            exact(value.item(), d.numpy)  # raises where something would be lost
        value = value.to(d)
    return (mask, value), ()


@composite(method=True)
def masked_fill(input, mask, value, *, out=None):
    """The input with `value` where `mask` is true.

    Args:
        mask: a tensor of bools; both are broadcast against each other.
        value: a number or a 0-d tensor.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: `mask` is not of bools, as in `masked_fill(ones(2), ones(2), 0.0)`.
        RuntimeError: the shapes do not broadcast, as in `masked_fill(ones(2), tensor([True, True, False]), 0.0)`.

    >>> masked_fill(ones(2), tensor([True, False]), 9.0)
    tensor([9., 1.])
    """
    if out is None and not isinstance(value, Tensor):
        kind = input._array.dtype
        if kind is _F32 or kind is _F64:
            if type(value) is float or fits(value, kind):
                return _masked_fill_number(input, mask, exact(float(value), kind))
        elif fits(value, kind):
            return _masked_fill_number(input, mask, value)
    (mask, filler), _ = _mask_value(input, mask, value)
    broadcast_shapes(mask._array.shape, input._array.shape)  # raises with the mask first, as torch does
    result = _masked_fill(input, mask, filler)
    if not isinstance(value, Tensor):
        shown_as(result, "MaskedFillBackward0", 2)
    return result if out is None else write_out("masked_fill", (input,), result, out)


def fill_where(self: Tensor, mask: Any, value: Any) -> bool:
    """Write a number where a mask of the same shape is true, if that needs no checks and no history. Whether it was done."""
    if not isinstance(mask, Tensor):
        return False
    a, m = self._array, mask._array
    if type(a) is not np.ndarray or type(m) is not np.ndarray or m.dtype != np.bool_ or m.shape != a.shape:
        return False
    if not fits(value, a.dtype) or (mask._storage is not None and mask._storage is self._storage):
        return False
    state = accept_write(self)
    if state is None:
        return False
    state.run(np.putmask, a, m, a.dtype.type(value))
    return True


@composite(method=True, function=False)
def masked_fill_(self, mask, value):
    """In-place `masked_fill`."""
    if fill_where(self, mask, value):
        return self
    if isinstance(value, Tensor) and not value._array.ndim and value._storage is not None:
        value = value.clone()  # it is read before anything is written  # type: ignore[attr-defined]
    arrays, metadata = _mask_value(self, mask, value)
    if 0 in getattr(self._array, "strides", ()):
        return _fill_shared(self, *arrays)
    write(_masked_fill.record, self, arrays, metadata)
    return self if isinstance(value, Tensor) else written_as(self, _masked_fill.record, "MaskedFillBackward0", 2)


def _fill_shared(self, mask, value):
    """`masked_fill_` of a tensor some of whose elements share a place: it is filled where the mask is true for any of them."""
    part, mask = self, mask.expand(self.shape)
    for d, (step, n) in enumerate(zip(self._array.strides, self._array.shape, strict=True)):
        if not step and n > 1:
            part, mask = part.narrow(d, 0, 1), mask.any(d, keepdim=True)
    if part is not self:
        warn(
            "Use of masked_fill_ on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
            "This also applies to advanced indexing e.g. tensor[mask] = scalar"
        )
    write(_masked_fill.record, part, (mask, value), ())
    return self


@primitive(name="masked_select", public=False)
def _masked_select(input, mask, /):
    if mask.dtype != np.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if mask.shape != input.shape:
        broadcast_shapes(mask.shape, input.shape)  # raises with the mask first, as torch does
        input, mask = np.broadcast_arrays(input, mask)
    return input[mask]


@_masked_select.vjp("input")
def _(g, input, mask):  # torch keeps the input, whose size this needs: freed or changed, it raises
    zeros = g.new_zeros(broadcast_shapes(input._array.shape, mask._array.shape))
    return _masked_scatter(zeros, mask, g)


@composite(method=True, out=True)
def masked_select(input, mask):
    """The elements where `mask` is true, as one dimension.

    Args:
        mask: a tensor of bools, broadcast against `input`.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (n)
    Raises:
        RuntimeError: `mask` is not of bools, as in `masked_select(ones(2), ones(2))`.
        RuntimeError: the shapes do not broadcast, as in `masked_select(ones(2), tensor([True, True, False]))`.

    >>> masked_select(tensor([1, 2, 3]), tensor([True, False, True]))
    tensor([1, 3])
    """
    return _masked_select(input, mask)


@primitive(name="masked_scatter", public=False)
def _masked_scatter(input, mask, source, /):
    check_bools("masked_scatter_", mask)
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"masked_scatter_: expected self and source to have same dtypes but got {word(input)} and {word(source)}"
        )
    shape = np.broadcast_shapes(input.shape, mask.shape)
    out = np.array(np.broadcast_to(input, shape), order="C")
    mask = np.broadcast_to(mask, shape)
    n = int(mask.sum())
    if n > source.size:
        raise RuntimeError(f"Number of elements of source < number of ones in mask: {source.size} < {n}")
    out[mask] = source.reshape(-1)[:n]
    return out


@_masked_scatter.vjp("input")
def _(g, mask):
    return _masked_fill(g, mask, g.new_zeros(()))


@_masked_scatter.vjp("source")
def _(g, mask, source_shape):
    picked = _masked_select(g, mask)
    n = 1
    for k in source_shape:
        n *= k
    return padded(picked, (n,)).reshape(source_shape)


def _read_while_written(target, mask, source):
    """Where the source is the target itself, torch reads elements that it has written before."""
    a = target._array
    known = type(a) is np.ndarray and a.flags.c_contiguous and mask._array.dtype.kind == "b"
    if source is not target or not known or target._edge is not None:
        return mask, source
    flat = a.reshape(-1).copy()
    places = np.broadcast_to(mask._array, a.shape).reshape(-1).nonzero()[0]
    for i, place in enumerate(places.tolist()):
        flat[place] = flat[i]
    return mask, wrap(flat[places])


twins("masked_scatter", _masked_scatter, lambda input, mask, source: ((mask, source), ()),
       """The input with the elements of `source` in order where `mask` is true.

    Args:
        mask: a tensor of bools; both are broadcast against each other.
        source: a tensor of the same type with at least as many elements as `mask` has true ones.
        out: the tensor to write the result to.
    Shape: (*), (*), source (*) -> (*), broadcast
    Raises:
        RuntimeError: `mask` is not of bools, as in `masked_scatter(ones(2), ones(2), ones(2))`.
        RuntimeError: `source` has too few elements, as in `masked_scatter(ones(2), tensor([True, True]), ones(1))`.

    >>> masked_scatter(zeros(3), tensor([True, False, True]), tensor([5.0, 6.0]))
    tensor([5., 0., 6.])
    """, onto=_read_while_written)  # fmt: skip


@primitive(differentiable=False, public=False, name="nonzero")
def _nonzero(input, /):
    if not input.ndim:
        return np.zeros((int(bool(input)), 0), np.int64)
    return np.stack(input.nonzero()).astype(np.int64, copy=False).T  # a column for each dimension, each contiguous


@composite(method=True)
def nonzero(input, *, out=None, as_tuple=False):
    """The indices of the elements that are not zero.

    Args:
        out: the tensor to write the result to.
        as_tuple: whether to give a tensor (n) for each dimension rather than a row for each element.
    Shape: (*) -> (n, number of dimensions) int64
    Raises:
        TypeError: `input` is not a tensor, as in `nonzero([0, 1])`.

    >>> nonzero(tensor([[1, 0], [0, 2]]))
    tensor([[0, 0],
            [1, 1]])
    >>> nonzero(tensor([0, 3, 4]), as_tuple=True)
    (tensor([1, 2]),)
    """
    check_flag("nonzero", "as_tuple", as_tuple)
    if as_tuple:
        return _nonzero(input.reshape(1) if not input._array.ndim else input).unbind(1)
    rows = _nonzero(input)
    return rows if out is None else write_out("nonzero", (input,), rows, out)


@composite(method=True)
def nonzero_static(input, *, size, fill_value=-1, out=None):
    """The indices of the first `size` elements that are not zero, a row each; rows of `fill_value` where there are fewer.

    Shape: (*) -> (size, number of dimensions) int64
    Raises:
        RuntimeError: `size` is negative, as in `nonzero_static(ones(2), size=-1)`.

    >>> nonzero_static(tensor([0, 3, 4]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    emit_event("read", input, "nonzero_static()")
    rows = np.argwhere(input._array)[:size]
    filled = np.full((size, input._array.ndim), fill_value, np.int64)
    filled[: len(rows)] = rows
    result = wrap(filled)
    return result if out is None else write_out("nonzero_static", (input,), result, out)


@composite(method=True)
def argwhere(input):
    """The indices of the elements that are not zero, a row each.

    Shape: (*) -> (n, number of dimensions) int64
    Raises:
        TypeError: `input` is not a tensor, as in `argwhere([0, 1])`.

    >>> argwhere(tensor([[1, 0], [0, 2]]))
    tensor([[0, 0],
            [1, 1]])
    """
    return _nonzero(input)
