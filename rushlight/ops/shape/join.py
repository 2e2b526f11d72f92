"""Tensors put together, repeated, and moved around."""

from __future__ import annotations

from operator import index

import numpy as np

from ...core.device.backend import on_device_of
from ...core.dispatch.autocast import Off
from ...core.dispatch.mode import emit_event, may_branch_on_data, thread
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.slow_path import write_out
from ...core.tensor.channels_last import is_channels_last
from ...core.tensor.size import shape_from, wrap_dim, wrap_dims
from ...core.tensor.tensor import Tensor, constant, wrap
from ..pointwise.helpers import in_order_of
from .slicing import slice_
from .view import _expand, _view, flatten, reshape

# ---------------------------------------------------------------------------------------------- cat and stack


@primitive(name="cat", public=False, promote="same")
def _cat(*tensors, dim):
    try:
        return _contiguous_or_channels_last(np.concatenate(tensors, dim), tensors)
    except Exception:  # a mistake, or torch's special case: empty 1-D tensors are left out
        return _cat_slowly(tensors, dim)


def _cat_slowly(tensors, dim):
    arrays = [a for a in tensors if a.shape != (0,)] or list(tensors[:1])
    first = arrays[0]
    if not all(a.ndim for a in tensors):
        place = next(i for i, a in enumerate(tensors) if not a.ndim)
        raise RuntimeError(f"zero-dimensional tensor (at position {place}) cannot be concatenated")
    d = wrap_dim(dim, first.ndim)
    for i, a in enumerate(arrays):
        if a.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {a.ndim}")
        if a.shape[:d] != first.shape[:d] or a.shape[d + 1 :] != first.shape[d + 1 :]:
            k = next(k for k in range(a.ndim) if k != d and a.shape[k] != first.shape[k])
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {d}. Expected size {first.shape[k]} but got size "
                f"{a.shape[k]} for tensor number {i} in the list."
            )
    return _contiguous_or_channels_last(np.concatenate(arrays, d), arrays)


def _contiguous_or_channels_last(r, sources):
    """`r` in the layout that torch joins tensors in: channels last if all are, else contiguous."""
    if r.flags.c_contiguous or r.ndim in (4, 5) and all(map(is_channels_last, sources)):
        return r
    return np.asarray(r, order="C")


@_cat.vjp
def _(g, tensors_shape, dim, needs):
    d = dim % g._array.ndim
    out, at = [], 0
    for shape, wanted in zip(tensors_shape, needs, strict=True):
        n = 0 if shape == (0,) and g._array.ndim != 1 else shape[d]
        out.append((slice_(g, d, at, at + n) if shape != (0,) else g.new_zeros(0)) if wanted else None)
        at += n
    return tuple(out)


def _sequence(name: str, tensors) -> tuple:
    if isinstance(tensors, Tensor):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    tensors = tuple(tensors)
    if not tensors and name in ("hstack", "vstack", "dstack", "column_stack"):
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    return tensors


@composite(aliases=("concat", "concatenate"))
def cat(tensors, dim=0, *, axis=None, out=None):
    """The tensors one after another along the existing dimension `dim`; an empty 1-D tensor counts for nothing.

    Args:
        tensors: a list or tuple; the result has their common type.
        out: the tensor to write the result to.
    Shape: (n, *), (m, *), ... -> (n + m + ..., *)
    Raises:
        RuntimeError: other sizes differ, as in `cat([ones(1, 2), ones(1, 3)])`.
        IndexError: `dim` is out of range, as in `cat([ones(2)], 1)`.
        ValueError: there are no tensors, as in `cat([])`.

    >>> cat([tensor([1, 2]), tensor([3])])
    tensor([1, 2, 3])
    """
    if axis is not None:
        dim = axis
    if type(tensors) not in (list, tuple) or not tensors:
        tensors = _sequence("cat", tensors)
        if not tensors:
            raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    if out is None:
        return _cat(*tensors, dim=dim)
    with Off():
        result = _cat(*tensors, dim=dim)
    return write_out("cat", tensors, result, out)


@primitive(name="stack", public=False, promote="same")
def _stack(*tensors, dim):
    first = tensors[0].shape
    for i, a in enumerate(tensors):
        if a.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(a.shape)} at entry {i}"
            )
    if dim == 0:
        joined = _contiguous_or_channels_last(np.concatenate(tensors), tensors) if first else np.array(tensors)
        return joined.reshape(len(tensors), *first)
    place = (slice(None),) * wrap_dim(dim, len(first) + 1) + (None,)
    return np.asarray(np.concatenate([a[place] for a in tensors], len(place) - 1), order="C")


