"""Views of parts of a tensor: diagonals, windows, slices, and several pieces at once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import as_strided as _stride

from ...core.device.backend import on_device_of
from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import thread
from ...core.dispatch.op import OPS, composite, primitive
from ...core.dispatch.torch_function import told_by_keyword
from ...core.tensor.layout import contiguous_format
from ...core.tensor.node import shown_as
from ...core.tensor.placeholder import Placeholder
from ...core.tensor.resizing import whole
from ...core.tensor.size import wrap_dim
from ...core.tensor.storage import address_of, private_storage, storage_of
from ...core.tensor.tensor import Tensor, constant, type_word
from ..pointwise.complex_parts import view_as_complex, view_as_real
from .view import copied

# ---------------------------------------------------------------------------------------------- one index or a range


@primitive(method=True, view=True)
def select(input, /, dim, index):
    """The slice at `index` of dimension `dim`, without that dimension: a view.

    Shape: (*, n, *) -> (*, *)
    Raises:
        IndexError: `index` is out of range, as in `select(ones(2), 0, 2)`.

    >>> select(tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, input.ndim)
    n = input.shape[d]
    if isinstance(index, float):
        raise type_error("select(): argument 'index' (position 3) must be int, not float")
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {d}"
        )
    return input[(*(slice(None),) * d, index, ...)]


@select.vjp
def _(g, input_shape, dim, index):
    return embed(g, input_shape, (*(slice(None),) * (dim % len(input_shape)), index, ...))


@primitive(name="slice", view=True, public=False)
def slice_(input, /, dim, start, stop, step=1):
    """The entries start, start + step, ... below `stop` of dimension `dim`."""
    return input[(*(slice(None),) * wrap_dim(dim, input.ndim), slice(start, stop, step))]


@slice_.vjp
def _(g, input_shape, dim, start, stop, step):
    return embed(g, input_shape, (*(slice(None),) * (dim % len(input_shape)), slice(start, stop, step)))


@primitive(name="_embed", public=False)
def _embed(g, /, shape, index):
    """Zeros of `shape` with `g` at a basic index: the gradient of a view of a part."""
    out = np.zeros(shape, g.dtype, like=g)
    out[index] = g
    return out


@_embed.vjp
def _(g, index):
    return part(g, index)


@primitive(name="part", view=True, public=False, node="SliceBackward0")
def part(input, /, index):
    """The view at a basic NumPy index that has an Ellipsis."""
    return input[index]


@part.vjp
def _(g, input_shape, index):
    return _embed(g, input_shape, index)


embed = _embed


@composite(method=True, out=True)
def narrow_copy(input, dim, start, length):
    """`narrow` as a copy.

    Args:
        out: the tensor to write the result to.
    Shape: (*, n, *) -> (*, length, *)
    Raises:
        RuntimeError: the entries are not there, as in `narrow_copy(ones(3), 0, 2, 2)`.

    >>> narrow_copy(tensor([1, 2, 3]), 0, 1, 2)
    tensor([2, 3])
    """
    return narrow(input, dim, start, length).clone(memory_format=contiguous_format)


