"""Elements picked and placed by index tensors: index_select, gather, scatter, take, masks.

Index tensors are array inputs like any other; they never carry a gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtype as dtypes
from ..core.inplace import write
from ..core.mode import may_look
from ..core.record import composite, primitive
from ..core.size import wrap_dim
from ..core.slow import number_as, write_out
from ..core.tensor import Tensor, constant, type_word, wrap
from .comparison import where
from .repeats import add_at, combine_at

_I64 = np.dtype(np.int64)
_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
_FULL = slice(None)
_minimum, _maximum = np.minimum.reduce, np.maximum.reduce


def _word(a: np.ndarray) -> str:
    return type_word(dtypes.from_numpy(a.dtype))


def _check_index(name: str, index: np.ndarray, n: int) -> np.ndarray:
    """A 1-D index within [0, n). Raises RuntimeError on its type and IndexError on its values."""
    if index.dtype != np.int64 and index.dtype != np.int32:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, but got {_word(index)}")
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim}")
    flat = index.reshape(-1)
    if flat.size and (flat.min() < 0 or flat.max() >= n):
        bad = flat[(flat < 0) | (flat >= n)][0]
        raise IndexError(f"index out of range in self: {name}() got index {bad} for a dimension of size {n}")
    return flat


# ---------------------------------------------------------------------------------------------- slices along a dimension


@primitive(name="index_select", public=False)
def _index_select(input, index, /, dim):
    if not input.ndim:
        _check_index("index_select", index, 1)
        return input.copy()
    d = wrap_dim(dim, input.ndim)
    return input.take(_check_index("index_select", index, input.shape[d]), d)


@_index_select.vjp("input")
def _(g, input_shape, index, dim):
    return _index_add(g.new_zeros(input_shape), index, g, dim, 1)


@composite(method=True, out=True)
def index_select(input, dim, index):
    """The slices along `dim` at the places of the 1-D tensor `index`."""
    return _index_select(input, index, dim)


def _check_source(
    name: str, input: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int
) -> tuple[int, np.ndarray]:
    """(dimension, checked index) of an index_* call that places slices of `source`."""
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype, but got (self) {_word(input)} and (source) "
            f"{_word(source)}"
        )
    d = wrap_dim(dim, input.ndim)
    where = _check_index(name, index, input.shape[d] if input.ndim else 1)
    n = source.shape[d] if source.ndim else 1
    if where.size != n:
        raise IndexError(
            f"{name}(): Number of indices ({where.size}) should be equal to source.size(dim): ({n}), for dim: {d}"
        )
    if input.shape[:d] != source.shape[:d] or input.shape[d + 1 :] != source.shape[d + 1 :]:
        raise RuntimeError(
            f"source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(input.shape)} source.shape = {list(source.shape)}"
        )
    return d, where


@primitive(name="index_add", public=False)
def _index_add(input, index, source, /, dim, alpha):
    d, where = _check_source("index_add", input, index, source, dim)
    out = input.copy()
    source = source if alpha == 1 else source * source.dtype.type(alpha)
    if not input.ndim:
        return out + source.reshape(-1).sum(dtype=source.dtype)
    add_at(np.moveaxis(out, d, 0), (where,), np.moveaxis(source, d, 0) if source.ndim else source.reshape(1))
    return out


@_index_add.vjp("input")
def _(g):
    return g


@_index_add.vjp("source")
def _(g, index, source_shape, dim, alpha):
    picked = _index_select(g, index, dim).reshape(source_shape)
    return picked if alpha == 1 else picked * alpha


@primitive(name="index_copy", public=False)
def _index_copy(input, index, source, /, dim):
    d, where = _check_source("index_copy", input, index, source, dim)
    out = input.copy()
    if not input.ndim:
        out[...] = source.reshape(())
    else:
        out[(*(_FULL,) * d, where)] = source
    return out


@_index_copy.vjp("input")
def _(g, index, dim):
    return _index_fill(g, index, g.new_zeros(()), dim)


@_index_copy.vjp("source")
def _(g, index, source_shape, dim):
    return _index_select(g, index, dim).reshape(source_shape)


@primitive(name="index_fill", public=False)
def _index_fill(input, index, value, /, dim):
    out = input.copy()
    n = input.shape[wrap_dim(dim, input.ndim)] if input.ndim else 1
    where = index.reshape(-1)
    if index.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if where.size and (where.min() < -n or where.max() >= n):
        raise IndexError(f"index_fill_(): index out of range for a dimension of size {n}")
    if not input.ndim:
        return np.full_like(input, value) if where.size else out
    out[(*(_FULL,) * wrap_dim(dim, input.ndim), where)] = value
    return out


@_index_fill.vjp("input")
def _(g, index, dim):
    return _index_fill(g, index, g.new_zeros(()), dim)


@_index_fill.vjp("value")
def _(g, index, dim):
    shape = [1] * g.ndim
    if g.ndim:
        shape[dim] = g.size(dim)
    filled = _index_fill(g.new_zeros(max(shape, default=1)), index, g.new_ones(()), 0)
    return (g * filled.view(shape)).sum()


def _filler(x: Tensor, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        return constant(number_as(value, x.dtype))
    if value._array.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} dimension(s)."
        )
    return value if value.dtype is x.dtype else value.to(x.dtype)


def _twins(name: str, op: Any, order: Any, doc: str) -> None:
    """The function and method `name` and its in-place form; `order` puts torch's arguments in the kernel's order."""

    def plain(input, *args, **kwargs):
        arrays, metadata = order(input, *args, **kwargs)
        return op(input, *arrays, *metadata)

    def inplace(self, *args, **kwargs):
        arrays, metadata = order(self, *args, **kwargs)
        return write(op.record, self, arrays, metadata)

    plain.__name__, plain.__doc__ = name, doc
    inplace.__name__, inplace.__doc__ = name + "_", f"In-place `{name}`."
    composite(method=True, out=True)(plain)
    composite(method=True, function=False)(inplace)


_twins("index_add", _index_add, lambda x, dim, index, source, *, alpha=1: ((index, source), (dim, alpha)),
       "The input with the slices of `source` added at the places `index` of `dim`.")  # fmt: skip
_twins("index_copy", _index_copy, lambda x, dim, index, source: ((index, source), (dim,)),
       "The input with the slices of `source` put at the places `index` of `dim`.")  # fmt: skip
_twins("index_fill", _index_fill, lambda x, dim, index, value: ((index, _filler(x, value)), (dim,)),
       "The input with `value` at the places `index` of `dim`.")  # fmt: skip

# ---------------------------------------------------------------------------------------------- gather and scatter


def _grid(name: str, index: np.ndarray, shape: tuple, d: int) -> tuple:
    """The full NumPy index of an index tensor along dimension `d`."""
    if index.dtype != np.int64 and index.dtype != np.int32:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    n = shape[d] if shape else 1
    if index.size and (_minimum(index, None) < 0 or _maximum(index, None) >= n):
        bad = index[(index < 0) | (index >= n)].flat[0]
        raise RuntimeError(f"index {bad} is out of bounds for dimension {d} with size {n}")
    if index.ndim == 2:
        return (np.arange(index.shape[0])[:, None], index) if d else (index, np.arange(index.shape[1]))
    places = [np.arange(k).reshape((1,) * i + (-1,) + (1,) * (index.ndim - i - 1)) for i, k in enumerate(index.shape)]
    if index.ndim:
        places[d] = index
    return tuple(places)


def _check_gather(name: str, input: np.ndarray, index: np.ndarray, dim: int) -> int:
    d = wrap_dim(dim, input.ndim)
    if max(index.ndim, 1) != max(input.ndim, 1) and index.size:
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as {'input' if name == 'gather' else 'self'} tensor"
        )
    for k in range(min(index.ndim, input.ndim)):
        if k != d and index.shape[k] > input.shape[k] and index.size:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index {list(index.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {d}"
            )
    return d


def _gather_columns(input: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    """The usual case in half the time: columns of a matrix. None where something has to be looked into."""
    n = len(index)
    if n > len(input) or not index.size or _minimum(index, None) < 0:
        return None
    try:
        return input[np.arange(n)[:, None], index]
    except IndexError:
        return None


@primitive(name="gather", public=False)
def _gather(input, index, /, dim):
    if input.ndim == index.ndim == 2 and (dim == 1 or dim == -1) and index.dtype is _I64:
        quick = _gather_columns(input, index)
        if quick is not None:
            return quick
    d = _check_gather("gather", input, index, dim)
    if not input.ndim or not index.ndim:
        return input.reshape(-1)[index.reshape(-1)].reshape(index.shape)
    return input[_grid("gather", index, input.shape, d)] if index.size else np.empty(index.shape, input.dtype)


@_gather.vjp("input")
def _(g, input_shape, index, dim):
    return _scatter_add(g.new_zeros(input_shape), index, g, dim)


@composite(method=True)
def gather(input, dim, index, *, sparse_grad=False, out=None):
    """out[i][j] = input[index[i][j]][j] for dim 0, and so on: one element along `dim` for each entry of `index`."""
    if sparse_grad:
        raise NotImplementedError(
            "gather(sparse_grad=True): sparse gradients are not implemented; use sparse_grad=False"
        )
    result = _gather(input, index, dim)
    if out is not None and out.dtype is not result.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype.name}, but got {out.dtype.name} instead")
    return result if out is None else write_out("gather", (input,), result, out)


def _scatter_parts(name: str, input: np.ndarray, index: np.ndarray, src: np.ndarray, dim: int) -> tuple:
    d = _check_gather(name, input, index, dim)
    if src.dtype != input.dtype and src.ndim:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    out = input.copy()
    flat = out if out.ndim else out.reshape(1)
    index = index if index.ndim else index.reshape(1)
    if src.ndim:
        for k in range(index.ndim):
            if index.shape[k] > src.shape[k]:
                raise RuntimeError(
                    f"Expected index {list(index.shape)} to be no larger than src {list(src.shape)} in dimension {k}"
                )
        src = src[tuple(slice(0, k) for k in index.shape)]
    return out, flat, _grid(name, index, flat.shape, d), src


@primitive(name="scatter", public=False)
def _scatter(input, index, src, /, dim):
    if not index.size:
        return input.copy()
    out, flat, where, src = _scatter_parts("scatter", input, index, src, dim)
    flat[where] = src
    return out


@_scatter.vjp("input")
def _(g, index, dim):
    return _scatter_value(g, index, dim, 0)


@_scatter.vjp("src")
def _(g, index, src_shape, dim):
    picked = _gather(g, index, dim)
    return _padded(picked, src_shape) if src_shape else picked.sum()


@primitive(name="scatter.value", public=False, node="ScatterBackward1")
def _scatter_value(input, index, /, dim, value):
    if not index.size:
        return input.copy()
    out, flat, where, src = _scatter_parts("scatter", input, index, np.array(value).astype(input.dtype), dim)
    flat[where] = src
    return out


@_scatter_value.vjp("input")
def _(g, index, dim):
    return _scatter_value(g, index, dim, 0)


@primitive(name="scatter_add", public=False)
def _scatter_add(input, index, src, /, dim):
    if not index.size:
        return input.copy()
    out, flat, where, src = _scatter_parts("scatter_add", input, index, src, dim)
    add_at(flat, where, src)
    return out


@_scatter_add.vjp("input")
def _(g):
    return g


@_scatter_add.vjp("src")
def _(g, index, src_shape, dim):
    return _padded(_gather(g, index, dim), src_shape)


def _padded(g: Tensor, shape: tuple) -> Tensor:
    """`g` with zeros up to `shape`: entries of a source that no index reached."""
    if g._array.shape == shape:
        return g
    from .parts import embed

    return embed(g, shape, (*(slice(0, n) for n in g._array.shape), ...))


_REDUCE = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _scatter_order(dim, index, src, value):
    """(the operator, its arrays, its metadata) for a `src` that is a tensor or a number."""
    src = value if src is None else src
    if isinstance(src, Tensor):
        return _scatter, (index, src), (dim,)
    return _scatter_value, (index,), (dim, src)


@composite(method=True, out=True)
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """The input with `src` (a tensor or a number) put at the places of `index` along `dim`."""
    if reduce is not None:
        return scatter_reduced(input, dim, index, src if src is not None else value, reduce)
    op, arrays, metadata = _scatter_order(dim, index, src, value)
    return op(input, *arrays, *metadata)


@composite(method=True, function=False)
def scatter_(self, dim, index, src=None, *, value=None, reduce=None):
    """In-place `scatter`."""
    if reduce is not None:
        return self.copy_(scatter_reduced(self, dim, index, src if src is not None else value, reduce))
    op, arrays, metadata = _scatter_order(dim, index, src, value)
    return write(op.record, self, arrays, metadata)


def scatter_reduced(input: Tensor, dim: int, index: Tensor, src: Any, reduce: str) -> Tensor:
    """`scatter` with reduce='add' or 'multiply'."""
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if not isinstance(src, Tensor):
        src = constant(np.full(index._array.shape, src, input._array.dtype))
    if reduce == "add":
        return _scatter_add(input, index, src, dim)
    out, flat, where, values = _scatter_parts("scatter", input._array, index._array, src._array, dim)
    combine_at(np.multiply, flat, where, values)
    return wrap(out)


_twins("scatter_add", _scatter_add, lambda x, dim, index, src: ((index, src), (dim,)),
       "The input with `src` added at the places of `index` along `dim`.")  # fmt: skip


@primitive(name="take", public=False)
def _take(input, index, /):
    if index.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {_word(index)}")
    n = input.size
    if index.size and not n:
        raise IndexError("take(): tried to take from an empty tensor")
    if index.size and (index.min() < -n or index.max() >= n):
        raise IndexError("out of range: tried to access index beyond the tensor's " + str(n) + " elements")
    return input.reshape(-1)[index]


@_take.vjp("input")
def _(g, input_shape, index):
    return _put(g.new_zeros(input_shape), index, g, True)


@composite(method=True, out=True)
def take(input, index):
    """The elements of the flattened input at `index`."""
    return _take(input, index)


@primitive(name="put", public=False)
def _put(input, index, source, /, accumulate):
    if index.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {_word(index)}")
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {_word(input)} and source.dtype = {_word(source)}"
        )
    if source.size != index.size:
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = {source.size}, index.numel() = {index.size}"
        )
    n = input.size
    if index.size and (index.min() < -n or index.max() >= n):
        raise IndexError("out of range: tried to access index beyond the tensor's " + str(n) + " elements")
    out = np.array(input, order="C")
    flat = out.reshape(-1)
    if accumulate:
        add_at(flat, (index.reshape(-1),), source.reshape(-1))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return out


@_put.vjp("input")
def _(g, index, accumulate):
    return g if accumulate else _put(g, index, g.new_zeros(index._array.shape), False)


@_put.vjp("source")
def _(g, index, source_shape):
    return _take(g, index).reshape(source_shape)


_twins("put", _put, lambda x, index, source, accumulate=False: ((index, source), (accumulate,)),
       "The input with `source` at the flat places `index`.")  # fmt: skip


@composite(method=True, out=True)
def take_along_dim(input, indices, dim=None):
    """`gather` with `indices` broadcast against the input; without dim over the flattened input."""
    from ..core.size import broadcast_shapes

    if dim is None:
        return _gather(input.reshape(-1), indices.reshape(-1), 0)
    if indices._array.ndim != input._array.ndim:
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input._array.ndim} dimensions for input, and {indices._array.ndim} dimensions for indices"
        )
    d = wrap_dim(dim, input._array.ndim)
    n = input._array.shape[d]
    if not may_look():
        indices = where(indices < 0, indices + n, indices)
    elif (indices._array < 0).any():
        indices = wrap(np.where(indices._array < 0, indices._array + n, indices._array))
    a, b = list(input._array.shape), list(indices._array.shape)
    a[d] = b[d] = 1
    shape = list(broadcast_shapes(a, b))
    grown = indices.expand(*shape[:d], indices._array.shape[d], *shape[d + 1 :])
    return _gather(input.expand(*shape[:d], input._array.shape[d], *shape[d + 1 :]), grown, d)


# ---------------------------------------------------------------------------------------------- masks


def _check_mask(name: str, mask: np.ndarray) -> None:
    if mask.dtype != np.bool_:
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {_word(mask)}")


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
        if d.category == 1 and not isinstance(value, complex):
            limits = np.iinfo(d.numpy)
            if not limits.min - (d is dtypes.uint8) * 255 <= value <= limits.max:
                raise RuntimeError(f"value cannot be converted to type {_C_NAMES[d.name]} without overflow")
        value = constant(number_as(value, d))
    elif value._array.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} dimension(s)."
        )
    elif value.dtype is not d:
        value = value.to(d)
    return (mask, value), ()


_C_NAMES = {"uint8": "uint8_t", "int8": "int8_t", "int16": "short", "int32": "int", "int64": "int64_t"}


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
    from ..core.size import broadcast_shapes

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
            f"masked_scatter_: expected self and source to have same dtypes but got {_word(input)} and {_word(source)}"
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
    return _padded(picked, (n,)).reshape(source_shape)


_twins("masked_scatter", _masked_scatter, lambda x, mask, source: ((mask, source), ()),
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


# ---------------------------------------------------------------------------------------------- parts replaced


def _embedding(name: str, view: Any, doc: str) -> None:
    def f(input, src, *args, **kwargs):
        out = input.clone()
        part = view(out, *args, **kwargs)
        if part._array.shape != src._array.shape:
            raise RuntimeError(
                f"{name}: expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(part.shape)}"
            )
        part.copy_(src)
        return out

    f.__name__, f.__doc__ = name, doc
    composite(method=True, out=True)(f)


_embedding("select_scatter", lambda t, dim, index: t.select(dim, index), "The input with `src` at `index` of `dim`.")
_embedding(
    "diagonal_scatter",
    lambda t, offset=0, dim1=0, dim2=1: t.diagonal(offset, dim1, dim2),
    "The input with `src` on its diagonal.",
)
_embedding(
    "slice_scatter",
    lambda t, dim=0, start=None, end=None, step=1: _sliced(t, dim, start, end, step),
    "The input with `src` in a slice of `dim`.",
)


def _sliced(t: Tensor, dim: int, start: Any, end: Any, step: int) -> Tensor:
    from .parts import slice_

    return slice_(t, dim, start, end, step)


@composite(method=True)
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """The input with `src` at the places that `as_strided` would show."""
    out = input.clone()
    out.as_strided(size, stride, storage_offset).copy_(src)
    return out


@composite(method=True, function=True)
def fill_diagonal_(input, fill_value, wrap=False):
    """Fill the main diagonal of a tensor of at least two dimensions in place; wrap: go on below a tall matrix."""
    a = input._array
    if a.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if a.ndim > 2 and len(set(a.shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(input.stride())
    n = min(a.shape)
    size = (
        a.shape[0] * a.shape[1] // step + (1 if a.shape[0] * a.shape[1] % step else 0)
        if wrap and a.ndim == 2 and a.shape[0] > a.shape[1] + 1
        else n
    )
    input.as_strided((size,), (step,)).fill_(fill_value)
    return input
