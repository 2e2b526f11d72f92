"""What operators do with sparse tensors, by the operator's name; every other one refuses by that name.

A rule gets the call's tensors and metadata and works on indices and values, so that gradients flow by themselves.
Matrices by rows are brought to coordinate form first, and results of their shape back.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.dispatch.mode import thread
from ..core.dispatch.op import OPS
from ..core.tensor import dtype as dtypes
from ..core.tensor.placeholder import no_kernel
from ..core.tensor.size import wrap_dim
from ..core.tensor.tensor import Tensor, wrap
from . import products
from .compressed import Compressed, CscTensor, CsrTensor, compressed
from .coo import SparseTensor, assemble, empty_like, mask, replace, with_rest
from .entries import gather, indices_of, merge, places_of, sum_with, unstored_scaled

if TYPE_CHECKING:
    from ..core.dispatch.op import Op


_PRODUCTS = {
    "mm": products.mm,
    "mv": products.mv,
    "addmm": products.addmm,
    "bmm": products.bmm,
    "matmul.vector_matrix": products.vector_matrix,
    "linear.plain": products.linear,
}


_SWAPPED = ("t", "transpose")  # what was by rows is by columns then


def call(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """The result of operator `record` for tensors of which one or more are sparse."""
    rule = RULES.get(record.name)
    if rule is None:
        raise no_kernel(record.name)
    kinds = {type(t) for t in tensors if isinstance(t, Compressed)}
    if kinds:
        tensors = tuple(t.to_sparse() if isinstance(t, Compressed) else t for t in tensors)
    result = rule(*tensors, **dict(zip(record.signature.metadata, metadata, strict=True)))
    if kinds and isinstance(result, SparseTensor) and result._array.ndim == 2 and not result.dense_dim():
        by_rows = CsrTensor in kinds
        return compressed(result, CsrTensor if by_rows is not (record.name in _SWAPPED) else CscTensor)
    return result


def write(record: Op, target: Any, others: tuple, metadata: tuple) -> Any:
    """The in-place form of operator `record`, where the target or another tensor is sparse."""
    if not isinstance(target, SparseTensor):
        return _write_dense(record, target, others)
    if record.name not in ("add", "sub", "mul", "div", "neg"):
        raise no_kernel(record.name + "_")
    if target._edge is not None:
        raise NotImplementedError(f"{record.name}_() of a sparse tensor that requires grad is not implemented")
    result = call(record, (target, *others), metadata)
    if not isinstance(result, SparseTensor) or result._array.shape != target._array.shape:
        raise RuntimeError(f"{record.name}_(): the result does not fit the sparse tensor {list(target.shape)}")
    return replace(target, result)


def _write_dense(record: Op, target: Any, others: tuple) -> Any:
    if record.name not in ("add", "sub", "mul"):
        raise no_kernel(record.name + "_")
    (other,) = others
    other = other.to_sparse() if isinstance(other, Compressed) else other
    if record.name == "mul":
        return target.copy_(target * other.to_dense())
    other = other if record.name == "add" else -other
    has_history = thread.state.grad and (target._edge is not None or other._edge is not None)
    if not has_history and target._array.shape == other._array.shape:
        n = other.sparse_dim()
        if target._array.flags.c_contiguous:
            rows = target.view(prod(other._sizes()), *target._array.shape[n:])
            rows.index_add_(0, wrap(other._flat()), other._entries.to(target.dtype))
            return target
    return target.copy_(_plus_sparse(target, other))


# ---------------------------------------------------------------------------------------------- sums and products


def add(x: Any, y: Any) -> Any:
    """x + y: two sparse tensors, or a dense and a sparse one."""
    if not isinstance(x, Tensor) or not isinstance(y, Tensor) or not isinstance(y, SparseTensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not isinstance(x, SparseTensor):
        return _plus_sparse(x, y)
    if x._array.shape != y._array.shape:
        raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {x.shape} != {y.shape}")
    if x.sparse_dim() != y.sparse_dim():
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same number of sparse dims, but {x.sparse_dim()} != {y.sparse_dim()}"
        )
    kind = dtypes.promote_types(x.dtype, y.dtype)
    a, b = x._entries.to(kind), y._entries.to(kind)  # type: ignore[attr-defined]
    if np.array_equal(x._places._array, y._places._array):
        return assemble(x._places, a + b, x._array.shape, x._is_coalesced and y._is_coalesced)
    indices = wrap(np.concatenate([x._places._array, y._places._array], 1))
    both = assemble(indices, OPS["cat"]([a, b]), x._array.shape, False)
    return both.coalesce() if x._is_coalesced and y._is_coalesced else both


def _plus_sparse(x: Any, y: Any) -> Any:
    """A dense tensor plus a sparse one of its shape, or one that it is broadcast to."""
    if x._array.shape != y._array.shape:
        if np.broadcast_shapes(x._array.shape, y._array.shape) != y._array.shape:
            raise RuntimeError(
                f"add: expected 'other' to be no larger than 'self' (dense {list(x.shape)} + sparse {list(y.shape)})"
            )
        x = x.expand(y._array.shape)
    kind = dtypes.promote_types(x.dtype, y.dtype)
    n = y.sparse_dim()
    rows = x.to(kind).reshape(prod(y._array.shape[:n]), *y._array.shape[n:])
    out = rows.index_add(0, wrap(y._flat()), y._entries.to(kind)).reshape(y._array.shape)
    rest = y._rest
    return out if rest is None else out + rest.to(kind)


def sub(x: Any, y: Any) -> Any:
    return add(x, -y if isinstance(y, Tensor) else y)


def rsub(x: Any, y: Any) -> Any:
    return sub(y, x)


def mul(x: Any, y: Any) -> Any:
    """x y, elementwise: zero where one of them stores nothing."""
    if not isinstance(x, SparseTensor):
        x, y = y, x
    if not isinstance(y, Tensor) or (not isinstance(y, SparseTensor) and not y._array.ndim):
        return with_rest(x._like(x._entries * y), _scaled_rest(x, y))
    if not isinstance(y, SparseTensor):
        return x._like(_times_entries(x, y))
    if x._array.shape != y._array.shape:
        raise RuntimeError(f"mul: expected 'self' and 'other' to have same sizes, got {x.shape} and {y.shape}")
    y = y.coalesce()
    at = np.flatnonzero(np.isin(x._flat(), y._flat()))
    part = _kept(x, at)
    return part._like(part._entries * mask(y, part)._entries)


def _scaled_rest(x: Any, factor: Any) -> Any:
    rest = x._rest
    if rest is None:
        return None
    return unstored_scaled(rest, factor if isinstance(factor, Tensor) else wrap(np.asarray(factor, rest._array.dtype)))


def _times_entries(x: Any, y: Any) -> Any:
    """The values of x times the entries of the dense y, broadcast to x, at their places."""
    n = x.sparse_dim()
    rows = y.expand(x._array.shape).reshape(prod(x._array.shape[:n]), *x._array.shape[n:])
    return x._entries * gather(rows, wrap(x._flat()))


def _kept(x: Any, at: np.ndarray) -> Any:
    """x with the entries number `at` only."""
    if len(at) == x._nnz():
        return x
    return assemble(wrap(x._places._array[:, at]), gather(x._entries, wrap(at)), x._array.shape, x._is_coalesced)


def div(x: Any, y: Any) -> Any:
    """x / y for a number y."""
    if not isinstance(x, SparseTensor):
        raise RuntimeError("Sparse division requires a sparse dividend (got a dense one)")
    if isinstance(y, Tensor) and y._array.ndim:
        raise RuntimeError(
            f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {list(y.shape)} for divisor)"
        )
    return with_rest(x._like(x._entries / y), _scaled_rest(x, 1 / y))


# ---------------------------------------------------------------------------------------------- elements


def _on_values(name: str, coalesced: bool = True) -> Any:
    """The rule of an operator that keeps zeros zero."""

    def rule(x: Any, **metadata: Any) -> Any:
        x = x.coalesce() if coalesced else x
        return x._like(OPS[name](x._entries, **metadata))

    return rule


_KEEPS_ZERO = (
    "abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan isneginf isposinf log1p nan_to_num rad2deg relu "
    "round sgn sign signbit sin sinh sqrt square tan tanh trunc"
)


def negative(x: Any) -> Any:
    return with_rest(x._like(-x._entries), _scaled_rest(x, -1))


def power(x: Any, exponent: Any) -> Any:
    if isinstance(exponent, (int, float)) and exponent == 0:
        raise RuntimeError("pow(sparse, 0) is not supported: all unstored elements would become one")
    x = x.coalesce()
    return x._like(x._entries**exponent)


def clone(x: Any, order: Any = None) -> Any:
    return with_rest(assemble(x._places.clone(), x._entries.clone(), x._array.shape, x._is_coalesced), x._rest)


def filled_like(x: Any, name: str, dtype: Any, requires_grad: bool) -> Any:
    if name not in ("zeros_like", "empty_like"):
        raise no_kernel(name)
    t = empty_like(x, dtype)
    return t.requires_grad_() if requires_grad else t


def to_copy(x: Any, dtype: Any) -> Any:
    return with_rest(x._like(x._entries.to(dtype, copy=True)), None if x._rest is None else x._rest.to(dtype))


def norm(x: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim is not None or keepdim:
        raise no_kernel("norm over dimensions")
    return OPS["norm"](x.coalesce()._entries, ord, dtype=dtype)


def any_nonzero(x: Any, dim: Any, keepdim: bool) -> Any:
    if dim is not None or keepdim:
        raise no_kernel("any over dimensions")
    return x._entries.any()


# ---------------------------------------------------------------------------------------------- sums over dimensions


def sum_all(x: Any) -> Any:
    rest = x._rest
    return x._entries.sum() if rest is None else sum_with(x._entries, rest)


def sum_over(x: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    """The sum over dimensions: sparse unless all sparse dimensions were summed."""
    rank, n = x._array.ndim, x.sparse_dim()
    given = range(rank) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    dims = sorted({wrap_dim(d, rank) for d in given})
    values = x._entries if dtype is None else x._entries.to(dtype)
    dense = [d - n + 1 for d in dims if d >= n]
    if dense:
        values = values.sum(dense)
    left = [d for d in range(n) if d not in dims]
    if left:
        result = _over_sparse(x, values, left)
    else:
        result = values.sum(0)
        values = None
    for d in dims if keepdim else ():
        result = result.unsqueeze(d)
    return result


def _over_sparse(x: Any, values: Any, left: list[int]) -> Any:
    """The values added up by the sparse dimensions `left`."""
    sizes = tuple(x._array.shape[d] for d in left)
    shape = (*sizes, *values._array.shape[1:])
    if len(left) == x.sparse_dim():
        return assemble(x._places, values, shape, x._is_coalesced)
    places, targets = np.unique(places_of(x._places._array[left], sizes), return_inverse=True)
    return assemble(wrap(indices_of(places, sizes)), merge(values, wrap(targets.reshape(-1)), len(places)), shape, True)


# ---------------------------------------------------------------------------------------------- dimensions


def permute(x: Any, dims: tuple[int, ...]) -> Any:
    rank, n = x._array.ndim, x.sparse_dim()
    order = [wrap_dim(d, rank) for d in dims]
    if sorted(order[:n]) != list(range(n)):
        raise RuntimeError(
            f"transpose(permute) of a sparse tensor cannot exchange sparse and dense dimensions, got dims {tuple(dims)}"
        )
    shape = tuple(x._array.shape[d] for d in order)
    values = x._entries
    if order[n:] != list(range(n, rank)):
        values = values.permute(0, *(d - n + 1 for d in order[n:]))
    unchanged = order[:n] == list(range(n))
    made = assemble(wrap(x._places._array[order[:n]]), values, shape, x._is_coalesced and unchanged)
    return with_rest(made, None if x._rest is None else x._rest.permute(order))


def transpose(x: Any, dim0: int, dim1: int) -> Any:
    order = list(range(x._array.ndim))
    a, b = wrap_dim(dim0, len(order)), wrap_dim(dim1, len(order))
    order[a], order[b] = order[b], order[a]
    return permute(x, tuple(order))


def t(x: Any) -> Any:
    if x._array.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {x._array.ndim}D tensor"
        )
    return transpose(x, 0, x._array.ndim - 1) if x._array.ndim == 2 else x


def _is_one(x: Any) -> bool:
    """Whether torch takes a part of `x` for coalesced: only where `x` has at most one element, although none is moved."""
    return bool(x._is_coalesced and x._places._array.shape[1] < 2)


def unsqueeze(x: Any, dim: int) -> Any:
    d = wrap_dim(dim, x._array.ndim + 1)
    shape = (*x._array.shape[:d], 1, *x._array.shape[d:])
    n = x.sparse_dim()
    if d > n:
        return assemble(x._places, x._entries.unsqueeze(d - n + 1), shape, _is_one(x))
    return assemble(wrap(np.insert(x._places._array, d, 0, 0)), x._entries, shape, _is_one(x))


def select(x: Any, dim: int, index: int) -> Any:
    """The part of x at `index` of dimension `dim`."""
    d, n = wrap_dim(dim, x._array.ndim), x.sparse_dim()
    size = x._array.shape[d]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    shape = (*x._array.shape[:d], *x._array.shape[d + 1 :])
    if d >= n:
        return assemble(x._places, x._entries.select(d - n + 1, index), shape, _is_one(x))
    at = np.flatnonzero(x._places._array[d] == index % size)
    values = gather(x._entries, wrap(at))
    if n == 1:
        return values.sum(0)
    return assemble(wrap(np.delete(x._places._array[:, at], d, 0)), values, shape, len(values._array) < 2)


def index_select(x: Any, index: Any, dim: int) -> Any:
    """The parts of x at the positions `index` of dimension `dim`, in that order."""
    d, n = wrap_dim(dim, x._array.ndim), x.sparse_dim()
    wanted = index._array.reshape(-1)
    size = x._array.shape[d]
    if wanted.size and (wanted.min() < -size or wanted.max() >= size):
        raise IndexError(f"index_select(): index out of range for dimension {dim} of size {size}")
    shape = (*x._array.shape[:d], len(wanted), *x._array.shape[d + 1 :])
    if d >= n:
        return assemble(x._places, x._entries.index_select(d - n + 1, index), shape, _is_one(x))
    at, new = _matches(x._places._array[d], wanted % size if size else wanted)
    indices = x._places._array[:, at]
    indices[d] = new
    order = np.argsort(places_of(indices, shape[:n]), kind="stable")
    return assemble(wrap(indices[:, order]), gather(x._entries, wrap(at[order])), shape, _is_one(x))


def _matches(have: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs (i, j) with have[i] == wanted[j]."""
    order = np.argsort(have, kind="stable")
    low = np.searchsorted(have[order], wanted, "left")
    counts = np.searchsorted(have[order], wanted, "right") - low
    new = np.repeat(np.arange(len(wanted)), counts)
    within = np.arange(len(new)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[np.repeat(low, counts) + within], new


def part(x: Any, index: tuple) -> Any:
    """x[index] of integers, None and whole slices."""
    entries = list(index[:-1] if index and index[-1] is Ellipsis else index)
    if Ellipsis in entries:
        at, used = entries.index(Ellipsis), sum(i is not None and i is not Ellipsis for i in entries)
        entries[at : at + 1] = [slice(None)] * (x._array.ndim - used)
    d = 0
    for i in entries:
        if i is None:
            x = unsqueeze(x, d)
        elif isinstance(i, slice):
            if i.indices(x._array.shape[d]) != (0, x._array.shape[d], 1):
                raise no_kernel("slicing")
        else:
            x = select(x, d, int(i))
            continue
        d += 1
    return x


def item(x: Any, index: Any) -> Any:
    """x[index]: integers, None, whole slices, or one tensor of positions along the first dimension."""
    if isinstance(index, (Tensor, list)):
        at = index if isinstance(index, Tensor) else OPS["tensor"](index)
        if at.dtype is dtypes.bool_ or at._array.ndim != 1:
            raise no_kernel("index")
        return index_select(x, at, 0)
    entries = index if isinstance(index, tuple) else (index,)
    if not all(i is None or i is Ellipsis or isinstance(i, (int, np.integer, slice)) for i in entries):
        raise no_kernel("index")
    return part(x, tuple(entries))


def unbind(x: Any, dim: int) -> tuple:
    return tuple(select(x, dim, i) for i in range(x._array.shape[wrap_dim(dim, x._array.ndim)]))


def cat(*tensors: Any, dim: int) -> Any:
    """Sparse tensors one after the other along a sparse or a dense dimension."""
    first = tensors[0]
    if not all(isinstance(t, SparseTensor) for t in tensors):
        raise RuntimeError("Concatenating sparse tensors, but a dense tensor was found")
    d, n = wrap_dim(dim, first._array.ndim), first.sparse_dim()
    for i, x in enumerate(tensors):
        others = [k for k in range(first._array.ndim) if k != d]
        if x.sparse_dim() != n or any(x._array.shape[k] != first._array.shape[k] for k in others):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), but "
                f"found shape: {list(x.shape)} at position {i}"
            )
    shape = list(first._array.shape)
    shape[d] = sum(x._array.shape[d] for x in tensors)
    if d < n:
        return _one_after_another(tensors, d, tuple(shape))
    starts = np.cumsum([0, *(x._array.shape[d] for x in tensors)])
    padded = [_padded(x, d - n + 1, a, b, shape[d]) for x, a, b in zip(tensors, starts, starts[1:], strict=False)]
    indices = wrap(np.concatenate([x._places._array for x in tensors], 1))
    return assemble(indices, OPS["cat"](padded), tuple(shape), False)