@composite(method=True)
def narrow(input, dim, start, length):
    """The `length` entries of dimension `dim` from `start`: a view.

    Args:
        start: an int or a 0-d tensor of one; negative from the end.
    Shape: (*, n, *) -> (*, length, *)
    Raises:
        RuntimeError: the entries are not there, as in `narrow(ones(3), 0, 2, 2)`.
        RuntimeError: `length` is negative, as in `narrow(ones(3), 0, 0, -1)`.

    >>> narrow(tensor([1, 2, 3]), 0, 1, 2)
    tensor([2, 3])
    """
    if not input._array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, input._array.ndim)
    if isinstance(start, Tensor) and (start._array.ndim or start._array.dtype.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    n, start = input._array.shape[d], operator.index(start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return slice_(input, d, start, start + length)


# ---------------------------------------------------------------------------------------------- parts


@primitive(method=True, view=True)
def diagonal(input, /, offset=0, dim1=0, dim2=1):
    """The diagonal over `dim1` and `dim2`, as the last dimension: a view.

    Args:
        offset: above the main diagonal (below it if negative).
    Shape: (*, n, m) -> (*, min(n, m)) for offset 0
    Raises:
        RuntimeError: the dimensions are the same, as in `diagonal(ones(2, 2), 0, 1, 1)`.
        IndexError: a dimension is out of range, as in `diagonal(ones(2))`.

    >>> diagonal(tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    d1, d2 = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return writable_diagonal(input, offset, d1, d2)


def writable_diagonal(a: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    """The view that `a.diagonal` returns, with the permission to write that `a` has."""
    out = a.diagonal(offset, dim1, dim2)
    if not out.flags.writeable and a.flags.writeable:
        out.flags.writeable = True
    return out


@diagonal.vjp
def _(g, input_shape, offset, dim1, dim2):
    return _diagonal_backward(g, input_shape, offset, dim1, dim2)


@primitive(name="_diagonal_backward", public=False)
def _diagonal_backward(g, /, shape, offset, dim1, dim2):
    out = np.zeros(shape, g.dtype, like=g)
    writable_diagonal(out, offset, dim1, dim2)[...] = g
    return out


@_diagonal_backward.vjp
def _(g, offset, dim1, dim2):
    return g.diagonal(offset, dim1, dim2)


@primitive(name="unfold", method="unfold", view=True, public=False)
def _unfold(input, /, dimension, size, step):
    """All slices of length `size` along `dimension`, at a stride of `step`, as a new last dimension."""
    if not input.ndim:
        if size > 1:
            raise RuntimeError(f"maximum size for tensor at dimension 0 is 1 but size is {size}")
        return input.reshape(1)[:size]
    d = wrap_dim(dimension, input.ndim)
    if size > input.shape[d]:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {input.shape[d]} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    shape = list(input.shape)
    shape[d] = (input.shape[d] - size) // step + 1
    strides = list(input.strides)
    strides[d] *= step
    return _stride(input, [*shape, size], [*strides, input.strides[d]])


@_unfold.vjp
def _(g, input_shape, dimension, size, step):
    return _unfold_backward(g, input_shape, dimension, size, step)


@primitive(name="_unfold_backward", public=False)
def _unfold_backward(g, /, shape, dimension, size, step):
    out = np.zeros(shape or (1,), g.dtype, like=g)
    d = wrap_dim(dimension, out.ndim)
    for k in range(size):
        where = [slice(None)] * out.ndim
        where[d] = slice(k, k + (g.shape[d] - 1) * step + 1 if shape else None, step)
        out[tuple(where)] += g[..., k] if shape else g
    return out.reshape(shape)


@_unfold_backward.vjp
def _(g, dimension, size, step):
    return _unfold(g, dimension, size, step)


def memory_owner(a: np.ndarray) -> np.ndarray:
    """The array that owns the memory of `a`."""
    while True:
        base = a.base
        if type(base).__name__ == "DummyArray":  # what NumPy's as_strided puts between an array and its memory
            base = base.base  # type: ignore[union-attr]
        if not isinstance(base, np.ndarray):
            return a
        a = base


def flat_memory(root: np.ndarray, kind: np.dtype) -> np.ndarray:
    """The memory of `root` as one row of elements of type `kind`."""
    memory = whole(root)
    return memory[: memory.size - memory.size % kind.itemsize].view(kind)


@primitive(name="as_strided", method=True, view=True, extras=("geometry",))
def as_strided(input, /, size, stride, storage_offset=None):
    """A view of the tensor's memory with the given shape, strides and offset.

    Args:
        stride: the distance of neighbours along each dimension, in elements.
        storage_offset: where the view begins in the storage, in elements; by default where `input` does.
    Shape: (*) -> (size)
    Raises:
        RuntimeError: the view leaves the storage, as in `as_strided(ones(2), (3,), (1,))`.
        RuntimeError: the lengths differ, as in `as_strided(ones(2), (1, 1), (1,))`.

    >>> as_strided(tensor([1, 2, 3]), (2, 2), (1, 1))
    tensor([[1, 2],
            [2, 3]])
    """
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape ({len(stride)} and {len(size)})")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    root = memory_owner(input)
    item = input.itemsize
    start = (address_of(input) - address_of(root)) // item if storage_offset is None else storage_offset
    last = start + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if 0 not in size and (start < 0 or (last + 1) * item > root.nbytes):
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and itemsize {item} requiring "
            f"a storage size of {(last + 1) * item} are out of bounds for storage of size {root.nbytes}"
        )
    out = _stride(flat_memory(root, input.dtype)[start:], size, [s * item for s in stride])
    base = (address_of(input) - address_of(root)) // item
    return out, (start, base, *(s // item for s in input.strides))


@as_strided.vjp
def _(g, input_shape, geometry, size, stride):
    start, base, *strides = geometry.tolist()
    return _as_strided_backward(g, (tuple(size), tuple(stride), start), (input_shape, strides, base))


def _as_strided_backward(g: Tensor, part: tuple, whole: tuple) -> Tensor:
    """Scatter `g` over the storage by index arithmetic, then read the input's own elements back.

    Elements of the input that share their memory, as those of an expanded one, divide what arrives there, as in torch.

    part, whole: (shape, strides, offset) of the result and of the input.
    """
    first = min(part[2], whole[2])  # the memory before it takes no part: of a tensor without data, that is any number
    part, whole = (*part[:2], part[2] - first), (*whole[:2], whole[2] - first)
    where = _flat_positions(*part[:2]) + part[2]
    mine = _flat_positions(*whole[:2]) + whole[2]
    n = int(max(where.max(initial=-1), mine.max(initial=-1))) + 1
    total = g.new_zeros(n).index_add(0, _positions(g, *part), g.reshape(-1))
    counts = np.bincount(mine.reshape(-1), minlength=n)
    if counts.max(initial=0) > 1:
        total = total / constant(on_device_of(g._array, lambda: np.maximum(counts, 1).astype(g._array.dtype)))
    return shown_as(total.index_select(0, _positions(g, *whole)).reshape(whole[0]), "AsStridedBackward0")


def _positions(g: Tensor, size: tuple, stride: Sequence, offset: int) -> Tensor:
    """A tensor of them, where `g` is."""
    return constant(on_device_of(g._array, lambda: _flat_positions(size, stride).reshape(-1) + offset))


def _flat_positions(size: tuple, stride: Sequence) -> np.ndarray:
    where = np.zeros((), np.int64)
    for n, s in zip(size, stride, strict=True):
        where = where[..., None] + np.arange(n, dtype=np.int64) * s
    return where


# ---------------------------------------------------------------------------------------------- several views at once


@primitive(name="unbind", view=True, outputs=-1, public=False)
def _unbind(input, /, dim):
    d = wrap_dim(dim, input.ndim)
    a = input if d == 0 else np.moveaxis(input, d, 0)
    return tuple([a[i, ...] for i in range(len(a))])


@_unbind.vjp
def _(g, input_shape, dim):
    d = dim % len(input_shape)
    shape = input_shape[:d] + input_shape[d + 1 :]
    reference = next(p for p in g if p is not None)
    return OPS["stack"]([reference.new_zeros(shape) if p is None else p for p in g], d)


@composite(method=True)
def unbind(input, dim=0, *, axis=None):
    """The slices along `dim`, without that dimension: a tuple of views.

    Shape: (n, *) -> (*), ..., n of them
    Raises:
        IndexError: `dim` is out of range, as in `unbind(ones(2), 1)`.
        IndexError: `input` is 0-d, as in `unbind(ones(()))`.

    >>> unbind(tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    if axis is not None:
        dim = axis
    if not input._array.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return _unbind(input, dim)


@primitive(name="split", view=True, outputs=-1, public=False, node="SplitBackward0")
def _split(input, /, split_size, dim):
    d = wrap_dim(dim, input.ndim)
    n = input.shape[d]
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    if not split_size and n:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
    lead = (slice(None),) * d
    step = split_size or 1
    return tuple([input[(*lead, slice(i, i + step))] for i in range(0, n, step)]) if n else (input.view(),)


@primitive(name="split_with_sizes", view=True, outputs=-1, public=False, node="SplitWithSizesBackward0")
def _split_sizes(input, /, split_sizes, dim):
    d = wrap_dim(dim, input.ndim)
    if sum(split_sizes) != input.shape[d]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.shape[d]} (input tensor's size at dimension "
            f"{dim}), but got split_sizes={list(split_sizes)}"
        )
    lead, at, out = (slice(None),) * d, 0, []
    for n in split_sizes:
        if n < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(split_sizes)}"
            )
        out.append(input[(*lead, slice(at, at + n))])
        at += n
    return tuple(out)


