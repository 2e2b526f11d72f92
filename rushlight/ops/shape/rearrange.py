"""Elements repeated, and moved around: repeat, tile, repeat_interleave, flip, roll, rot90."""

from __future__ import annotations

from operator import index

import numpy as np

from ...core.device.backend import on_device_of
from ...core.dispatch.errors import argument_type, type_error
from ...core.dispatch.mode import emit_event, may_branch_on_data, thread
from ...core.dispatch.op import composite, primitive
from ...core.tensor.casting import copy_in_rows, copy_into, dense_like
from ...core.tensor.channels_last import dense_rows, in_channels_last, is_channels_last
from ...core.tensor.node import shown_as
from ...core.tensor.size import shape_from, wrap_dim, wrap_dims
from ...core.tensor.tensor import Tensor, constant, wrap
from ..pointwise.building_blocks import in_order_of
from ..pointwise.checks import not_implemented
from .view import flatten


@primitive(name="repeat", public=False)
def _repeat(input, /, repeats):
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(r < 0 for r in repeats):
        lead = (1,) * (len(repeats) - input.ndim)
        shape = [r * n for r, n in zip(repeats, (*lead, *input.shape), strict=True)]
        if min(shape) == 0:
            return np.empty(shape, input.dtype)
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {shape}")
    return np.asarray(np.tile(input, repeats), order="C")


@_repeat.vjp
def _(g, input_shape, repeats):
    n, lead = len(input_shape), len(repeats) - len(input_shape)
    if 0 in repeats:
        return g.new_zeros(input_shape)
    shape = list(repeats[:lead])
    axes = list(range(lead))
    for i in range(n):
        axes.append(len(shape))
        shape += [repeats[lead + i], input_shape[i]]
    return g.reshape(shape).sum(axes) if axes else g


@composite(method=True, function=False)
def repeat(self, *args, repeats=None):
    """The tensor repeated along each dimension (more entries than dimensions add leading ones)."""
    return _repeat(self, shape_from(args if repeats is None else (repeats,), "repeat", "repeats"))


@composite()
def tile(input, dims):
    """The tensor repeated along its last dimensions, as a copy.

    Args:
        dims: how often along each; dimensions that are missing at the front count as 1.
    Shape: (*, n) -> (*, dims[-1] n)

    >>> tile(tensor([1, 2]), (2, 2))
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    if not isinstance(dims, (tuple, list)):
        raise type_error(f"tile(): argument 'dims' (position 2) must be tuple of ints, not {type(dims).__name__}")
    dims = tuple(dims)
    return _repeat(input, (1,) * (input._array.ndim - len(dims)) + dims)


@composite(name="tile", method=True, function=False)
def _tile_method(self, *args, dims=None):
    """The tensor repeated along its last dimensions."""
    return tile(self, shape_from(args if dims is None else (dims,), "tile", "dims"))


@composite(method=True)
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element repeated `repeats` times.

    Args:
        repeats: a number, or a tensor with one for each entry of `dim`; alone, `input` itself has the numbers for 0, 1,
            ...
        dim: the dimension; the flattened input by default.
        output_size: the sum of `repeats`, if it is known.
    Shape: (*, n, *) -> (*, sum(repeats), *)
    Raises:
        RuntimeError: the number of repeats differs, as in `repeat_interleave(ones(3), tensor([1, 2]))`.

    >>> repeat_interleave(tensor([5, 6]), tensor([1, 2]))
    tensor([5, 6, 6])
    """
    if repeats is None:
        counts = input._array
        if counts.ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        if not input.is_cpu:
            return _repeated(input, len(counts), output_size)
        _check_counts(counts)
        if output_size is not None and output_size != counts.sum():
            raise RuntimeError("allocated size does not match required size")
        return wrap(np.repeat(np.arange(len(counts), dtype=counts.dtype), counts))
    x = flatten(input) if dim is None else input
    d = 0 if dim is None else wrap_dim(dim, x._array.ndim)
    if not isinstance(repeats, Tensor) and (isinstance(repeats, bool) or not hasattr(repeats, "__index__")):
        raise argument_type("repeat_interleave", "repeats", 2, repeats)
    counts = repeats._array if isinstance(repeats, Tensor) else np.array(repeats)
    if not isinstance(repeats, Tensor) and repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    if counts.ndim > 1:
        raise RuntimeError(f"repeats must be 0-dim or 1-dim tensor, but got one of shape {list(counts.shape)}")
    if counts.size != 1 and counts.size != x._array.shape[d]:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and "
            f"input.size({d}) = {x._array.shape[d]}"
        )
    if isinstance(repeats, Tensor):
        if repeats.is_cpu:
            _check_counts(counts)
        if not repeats.is_cpu or (output_size is not None and not may_branch_on_data(repeats)):
            return x.index_select(d, _repeated(repeats, x._array.shape[d], output_size))
        if thread.state.level > 1:
            emit_event("read", repeats, "repeat_interleave() by the values")
    where = _repeated_places(counts, x._array.shape[d])
    _check_output_size(where, output_size)
    result = x.index_select(d, constant(on_device_of(x._array, lambda: where)))
    return result if isinstance(repeats, Tensor) else shown_as(result, "ViewBackward0")


def _check_counts(counts: np.ndarray) -> None:
    if counts.dtype != np.int64 and counts.dtype != np.int32:
        raise not_implemented("repeat_interleave_cpu", counts.dtype)
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")


def _repeated_places(counts: np.ndarray, n: int) -> np.ndarray:
    return np.repeat(np.arange(n, dtype=np.int64), counts.reshape(-1))


