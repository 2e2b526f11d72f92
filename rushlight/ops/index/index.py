"""Indexing: `x[...]` and `x[...] = y` in every form, gather and scatter, and the index_* and masked_* families."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.device.backend import on_device_of
from ...core.dispatch.errors import type_error
from ...core.dispatch.inplace import accept_write, write
from ...core.dispatch.mode import emit_event, may_branch_on_data, take_target, thread
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.overlap import check_apart
from ...core.dispatch.scalars import exact, fits, number_as, type_name
from ...core.tensor.casting import cast_like
from ...core.tensor.strides import broadcast_strides, ordered_by_strides
from ...core.tensor.tensor import Tensor, constant, type_word, wrap
from ...core.warn import warn
from ..creation.from_data import array_from
from ..pointwise.checks import lies_within
from ..shape.slicing import embed, part
from .duplicate_index import add_at
from .mask import check_bools, fill_where

# ---------------------------------------------------------------------------------------------- reading x[...]

_last_is_select = primitive(name="part.select", view=True, public=False, node="SelectBackward0")(
    lambda input, /, index: input[index]
)
_last_is_new = primitive(name="part.unsqueeze", view=True, public=False, node="UnsqueezeBackward0")(
    lambda input, /, index: input[index]
)
_whole = primitive(name="part.alias", view=True, public=False, node="AliasBackward0")(
    lambda input, /, index: input[index]
)
_FULL = slice(None)
_BOOL, _I64 = np.dtype(np.bool_), np.dtype(np.int64)


def _basic_rule(g, input_shape, index):
    """The gradient of a basic index: of one that leaves nothing out the incoming one itself, as torch has it."""
    if all(i is None or i is Ellipsis or (type(i) is slice and i == _FULL) for i in index):
        return g.reshape(input_shape)
    return embed(g, input_shape, index)


for _op in (_last_is_select, _last_is_new, _whole):
    _op.vjp(_basic_rule)


@composite(name="__getitem__", method=True, function=False)
def _getitem(self, index):
    kind = type(index)
    if kind is int:
        a = self._array
        if a.ndim and -len(a) <= index < len(a):
            return _last_is_select(self, (index, ...))
    elif kind is tuple or kind is slice:
        plain, op = _basic(_with_numbers(index) if kind is tuple else (index,))
        if plain is not None:
            try:
                return op(self, plain)
            except IndexError:
                pass  # explained below by torch's message
    elif index is None:
        return _last_is_new(self, (None, ...))
    elif kind is Tensor and index._array.ndim:
        d = index._array.dtype
        if d == np.int64 or (d == np.bool_ and index._array.shape == self._array.shape):
            return _index(self, index)
    basic, advanced, kind = _parse(self, index)
    if basic is not None:
        self = kind(self, basic)
    return _index(self, *advanced) if advanced else self


def _with_numbers(index: tuple) -> tuple:
    """The index with Python's numbers for tensors that are one, where no one else looks at what is read."""
    for i in index:
        if type(i) is Tensor and type(i._array) is np.ndarray and not i._array.ndim:
            if thread.state.level > 1:
                return index
            return tuple([i._array.item() if _is_number(i) else i for i in index])
    return index


def _is_number(i: Any) -> bool:
    return type(i) is Tensor and type(a := i._array) is np.ndarray and not a.ndim and a.dtype.kind == "i"


def _basic(index: tuple) -> tuple:
    """(NumPy index with an Ellipsis, view operator) of an index of ints, slices, None and Ellipsis; else (None, None)."""
    op, rest = _whole, (...,)
    for i in index:
        kind = type(i)
        if kind is int:
            op = _last_is_select
        elif kind is slice:
            step = i.step
            if step is not None and (type(step) is not int or step <= 0):
                return None, None
            if step is not None or i.start is not None or i.stop is not None:
                op = part
        elif i is None:
            op = _last_is_new
        elif i is Ellipsis and rest:
            rest = ()
        else:
            return None, None
    return index + rest, op