def _split_backward(g, input_shape, sizes, dim):
    reference = next(p for p in g if p is not None)
    d = dim % len(input_shape)
    parts = [
        reference.new_zeros((*input_shape[:d], n, *input_shape[d + 1 :])) if p is None else p
        for p, n in zip(g, sizes, strict=True)
    ]
    return OPS["cat"](parts, d)


@_split.vjp
def _(g, input_shape, split_size, dim):
    n = input_shape[dim]
    sizes = [min(split_size, n - i) for i in range(0, n, split_size or 1)] or [n]
    return _split_backward(g, input_shape, sizes, dim)


@_split_sizes.vjp
def _(g, input_shape, split_sizes, dim):
    return _split_backward(g, input_shape, split_sizes, dim)


# Parts that share memory with the input behind autograd's back. Where calls are recorded they are copies.


@primitive(name="unsafe_split", outputs=-1, public=False)
def _unsafe_split(input, /, split_size, dim, copied=True):
    return _parts(_split.record.reference(input, split_size, dim), copied)


@primitive(name="unsafe_split_with_sizes", outputs=-1, public=False)
def _unsafe_split_sizes(input, /, split_sizes, dim, copied=True):
    return _parts(_split_sizes.record.reference(input, split_sizes, dim), copied)


def _parts(parts, copied):
    return tuple([part.copy() for part in parts]) if copied else tuple(parts)