def _check_output_size(where: np.ndarray, output_size: int | None) -> None:
    if output_size is not None and output_size != len(where):
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {len(where)} but got {output_size}")


@primitive(name="repeated", public=False, differentiable=False)
def _repeated(counts, /, n, output_size):
    """Each of the numbers below `n` as often as `counts` says."""
    where = _repeated_places(counts, n)
    _check_output_size(where, output_size)
    return where


# ---------------------------------------------------------------------------------------------- moved around


@primitive(name="flip", public=False)
def _flip(input, /, dims):
    axes = wrap_dims(dims, input.ndim)
    return _flipped(input, axes) if input.ndim else input.copy()


def _flipped(a, axes):
    """A copy in the order of `a` in memory, reversed along `axes`."""
    turned = np.flip(a, axes)
    if type(a) is not np.ndarray:
        return in_order_of(copy_in_rows(turned), a)
    out = dense_like(a)
    copy_into(out, turned)
    return out


@_flip.vjp
def _(g, dims):
    return g.flip(dims)


@composite()
def flip(input, dims):
    """The elements in reversed order along `dims`, as a copy.

    Shape: (*) -> (*)
    Raises:
        IndexError: a dimension is out of range, as in `flip(ones(2), (1,))`.

    >>> flip(tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    if isinstance(dims, (int, Tensor)):
        raise argument_type("flip", "dims", 2, dims, "tuple of ints")
    return _flip(input, tuple(dims))


@composite(name="flip", method=True, function=False)
def _flip_method(self, *args, dims=None):
    """The elements in reversed order along `dims`."""
    return _flip(
        self, tuple(shape_from(args, "flip", "dims") if dims is None else (dims,) if isinstance(dims, int) else dims)
    )


@composite(method=True)
def fliplr(input):
    """The columns in reversed order, as a copy.

    Shape: (n, m, *) -> (n, m, *)
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `fliplr(ones(2))`.

    >>> fliplr(tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return _flip(input, (1,))


@composite(method=True)
def flipud(input):
    """The rows in reversed order, as a copy.

    Shape: (n, *) -> (n, *)
    Raises:
        RuntimeError: `input` is 0-d, as in `flipud(ones(()))`.

    >>> flipud(tensor([1, 2, 3]))
    tensor([3, 2, 1])
    """
    if input._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return _flip(input, (0,))


@primitive(name="roll", public=False)
def _roll(input, /, shifts, dims):
    if type(dims) is tuple and len(dims) == 1 and type(input) is np.ndarray and not 3 < input.ndim < 6:
        return _rolled(input, shifts[0] if type(shifts) is tuple else shifts, dims[0])
    moved = np.roll(input, shifts, dims)
    in_two = dims is not None and all(
        input.shape[d] != 1 for d in dims
    )  # of one element: torch joins it and no element
    return in_channels_last(moved) if in_two and is_channels_last(input) else dense_rows(moved)


def _rolled(a, shift, d):
    """A C-contiguous copy, moved by `shift` along dimension `d`: what `np.roll` does, in a third of its time for few elements."""
    n = a.shape[d]
    before = n - shift % n if n else 0
    out, lead = np.empty(a.shape, a.dtype), (slice(None),) * d
    out[(*lead, slice(n - before, None))] = a[(*lead, slice(before))]
    out[(*lead, slice(n - before))] = a[(*lead, slice(before, None))]
    return out


@_roll.vjp
def _(g, shifts, dims):
    back = tuple(-s for s in shifts) if isinstance(shifts, tuple) else -shifts
    return _roll(g, back, dims)


@composite(method=True)
def roll(input, shifts, dims=None):
    """The elements moved by `shifts` along `dims`, around the ends.

    Args:
        shifts: an int or a tuple.
        dims: as many dimensions; the flattened tensor by default.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: the numbers of shifts and dimensions differ, as in `roll(ones(2, 2), (1, 1), (0,))`.

    >>> roll(tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts = (shifts,) if hasattr(shifts, "__index__") else tuple(shifts)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if dims is None or (isinstance(dims, (tuple, list)) and not dims):
        if len(shifts) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        return _roll(input, index(shifts[0]), None)
    along: tuple = (dims,) if hasattr(dims, "__index__") else tuple(dims)
    shifts = tuple(map(index, shifts))
    if len(along) != len(shifts):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(along)}")
    if not input._array.ndim:
        raise IndexError(f"Dimension specified as {along[0]} but tensor has no dimensions")
    n, empty = input._array.ndim, not input._array.size  # of which torch does not look at the dimensions
    return _roll(input, shifts, tuple(d % n if empty else wrap_dim(d, n) for d in along))


@primitive(name="rot90", public=False)
def _rot90(input, /, k, dims):
    k %= 4
    if k == 0:
        return input.copy()
    turned = _flipped(input, dims if k == 2 else dims[1] if k == 1 else dims[0])
    return turned if k == 2 else turned.swapaxes(*dims)  # a copy, then a view, as in torch


@_rot90.vjp
def _(g, k, dims):
    return _rot90(g, -k, dims)


@composite(method=True)
def rot90(input, k=1, dims=(0, 1)):
    """The tensor turned by `k` quarters in the plane of `dims`, from the first towards the second.

    Shape: (n, m) -> (m, n) for odd k, else (n, m)
    Raises:
        RuntimeError: there are not two different dimensions, as in `rot90(ones(2, 2), 1, (0, 0))`.

    >>> rot90(tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if isinstance(k, Tensor):
        raise argument_type("rot90", "k", 2, k, "int")
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input._array.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input._array.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input._array.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return _rot90(input, k, tuple(wrap_dim(d, input._array.ndim) for d in dims))
