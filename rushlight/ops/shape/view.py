"""Views: the same memory under another shape. An in-place write to a view changes its base, and the other way round.

The kernels return NumPy views; the core keeps memory, versions and histories together.
"""

from __future__ import annotations

from operator import index

import numpy as np
from numpy.lib.stride_tricks import as_strided as _stride

from ...core.dispatch.docs import like
from ...core.dispatch.errors import type_error
from ...core.dispatch.op import composite, primitive
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import LARGE, copy_in_rows
from ...core.tensor.channels_last import CHANNELS_LAST
from ...core.tensor.dtype import shown_type
from ...core.tensor.layout import contiguous_format
from ...core.tensor.placeholder import flags_of
from ...core.tensor.size import (
    Size,
    broadcast_shapes,
    infer_size,
    missing,
    shape_from,
    shape_keyword,
    sum_to_axes,
    wrap_dim,
    wrap_dims,
)
from ...core.tensor.strides import element_strides, new_element_strides, new_strides, strides_of
from ...core.tensor.tensor import Tensor, type_word
from ..creation.arguments import format_name
from .permute import permute, t, transpose

_FULL = slice(None)

# ---------------------------------------------------------------------------------------------- reshaping


@primitive(name="view", method="_view_shape", view=True, public=False)
def _view(input, /, *shape):
    """The same elements in another shape, without a copy."""
    try:
        if input.flags.c_contiguous:
            r = input.reshape(*shape)  # never a copy, and half the time of asking for none
        else:
            r = input.reshape(*shape, copy=False)
        for n in shape if shape[0].__class__ is int else shape[0]:
            if n < -1:  # NumPy takes any negative size for -1
                infer_size(shape_from(shape), input.size)
        return r
    except (ValueError, TypeError):
        wanted = infer_size(shape_from(shape), input.size)
        try:
            return input.reshape(wanted, copy=False)
        except ValueError:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
                "two contiguous subspaces). Use .reshape(...) instead."
            ) from None


@_view.vjp
def _(g, input_shape):
    return g.reshape(input_shape)


@primitive(name="_unsafe_view", public=False)
def _unsafe_view(input, /, *shape):
    """The elements, copied where they must be, in another shape: memory of its own."""
    wanted = infer_size(shape_from(shape), input.size)
    if input.size >= LARGE and type(input) is np.ndarray:
        try:
            return input.reshape(wanted, copy=False).copy(order="K")
        except ValueError:
            return copy_in_rows(input).reshape(wanted)
    return input.reshape(wanted).copy(order="K")


@_unsafe_view.vjp
def _(g, input_shape):
    return g.reshape(input_shape)


@primitive(name="view.dtype", view=True, public=False, differentiable=False)
def _view_dtype(input, /, dtype):
    """The same bytes as elements of another type."""
    new, input = dtype.numpy, new_strides(input)
    if new.itemsize != input.itemsize:
        _check_other_size(input, dtype)
    return input.view(new)


def _check_other_size(input, dtype):
    """Raise torch's error where elements of another size do not fit: along each dimension they have to begin at one."""
    words = _as_other(input, dtype)
    if not input.ndim:
        raise RuntimeError(f"self.dim() cannot be 0 {words}")
    ratio, odd = divmod(dtype.itemsize, input.itemsize)
    strides = element_strides(input)
    if not odd and input.shape[-1] % ratio:
        raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {words}, but got {input.shape[-1]}")
    if strides[-1] != 1 and (input.size or input.ndim > 1):
        raise RuntimeError(f"self.stride(-1) must be 1 {words}, but got {strides[-1]}")
    wrong = None if odd else next((d for d, s in enumerate(strides[:-1]) if s % ratio), None)
    if wrong is not None:
        raise RuntimeError(f"self.stride({wrong}) must be divisible by {ratio} {words}, but got {strides[wrong]}")


def _as_other(input, dtype):
    return f"to view {type_word(dtypes.from_numpy(input.dtype))} as {type_word(dtype)} (different element sizes)"


def _check_offset(self, dtype):
    """Raise torch's error where a view's first element is in the middle of a larger one, as kernels could not read it."""
    a, ratio = self._array, dtype.itemsize // self.dtype.itemsize
    if ratio > 1 and type(a) is np.ndarray and a.ndim and not a.shape[-1] % ratio and self.storage_offset() % ratio:
        offset = self.storage_offset()
        raise RuntimeError(
            f"self.storage_offset() must be divisible by {ratio} {_as_other(a, dtype)}, but got {offset}"
        )