def _parse(t: Tensor, index: Any) -> tuple[tuple | None, list, Any]:
    """(basic index or None, advanced index tensors of what it leaves, the view operator that names the node)."""
    items = _items(index)
    ndim = t._array.ndim
    taken = sum(_dims_taken(i) for i in items)
    if taken > ndim:
        raise _too_many(ndim, items)
    if not any(i is Ellipsis for i in items):
        items = (*items, Ellipsis)
    items = _with_one_ellipsis(items, ndim)
    basic: list[Any] = []
    advanced: list[Any] = []
    kind, plain, dim = _whole, True, 0
    for i in items:
        if i is Ellipsis:
            rest = ndim - taken
            basic.extend([_FULL] * rest)
            advanced.extend([None] * rest)
            dim += rest
            continue
        if i is None:
            basic.append(None)
            advanced.append(None)
            kind, plain = _last_is_new, False
        elif isinstance(i, slice):
            i = _slice(i)
            basic.append(i)
            advanced.append(None)
            if i != _FULL and not (
                i.start in (None, 0) and i.step in (None, 1) and (i.stop is None or i.stop >= t._array.shape[dim])
            ):
                kind, plain = part, False
            dim += 1
        elif isinstance(i, Tensor):
            if i._array.dtype.kind == "b":
                basic.extend([_FULL] * i._array.ndim if i._array.ndim else [None])
                plain = plain and bool(i._array.ndim)
                advanced.extend(_from_mask(i, t._array.shape, dim))
                dim += i._array.ndim
            else:
                basic.append(_FULL)
                advanced.append(i)
                dim += 1
        else:
            n = t._array.shape[dim]
            if not -n <= i < n:
                raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {n}")
            basic.append(i)
            kind, plain = _last_is_select, False
            dim += 1
    while advanced and advanced[-1] is None:
        advanced.pop()
    if plain and advanced:
        return None, advanced, kind
    return (*basic, Ellipsis), advanced, kind


def _with_one_ellipsis(items: tuple, ndim: int) -> tuple:
    """The first Ellipsis takes all dimensions that are left; another one may follow where nothing after it takes any."""
    first = next(n for n, i in enumerate(items) if i is Ellipsis)
    later = [n for n, i in enumerate(items) if i is Ellipsis and n > first]
    if later and any(_dims_taken(i) for i in items[later[0] :]):
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {ndim})")
    return tuple([i for n, i in enumerate(items) if n not in later]) if later else items


def _too_many(ndim: int, items: tuple) -> IndexError:
    if ndim == 0 and len(items) == 1 and type(items[0]) is int:
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    if ndim == 0 and any(type(i) is slice for i in items):
        return IndexError("slice() cannot be applied to a 0-dim tensor.")
    return IndexError(f"too many indices for tensor of dimension {ndim}")


def _items(index: Any) -> tuple:
    """The index as a tuple of ints, slices, None, Ellipsis and tensors."""
    if isinstance(index, tuple):
        return tuple([_item(i) for i in index])
    if isinstance(index, list) and _is_several(index):
        warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
            "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
            "x[torch.tensor(seq)], which will result either in an error or a different result",
        )
        return tuple([_item(i) for i in index])
    return (_item(index),)


_SEVERAL = (Tensor, list, tuple, range, str, np.ndarray, slice, type(None), type(Ellipsis))


def _is_several(index: list) -> bool:
    """Whether a list means a tuple of indices, by the rule that torch has from the NumPy of old."""
    return len(index) < 32 and any(isinstance(i, _SEVERAL) for i in index)


def _item(i: Any) -> Any:
    if i is None or i is Ellipsis or isinstance(i, slice) or type(i) is int:
        return i
    if isinstance(i, (bool, np.bool_)):
        return constant(np.array(i))
    if isinstance(i, Tensor):
        return _index_tensor(i)
    if isinstance(i, np.integer):
        return int(i)
    if isinstance(i, np.ndarray):
        return _index_tensor(constant(i))
    if isinstance(i, (list, tuple, range)):
        a = array_from(list(i))
        return _index_tensor(constant(a if a.size else a.astype(np.int64)))
    if hasattr(i, "__index__"):
        return i.__index__()
    if isinstance(i, str):
        raise type_error("new(): invalid data type 'str'")
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
        f"{type(i).__name__})"
    )


