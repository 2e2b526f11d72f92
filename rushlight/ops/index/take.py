"""Elements of the flattened tensor by number: take and put; take_along_dim."""

from __future__ import annotations

import numpy as np

from ...core.dispatch.mode import copy_or_target, may_branch_on_data
from ...core.dispatch.op import composite, primitive
from ...core.tensor.size import broadcast_shapes, wrap_dim
from ...core.tensor.tensor import wrap
from ..creation.filled import zeros_like
from ..pointwise.building_blocks import in_order_of
from ..pointwise.checks import lies_within, word
from ..pointwise.choice import where
from ..twins import twins
from .duplicate_index import add_at
from .scatter import _gather


@primitive(name="take", public=False)
def _take(input, index, /):
    if index.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {word(index)}")
    n = input.size
    if index.size and not n:
        raise IndexError("take(): tried to take from an empty tensor")
    if not lies_within(index, -n, n):
        bad = index[(index < -n) | (index >= n)].flat[0]
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {n} elements.")
    return np.asarray(input.reshape(-1)[index], order="C", like=input)


@_take.vjp("input")
def _(g, input, index):
    return _put(zeros_like(input.detach()), index, g, True)


@composite(method=True, out=True)
def take(input, index):
    """The elements of the flattened input at `index`.

    Args:
        index: int64.
        out: the tensor to write the result to.
    Shape: (*), index (*) -> (*), as `index`
    Raises:
        IndexError: an index is out of range, as in `take(ones(2), tensor([2]))`.

    >>> take(tensor([[1, 2], [3, 4]]), tensor([3, 0]))
    tensor([4, 1])
    """
    return _take(input, index)


@primitive(name="put", public=False)
def _put(input, index, source, /, accumulate):
    if index.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {word(index)}")
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {word(input)} and source.dtype = {word(source)}"
        )
    if source.size != index.size:
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = {source.size}, index.numel() = {index.size}"
        )
    n = input.size
    if not lies_within(index, -n, n):
        bad = index[(index < -n) | (index >= n)].flat[0]
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {n} elements.")
    out = copy_or_target(input) if input.flags.c_contiguous else np.array(input, order="C", like=input)
    flat = out.reshape(-1)
    if accumulate:
        add_at(flat, (index.reshape(-1),), source.reshape(-1))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return in_order_of(out, input)


@_put.vjp("input")
def _(g, index, accumulate):
    return g if accumulate else _put(g, index, g.new_zeros(index._array.shape), False)


@_put.vjp("source")
def _(g, index, source_shape):
    return _take(g, index).reshape(source_shape)


twins("put", _put, lambda input, index, source, accumulate=False: ((index, source), (accumulate,)),
       """The input with `source` at the flat places `index`.

    Args:
        index: int64.
        source: a tensor of the same type with as many elements as `index`.
        accumulate: whether to add rather than overwrite.
        out: the tensor to write the result to.
    Shape: (*), index (*), source (*) -> (*), as `input`
    Raises:
        IndexError: an index is out of range, as in `put(ones(2), tensor([2]), ones(1))`.
        IndexError: the numbers of elements differ, as in `put(ones(2), tensor([1]), ones(2))`.

    >>> put(zeros(2, 2), tensor([3, 0]), tensor([5.0, 6.0]))
    tensor([[6., 0.],
            [0., 5.]])
    """)  # fmt: skip


@composite(method=True, out=True)
def take_along_dim(input, indices, dim=None):
    """`gather` with `indices` broadcast against the input; without dim over the flattened input.

    Args:
        indices: int64.
        dim: an int; the flattened input by default.
        out: the tensor to write the result to.
    Shape: (*), indices (*) -> (*), broadcast outside `dim`
    Raises:
        RuntimeError: an index is out of range, as in `take_along_dim(ones(2), tensor([2]), 0)`.
        RuntimeError: the numbers of dimensions differ, as in `take_along_dim(ones(2, 2), tensor([0]), 0)`.

    >>> take_along_dim(tensor([[1, 2], [3, 4]]), tensor([[1]]), 1)
    tensor([[2],
            [4]])
    """
    if dim is None:
        return _gather(input.reshape(-1), indices.reshape(-1), 0)
    if indices._array.ndim != input._array.ndim:
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input._array.ndim} dimensions for input, and {indices._array.ndim} dimensions for indices"
        )
    if indices._array.dtype != np.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {word(indices._array)}")
    d = wrap_dim(dim, input._array.ndim)
    n = input._array.shape[d]
    if not may_branch_on_data(indices):
        indices = where(indices < 0, indices + n, indices)
    elif (indices._array < 0).any():
        indices = wrap(np.where(indices._array < 0, indices._array + n, indices._array))
    a, b = list(input._array.shape), list(indices._array.shape)
    a[d] = b[d] = 1
    shape = list(broadcast_shapes(a, b))
    grown = indices.expand(*shape[:d], indices._array.shape[d], *shape[d + 1 :])
    return _gather(input.expand(*shape[:d], input._array.shape[d], *shape[d + 1 :]), grown, d)
