"""A tensor with a part of it replaced: select_scatter, slice_scatter, diagonal_scatter, as_strided_scatter, fill_diagonal_."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ...core.dispatch.mode import no_grad, thread
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.overlap import shares_places
from ...core.tensor.casting import copy_with_gaps
from ...core.tensor.placeholder import Placeholder
from ...core.tensor.storage import storage_of
from ...core.tensor.tensor import wrap
from .slicing import as_strided, diagonal, select, slice_


def _embedding(name: str, view: Any, part: Any, doc: str) -> None:
    """`name`: the first operand with the second in the place of `view(first, *options)`; part: `view` of raw arrays."""

    def replaced(input, src, /, options):
        out = copy_with_gaps(input)
        part(out, *options)[...] = src
        return out

    operator = primitive(name=name, public=False, promote=None)(replaced)
    operator.vjp("input")(lambda g, src_shape, options: operator(g, g.new_zeros(src_shape), options))
    operator.vjp("src")(lambda g, options: view(g, *options))

    def f(input, src, *args, **kwargs):
        with no_grad():
            shown = view(input, *args, **kwargs)
        if shown._array.shape != src._array.shape:
            raise RuntimeError(
                f"{name}: expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(shown.shape)}"
            )
        kind = type(input._array)
        is_plain = kind is type(src._array) and not issubclass(kind, Placeholder) and input.dtype is src.dtype
        if is_plain and thread.state.level == 1 and (input._edge is not None or src._edge is not None):
            return operator(input, src, arguments_of(args, kwargs))
        out = wrap(copy_with_gaps(input._array)) if is_plain and thread.state.level <= 1 else input.clone()
        view(out, *args, **kwargs).copy_(src)
        return out

    signature = inspect.signature(view)

    def arguments_of(args, kwargs):
        bound = signature.bind(None, *args, **kwargs)
        bound.apply_defaults()
        return tuple(bound.args[1:])

    f.__name__, f.__doc__ = name, doc
    composite(method=True, out=True)(f)


_embedding(
    "select_scatter",
    lambda t, dim, index: t.select(dim, index),
    lambda a, dim, index: select.record.reference(a, dim, index),
    """The input with `src` at `index` of `dim`.

    Args:
        src: of the shape of `select(input, dim, index)`.
    Shape: (*, n, *), src (*, *) -> (*, n, *)
    Raises:
        RuntimeError: the shape of `src` differs, as in `select_scatter(ones(2, 2), ones(3), 0, 0)`.

    >>> select_scatter(zeros(2, 2), ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """,
)
_embedding(
    "diagonal_scatter",
    lambda t, offset=0, dim1=0, dim2=1: t.diagonal(offset, dim1, dim2),
    lambda a, offset, dim1, dim2: diagonal.record.reference(a, offset, dim1, dim2),
    """The input with `src` on its diagonal.

    Args:
        src: of the shape of `diagonal(input, offset, dim1, dim2)`.
    Shape: (*, n, m), src (*, min(n, m)) -> (*, n, m)
    Raises:
        RuntimeError: the shape of `src` differs, as in `diagonal_scatter(ones(2, 2), ones(3))`.

    >>> diagonal_scatter(zeros(2, 2), ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """,
)
_embedding(
    "slice_scatter",
    lambda t, dim=0, start=None, end=None, step=1: slice_(t, dim, start, end, step),
    lambda a, dim, start, end, step: slice_.record.reference(a, dim, start, end, step),
    """The input with `src` at start, start + step, ... below end of `dim`.

    Args:
        src: of the shape of that slice.
    Shape: (*, n, *), src (*, m, *) -> (*, n, *)
    Raises:
        RuntimeError: the shape of `src` differs, as in `slice_scatter(ones(2), ones(3), 0, 0, 1)`.

    >>> slice_scatter(zeros(4), ones(2), 0, 1, 3)
    tensor([0., 1., 1., 0.])
    """,
)


@primitive(name="as_strided_scatter", public=False, promote=None)
def _as_strided_scatter(input, src, /, places):
    out = np.array(input, order="C")
    as_strided.record.reference(out, *places)[0][...] = src
    return out


@_as_strided_scatter.vjp("input")
def _(g, places):
    return _as_strided_scatter(g.new_zeros(g._array.shape), g.contiguous().as_strided(*places), places)


@_as_strided_scatter.vjp("src")
def _(g, places):
    return g.contiguous().as_strided(*places)


def _with_its_places(input):
    """A copy of the input, its strides and what of its storage it spans; a plain one where places repeat."""
    if type(input._array) is not np.ndarray:
        return input.clone()
    sizes, strides, begin = input.shape, input.stride(), input.storage_offset()
    if input.is_contiguous() and not begin or not input.numel() or shares_places(input._array):
        return input.clone()
    end = begin + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) + 1
    memory = input.detach().as_strided((end,), (1,), 0).clone()
    out = wrap(memory.as_strided(sizes, strides, begin)._array)
    out._storage = storage_of(memory)
    return out


@composite(method=True)
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """The input with `src` at the places that `as_strided` would show.

    The gradient of `input` is torch's: the incoming one at the places that were replaced, and 0 at all others.

    Args:
        stride: the distance of neighbours along each dimension, in elements.
        storage_offset: where the places begin in the storage, in elements.
    Shape: (*), src (size) -> (*), as `input`
    Raises:
        RuntimeError: the places leave the storage, as in `as_strided_scatter(ones(2), ones(3), (3,), (1,))`.
        RuntimeError: `input` requires grad and is not contiguous.

    >>> as_strided_scatter(zeros(4), ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    if not input.is_contiguous() and thread.state.grad and input.requires_grad:
        raise RuntimeError("as_strided_scatter is currently only supported for contiguous tensors that require grad")
    places = (tuple(size), tuple(stride), storage_offset)
    with no_grad():
        out = _with_its_places(input)
        part = out.as_strided(*places)
    if part.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(part.shape)}"
        )
    if input.requires_grad or src.requires_grad:
        return _as_strided_scatter(input, src.to(input.dtype), places)
    part.copy_(src)
    return out


@composite(method=True)
def slice_inverse(input, src, dim=0, start=None, end=None, step=1):
    """The tensor that `input` is a slice of, laid out as `src`: a view of the same memory.

    Shape: (*), src (*) -> (*), as `src`
    Raises:
        RuntimeError: the memory is smaller, as in `slice_inverse(ones(2), ones(3))`.
    """
    return input.as_strided(src.shape, src.stride(), src.storage_offset())


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
    input.as_strided((n,), (step,)).fill_(fill_value)
    if wrap and a.ndim == 2 and a.shape[0] > a.shape[1] + 1:
        start = input.storage_offset() + input.stride(0) * (a.shape[1] + 1)
        rest = -(-a.size // (a.shape[1] + 1)) - n
        input.as_strided((rest,), (step,), start).fill_(fill_value)
    return input
