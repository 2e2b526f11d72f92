"""Elements picked and placed by boolean masks: masked_fill, masked_select, masked_scatter, nonzero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dispatch.inplace import write
from ...core.dispatch.mode import may_branch_on_data
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import NUMBERS, exact, type_name
from ...core.dispatch.slow_path import write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.dtype import c_word
from ...core.tensor.tensor import Tensor, constant, type_word, wrap
from ..pointwise.helpers import word
from ..twins import twins
from .scatter import padded

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


def _check_mask(name: str, mask: np.ndarray) -> None:
    if mask.dtype != np.bool_:
        kind = dtypes.from_numpy(mask.dtype)
        shown = c_word(kind) if name == "masked_fill_" else type_word(kind)
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {shown}")


@primitive(name="masked_fill", public=False)
def _masked_fill(input, mask, value, /):
    _check_mask("masked_fill_", mask)
    return np.asarray(np.where(mask, value, input), order="C")


@_masked_fill.vjp("input")
def _(g, mask):
    return _masked_fill(g, mask, g.new_zeros(()))


@_masked_fill.vjp("value")
def _(g, mask):
    return (g * mask).sum()


@primitive(name="masked_fill.number", public=False, node="MaskedFillBackward0")
def _masked_fill_number(input, mask, /, value):
    if mask.dtype != np.bool_:
        _check_mask("masked_fill_", mask)
    return np.asarray(np.where(mask, value, input), order="C")


@_masked_fill_number.vjp("input")
def _(g, mask):
    return _masked_fill_number(g, mask, 0.0)


def _mask_value(x: Tensor, mask: Tensor, value: Any) -> tuple:
    if not isinstance(mask, Tensor):
        raise TypeError(f"masked_fill(): argument 'mask' (position 1) must be Tensor, not {type(mask).__name__}")
    d = x.dtype
    if not isinstance(value, Tensor):
        if not isinstance(value, NUMBERS):
            raise TypeError(
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
    """The input with `value`, a number or a 0-d tensor, where `mask` is True."""
    if out is None and type(value) is float and (input._array.dtype is _F32 or input._array.dtype is _F64):
        return _masked_fill_number(input, mask, value)
    (mask, value), _ = _mask_value(input, mask, value)
    result = _masked_fill(input, mask, value)
    return result if out is None else write_out("masked_fill", (input,), result, out)


@composite(method=True, function=False)
def masked_fill_(self, mask, value):
    """In-place `masked_fill`."""
    arrays, metadata = _mask_value(self, mask, value)
    return write(_masked_fill.record, self, arrays, metadata)


@primitive(name="masked_select", public=False)
def _masked_select(input, mask, /):
    if mask.dtype != np.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if mask.shape != input.shape:
        input, mask = np.broadcast_arrays(input, mask)
    return input[mask]


@_masked_select.vjp("input")
def _(g, input_shape, mask):
    from ...core.tensor.size import broadcast_shapes

    zeros = g.new_zeros(broadcast_shapes(input_shape, mask._array.shape))
    return _masked_scatter(zeros, mask, g)


@composite(method=True, out=True)
def masked_select(input, mask):
    """The elements where `mask` is True, as one dimension."""
    return _masked_select(input, mask)


@primitive(name="masked_scatter", public=False)
def _masked_scatter(input, mask, source, /):
    _check_mask("masked_scatter_", mask)
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


twins("masked_scatter", _masked_scatter, lambda input, mask, source: ((mask, source), ()),
       "The input with the elements of `source` in order where `mask` is True.")  # fmt: skip


@primitive(differentiable=False, public=False, name="nonzero")
def _nonzero(input, /):
    if not input.ndim:
        return np.zeros((int(bool(input)), 0), np.int64)
    return np.ascontiguousarray(np.stack(input.nonzero(), 1).astype(np.int64, copy=False))


@composite(method=True)
def nonzero(input, *, out=None, as_tuple=False):
    """The indices of the elements that are not zero: a row each, or a tensor for each dimension with as_tuple."""
    if as_tuple:
        x = input.reshape(1) if not input._array.ndim else input
        return tuple(wrap(i) for i in x._array.nonzero())
    rows = _nonzero(input)
    return rows if out is None else write_out("nonzero", (input,), rows, out)


@composite(method=True)
def nonzero_static(input, *, size, fill_value=-1):
    """The indices of the first `size` elements that are not zero, a row each; rows of `fill_value` where there are fewer."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    rows = np.argwhere(input._array)[:size]
    filled = np.full((size, input._array.ndim), fill_value, np.int64)
    filled[: len(rows)] = rows
    return wrap(filled)


@composite(method=True)
def argwhere(input):
    """The indices of the elements that are not zero, a row each."""
    return _nonzero(input)