def _index_tensor(i: Tensor) -> Any:
    a = i._array
    if a.dtype.kind not in "iub":
        raise _no_index_type(i)
    if a.dtype == np.uint8:
        return _mask_from_bytes(i)
    if not a.ndim and a.dtype.kind != "b" and not getattr(a, "is_batched", False):
        return i.__index__()
    if a.dtype.kind != "b" and a.dtype.itemsize < 4:
        raise _no_index_type(i)
    return i


def _mask_from_bytes(i: Tensor) -> Tensor:
    warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
    return i.bool()


def _no_index_type(i: Tensor) -> IndexError:
    return IndexError(f"tensors used as indices must be long, int, byte or bool tensors (got {i.dtype})")


def _dims_taken(i: Any) -> int:
    if i is None or i is Ellipsis:
        return 0
    return i._array.ndim if isinstance(i, Tensor) and i._array.dtype.kind == "b" else 1


def _slice(s: slice) -> slice:
    def end(v: Any) -> Any:
        if v is None or type(v) is int:
            return v
        if not hasattr(type(v), "__index__"):
            raise type_error("slice indices must be integers or None or have an __index__ method")
        return v.__index__()

    step = end(s.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step is not None and step < 0:
        raise ValueError("step must be greater than zero")
    return slice(end(s.start), end(s.stop), step)


def _from_mask(t: Tensor, shape: tuple, dim: int) -> list[Tensor]:
    """The index tensors of a boolean mask that covers the dimensions from `dim`."""
    mask = t._array
    _check_mask(mask, shape, dim)
    emit_event("read", t, "the places where a mask is true")
    if not mask.ndim:
        return [wrap(on_device_of(mask, np.zeros, int(mask), np.int64))]
    return [wrap(w) for w in mask.nonzero()]


def _check_mask(mask: np.ndarray, shape: tuple, dim: int) -> None:
    """Raise torch's IndexError for a mask that does not cover the dimensions from `dim`."""
    for k, n in enumerate(mask.shape):
        if shape[dim + k] != n:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {k} does not match the shape of the indexed tensor "
                f"{list(shape)} at index {dim + k}"
            )


def _where(indices: tuple) -> tuple:
    return tuple([_FULL if i is None else i for i in indices])


@primitive(name="index", public=False, host_indices=True)
def _index(*tensors):
    """The elements at index arrays, which are broadcast together; None leaves a dimension whole."""
    if len(tensors) == 2 and tensors[1].dtype.kind == "i" and tensors[0].ndim:
        try:
            return _in_order_of(tensors[0].take(tensors[1], 0), *tensors)
        except IndexError:
            pass  # explained below
    input, indices = tensors[0], _where(tensors[1:])
    try:
        out = input[indices]
    except IndexError:
        raise _index_error(input, indices) from None
    return _in_order_of(out, *tensors)


def _in_order_of(out: np.ndarray, input: np.ndarray, *indices: np.ndarray | None) -> np.ndarray:
    """What was indexed, in the order in memory that torch gives it: the indexed dimensions step nowhere in the input."""
    is_plain = input.flags.c_contiguous and all(i is None or i.flags.c_contiguous for i in indices)
    if out.ndim < 2 or is_plain or not out.size:
        return out if out.flags.c_contiguous else np.ascontiguousarray(out, like=out)
    arrays = [i if i.dtype.kind == "i" else i.nonzero()[0] for i in indices if i is not None]
    places = [d for d, i in enumerate(indices) if i is not None]
    shape = np.broadcast_shapes(*[i.shape for i in arrays])
    before = places[0] if places[-1] - places[0] < len(places) else 0  # not adjacent: they come first
    rest = [s for d, s in enumerate(input.strides) if d >= len(indices) or indices[d] is None]
    around = [0] * before, [0] * (len(rest) - before)
    steps = [[*around[0], *broadcast_strides(i, shape), *around[1]] for i in arrays]
    return ordered_by_strides(out, [[*rest[:before], *[0] * len(shape), *rest[before:]], *steps])