@_unsafe_split.vjp
def _(g, input_shape, split_size, dim, copied):
    n = input_shape[dim]
    return _split_backward(g, input_shape, [min(split_size, n - i) for i in range(0, n, split_size or 1)] or [n], dim)


@_unsafe_split_sizes.vjp
def _(g, input_shape, split_sizes, dim, copied):
    return _split_backward(g, input_shape, split_sizes, dim)


def _sharing(split: Callable) -> Callable:
    """A split whose parts have the input's memory, but no part in its history and versions."""

    def run(input: Tensor, sizes: int | tuple[int, ...], dim: int) -> tuple[Tensor, ...]:
        if thread.state.level > 1 or isinstance(input._array, Placeholder):
            return split(input, sizes, dim)
        parts = split(input, sizes, dim, copied=False)
        for part in parts:
            part._storage = private_storage(storage_of(input))
        return parts

    return run


_unsafe_parts, _unsafe_parts_of_sizes = _sharing(_unsafe_split), _sharing(_unsafe_split_sizes)


@composite(method=True)
def split_with_sizes(input, split_sizes, dim=0):
    """Views of the given sizes along `dim`: a tuple.

    Shape: (n, *) -> (split_sizes[0], *), ...
    Raises:
        RuntimeError: the sizes have another sum, as in `split_with_sizes(ones(3), [1, 1])`.

    >>> split_with_sizes(tensor([1, 2, 3]), [1, 2])
    (tensor([1]), tensor([2, 3]))
    """
    if not input._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    return _split_sizes(input, tuple(split_sizes), dim)