@_stack.vjp
def _(g, dim):
    return g.unbind(dim)


@composite()
def stack(tensors, dim=0, *, out=None, axis=None):
    """The tensors, all of one shape, along a new dimension `dim`.

    Args:
        tensors: a list or tuple; the result has their common type.
        out: the tensor to write the result to.
    Shape: (*), (*), ..., n of them -> (n, *)
    Raises:
        RuntimeError: the shapes differ, as in `stack([ones(2), ones(3)])`.
        RuntimeError: there are no tensors, as in `stack([])`.

    >>> stack([tensor([1, 2]), tensor([3, 4])], dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    if axis is not None:
        dim = axis
    if type(tensors) not in (list, tuple) or not tensors:
        tensors = _sequence("stack", tensors)
        if not tensors:
            raise RuntimeError("stack expects a non-empty TensorList")
    result = _stack(*tensors, dim=dim)
    return result if out is None else write_out("stack", tensors, result, out)


def _at_least(n: int):
    def one(t):
        shape = t._array.shape
        if len(shape) >= n:
            return t
        if n == 3:
            return _view(t, {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)])
        return _view(t, (1,) * (n - len(shape)) + shape)

    def f(*tensors):
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            tensors = tuple(tensors[0])
            return tuple(one(t) for t in tensors)
        return one(tensors[0]) if len(tensors) == 1 else tuple(one(t) for t in tensors)

    f.__name__, f.__doc__ = (
        f"atleast_{n}d",
        f"""Views of the tensors with at least {n} dimensions; new ones have size 1.

    Args:
        tensors: one, several, or a sequence of them; several give a tuple.
    Shape: (*) -> (*) of at least {n} dimensions

    >>> atleast_{n}d(tensor(5)).shape
    torch.Size([{", ".join("1" * n)}])
    """,
    )
    return composite()(f)


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


@composite(out=True)
def hstack(tensors):
    """The tensors side by side: along dimension 1, or 0 for 1-D tensors.

    Args:
        out: the tensor to write the result to.
    Shape: (n, k, *), (n, l, *), ... -> (n, k + l + ..., *)
    Raises:
        RuntimeError: other sizes differ, as in `hstack([ones(1, 2), ones(2, 2)])`.

    >>> hstack([tensor([[1], [2]]), tensor([[3], [4]])])
    tensor([[1, 3],
            [2, 4]])
    """
    tensors = atleast_1d(list(_sequence("hstack", tensors)))
    return cat(tensors, 0 if tensors[0]._array.ndim == 1 else 1)


@composite(out=True, aliases=("row_stack",))
def vstack(tensors):
    """The tensors, at least 2-D, below each other: along dimension 0.

    Args:
        out: the tensor to write the result to.
    Shape: (n, *), (m, *), ... -> (n + m + ..., *); (k), (k) -> (2, k)
    Raises:
        RuntimeError: other sizes differ, as in `row_stack([ones(2), ones(3)])`.

    >>> row_stack([tensor([1, 2]), tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return cat(atleast_2d(list(_sequence("vstack", tensors))), 0)


@composite(out=True)
def dstack(tensors):
    """The tensors, at least 3-D, behind each other: along dimension 2.

    Args:
        out: the tensor to write the result to.
    Shape: (n, m, k), (n, m, l), ... -> (n, m, k + l + ...)
    Raises:
        RuntimeError: other sizes differ, as in `dstack([ones(2), ones(3)])`.

    >>> dstack([tensor([1, 2]), tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    return cat(atleast_3d(list(_sequence("dstack", tensors))), 2)


@composite(out=True)
def column_stack(tensors):
    """1-D tensors as the columns of a matrix; others side by side.

    Args:
        out: the tensor to write the result to.
    Shape: (n), (n), ..., k of them -> (n, k)
    Raises:
        RuntimeError: the lengths differ, as in `column_stack([ones(2), ones(3)])`.

    >>> column_stack([tensor([1, 2]), tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    return hstack([reshape(t, t.numel(), 1) if t._array.ndim <= 1 else t for t in _sequence("column_stack", tensors)])


@composite()
def block_diag(*tensors):
    """A matrix with the given matrices along its diagonal, zeros elsewhere.

    Args:
        tensors: matrices; fewer dimensions count as a row.
    Shape: (n, m), (k, l), ... -> (n + k + ..., m + l + ...)
    Raises:
        RuntimeError: one has more than two dimensions, as in `block_diag(ones(1, 1, 1))`.

    >>> block_diag(tensor([[1, 2]]), tensor([[3]]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    blocks = [atleast_2d(t) for t in tensors]
    rows, columns = sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)
    out, at = [], 0
    for b in blocks:
        left, right = b.new_zeros(b.shape[0], at), b.new_zeros(b.shape[0], columns - at - b.shape[1])
        out.append(cat([left, b, right], 1))
        at += b.shape[1]
    return cat(out, 0) if rows else blocks[0]


@composite()
def meshgrid(*tensors, indexing=None):
    """Grids of coordinates: one tensor for each input, all of the shape of their lengths.

    Args:
        tensors: 1-D or 0-d.
        indexing: "ij" (the default, with a warning), or "xy", which exchanges the first two dimensions.
    Shape: (n), (m), ... -> (n, m, ...), ... each
    Raises:
        RuntimeError: `indexing` is another text, as in `meshgrid(ones(1), indexing="x")`.

    >>> meshgrid(tensor([1, 2]), tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if indexing is None:
        import warnings

        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swap = indexing == "xy" and len(tensors) > 1
    order = list(tensors)
    if swap:
        order[0], order[1] = order[1], order[0]
    shape = tuple(t.numel() for t in order)
    grids = [_expand(reshape(t, (1,) * i + (-1,) + (1,) * (len(order) - i - 1)), shape) for i, t in enumerate(order)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@composite()
def cartesian_prod(*tensors):
    """All combinations of one element from each 1-D tensor, a row each.

    Shape: (n), (m), ..., k of them -> (n m ..., k); one (n) -> (n)

    >>> cartesian_prod(tensor([1, 2]), tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    if len(tensors) == 1:
        return tensors[0]
    return stack([g.flatten() for g in meshgrid(*tensors, indexing="ij")], 1)


@composite(method=False)
def combinations(input, r=2, with_replacement=False):
    """All combinations of `r` elements of a 1-D tensor, a row each.

    Args:
        with_replacement: whether an element may occur twice.
    Shape: (n) -> (n choose r, r)

    >>> combinations(tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    from itertools import combinations as without
    from itertools import combinations_with_replacement as with_

    from ...core.tensor.tensor import constant

    rows = list((with_ if with_replacement else without)(range(input.numel()), r))
    return input[constant(on_device_of(input._array, lambda: np.array(rows, np.int64).reshape(-1, r)))]


# ---------------------------------------------------------------------------------------------- repeated


@primitive(name="repeat", public=False)
def _repeat(input, /, repeats):
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(r < 0 for r in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(repeats)}")
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
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
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
        if output_size is not None and output_size != counts.sum():
            raise RuntimeError("allocated size does not match required size")
        return wrap(np.repeat(on_device_of(counts, np.arange, len(counts)), counts))
    x = flatten(input) if dim is None else input
    d = 0 if dim is None else wrap_dim(dim, x._array.ndim)
    counts = repeats._array if isinstance(repeats, Tensor) else np.array(repeats)
    if counts.size != 1 and counts.size != x._array.shape[d]:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and "
            f"input.size({d}) = {x._array.shape[d]}"
        )
    if output_size is not None and isinstance(repeats, Tensor) and not may_branch_on_data(repeats):
        return x.index_select(d, _repeated(repeats, x._array.shape[d], output_size))
    if isinstance(repeats, Tensor) and thread.state.level > 1:
        emit_event("read", repeats, "repeat_interleave() by the values")
    where = on_device_of(x._array, repeated_places, counts, x._array.shape[d])
    _check_output_size(where, output_size)
    return x.index_select(d, constant(where))


def repeated_places(counts: np.ndarray, n: int) -> np.ndarray:
    return np.repeat(np.arange(n, dtype=np.int64), counts.reshape(-1))


def _check_output_size(where: np.ndarray, output_size: int | None) -> None:
    if output_size is not None and output_size != len(where):
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {len(where)} but got {output_size}")


@primitive(name="repeated", public=False, differentiable=False)
def _repeated(counts, /, n, output_size):
    """Each of the numbers below `n` as often as `counts` says."""
    where = repeated_places(counts, n)
    _check_output_size(where, output_size)
    return where


# ---------------------------------------------------------------------------------------------- moved around


@primitive(name="flip", public=False)
def _flip(input, /, dims):
    axes = wrap_dims(dims, input.ndim)
    return in_order_of(np.flip(input, axes).copy(), input) if input.ndim else input.copy()


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
    return _flip(input, (dims,) if isinstance(dims, int) else tuple(dims))


@composite(name="flip", method=True, function=False)
def _flip_method(self, *args, dims=None):
    """The elements in reversed order along `dims`."""
    return flip(self, shape_from(args, "flip", "dims") if dims is None else dims)


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
    return _contiguous_or_channels_last(np.roll(input, shifts, dims), (input,))


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
    if dims is None or dims == ():
        if len(shifts) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        return _roll(input, index(shifts[0]), None)
    dims = (dims,) if hasattr(dims, "__index__") else tuple(dims)
    shifts = tuple(map(index, shifts))
    if len(dims) != len(shifts):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not input._array.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return _roll(input, shifts, tuple(wrap_dim(d, input._array.ndim) for d in dims))


@primitive(name="rot90", public=False)
def _rot90(input, /, k, dims):
    return np.rot90(input, k, dims).copy()


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
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input._array.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input._array.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input._array.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return _rot90(input, k, tuple(wrap_dim(d, input._array.ndim) for d in dims))


# ---------------------------------------------------------------------------------------------- triangles and diagonals


@primitive(method=True, inplace=True, out=True)
def tril(input, /, diagonal=0):
    """The lower triangle of (a batch of) matrices, zeros elsewhere.

    Args:
        diagonal: the last diagonal that stays, above the main one (below it if negative).
        out: the tensor to write the result to.
    Shape: (*, n, m) -> (*, n, m)
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `tril(ones(2))`.

    >>> tril(tensor([[1, 2], [3, 4]]))
    tensor([[1, 0],
            [3, 4]])
    """
    if input.ndim < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    return np.asarray(np.tril(input, diagonal), order="C")


@tril.vjp
def _(g, diagonal):
    return g.tril(diagonal)


@primitive(method=True, inplace=True, out=True)
def triu(input, /, diagonal=0):
    """The upper triangle of (a batch of) matrices, zeros elsewhere.

    Args:
        diagonal: the first diagonal that stays, above the main one (below it if negative).
        out: the tensor to write the result to.
    Shape: (*, n, m) -> (*, n, m)
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `triu(ones(2))`.

    >>> triu(tensor([[1, 2], [3, 4]]), diagonal=1)
    tensor([[0, 2],
            [0, 0]])
    """
    if input.ndim < 2:
        raise RuntimeError("triu: input tensor must have at least 2 dimensions")
    return np.asarray(np.triu(input, diagonal), order="C")


@triu.vjp
def _(g, diagonal):
    return g.triu(diagonal)


@primitive(method=True)
def diag_embed(input, /, offset=0, dim1=-2, dim2=-1):
    """Matrices over `dim1` and `dim2` with the last dimension of the input on their diagonal.

    Args:
        offset: above the main diagonal (below it if negative).
    Shape: (*, n) -> (*, n, n)
    Raises:
        RuntimeError: the dimensions are the same, as in `diag_embed(ones(2), 0, 1, 1)`.

    >>> diag_embed(tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if not input.ndim:
        raise RuntimeError("diag_embed: input must have at least one dimension")
    n = input.shape[-1] + abs(offset)
    d1, d2 = wrap_dim(dim1, input.ndim + 1), wrap_dim(dim2, input.ndim + 1)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    shape = list(input.shape[:-1])
    for d in sorted((d1, d2)):
        shape.insert(d, n)
    out = np.zeros(shape, input.dtype)
    part = out.diagonal(offset, d1, d2)
    part.flags.writeable = True
    part[...] = input
    return out


@diag_embed.vjp
def _(g, offset, dim1, dim2):
    return g.diagonal(offset, dim1, dim2)


@composite(method=True)
def diagflat(input, offset=0):
    """A matrix with the flattened input on its diagonal.

    Args:
        offset: above the main diagonal (below it if negative).
    Shape: (*) of n elements -> (n + |offset|, n + |offset|)

    >>> diagflat(tensor([1, 2]), 1)
    tensor([[0, 1, 0],
            [0, 0, 2],
            [0, 0, 0]])
    """
    return diag_embed(flatten(input), offset)


@composite(method=True, out=True)
def diag(input, diagonal=0):
    """The diagonal of a matrix, or a matrix with the given diagonal, as a copy.

    Args:
        diagonal: above the main one (below it if negative).
        out: the tensor to write the result to.
    Shape: (n, n) -> (n); (n) -> (n, n)
    Raises:
        RuntimeError: `input` has neither one nor two dimensions, as in `diag(ones(1, 1, 1))`.

    >>> diag(tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    n = input._array.ndim
    if n not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {n}D")
    return diag_embed(input, diagonal) if n == 1 else input.diagonal(diagonal).clone()