def _index_error(input: np.ndarray, indices: tuple) -> Exception:
    arrays = [(d, i) for d, i in enumerate(indices) if isinstance(i, np.ndarray)]
    if len(indices) > input.ndim:
        return IndexError(f"too many indices for tensor of dimension {input.ndim}")
    for d, i in arrays:
        n = input.shape[d]
        if i.dtype.kind == "b":
            continue
        bad = i[(i < -n) | (i >= n)]
        if bad.size:
            return IndexError(f"index {bad.flat[0]} is out of bounds for dimension {d} with size {n}")
    shapes = ", ".join(str(list(i.shape)) for _, i in arrays)
    return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")


@_index.vjp
def _(g, tensors_rest, tensors_shape):
    return (_index_backward(g, *tensors_rest, shape=tensors_shape[0]), *(None,) * len(tensors_rest))


@primitive(name="_index_backward", public=False, host_indices=True, node="IndexPutImplBackward0")
def _index_backward(*tensors, shape):
    g, *indices = tensors
    out = np.zeros(shape, g.dtype, like=g)
    add_at(out, _where(tuple(indices)), g)
    return out


@_index_backward.vjp
def _(g, tensors_rest):
    return (_index(g, *tensors_rest), *(None,) * len(tensors_rest))


# ---------------------------------------------------------------------------------------------- writing x[...] = y


@composite(name="__setitem__", method=True, function=False)
def _setitem(self, index, value):
    if _write_values(self, index, value) if type(value) is Tensor else _write_number(self, index, value):
        return
    if type(value) is int and not -(1 << 63) <= value < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if _is_single(value) and (mask := _whole_mask(self, index)) is not None:
        self.masked_fill_(mask, value)
        return
    if not isinstance(value, _VALUES):
        raise _not_assignable(value, self)
    if type(value) is float and self._array.dtype == np.float32:
        exact(value, self._array.dtype)  # raises where it is too large, before the index is looked at
    if index is False:
        return  # nothing is looked at, as in torch
    basic, advanced, kind = _parse(self, index)
    target = self if basic is None else kind(self, basic) if _is_part(basic) else self
    if advanced:
        if index is True:
            target = self.unsqueeze(0)
            target.copy_(_fit_value(value, target)) if isinstance(value, Tensor) else target.fill_(value)
            return
        _check_mask_of_bytes(index if isinstance(index, (tuple, list)) else (index,), value, least_ndim=1)
        _put(target, advanced, value, index)
    elif isinstance(value, Tensor):
        target.copy_(_fit_value(value, target))
    else:
        check_apart(target._array)
        if _is_short(target._array.dtype):  # what is too large becomes infinite here, unlike in fill_
            value = constant(number_as(value, target.dtype))
        target.fill_(value)


def _write_number(self: Tensor, index: Any, value: Any) -> bool:
    """Do `x[index] = value` where it needs no checks and no history. Whether it was done."""
    a = self._array
    if type(a) is not np.ndarray or not fits(value, a.dtype):
        return False
    if isinstance(index, Tensor) and fill_where(self, index, value):
        return True
    place = _plain_place(self, index)
    if place is None or accept_write(self) is None:
        return False
    a[place] = value
    return True


def _write_values(self: Tensor, index: Any, value: Tensor) -> bool:
    """Do `x[index] = values` where it needs no checks and no history. Whether it was done."""
    a, b = self._array, value._array
    if type(a) is not np.ndarray or type(b) is not np.ndarray or a.dtype is not b.dtype:
        return False
    place = _plain_place(self, index, b.shape)
    if place is None or (value._edge is not None and thread.state.level > 0):
        return False
    is_shared = _is_of_memory(value, self)
    if is_shared and not _is_itself(a[place], b):  # as after `x[i] += y`
        return False
    if accept_write(self) is None:
        return False
    if not is_shared:
        a[place] = b
    return True


