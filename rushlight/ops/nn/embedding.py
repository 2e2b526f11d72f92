"""Rows of a table picked by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.device.backend import on_device_of
from ...core.dispatch.aten.operators import register
from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import assert_all, may_branch_on_data, no_grad
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import check_flag
from ...core.tensor import dtype as dtypes
from ...core.tensor.node import shown_as
from ...core.tensor.tensor import Tensor, constant, type_word, wrap
from ...core.warn import warn
from ..creation.ranges import arange
from ..index.duplicate_index import add_at
from ..pointwise.checks import lies_within
from ..pointwise.choice import where

# ---------------------------------------------------------------------------------------------- embedding


_WITH_CLASSES = (
    "Float",
    "Double",
    "Half",
    "Byte",
    "Char",
    "Short",
    "Long",
    "Int",
)  # which torch calls by their classes here


def _check_indices(indices: Any, argument: int, operator: str) -> None:
    """Raise torch's error for indices that are neither int64 nor int32."""
    if indices.dtype != np.int64 and indices.dtype != np.int32:
        raise _wrong_type(f"#{argument} 'indices'", "Long, Int", indices, operator)


def _wrong_type(argument: str, types: str, a: Any, operator: str) -> RuntimeError:
    word = type_word(dtypes.from_numpy(a.dtype))
    found = f"torch.{word}Tensor" if word in _WITH_CLASSES else f"CPU{word}Type"
    return RuntimeError(
        f"Expected tensor for argument {argument} to have one of the following scalar types: {types}; but got {found} instead "
        f"(while checking arguments for {operator})"
    )


@primitive(public=False, name="embedding")
def _embedding(weight, input, /, padding_idx, scale_grad_by_freq=False):
    _check_indices(input, 1, "embedding")
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    n = weight.shape[0]
    if not lies_within(input, 0, n):
        bad = input[(input < 0) | (input >= n)].flat[0]
        raise IndexError(f"index out of range in self: embedding got index {bad} for a table of {n} rows")
    return weight.take(input, 0)


@_embedding.vjp("weight")
def _(g, weight_shape, input, padding_idx, scale_grad_by_freq):
    return _embedding_backward(g, input, weight_shape, padding_idx, scale_grad_by_freq)


@primitive(public=False, name="embedding_sparse", node="EmbeddingBackward0")
def _embedding_sparse(weight, input, /, padding_idx, scale_grad_by_freq=False):
    return _embedding.record.reference(weight, input, padding_idx, scale_grad_by_freq)


