"""Slices along a dimension, picked and placed by a vector of indices: index_select, index_add, index_copy, index_fill.

Index tensors are array inputs like any other; they never carry a gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import copy_or_target, take_target
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import NUMBERS, exact, type_name
from ...core.tensor.casting import cast_like
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, constant
from ..pointwise.checks import lies_within, word
from ..twins import twins
from .duplicate_index import add_at

_FULL = slice(None)


def check_index_type(name: str, index: np.ndarray) -> None:
    """Raise torch's error for an index of another type than `name` takes."""
    if index.dtype != np.int64 and (index.dtype != np.int32 or name == "index_copy"):
        found = word(index)
        raise RuntimeError({
            "index_select": f"index_select(): Expected dtype int32 or int64 for index (got {found})",
            "index_copy": f"index_copy_(): Expected a long tensor for index, but got {found}",
        }.get(name, f"{name}_(): Expected dtype int32/int64 for index but got: {found}"))  # fmt: skip


def _check_index(name: str, index: np.ndarray, n: int, dim: int = 0, dims: int = 1) -> np.ndarray:
    """A 1-D index within [0, n). Raises RuntimeError on its type and IndexError on its values."""
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim}")
    check_index_type(name, index)
    flat = index.reshape(-1)
    if not lies_within(flat, 0, n):
        if name == "index_select" and not n and dims > 1:
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        bad = flat[(flat < 0) | (flat >= n)][0]
        if name == "index_add":  # torch's kinds of errors
            raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {n}")
        if name == "index_copy":
            raise IndexError(f"index_copy_(): index {bad} is out of bounds for dimension {dim} with size {n}")
        raise IndexError(f"index out of range in self: {name}() got index {bad} for a dimension of size {n}")
    return flat


@primitive(name="index_select", public=False)
def _index_select(input, index, /, dim):
    if not input.ndim:
        _check_index("index_select", index, 1)
        if index.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return input.copy()
    d = wrap_dim(dim, input.ndim)
    return input.take(_check_index("index_select", index, input.shape[d], dims=input.ndim), d)


@_index_select.vjp("input")
def _(g, input_shape, index, dim):
    return _index_add(g.new_zeros(input_shape), index, g, dim, 1)


@composite(method=True, out=True)
def index_select(input, dim, index):
    """The slices along `dim` at the places `index`, as a copy.

    Args:
        index: a 1-D (or 0-d) tensor of int32 or int64.
        out: the tensor to write the result to.
    Shape: (*), index (n) -> (*) with size n at `dim`
    Raises:
        IndexError: an index is out of range, as in `index_select(ones(2), 0, tensor([2]))`.
        IndexError: `index` has several dimensions, as in `index_select(ones(2), 0, tensor([[0]]))`.

    >>> index_select(tensor([[1, 2], [3, 4]]), 1, tensor([1, 1]))
    tensor([[2, 2],
            [4, 4]])
    """
    return _index_select(input, index, dim)


def _check_copied(input: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> tuple[int, np.ndarray]:
    """As `_check_source`, for index_copy, in torch's order."""
    d = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if not source.ndim and index.size != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.size})")
    if source.ndim != input.ndim and source.ndim and input.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality "
            f"({source.ndim}), destination dimensionality ({input.ndim})"
        )
    if index.dtype != np.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {word(index)}")
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {word(input)} and (source) "
            f"{word(source)}"
        )
    own, other = ((*a.shape[:d], *a.shape[d + 1 :]) for a in (input, source))
    if own != other:
        shown = [" ".join(map(str, shape)) for shape in (own, other)]
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{shown[0]} at dimension {d} and source slice shape: {shown[1]} at dimension 0."
        )
    if source.ndim and index.size != source.shape[d]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) ({source.shape[d]})"
        )
    return d, _check_index("index_copy", index, input.shape[d] if input.ndim else 1, d)