_NO_SIZES = (dtypes.dtype, type)


@composite(method=True, function=False)
def view(self, *shape, dtype=None, size=None):
    """The same memory in another shape (one entry may be -1) or as another type. Raises where it takes a copy."""
    if dtype is None and size is None and shape and type(shape[0]) not in _NO_SIZES:
        return _view(self, *shape)
    if shape and type(shape[0]) is type:
        shape = (dtypes.of_argument(shape[0]),)
    dtype = dtypes.of_argument(dtype)
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], dtypes.dtype)):
        dtype = dtype or shape[0]
        _check_offset(self, dtype)
        return _view_dtype(self, dtype)
    if size is None:
        raise type_error(missing("view", "size"))
    return _view(self, size)


@composite(method=True)
def reshape(input, *dims, shape=None):
    """The elements in another shape: a view where possible, else a copy.

    Args:
        dims: the new shape, as numbers or one tuple; one entry may be -1, which is computed.
        shape: the new shape, instead of `dims`.
    Shape: (*) -> (dims)
    Raises:
        RuntimeError: the number of elements differs, as in `reshape(ones(6), (4, 2))`.
        RuntimeError: two entries are -1, as in `reshape(ones(6), (-1, -1))`.

    >>> reshape(tensor([1, 2, 3, 4]), (2, -1))
    tensor([[1, 2],
            [3, 4]])
    """
    if shape is not None:
        dims = (shape,)
    elif not dims:
        raise type_error(missing("reshape", "shape"))
    a = getattr(input, "_array", None)
    if type(a) is np.ndarray and not a.flags.c_contiguous and _must_copy(a, dims):
        return _unsafe_view(input, *dims)
    try:
        return _view(input, *dims)
    except RuntimeError as error:
        if "view size" not in str(error):
            raise
        return _unsafe_view(input, *dims)


def _must_copy(a, dims):
    """Whether the elements fit into the shape, but not where they are."""
    try:
        a.reshape(*dims, copy=False)
    except (ValueError, TypeError):
        try:
            infer_size(shape_from(dims), a.size)
        except (RuntimeError, TypeError):  # explained by the operator
            return False
        return True
    return False


@composite(method=True, function=False)
def view_as(self, other):
    """The memory in the shape of `other`."""
    return _view(self, other._array.shape)


@composite(method=True, function=False)
def reshape_as(self, other):
    """The elements in the shape of `other`."""
    return reshape(self, other._array.shape)


@composite(method=True)
def flatten(input, start_dim=0, end_dim=-1):
    """The dimensions from `start_dim` to `end_dim` made one; a view where possible.

    Shape: (*) -> (*); by default (n)
    Raises:
        IndexError: a dimension is out of range, as in `flatten(ones(2), 1)`.
        RuntimeError: the start comes after the end, as in `flatten(ones(2, 2), 1, 0)`.

    >>> flatten(ones(2, 3, 4), 1).shape
    torch.Size([2, 12])
    """
    shape = input._array.shape
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, 1)
    if start == end:
        return input
    n = 1
    for k in shape[start : end + 1]:
        n *= k
    return reshape(input, (*shape[:start], n, *shape[end + 1 :]))