@_embedding_sparse.vjp("weight")
def _(g, weight_shape, input, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    rows, values = input.reshape(-1).to(dtypes.int64), g.reshape(-1, weight_shape[1])
    if padding_idx >= 0:
        keep = wrap(np.flatnonzero(rows._array != padding_idx))
        rows, values = rows.index_select(0, keep), values.index_select(0, keep)
    return values._as_sparse_rows(rows, weight_shape[0])


@primitive(public=False, name="embedding_dense_backward")
def _embedding_backward(g, input, /, shape, padding_idx, scale_grad_by_freq):
    out = np.zeros(shape, g.dtype, like=g)
    rows, values = input.reshape(-1), g.reshape(-1, shape[1])
    if padding_idx >= 0:
        keep = rows != padding_idx
        rows, values = rows[keep], values[keep]
    if scale_grad_by_freq and rows.size:
        values = values / np.bincount(rows, minlength=shape[0])[rows][:, None].astype(g.dtype)
    add_at(out, (rows,), values)
    return out


def _by_torchs_arguments(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    shape = (num_weights, grad_output._array.shape[-1])
    return _embedding_backward(grad_output, indices, shape, padding_idx, scale_grad_by_freq)


register("embedding_dense_backward", _by_torchs_arguments)


@_embedding_backward.vjp("g")
def _(g, input, padding_idx, scale_grad_by_freq):
    picked = _embedding(g, input, -1, False)
    if padding_idx >= 0:
        picked = picked.masked_fill((input == padding_idx).unsqueeze(-1), 0)
    if scale_grad_by_freq:
        counts = np.bincount(input._array.reshape(-1), minlength=1)[input._array].astype(g._array.dtype)
        picked = picked / wrap(np.maximum(counts, 1)[..., None])
    return picked


def _row(padding_idx: int | None, n: int) -> int:
    if padding_idx is None:
        return -1
    if not -n <= padding_idx < n:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % n


def renormalise(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows in use down to `max_norm`, in place."""
    _check_indices(input._array, 2, "embedding_renorm_")
    rows = np.unique(input._array)
    if rows.size and (rows[0] < 0 or rows[-1] >= weight._array.shape[0]):
        raise IndexError(
            f"index out of range in self: embedding got index {rows[-1]} for a table of {weight._array.shape[0]} rows"
        )
    norms = np.linalg.norm(weight._array[rows].astype(np.float64), float(norm_type), axis=1)
    scale = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)[:, None].astype(weight._array.dtype)
    with no_grad():
        weight.index_copy_(0, wrap(rows), wrap(weight._array[rows] * scale))


@composite(functional=True)
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` at the indices `input`.

    Args:
        input: int32 or int64.
        padding_idx: a row without gradient.
        max_norm: rows in use are first scaled down to it, in place.
        norm_type: the p of that norm.
        scale_grad_by_freq: whether a row's gradient is divided by how often it is used.
        sparse: whether the gradient of `weight` is a sparse tensor of the rows in use.
    Shape: (*), (V, E) -> (*, E)
    Raises:
        IndexError: an index is out of range, as in `embedding(tensor([2]), ones(2, 3))`.
        RuntimeError: `weight` is not a matrix, as in `embedding(tensor([0]), ones(2))`.

    >>> embedding(tensor([1, 0]), tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if not isinstance(weight, Tensor) or not isinstance(input, Tensor):
        wrong = input if isinstance(weight, Tensor) else weight
        raise type_error(f"embedding(): argument 'indices' (position 2) must be Tensor, not {type(wrong).__name__}")
    if weight._array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    row = _row(padding_idx, weight._array.shape[0])
    if max_norm is not None and not weight.is_meta:
        renormalise(weight, input, max_norm, norm_type)
    if sparse is not False:
        check_flag("embedding", "sparse", sparse, 5)
        return _embedding_sparse(weight, input, row, scale_grad_by_freq)
    return _embedding(weight, input, row, scale_grad_by_freq)


# ---------------------------------------------------------------------------------------------- bags


@primitive(public=False, name="embedding_weighted")
def _weighted_rows(weight, input, per_sample_weights, /, padding_idx, scale_grad_by_freq):
    rows = _embedding.record.reference(weight, input, padding_idx, scale_grad_by_freq)
    return rows * per_sample_weights[:, None]


@_weighted_rows.vjp("weight")
def _(g, weight_shape, input, per_sample_weights, padding_idx, scale_grad_by_freq):
    g = g * per_sample_weights.unsqueeze(1)
    return _embedding_backward(g, input, weight_shape, padding_idx, scale_grad_by_freq)


@_weighted_rows.vjp("per_sample_weights")
def _(g, weight, input):
    return (g * _embedding(weight, input, -1, False)).sum(1)


@composite(functional=True)
def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):  # fmt: skip
    """The sum, mean or maximum of the rows of each bag of indices.

    Args:
        input: int32 or int64.
        offsets: where each bag begins, for a 1-D `input`.
        max_norm: rows in use are first scaled down to it, in place.
        norm_type: the p of that norm.
        scale_grad_by_freq: whether a row's gradient is divided by how often it is used.
        mode: "sum", "mean" or "max".
        sparse: whether the gradient of `weight` is a sparse tensor.
        per_sample_weights: a factor for each index, for "sum".
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: a row that is left out.
    Shape: (B, N), weight (V, E) -> (B, E); (N), weight (V, E), offsets (B) -> (B, E)
    Raises:
        ValueError: `mode` is another text, as in `embedding_bag(tensor([[0]]), ones(2, 3), mode="x")`.
        ValueError: a 1-D input has no offsets, as in `embedding_bag(tensor([0]), ones(2, 3))`.

    >>> embedding_bag(tensor([[0, 1]]), tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[2., 3.]])
    """
    if weight._array.dtype.kind in "iu" and input._array.dtype.kind == "f":
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
        )
        weight, input = input, weight
    if input._array.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
                f"However, found offsets of type {type(offsets)}"
            )
        shape = input._array.shape
        offsets = constant(on_device_of(input._array, np.arange, 0, shape[0] * shape[1], shape[1]))
        flat, weights = input.reshape(-1), None if per_sample_weights is None else per_sample_weights.reshape(-1)
        include_last_offset = False
    else:
        if input._array.ndim != 1:
            raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input._array.ndim}")
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        flat, weights = input, per_sample_weights
    _check_bags(input, weight, per_sample_weights, mode, scale_grad_by_freq, sparse)
    if max_norm is None:
        _check_indices(flat._array, 1, "embedding_bag")
    _check_indices(offsets._array, 1, "embedding_bag")
    if not weight.is_floating_point():
        raise _wrong_type("#1 'weight'", "Half, BFloat16, Float, Double", weight._array, "embedding_bag")
    try:
        rows = _rows_of(flat, weights, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    except IndexError as error:
        raise _outside(flat, weight, mode, padding_idx, max_norm) or error from None
    if input._array.ndim == 2 and padding_idx is None and shape[1]:
        return shown_as(_bags_of_one_size(rows.view(*shape, rows.size(1)), mode), "EmbeddingBagBackward0")
    padding = -1 if padding_idx is None else padding_idx % weight._array.shape[0]
    bag, skipped, counts = _bag_places(flat, offsets, padding, include_last_offset)
    if padding_idx is not None or include_last_offset:
        rows = rows.masked_fill(skipped.unsqueeze(1), float("-inf") if mode == "max" else 0)
    return shown_as(_bags(rows, bag, counts, mode), "EmbeddingBagBackward0")


def _check_bags(input, weight, per_sample_weights, mode, scale_grad_by_freq, sparse):
    """Raise torch's errors for arguments that do not go together."""
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape "
            f"as the input ({input.shape})"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and (scale_grad_by_freq or sparse):
        what = "scaling the gradient by the frequency" if scale_grad_by_freq else "sparse weights"
        raise ValueError(f"max mode does not support {what}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; "
            f"but type {weight.type()} does not equal {per_sample_weights.type()} (while checking arguments for embedding_bag)"
        )


def _rows_of(flat, weights, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse):
    """The rows of the table at the indices, times the weights where there are some."""
    if scale_grad_by_freq and not sparse:
        rows = _scaled_by_frequency(embedding(flat, weight, padding_idx, max_norm, norm_type), flat)
        return rows if weights is None else rows * weights.unsqueeze(1)
    if weights is None or sparse:
        rows = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        return rows if weights is None else rows * weights.unsqueeze(1)
    if max_norm is not None and not weight.is_meta:
        renormalise(weight, flat, max_norm, norm_type)
    return _weighted_rows(weight, flat, weights, _row(padding_idx, weight._array.shape[0]), scale_grad_by_freq)


@primitive(public=False, name="bag_rows")
def _scaled_by_frequency(rows, input, /):
    """The rows; their gradients are divided by how often each is used."""
    return rows.copy()


@_scaled_by_frequency.vjp("rows")
def _(g, input):
    return g * _inverse_frequency(input).to(g.dtype).unsqueeze(1)


@primitive(public=False, name="bag_frequency", differentiable=False)
def _inverse_frequency(input, /):
    """1 / the number of times that torch takes each index to be used.

    Of the k-th of the different indices in order, that is how often the k-th of all sorted indices is (in torch's
    `_embedding_bag_dense_backward`): another one than its own where an index before it is used twice.
    """
    different, places, counts = np.unique(input, return_inverse=True, return_counts=True)
    taken = np.sort(input)[: len(different)]
    return (1.0 / counts[np.searchsorted(different, taken)])[places]


def _outside(flat, weight, mode, padding_idx, max_norm):
    """torch's error for an index outside the table."""
    n = weight._array.shape[0]
    place, i = next(((place, i) for place, i in enumerate(flat.tolist()) if not 0 <= i < n), (-1, -1))
    if place < 0:
        return None
    if max_norm is not None:
        return IndexError(f"select(): index {i} out of range for tensor of size {list(weight.shape)} at dimension 0")
    if mode == "max" or padding_idx is not None:
        return RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {i}")
    return RuntimeError(f"Index {place} of input takes value {i} which is not in the valid range [0, {n})")


def _bags_of_one_size(rows, mode):
    return rows.amax(1) if mode == "max" else rows.sum(1) if mode == "sum" else rows.mean(1)


@primitive(name="bag_places", public=False, outputs=3, differentiable=False)
def _bag_places(input, offsets, /, padding, include_last):
    """The bag of each index, which indices do not count, and how many do in each bag."""
    starts = offsets if include_last else np.append(offsets, input.size)
    if starts.size and starts[0]:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
            f"{starts[0]}"
        )
    if starts.size and offsets[-1:].sum() > input.size:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {input.size} but got offsets[-1] of {offsets[-1]}"
        )
    if (np.diff(starts) < 0).any():
        raise RuntimeError(f"embedding_bag: offsets have to rise, but got {offsets.tolist()}")
    beyond = max(0, input.size - int(starts[-1])) if starts.size else 0  # after the last offset: they belong to no bag
    bag = np.append(np.repeat(np.arange(len(starts) - 1), np.diff(starts)), np.zeros(beyond, np.int64))
    skipped = input == padding
    skipped[input.size - beyond :] = True
    return bag, skipped, np.bincount(bag[~skipped], minlength=len(starts) - 1)