def _one_after_another(tensors: tuple, d: int, shape: tuple[int, ...]) -> Any:
    moved, start = [], 0
    for x in tensors:
        indices = x._places._array.copy()
        indices[d] += start
        moved.append(indices)
        start += x._array.shape[d]
    return assemble(wrap(np.concatenate(moved, 1)), OPS["cat"]([x._entries for x in tensors]), shape, False)


def _padded(x: Any, axis: int, start: int, stop: int, size: int) -> Any:
    """The values of x in the middle of zeros along `axis`."""
    before, after = list(x._entries.shape), list(x._entries.shape)
    before[axis], after[axis] = int(start), int(size - stop)
    return OPS["cat"]([x._entries.new_zeros(before), x._entries, x._entries.new_zeros(after)], axis)


def stack(*tensors: Any, dim: int) -> Any:
    d = wrap_dim(dim, tensors[0]._array.ndim + 1)
    return cat(*(unsqueeze(x, d) for x in tensors), dim=d)


RULES: dict[str, Any] = {
    **_PRODUCTS,
    **{name: _on_values(name) for name in _KEEPS_ZERO.split() if name in OPS},
    "neg": negative,
    "add": add,
    "sub": sub,
    "rsub": rsub,
    "mul": mul,
    "div": div,
    "pow.scalar": power,
    "clone": clone,
    "_to_copy": to_copy,
    "linalg_vector_norm": norm,
    "any": any_nonzero,
    "sum": sum_all,
    "sum.dim": sum_over,
    "permute": permute,
    "transpose": transpose,
    "t": t,
    "unsqueeze": unsqueeze,
    "select": select,
    "index_select": index_select,
    "part.select": part,
    "part.unsqueeze": part,
    "part": part,
    "unbind": unbind,
    "cat": cat,
    "stack": stack,
}