@composite(method=True)
def ravel(input):
    """The elements as one dimension; a view where possible.

    Shape: (*) -> (n)

    >>> ravel(tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    return reshape(input.contiguous(), -1)


@composite(method=True)
def unflatten(input, dim, sizes):
    """Dimension `dim` split into `sizes`: a view.

    Args:
        sizes: a tuple with the product of that dimension's size; one entry may be -1.
    Shape: (*, n, *) -> (*, sizes, *)
    Raises:
        RuntimeError: the product differs, as in `unflatten(ones(6), 0, (4, 2))`.

    >>> unflatten(ones(6), 0, (2, -1)).shape
    torch.Size([2, 3])
    """
    shape = input._array.shape
    if not shape:
        wrap_dim(dim, 0)
        raise RuntimeError("unflatten: the input has no dimensions")
    d = wrap_dim(dim, len(shape))
    if not len(sizes):
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        new = infer_size(tuple(sizes), shape[d])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) in the input "
            "tensor"
        ) from None
    return _view(input, (*shape[:d], *new, *shape[d + 1 :]))


# ---------------------------------------------------------------------------------------------- dimensions of size 1


@primitive(name="unsqueeze", method=True, view=True)
def unsqueeze(input, /, dim):
    """The tensor with a dimension of size 1 put in at `dim`: a view.

    Shape: (*, *) -> (*, 1, *)
    Raises:
        IndexError: `dim` is out of range, as in `unsqueeze(ones(2), 2)`.

    >>> unsqueeze(ones(2), 1).shape
    torch.Size([2, 1])
    """
    if dim == 0:
        return input[None]
    return input[(_FULL,) * wrap_dim(dim, input.ndim + 1) + (None,)]


@unsqueeze.vjp
def _(g, dim):
    return g.squeeze(dim)


@primitive(name="squeeze", view=True, public=False)
def _squeeze_all(input, /):
    return input.squeeze()


@_squeeze_all.vjp
def _(g, input_shape):
    return g.reshape(input_shape)


def _squeezed(shape, dims):
    return tuple(n for i, n in enumerate(shape) if n != 1 or i not in dims)


@primitive(name="squeeze.dim", view=True, public=False, node="SqueezeBackward1")
def _squeeze_dim(input, /, dim):
    d = wrap_dim(dim, input.ndim)
    return input.squeeze(d) if input.ndim and input.shape[d] == 1 else input.view()


@_squeeze_dim.vjp
def _(g, input_shape):
    return g.reshape(input_shape)


@primitive(name="squeeze.dims", view=True, public=False, node="SqueezeBackward2")
def _squeeze_dims(input, /, dim):
    return input.reshape(_squeezed(input.shape, wrap_dims(dim, input.ndim)), copy=False)


@_squeeze_dims.vjp
def _(g, input_shape):
    return g.reshape(input_shape)


@composite(method=True)
def squeeze(input, dim=..., *, axis=None):
    """The tensor without its dimensions of size 1: a view.

    Args:
        dim: an int or a tuple, of which those of size 1 go; all by default.
    Shape: (*, 1, *) -> (*, *)
    Raises:
        IndexError: `dim` is out of range, as in `squeeze(ones(2), 1)`.

    >>> squeeze(ones(1, 2, 1)).shape
    torch.Size([2])
    >>> squeeze(ones(1, 2, 1), 0).shape
    torch.Size([2, 1])
    """
    if type(dim) is int:
        return _squeeze_dim(input, dim)
    if axis is not None:
        return squeeze(input, axis)
    if dim is ...:
        return _squeeze_all(input)
    if dim is None:
        raise type_error("squeeze() received an invalid combination of arguments - got (Tensor, NoneType)")
    return (
        _squeeze_dims(input, tuple(dim))
        if isinstance(dim, (tuple, list))
        else _squeeze_dim(input, index(dim) if isinstance(dim, Tensor) else dim)
    )


# ---------------------------------------------------------------------------------------------- broadcasting views


@primitive(name="expand", view=True, public=False)
def _expand(input, /, size):
    if len(size) < input.ndim:
        raise RuntimeError(
            f"expand({shown_type(input)}, size={list(size)}): the number of sizes provided ({len(size)}) must be greater "
            f"or equal to the number of dimensions in the tensor ({input.ndim})"
        )
    lead = len(size) - input.ndim
    if size[lead:] == input.shape and input.flags.c_contiguous and -1 not in size:
        return np.ndarray(size, input.dtype, input, 0, (0,) * lead + input.strides)
    shape, strides = [], []
    for i in reversed(range(len(size))):  # of several that do not fit the last one is named
        n, have = size[i], input.shape[i - lead] if i >= lead else 1
        if n == -1:
            if i < lead:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
                )
            n = have
        if have not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton dimension "
                f"{i}.  Target sizes: {list(size)}.  Tensor sizes: {list(input.shape)}"
            )
        shape.insert(0, n)
        strides.insert(0, input.strides[i - lead] if i >= lead and have == n else 0)
    if input.flags.c_contiguous:
        return np.ndarray(shape, input.dtype, input, 0, strides)  # a tenth of as_strided's time
    return _stride(input, shape, strides)


@_expand.vjp
def _(g):
    return g


@composite(method=True, function=False)
def expand(self, *sizes, size=None, implicit=False):
    """A view in which dimensions of size 1 are repeated without memory to the shape `sizes` (-1: as it is)."""
    return _expand(self, shape_from(sizes, "expand") if size is None else tuple(size))


@composite(method=True, function=False)
def expand_as(self, other):
    """The tensor expanded to the shape of `other`."""
    return _expand(self, other._array.shape)


@composite(method=True, function=False)
def sum_to_size(self, *args, size=None):
    """The sum over the dimensions along which `size` would be broadcast to the tensor's shape."""
    target, shape = shape_from(args if size is None else (size,), "sum_to_size"), self._array.shape
    lead = len(shape) - len(target)
    if lead < 0 or any(n not in (1, m) for n, m in zip(target, shape[lead:], strict=True)):
        raise RuntimeError(f"size {{{list(target)}}} is not expandable to size {{{list(shape)}}}.")
    axes = sum_to_axes(shape, target)
    if not target:
        return self.sum()
    return self if not axes else self.sum(axes, keepdim=True).reshape(target)


