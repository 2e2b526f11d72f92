"""Tensors put together: cat, stack, the stacks by dimension, block_diag, meshgrid, products and combinations."""

from __future__ import annotations

import numpy as np

from ...core.device.backend import on_device_of
from ...core.dispatch.autocast import Off
from ...core.dispatch.errors import type_error
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.slow_path import write_out
from ...core.interrupts import raise_if_interrupted
from ...core.tensor import dtype as dtypes
from ...core.tensor.channels_last import in_channels_last, is_channels_last
from ...core.tensor.node import shown_as
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, constant
from ...core.warn import warn_once
from .slicing import slice_
from .view import _expand, _view, reshape


@primitive(name="cat", public=False, promote="same")
def _cat(*tensors, dim):
    try:
        return _joined(tensors, dim)
    except Exception as error:  # a mistake, or torch's special case: empty 1-D tensors are left out
        raise_if_interrupted(error)
        return _cat_slowly(tensors, dim)


def _cat_slowly(tensors, dim):
    arrays = [a for a in tensors if a.shape != (0,)] or list(tensors[:1])
    first = arrays[0]
    if not all(a.ndim for a in tensors):
        place = next(i for i, a in enumerate(tensors) if not a.ndim)
        raise RuntimeError(f"zero-dimensional tensor (at position {place}) cannot be concatenated")
    if first.shape == (0,):  # nothing but such: torch looks at no dimension
        return first.copy()
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
    return _joined(arrays, d)


def _joined(arrays, dim):
    """The arrays one after another along `dim`, in the layout that torch joins tensors in."""
    first = arrays[0]
    if type(first) is not np.ndarray or first.flags.c_contiguous or first.ndim in (4, 5):
        return contiguous_or_channels_last(np.concatenate(arrays, dim), arrays)
    shape = list(first.shape)
    shape[dim] = sum([a.shape[dim] for a in arrays])
    return np.concatenate(
        arrays, dim, out=np.empty(shape, first.dtype)
    )  # NumPy's own result has the order of its sources


def contiguous_or_channels_last(r, sources):
    """`r` in the layout that torch joins tensors in: channels last if all are, else contiguous."""
    if r.ndim in (4, 5) and all(map(is_channels_last, sources)):
        return in_channels_last(r)
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
        raise type_error(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    tensors = tuple(tensors)
    if not tensors and name in ("hstack", "vstack", "dstack", "column_stack"):
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise type_error(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
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
    if dim is None:
        raise type_error("cat(): argument 'dim' (position 2) must be int, not NoneType")
    if out is None:
        return _cat(*tensors, dim=dim)
    with Off():
        result = _cat(*tensors, dim=dim)
    return write_out("cat", tensors, result, out)


@primitive(name="stack", public=False, promote="same")
def _stack(*tensors, dim):
    first = tensors[0].shape
    d = wrap_dim(dim, len(first) + 1)
    for i, a in enumerate(tensors):
        if a.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(a.shape)} at entry {i}"
            )
    if d == 0 and not first:
        return np.array(tensors).reshape(len(tensors))
    if d < len(first) and (
        d == 0 or all(map(is_channels_last, tensors))
    ):  # joined along `d`, which is then taken in two
        joined = _joined(tensors, d)
        return joined.reshape(*first[:d], len(tensors), *first[d:])
    place = (slice(None),) * d + (None,)
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
            view = _view(t, {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)])
        else:
            view = _view(t, (1,) * (n - len(shape)) + shape)
        return shown_as(view, "UnsqueezeBackward0") if shape else view

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
    """The tensors, at least 3-D, joined along dimension 2.

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
    for i, t in enumerate(tensors):
        if t._array.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t._array.ndim} dimensions"
            )
    if not tensors:
        return constant(np.empty((1, 0), dtypes.get_default_dtype().numpy))
    kind = dtypes.Promotion()
    for t in tensors:
        kind.add_array(t.dtype, t._array.ndim)
    blocks = [atleast_2d(t if t.dtype is kind.result() else t.to(kind.result())) for t in tensors]
    columns = sum(b.shape[1] for b in blocks)
    out, at = [], 0
    for b in blocks:
        left, right = b.new_zeros(b.shape[0], at), b.new_zeros(b.shape[0], columns - at - b.shape[1])
        out.append(cat([left, b, right], 1))
        at += b.shape[1]
    return shown_as(cat(out, 0), "BlockDiagBackward0")


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
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
        )
        indexing = "ij"
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t._array.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: shape {list(t.shape)}"
            )
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError(
                f"meshgrid expects all tensors to have the same dtype, but got {tensors[0].dtype} and {t.dtype}"
            )
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
    for t in tensors:
        if t._array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
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
    if input._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    from itertools import combinations as without
    from itertools import combinations_with_replacement as with_

    rows = list((with_ if with_replacement else without)(range(input.numel()), r))
    chosen = input[constant(on_device_of(input._array, lambda: np.array(rows, np.int64).reshape(-1, r)))]
    return shown_as(chosen, "StackBackward0") if r else chosen
