"""Elements picked and placed along a dimension by index tensors of its rank: gather and scatter.

Index tensors are array inputs like any other; they never carry a gradient.
"""

from __future__ import annotations

from operator import gt
from typing import Any

import numpy as np

from ...core.device.backend import on_device_of
from ...core.dispatch.errors import type_error
from ...core.dispatch.inplace import write
from ...core.dispatch.mode import copy_or_target
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import NUMBERS, exact, type_name
from ...core.dispatch.slow_path import write_out
from ...core.tensor.dtype import c_word
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, constant
from ...core.warn import warn_once
from ..pointwise.building_blocks import SOME
from ..pointwise.checks import lies_within, lowest
from ..shape.slicing import embed
from ..twins import twins
from .duplicate_index import add_at, combine_at

_I64 = np.dtype(np.int64)


def _check_index_type(name: str, index: np.ndarray) -> None:
    if index.dtype != np.int64 and index.dtype != np.int32:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


def _grid(name: str, index: np.ndarray, shape: tuple, d: int) -> tuple:
    """The full NumPy index of an index tensor along dimension `d`."""
    _check_index_type(name, index)
    n = shape[d] if shape else 1
    rows = _rows_of(index, shape, d)
    if rows is not None:
        index = rows
    if not lies_within(index, 0, n):
        bad = index[(index < 0) | (index >= n)].flat[0]
        raise RuntimeError(f"index {bad} is out of bounds for dimension {d} with size {n}")
    if rows is not None:
        return (rows,)
    if index.ndim == 2:
        return (np.arange(index.shape[0])[:, None], index) if d else (index, np.arange(index.shape[1]))
    places = [np.arange(k).reshape((1,) * i + (-1,) + (1,) * (index.ndim - i - 1)) for i, k in enumerate(index.shape)]
    if index.ndim:
        places[d] = index
    return tuple(places)


def _numbers(where: tuple, shape: tuple) -> np.ndarray:
    """The numbers that elements at `where` have in a C-contiguous array: 2 ns an element for gather, by two indices 4."""
    step, found = 1, None
    for w, n in zip(reversed(where), reversed(shape), strict=True):
        part = w if step == 1 else np.multiply(w, step, dtype=np.int64)
        if found is None:
            found = part
        elif part.shape == np.broadcast_shapes(found.shape, part.shape) and step != 1:
            found = np.add(part, found, out=part)
        else:
            found = part + found
        step *= n
    assert found is not None
    return found


def _is_flat(a: np.ndarray, where: tuple) -> bool:
    return len(where) == a.ndim > 1 and type(a) is np.ndarray and a.flags.c_contiguous


def _rows_of(index: np.ndarray, shape: tuple, d: int) -> np.ndarray | None:
    """The places along the first dimension of an index that is expanded over all the others: whole rows go there."""
    if d or len(shape) < 2 or index.ndim != len(shape) or index.shape[1:] != shape[1:] or any(index.strides[1:]):
        return None
    return index[(slice(None), *(0,) * (index.ndim - 1))]