@told_by_keyword
@composite()
def split(tensor, split_size_or_sections, dim=0):
    """Views of equal size along `dim`, or of the listed sizes: a tuple.

    Args:
        split_size_or_sections: the size of each (the last may be smaller), or a list of all sizes.
    Shape: (n, *) -> (size, *), ...
    Raises:
        RuntimeError: the listed sizes have another sum, as in `split(ones(3), [1, 1])`.
        RuntimeError: the size is negative, as in `split(ones(3), -1)`.

    >>> split(tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    return _split_method(tensor, split_size_or_sections, dim)


@composite(name="split", method=True, function=False)
def _split_method(self, split_size, dim=0):
    """Views of `split_size` entries each along `dim` (the last may be smaller), or of the listed sizes.

    Shape: (*) -> parts, with at most `split_size` of the dimension `dim` each
    """
    if not self._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if isinstance(split_size, (list, tuple)):
        return _split_sizes(self, tuple(split_size), dim)
    return _split(self, operator.index(split_size), dim)


@composite(method=True)
def chunk(input, chunks, dim=0, *, axis=None):
    """At most `chunks` views of equal size along `dim` (the last may be smaller): a tuple.

    Shape: (n, *) -> (ceil(n / chunks), *), ...
    Raises:
        RuntimeError: `chunks` is not positive, as in `chunk(ones(3), 0)`.

    >>> chunk(tensor([1, 2, 3, 4, 5]), 2)
    (tensor([1, 2, 3]), tensor([4, 5]))
    """
    return _chunk(input, chunks, dim if axis is None else axis, _split, _split_sizes)


def _chunk(input: Tensor, chunks: int, dim: int, in_steps: Callable, in_sizes: Callable) -> tuple[Tensor, ...]:
    if not input._array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input._array.shape[wrap_dim(dim, input._array.ndim)]
    size = -(-n // chunks)
    return in_sizes(input, (0,) * chunks, dim) if not size else in_steps(input, size, dim)


@composite(method=True)
def unsafe_chunk(input, chunks, dim=0):
    """`chunk` whose parts may be written to in place: they share memory, but gradients know nothing of the writes.

    Shape: (n, *) -> (ceil(n / chunks), *), ...
    Raises:
        RuntimeError: `chunks` is not positive, as in `unsafe_chunk(ones(3), 0)`.

    >>> unsafe_chunk(tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    return _chunk(input, chunks, dim, _unsafe_parts, _unsafe_parts_of_sizes)


@composite(method=True)
def unsafe_split(input, split_size, dim=0):
    """`split` whose parts may be written to in place: they share memory, but gradients know nothing of the writes.

    Shape: (n, *) -> (split_size, *), ...
    Raises:
        RuntimeError: the size is negative, as in `unsafe_split(ones(3), -1)`.

    >>> unsafe_split(ones(3), 2)
    (tensor([1., 1.]), tensor([1.]))
    """
    if not input._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    return _unsafe_parts(input, int(split_size), dim)


@composite(method=True)
def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """`split_with_sizes` whose parts may be written to in place: they share memory, unknown to gradients.

    Shape: (n, *) -> (split_sizes[0], *), ...
    Raises:
        RuntimeError: the sizes have another sum, as in `unsafe_split_with_sizes(ones(3), [1, 1])`.

    >>> unsafe_split_with_sizes(ones(3), [1, 2])
    (tensor([1.]), tensor([1., 1.]))
    """
    return _unsafe_parts_of_sizes(input, tuple(split_sizes), dim)


@composite(method=True)
def tensor_split(input, indices_or_sections, dim=0):
    """Views along `dim`, as a tuple: a number of nearly equal ones, or cut at the given places.

    Args:
        indices_or_sections: the number of views, or a list or tensor of the places.
    Shape: (n, *) -> (*, *), ...
    Raises:
        RuntimeError: the number is not positive, as in `tensor_split(ones(3), 0)`.
        IndexError: `dim` is out of range, as in `tensor_split(ones(3), 1, 1)`.

    >>> tensor_split(tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    >>> tensor_split(tensor([1, 2, 3]), [1])
    (tensor([1]), tensor([2, 3]))
    """
    if not input._array.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    n = input._array.shape[wrap_dim(dim, input._array.ndim)]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = _whole_numbers(indices_or_sections)
    if hasattr(indices_or_sections, "__index__"):
        k = operator.index(indices_or_sections)
        if k <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {k}")
        cuts = [i * (n // k) + min(i, n % k) for i in range(k + 1)]
    else:
        cuts = [0, *indices_or_sections, n]
    return tuple(slice_(input, dim, a, b) for a, b in pairwise(cuts))


def _whole_numbers(places):
    """The numbers in a tensor of places to cut at, or the number of sections. Raises torch's errors."""
    what = "tensor_split expected tensor_indices_or_sections to"
    if places._array.ndim > 1:
        raise RuntimeError(
            f"{what} be a zero-dimensional or one-dimensional tensor, but got a tensor with {places._array.ndim} dims"
        )
    if places._array.dtype != np.int64:
        raise RuntimeError(f"{what} have dtype of long, but got {type_word(places.dtype)}")
    return places.tolist()


def _numpy_split(name, dim_of, least):
    def f(input, indices_or_sections):
        if input._array.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with "
                f"{input._array.ndim} dimensions!"
            )
        d = dim_of(input._array.ndim)
        n = input._array.shape[d]
        if hasattr(indices_or_sections, "__index__") and (indices_or_sections <= 0 or n % indices_or_sections):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {d}, but the size of the dimension {n} is not divisible "
                f"by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, d)

    f.__name__, f.__doc__ = (
        name,
        f"""Views along the dimension that NumPy's {name} splits: `tensor_split`.

    Args:
        indices_or_sections: a number of equal views, or a list of places to cut at.
    Shape: (n, m, k) -> a tuple of (n / s, m, k), (n, m / s, k) or (n, m, k / s) for s views
    Raises:
        RuntimeError: the size is no multiple of the number, as in `{name}(ones(3, 3, 3), 2)`.
        RuntimeError: there are too few dimensions, as in `{name}(ones({"()" if name == "hsplit" else "2"}), 1)`.
    """,
    )
    return composite(method=True)(f)


hsplit = _numpy_split("hsplit", lambda n: 0 if n == 1 else 1, 1)
vsplit = _numpy_split("vsplit", lambda n: 0, 2)
dsplit = _numpy_split("dsplit", lambda n: 2, 3)


def _equal_parts(input, split_size, dim=0):
    """Parts of equal size along `dim`; the last may be smaller.

    Shape: (n, *) -> (split_size, *), ...
    Raises:
        RuntimeError: the size is negative, as in `split(ones(3), -1)`.

    >>> split(tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    return split(input, split_size, dim)


for _name, _view_of in (
    ("as_strided", as_strided), ("diagonal", diagonal), ("select", select), ("unbind", unbind),
    ("split", _equal_parts), ("split_with_sizes", split_with_sizes),
    ("view_as_real", view_as_real), ("view_as_complex", view_as_complex),
    ("unfold", lambda input, dimension, size, step: _unfold(input, dimension, size, step)),
    ("slice", lambda input, dim=0, start=None, end=None, step=1: slice_(input, dim, start, end, step)),
):  # fmt: skip
    copied(_name, _view_of)