def _bags(rows, bag, counts, mode):
    """By operators whose results have the same shapes for all offsets, so that compiled calls follow them."""
    shape = (counts.size(0), rows.size(1))
    if mode == "max":
        places = bag.unsqueeze(1).expand(rows.shape)
        out = rows.new_full(shape, float("-inf")).scatter_reduce(0, places, rows, "amax")
        return where(counts.unsqueeze(1) == 0, rows.new_zeros(()), out)
    out = rows.new_zeros(shape).index_add(0, bag, rows)
    return out if mode == "sum" else out / counts.clamp_min(1).to(rows.dtype).unsqueeze(1)


@no_grad()
def bags_with_places(weight, indices, offsets, mode, include_last, padding_idx):
    """(the bag of each index, the indices in each bag, the indices of the maxima), as torch's own `embedding_bag` gives them.

    torch does without the first where the sum needs no list of bags.
    """
    padding = -1 if padding_idx is None else padding_idx % weight._array.shape[0]
    bag, skipped, counts = _bag_places(indices, offsets, padding, include_last)
    bag, counts = bag.to(indices.dtype), counts.to(indices.dtype)
    if mode == "sum":  # which needs none of them
        none = offsets.new_zeros(offsets.shape)
        return bag.new_empty(0) if padding_idx is None else bag, none, none.clone()
    if mode == "mean":
        return bag, counts, counts.clone()
    rows, places = embedding(indices, weight)._array, bag._array
    best = np.zeros((counts._array.shape[0], rows.shape[1]), indices._array.dtype)
    for b in range(len(best)):
        inside = np.flatnonzero((places == b) & ~skipped._array)
        if inside.size:
            best[b] = indices._array[inside[rows[inside].argmax(0)]]
    return bag, counts, wrap(best)