@composite()
def broadcast_to(input, size):
    """The tensor expanded to `size`: a view, whose new entries share memory.

    Shape: (*) -> (size)
    Raises:
        RuntimeError: the sizes do not fit, as in `broadcast_to(ones(2), (3,))`.

    >>> broadcast_to(tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    try:
        return _expand(input, tuple(size))
    except RuntimeError:
        shape_keyword(size, "broadcast_to")  # raises where a size is no number
        raise


@composite(name="broadcast_to", method=True, function=False)
def _broadcast_to_method(self, *args, size=None):
    """The tensor expanded to `size`: a view, whose new entries share memory."""
    return _expand(self, shape_from(args if size is None else (size,), "broadcast_to"))


@composite()
def broadcast_tensors(*tensors):
    """The tensors expanded to their common shape: a tuple of views, whose new entries share memory.

    Shape: (*), (*), ... -> (*), (*), ..., all of the common shape
    Raises:
        RuntimeError: there is none, as in `broadcast_tensors(ones(2), ones(3))`.

    >>> [t.shape for t in broadcast_tensors(ones(2, 1), ones(3))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    shape = broadcast_shapes(*(x._array.shape for x in tensors))
    return tuple(_expand(x, shape) for x in tensors)


@composite(name="broadcast_shapes")
def _broadcast_shapes(*shapes):
    """The shape to which all `shapes` broadcast.

    Args:
        shapes: tuples or numbers.
    Shape: tuples of numbers (*), ... -> (*)
    Raises:
        RuntimeError: there is none, as in `broadcast_shapes((2,), (3,))`.

    >>> broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    out: list[int] = []
    for i, given in enumerate(shapes):
        shape = (given,) if isinstance(given, int) else tuple(given)
        out[:0] = [1] * (len(shape) - len(out))
        for d in range(-1, -1 - len(shape), -1):
            if shape[d] != 1 and out[d] not in (1, shape[d]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[d]} at {d}! Mismatching argument at index {i} had "
                    f"{shape}; but expected shape should be broadcastable to {out}"
                )
            out[d] = shape[d] if shape[d] != 1 else out[d]
    return Size(out)


@composite(method=True, function=False)
def is_contiguous(self, memory_format=None):
    """Whether the elements are in memory in the order of the indices."""
    if memory_format is None:
        return flags_of(self._array).c_contiguous
    name = format_name(memory_format)
    if name == "preserve_format":
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if name in CHANNELS_LAST:
        order, _ = CHANNELS_LAST[name]
        if self._array.ndim != len(order):
            return False
        if not self._array.size:
            strides = strides_of(self)
            return tuple([strides[d] for d in order]) == new_element_strides([self._array.shape[d] for d in order])
        return self._array.transpose(order).flags.c_contiguous
    return flags_of(self._array).c_contiguous


# ---------------------------------------------------------------------------------------------- copied


def copied(name: str, view_of) -> None:
    """The function `name_copy`: the view as fresh memory."""

    def f(input, *args, **kwargs):
        result = view_of(input, *args, **kwargs)
        if isinstance(result, tuple):
            return tuple(r.clone(memory_format=contiguous_format) for r in result)
        return result.clone(memory_format=contiguous_format)

    f.__name__, f.__doc__ = (
        name + "_copy",
        like(view_of, name + "_copy", f"`{name}` as a copy: no later write to the input shows."),
    )
    f.__wrapped__ = view_of  # type: ignore[attr-defined]  # inspect.signature looks there
    composite(out=True)(f)


for _name, _view_of in (
    ("alias", lambda input: _view(input, input._array.shape)), ("view", lambda input, *shape: view(input.contiguous(), *shape)), ("transpose", transpose),
    ("t", t), ("permute", permute), ("squeeze", squeeze), ("unsqueeze", unsqueeze),
    ("expand", lambda input, size, implicit=False: _expand(input, tuple(size))), ("detach", lambda input: input.detach()),
):  # fmt: skip
    copied(_name, _view_of)
