"""A function of each part of a tensor's first dimension, as an operator: outside compiled programs a plain loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.tensor.tensor import Tensor
from ...ops.shape.concatenate import stack
from ...utils._pytree import tree_flatten, tree_unflatten

__all__ = ["map"]


def map(f: Callable, xs: Any, *args: Any) -> Any:
    """`f(x, *args)` for each x = xs[i], the results stacked in a new first dimension.

    Args:
        xs: a tensor, or lists, tuples and dicts of tensors of one length.
    Shape:
        xs (N, *), each result of f (*) -> (N, *)
    Raises:
        RuntimeError: a part of xs is no tensor, as in `map(abs, 3)`; the lengths are not the same, or 0, as in `map(abs, ones(0))`.

    >>> map(lambda x, y: x.sum() + y, ones(3, 2), ones(2))
    tensor([[3., 3.],
            [3., 3.],
            [3., 3.]])
    """
    leaves, structure = tree_flatten(xs)
    if not all(isinstance(x, Tensor) for x in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    shapes = [x._array.shape for x in leaves]
    length = shapes[0][0]
    if length == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(shape[0] != length for shape in shapes):
        raise RuntimeError(
            f"Leading dimensions of mapped xs must be consistent. Got shapes {[x.shape for x in leaves]}."
        )
    found = [tree_flatten(f(tree_unflatten([x[i] for x in leaves], structure), *args)) for i in range(length)]
    rows = [parts for parts, _ in found]
    return tree_unflatten([stack(column) for column in zip(*rows, strict=True)], found[0][1])