# ---------------------------------------------------------------------------------------------- one-hot


def _check_classes(not_negative, below):
    if not not_negative:
        raise RuntimeError("Class values must be non-negative.")
    if not below:
        raise RuntimeError("Class values must be smaller than num_classes.")


@composite(name="one_hot", functional=True)
def one_hot(tensor, num_classes=-1):
    """A new last dimension with a one at each index.

    Args:
        tensor: int64.
        num_classes: C; by default the largest index and one more.
    Shape: (*) int64 -> (*, C) int64
    Raises:
        RuntimeError: an index is negative, as in `one_hot(tensor([-1]), 2)`.
        RuntimeError: an index is not below C, as in `one_hot(tensor([2]), 2)`.
        RuntimeError: `tensor` is not of int64, as in `one_hot(ones(2))`.

    >>> one_hot(tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    a = tensor._array
    if a.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes > 0 and not may_branch_on_data(tensor):
        _check_classes(assert_all((tensor >= 0).all()), assert_all((tensor < num_classes).all()))
        return (tensor.unsqueeze(-1) == arange(num_classes, device=tensor.device)).to(dtypes.int64)
    if not a.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if num_classes == -1:
        _check_classes(a.min() >= 0, True)
        num_classes = int(a.max()) + 1
    elif num_classes < 1:
        _check_classes(not a.size or a.min() >= 0, True)
        raise RuntimeError("num_classes should be positive")
    else:
        _check_classes(not a.size or a.min() >= 0, not a.size or a.max() < num_classes)
    out = np.zeros((*a.shape, num_classes), np.int64)
    np.put_along_axis(out, a[..., None], 1, -1)
    return wrap(out)