def _check_gather(input: np.ndarray, index: np.ndarray, dim: int) -> int:
    d = wrap_dim(dim, input.ndim)
    if not index.size:
        return d
    _check_index_type("gather", index)
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for k in range(min(index.ndim, input.ndim)) if index.shape != input.shape else ():
        if k != d and index.shape[k] > input.shape[k]:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index {list(index.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {d}"
            )
    return d


def gather_columns(input: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    """The usual case in half the time: columns of a matrix. None where something has to be looked into."""
    n = len(index)
    if n > len(input) or not index.size or lowest(index) < 0:
        return None
    try:
        return np.ascontiguousarray(input[np.arange(n)[:, None], index])
    except IndexError:
        return None


@primitive(name="gather", public=False, jit_min_elements=SOME)
def _gather(input, index, /, dim):
    if input.ndim == index.ndim == 2 and (dim == 1 or dim == -1) and index.dtype is _I64:
        quick = gather_columns(input, index)
        if quick is not None:
            return quick
    d = _check_gather(input, index, dim)
    if not input.ndim or not index.ndim:
        return input.reshape(-1)[index.reshape(-1)].reshape(index.shape)
    if not index.size:
        return np.empty(index.shape, input.dtype, like=input)
    where = _grid("gather", index, input.shape, d)
    if _is_flat(input, where):
        return input.reshape(-1).take(_numbers(where, input.shape))
    return np.ascontiguousarray(input[where])


@_gather.vjp("input")
def _(g, input_shape, index, dim):
    return _scatter_add(g.new_zeros(input_shape), index, g, dim)


@composite(method=True)
def gather(input, dim, index, *, sparse_grad=False, out=None):
    """out[i][j] = input[index[i][j]][j] for dim 0, and so on: one element along `dim` for each entry of `index`.

    Args:
        index: int64, no larger than the input outside `dim`.
        sparse_grad: whether the gradient is a sparse tensor.
        out: the tensor to write the result to.
    Shape: (*), index (*) -> (*), as `index`
    Raises:
        RuntimeError: an index is out of range, as in `gather(ones(2), 0, tensor([2]))`.
        RuntimeError: the numbers of dimensions differ, as in `gather(ones(2, 2), 0, tensor([0]))`.
        RuntimeError: `index` is not of integers, as in `gather(ones(2), 0, ones(1))`.

    >>> gather(tensor([[1, 2], [3, 4]]), 1, tensor([[1], [0]]))
    tensor([[2],
            [3]])
    """
    if sparse_grad:
        raise NotImplementedError(
            "gather(sparse_grad=True): sparse gradients are not implemented; use sparse_grad=False"
        )
    result = _gather(input, index, dim)
    if isinstance(out, Tensor) and out.dtype is not result.dtype:
        raise RuntimeError(
            f"gather(): Expected out tensor to have dtype {c_word(result.dtype)}, but got {c_word(out.dtype)} instead"
        )
    return result if out is None else write_out("gather", (input,), result, out)


def check_source_type(input: np.ndarray, src: np.ndarray) -> None:
    """Raise torch's error where the types differ."""
    if src.dtype != input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")


def _scatter_parts(
    name: str, input: np.ndarray, index: np.ndarray, src: np.ndarray, dim: int, is_number: bool = False
) -> tuple:
    """What is written (the result, the same with a dimension, where in it, and what). is_number: `src` is no tensor."""
    d = wrap_dim(dim, input.ndim)
    _check_index_type("scatter", index)
    check_source_type(input, src)
    _check_scatter(input, index, None if is_number else src, d)
    out = copy_or_target(input, "C")
    flat = out if out.ndim else out.reshape(1)
    index = index if index.ndim else index.reshape(1)
    if src.ndim and src.shape != index.shape:
        src = src[tuple(slice(0, k) for k in index.shape)]
    return out, flat, _grid(name, index, flat.shape, d), src


def _check_scatter(input: np.ndarray, index: np.ndarray, src: np.ndarray | None, d: int) -> None:
    """Raise torch's error where the index is larger than what it is of. A tensor without dimensions counts as of one element."""
    into, at = input.shape or (1,), index.shape or (1,)
    of = at if src is None else src.shape or (1,)
    if at == of == into:
        return
    if len(into) != len(at):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    is_wrong = any(n > into[k] for k, n in enumerate(at) if k != d) or any(map(gt, at, of))
    if src is not None and 0 < src.ndim < len(at) and not is_wrong:
        wrap_dim(len(of), len(of))  # as torch comes to it
    if len(of) != len(at):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if is_wrong:
        end = "" if src is None else f" and to be no larger size than src {list(src.shape)}"
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {d}{end}"
        )


def _put(out: np.ndarray, where: tuple, src: np.ndarray) -> None:
    if _is_flat(out, where):
        out.reshape(-1)[_numbers(where, out.shape)] = src
    else:
        out[where] = src


@primitive(name="scatter", public=False)
def _scatter(input, index, src, /, dim):
    if not index.size:
        wrap_dim(dim, input.ndim)  # raises
        check_source_type(input, src)
        return copy_or_target(input, "C")
    out, flat, where, src = _scatter_parts("scatter", input, index, src, dim)
    _put(flat, where, src)
    return out


@_scatter.vjp("input")
def _(g, index, dim):
    return _scatter_value(g, index, dim, 0)


@_scatter.vjp("src")
def _(g, index, src_shape, dim):
    picked = _gather(g, index, dim)
    return padded(picked, src_shape) if src_shape else picked.sum()


@primitive(name="scatter.value", public=False, node="ScatterBackward1")
def _scatter_value(input, index, /, dim, value):
    if not index.size:
        wrap_dim(dim, input.ndim)  # raises
        return copy_or_target(input, "C")
    out, flat, where, src = _scatter_parts(
        "scatter", input, index, np.asarray(exact(value, input.dtype), input.dtype), dim, is_number=True
    )
    _put(flat, where, src)
    return out


@_scatter_value.vjp("input")
def _(g, index, dim):
    return _scatter_value(g, index, dim, 0)


@primitive(name="scatter_add", public=False)
def _scatter_add(input, index, src, /, dim):
    if not index.size:
        wrap_dim(dim, input.ndim)  # raises
        check_source_type(input, src)
        return copy_or_target(input, "C")
    out, flat, where, src = _scatter_parts("scatter_add", input, index, src, dim)
    add_at(flat, where, src, is_checked=True)
    return out


@_scatter_add.vjp("input")
def _(g):
    return g


@_scatter_add.vjp("src")
def _(g, index, src_shape, dim):
    return padded(_gather(g, index, dim), src_shape)


def padded(g: Tensor, shape: tuple) -> Tensor:
    """`g` with zeros up to `shape`: entries of a source that no index reached."""
    if g._array.shape == shape:
        return g
    if not shape:  # a source without dimensions counts as of one element
        return g.reshape(())
    return embed(g, shape, (*(slice(0, n) for n in g._array.shape), ...))


def _scatter_order(dim, index, src, value):
    """(the operator, its arrays, its metadata) for a `src` that is a tensor or a number."""
    src = value if src is None else src
    if isinstance(src, Tensor):
        return _scatter, (index, src), (dim,)
    if not isinstance(src, NUMBERS):
        raise type_error(
            f"scatter() received an invalid combination of arguments - got (int, Tensor, {type_name(src)}), but expected "
            "one of:\n * (int dim, Tensor index, Tensor src)\n * (int dim, Tensor index, Number value)\n"
        )
    return _scatter_value, (index,), (dim, src)


@composite(method=True, out=True)
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """The input with `src` put at the places of `index` along `dim`: out[index[i][j]][j] = src[i][j] for dim 0.

    Args:
        index: int64. Where a place is given twice, one of the values is kept.
        src: a tensor at least as large as `index`, or a number.
        value: a number, instead of `src`.
        reduce: "add" or "multiply" to combine with what is there.
        out: the tensor to write the result to.
    Shape: (*), index (*), src (*) -> (*), as `input`
    Raises:
        RuntimeError: an index is out of range, as in `scatter(ones(2), 0, tensor([2]), 1.0)`.
        RuntimeError: the types differ, as in `scatter(ones(2), 0, tensor([1]), tensor([1]))`.

    >>> scatter(zeros(3), 0, tensor([2, 0]), tensor([5.0, 6.0]))
    tensor([6., 0., 5.])
    """
    if reduce is not None:
        return _scatter_reduced(input, *_reduce_order(input, dim, index, src if src is not None else value, reduce))
    op, arrays, metadata = _scatter_order(dim, index, src, value)
    return op(input, *arrays, *metadata)


@composite(method=True, function=False)
def scatter_(self, dim, index, src=None, *, value=None, reduce=None):
    """In-place `scatter`."""
    if reduce is not None:
        index, src, *metadata = _reduce_order(self, dim, index, src if src is not None else value, reduce)
        return write(_scatter_reduced.record, self, (index, src), tuple(metadata))
    op, arrays, metadata = _scatter_order(dim, index, src, value)
    return write(op.record, self, arrays, metadata)


_OLDER_REDUCE = (
    "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch release. Use "
    "torch.scatter_reduce instead for more reduction options."
)


def _reduce_order(input: Tensor, dim: int, index: Tensor, src: Any, reduce: str) -> tuple:
    """The arguments of `_scatter_reduced`, for a `src` that is a tensor or a number."""
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if isinstance(src, Tensor):
        warn_once(_OLDER_REDUCE)
    else:
        src = constant(
            on_device_of(index._array, np.full, index._array.shape, exact(src, input.dtype.numpy), input.dtype.numpy)
        )
    return index, src, dim, reduce


@primitive(name="scatter.reduce", public=False, node="NotImplemented")
def _scatter_reduced(input, index, src, /, dim, reduce):
    """`scatter` with reduce="add" or "multiply", which has no gradient in torch: `scatter_reduce` has."""
    if not index.size:
        wrap_dim(dim, input.ndim)  # raises
        return copy_or_target(input, "C")
    out, flat, where, values = _scatter_parts("scatter", input, index, src, dim)
    if reduce == "add":
        add_at(flat, where, values, is_checked=True)
    else:
        combine_at(np.multiply, flat, where, values, is_checked=True)
    return out


twins("scatter_add", _scatter_add, lambda input, dim, index, src: ((index, src), (dim,)),
       """The input with `src` added at the places of `index` along `dim`: out[index[i][j]][j] += src[i][j] for dim 0.

    Args:
        index: int64; a place may be given several times.
        src: a tensor at least as large as `index`.
        out: the tensor to write the result to.
    Shape: (*), index (*), src (*) -> (*), as `input`
    Raises:
        RuntimeError: an index is out of range, as in `scatter_add(ones(2), 0, tensor([2]), ones(1))`.
        RuntimeError: the types differ, as in `scatter_add(ones(2), 0, tensor([1]), tensor([1]))`.

    >>> scatter_add(zeros(2), 0, tensor([1, 1]), tensor([5.0, 6.0]))
    tensor([ 0., 11.])
    """)  # fmt: skip