def _is_itself(part: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are the same elements in memory."""
    if type(part) is not np.ndarray or part.shape != b.shape or part.strides != b.strides:
        return False
    return part.__array_interface__["data"] == b.__array_interface__["data"]


def _plain_place(t: Tensor, index: Any, shape: tuple[int, ...] | None = None) -> Any:
    """The index as NumPy's, where both read it alike and its elements are there; None elsewhere.

    Numbers and rising slices, or tensors of int64 alone, or one mask. shape: of the elements that it has to lead to; by default any.
    """
    a = t._array
    if type(index) is tuple:
        items = index = _with_numbers(index)
    else:
        items = (index,)
    if items and isinstance(items[0], Tensor):
        arrays = []
        for i in items:
            if type(i) is not Tensor or type(i._array) is not np.ndarray or _is_of_memory(i, t):
                return None
            arrays.append(i._array)
        found = _picked(a, arrays)
        return tuple(arrays) if found is not None and (shape is None or shape == found) else None
    for i in items:
        if type(i) is not int and not (type(i) is slice and _is_rising(i)):
            return None
    place = (*items, ...)  # a part also where that is one element
    try:
        part = a[place]
    except IndexError:
        return None
    return place if shape is None or part.shape == shape else None


def _is_of_memory(x: Tensor, t: Tensor) -> bool:
    return x is t or (x._storage is not None and x._storage is t._storage)


def _picked(a: np.ndarray, indices: list[np.ndarray]) -> tuple[int, ...] | None:
    """The shape that an array has at one mask, or at tensors of int64 of one shape within it; None for others."""
    first = indices[0]
    if first.dtype is _BOOL:
        fitting = len(indices) == 1 and first.ndim and first.shape == a.shape[: first.ndim]
        return (int(np.count_nonzero(first)), *a.shape[first.ndim :]) if fitting else None
    if len(indices) > a.ndim or not first.ndim:
        return None
    for i, n in zip(indices, a.shape, strict=False):
        if i.dtype is not _I64 or i.shape != first.shape or not lies_within(i, -n, n):
            return None
    return (*first.shape, *a.shape[len(indices) :])


def _is_rising(index: slice) -> bool:
    """Whether a slice has plain bounds, and a step that torch takes."""
    start, stop, step = index.start, index.stop, index.step
    return (
        (start is None or type(start) is int)
        and (stop is None or type(stop) is int)
        and (step is None or (type(step) is int and step > 0))
    )


def _is_mask(index: Any) -> bool:
    return isinstance(index, Tensor) and index._array.dtype.kind == "b" and index._array.ndim > 0


def _whole_mask(t: Tensor, index: Any) -> Tensor | None:
    """The mask of an index of one mask and whole dimensions, as `masked_fill_` takes it; None for other indices.

    Only where the values of the mask may not be read: a program would keep those places, a device would have to wait.
    """
    items = index if type(index) is tuple else (index,)
    place = next((n for n, i in enumerate(items) if isinstance(i, Tensor) and i._array.dtype.kind == "b"), None)
    if place is None or may_branch_on_data(items[place]):
        return None
    before, after = items[:place], items[place + 1 :]
    if any(type(i) is not slice or i != _FULL for i in (*before, *(i for i in after if i is not Ellipsis))):
        return None
    mask = items[place]
    _check_mask(mask._array, t._array.shape, place)
    return mask.reshape(mask.shape + (1,) * (t.ndim - place - mask.ndim))


def _mask_for_number(t: Tensor, indices: Any, values: Any) -> Tensor | None:
    """`_whole_mask` of the indices that `index_put` takes, where the values are one number in a tensor."""
    is_number = isinstance(values, Tensor) and not values._array.ndim
    return _whole_mask(t, tuple(indices)) if is_number else None


def _check_mask_of_bytes(indices: Any, value: Any, least_ndim: int = 0) -> None:
    """Raise where one number is written by one mask, of bytes: torch fills there, and `masked_fill_` takes bools alone."""
    if isinstance(value, Tensor) and value._array.size != 1:
        return
    masks: list[Any] = [i for i in indices if isinstance(i, (Tensor, np.ndarray, list, tuple, range))]
    if len(masks) != 1:
        return
    a = masks[0]._array if isinstance(masks[0], Tensor) else masks[0]
    if getattr(a, "dtype", None) == np.uint8 and a.ndim >= least_ndim:
        check_bools("masked_fill_", a)


def _is_single(value: Any) -> bool:
    return not value._array.ndim if isinstance(value, Tensor) else isinstance(value, _ASSIGNABLE)


_ASSIGNABLE = (bool, int, float, complex, np.integer)  # NumPy's float64 and complex128 are Python's numbers, too
_VALUES = (Tensor, *_ASSIGNABLE)


def _not_assignable(value: Any, to: Tensor) -> TypeError:
    return TypeError(f"can't assign a {type_name(value)} to a torch.{type_word(to.dtype)}Tensor")


def _is_part(basic: tuple) -> bool:
    return any(i is not _FULL and i is not Ellipsis for i in basic)


def _is_short(kind: np.dtype) -> bool:
    return kind.itemsize == 2 and kind.kind in "fV"


def _fit_value(value: Tensor, target: Tensor) -> Tensor:
    """Leading dimensions of size 1 that the target lacks are dropped, as torch does."""
    shape = value._array.shape
    while len(shape) > target._array.ndim and shape[0] == 1:
        shape = shape[1:]
    if len(shape) > target._array.ndim or not _expands(shape, target._array.shape):
        value.reshape(shape).expand(target._array.shape)  # raises
    if shape != value._array.shape:
        value = value.reshape(shape)
    shares = value._storage is not None and value._storage is target._storage
    return value.expand(target._array.shape) if shares else value  # before torch looks at what they share


def _expands(shape: tuple, to: tuple) -> bool:
    return all(a in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False))


def _put(target: Tensor, advanced: list, value: Any, index: Any) -> None:
    if not isinstance(value, Tensor):
        kind = target._array.dtype
        value = constant(number_as(value, target.dtype) if _is_short(kind) else np.asarray(exact(value, kind), kind))
    else:
        value = _source(target, value, advanced, index)
    write(_index_put.record, target, (value, *advanced), (False,))


@primitive(name="index_put", public=False, rest=2, host_indices=True)
def _index_put(*tensors, accumulate):
    input, value, *indices = tensors
    where = _where(tuple(indices))
    is_checked = not accumulate or (type(input) is np.ndarray and _are_within(indices, input.shape))
    out = input if is_checked and take_target(input) else cast_like(input, input.dtype)
    try:
        if accumulate:
            add_at(out, where, value)
        else:
            out[where] = value
    except IndexError:
        raise _index_error(input, where) from None
    except ValueError:
        try:
            picked = np.broadcast_shapes(*(i.shape for i in indices if i is not None))
        except ValueError:
            raise _index_error(input, where) from None
        try:
            picked = input[where].shape
        except IndexError:
            raise _index_error(input, where) from None
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape "
            f"{list(picked)}"
        ) from None
    return out


def _are_within(indices: list, shape: tuple) -> bool:
    """Whether all indices are integers within their dimensions."""
    parts = zip(indices, shape, strict=False)
    return all(i is None or (i.dtype.kind != "b" and lies_within(i, -n, n)) for i, n in parts)


def _source(target: Tensor, value: Tensor, indices: list, index: Any) -> Tensor:
    """What goes into places of `target`: of its type, but for one element under a boolean mask, which is converted."""
    if value.dtype is target.dtype:
        return value
    if value._array.size != 1 or not _is_one_mask(index):
        places = wrap(target._array)
        _index_put(
            places, places.new_zeros(()).expand(value._array.shape), *indices, accumulate=False
        )  # other errors first
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {type_word(target.dtype)} for the "
            f"destination and {type_word(value.dtype)} for the source."
        )
    if value.is_complex():
        exact(value.item(), target._array.dtype)  # raises unless the number is real
    return value.to(target.dtype)


def _is_one_mask(index: Any) -> bool:
    """Whether one mask is all that the index has of tensors and lists."""
    if isinstance(index, list) and _is_several(index):
        index = tuple(index)  # `_items` has warned
    tensors = [i for i in _items(index) if isinstance(i, Tensor)]
    return len(tensors) == 1 and _is_mask(tensors[0])


@_index_put.vjp
def _(g, tensors_rest, accumulate, needs):
    indices = tensors_rest
    gx = None
    if needs[0]:
        gx = g if accumulate else _index_put(g, g.new_zeros(()), *indices, accumulate=False)
    gv = _index(g, *indices) if needs[1] else None
    return (gx, gv, *(None,) * len(indices))


@composite(method=True)
def index_put(input, indices, values, accumulate=False):
    """The input with `values` at the places of the index tensors, which together name one element or slice each.

    Args:
        indices: a tuple of tensors of integers or bools, one for each leading dimension; None takes a dimension whole.
        values: a tensor of the same type that broadcasts to the places.
        accumulate: whether to add, also several times, rather than overwrite.
    Shape: (*) -> (*)
    Raises:
        IndexError: an index is out of range, as in `index_put(ones(2), (tensor([2]),), ones(1))`.
        RuntimeError: the types differ, as in `index_put(ones(2), (tensor([1]),), tensor([1]))`.

    >>> index_put(zeros(3), (tensor([0, 0]),), tensor([1.0, 2.0]), accumulate=True)
    tensor([3., 0., 0.])
    """
    if not accumulate and (mask := _mask_for_number(input, indices, values)) is not None:
        return input.masked_fill(mask, values)
    places = _put_indices(input, indices)
    values = _values("index_put", input, indices, places, values, accumulate)
    return _index_put(input, values, *places, accumulate=accumulate)


@composite(method=True, function=True)
def index_put_(input, indices, values, accumulate=False):
    """`index_put` into the tensor itself, which is returned.

    Args:
        indices: a tuple of tensors of integers or bools, one for each leading dimension; None takes a dimension whole.
        values: a tensor of the same type that broadcasts to the places.
        accumulate: whether to add, also several times, rather than overwrite.
    Shape: (*) -> (*)
    Raises:
        IndexError: an index is out of range, as in `index_put_(ones(2), (tensor([2]),), ones(1))`.
        RuntimeError: the tensor is a leaf that requires grad, as in
            `index_put_(ones(2, requires_grad=True), (tensor([1]),), ones(1))`.

    >>> index_put_(zeros(3), (tensor([0, 2]),), tensor(1.0))
    tensor([1., 0., 1.])
    """
    if not accumulate and (mask := _mask_for_number(input, indices, values)) is not None:
        return input.masked_fill_(mask, values)
    is_plain = accumulate is False and type(values) is Tensor and type(indices) in (tuple, list)
    if is_plain and _write_values(input, tuple(indices), values):
        return input
    places = _put_indices(input, indices)
    values = _values("index_put_", input, indices, places, values, accumulate)
    return write(_index_put.record, input, (values, *places), (accumulate,))


def _values(name: str, input: Tensor, indices: Any, places: list, values: Any, accumulate: bool) -> Tensor:
    if not isinstance(values, Tensor):
        raise type_error(f"{name}(): argument 'values' (position 2) must be Tensor, not {type_name(values)}")
    if not accumulate:
        _check_mask_of_bytes(indices, values)
    return _source(input, values, places, tuple(places if accumulate else indices))


def _put_indices(input: Tensor, indices: Any) -> list:
    out: list[Any] = []
    for i in indices:
        if i is None:
            out.append(None)
            continue
        kind = i._array.dtype
        if kind == np.uint8:
            i = _mask_from_bytes(i)
        elif kind.kind not in "ib" or (kind.kind == "i" and kind.itemsize < 4):
            raise _no_index_type(i)
        if i._array.dtype.kind == "b":
            out.extend(_from_mask(i, input._array.shape, len(out)))
        else:
            out.append(i)
    return out