def _check_source(
    name: str, input: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int
) -> tuple[int, np.ndarray]:
    """(dimension, checked index) of an index_* call that places slices of `source`."""
    if name == "index_copy":
        return _check_copied(input, index, source, dim)
    d = wrap_dim(dim, input.ndim)
    check_index_type(name, index)
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"{name}_(): self ({word(input)}) and source ({word(source)}) must have the same scalar type"
        )
    where = _check_index(name, index, input.shape[d] if input.ndim else 1, d)
    if input.ndim and source.ndim <= d:
        raise RuntimeError(f"{name}_(): Indexing dim {d} is out of bounds of the source tensor with dim {source.ndim}")
    n = source.shape[d] if source.ndim else 1
    if where.size != n:
        raise RuntimeError(
            f"{name}_(): Number of indices ({where.size}) should be equal to source.size(dim): ({n}), for dim: {d}"
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
    source = source if alpha == 1 else source * source.dtype.type(exact(alpha, source.dtype))
    if not input.ndim:
        return input + source.reshape(-1).sum(dtype=source.dtype)
    out = copy_or_target(input, "C")
    add_at(out.swapaxes(d, 0), (where,), source.swapaxes(d, 0) if source.ndim else source.reshape(1))
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
    out = copy_or_target(input, "C")
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


@primitive(name="index_fill", public=False, node="IndexFillBackward1")
def _index_fill(input, index, value, /, dim):
    n = input.shape[wrap_dim(dim, input.ndim)] if input.ndim else 1
    where = index.reshape(-1)
    if index.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if not lies_within(where, -n, n):
        bad = where[(where < -n) | (where >= n)][0]
        raise IndexError(f"index {bad} is out of bounds for dimension {wrap_dim(dim, input.ndim)} with size {n}")
    if not input.ndim:
        return np.full_like(input, value) if where.size else input.copy()
    out = input if take_target(input) else cast_like(input, input.dtype)
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
    if x.dtype.category < 3 and (isinstance(value, complex) or (isinstance(value, Tensor) and value.is_complex())):
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    if not isinstance(value, Tensor):
        if not isinstance(value, NUMBERS):
            raise type_error(
                f"index_fill() received an invalid combination of arguments - got (int, Tensor, {type_name(value)}), but "
                "expected one of:\n * (int dim, Tensor index, Tensor value)\n * (int dim, Tensor index, Number value)\n"
            )
        return constant(np.asarray(exact(value, x.dtype.numpy), x.dtype.numpy))
    if value._array.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} dimension(s)."
        )
    return value if value.dtype is x.dtype else value.to(x.dtype)


twins("index_add", _index_add, lambda input, dim, index, source, *, alpha=1: ((index, source), (dim, alpha)),
       """The input with the slices of `source` added at the places `index` of `dim`.

    Args:
        index: a 1-D tensor of integers; a place may be given several times.
        source: of the input's type, with as many slices along `dim` as `index` has entries.
        alpha: a number to multiply `source` by.
        out: the tensor to write the result to.
    Shape: (*), index (n), source (*) -> (*), as `input`
    Raises:
        IndexError: `dim` is out of range, as in `index_add(ones(2), 1, tensor([0]), ones(1))`.
        RuntimeError: the types differ, as in `index_add(ones(2), 0, tensor([0]), tensor([1]))`.

    >>> index_add(zeros(3), 0, tensor([0, 0, 2]), tensor([1.0, 2.0, 3.0]))
    tensor([3., 0., 3.])
    """)  # fmt: skip
twins("index_copy", _index_copy, lambda input, dim, index, source: ((index, source), (dim,)),
       """The input with the slices of `source` put at the places `index` of `dim`.

    Args:
        index: a 1-D int64 tensor.
        source: of the input's type, with as many slices along `dim` as `index` has entries.
        out: the tensor to write the result to.
    Shape: (*), index (n), source (*) -> (*), as `input`
    Raises:
        IndexError: the numbers of slices and indices differ, as in `index_copy(ones(2), 0, tensor([0]), ones(2))`.
        RuntimeError: the types differ, as in `index_copy(ones(2), 0, tensor([0]), tensor([1]))`.

    >>> index_copy(zeros(3), 0, tensor([2, 0]), tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """)  # fmt: skip
twins("index_fill", _index_fill, lambda input, dim, index, value: ((index, _filler(input, value)), (dim,)),
       """The input with `value` at the places `index` of `dim`.

    Args:
        index: a 1-D int64 tensor.
        value: a number or a 0-d tensor.
        out: the tensor to write the result to.
    Shape: (*), index (n) -> (*), as `input`
    Raises:
        IndexError: an index is out of range, as in `index_fill(ones(2), 0, tensor([2]), 0.0)`.

    >>> index_fill(zeros(3), 0, tensor([0, 2]), 7.0)
    tensor([7., 0., 7.])
    """, number="IndexFillBackward0")  # fmt: skip
