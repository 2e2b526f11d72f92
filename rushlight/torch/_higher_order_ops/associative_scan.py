"""Running results of an associative function, in a logarithmic number of steps (Blelloch, 1990)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ops
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor
from ...utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """The running results y0 = x0, y1 = f(y0, x1), y2 = f(y1, x2), ... along a dimension; `f` must be associative.

    xs: a tensor, or tensors nested in lists, tuples and dicts, with the same size along `dim`; combine_fn takes two such
    and gives one. reverse: from the end. combine_mode: "generic"; "pointwise" is for other devices and raises ValueError,
    as torch does on the CPU. Shape: any -> the same

    >>> associative_scan(lambda a, b: a * b, tensor([1, 2, 3, 4]), 0, combine_mode="generic")
    tensor([ 1,  2,  6, 24])
    """
    leaves, structure = tree_flatten(xs)
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if combine_mode == "pointwise":
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(isinstance(x, Tensor) for x in leaves):
        raise ValueError("xs leaves must be a Tensor")
    dim = wrap_dim(dim, leaves[0].ndim)
    if any(x.ndim <= dim or x.shape[dim] == 0 for x in leaves):
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")

    def combine(a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
        return tree_leaves(combine_fn(tree_unflatten(a, structure), tree_unflatten(b, structure)))

    first = [x.movedim(dim, 0) for x in leaves]
    scanned = _scan(combine, [x.flip(0) for x in first] if reverse else first)
    back = [x.flip(0) for x in scanned] if reverse else scanned
    return tree_unflatten([x.movedim(0, dim) for x in back], structure)


def _scan(combine: Callable, xs: list[Tensor]) -> list[Tensor]:
    """The running results along the first dimension: of pairs, by recursion, then of what is between the pairs."""
    size = len(xs[0])
    if size < 2:
        return xs
    odd = _scan(combine, combine([x[: size - 1 : 2] for x in xs], [x[1::2] for x in xs]))
    if size == 2:
        return [ops.cat([x[:1], y]) for x, y in zip(xs, odd, strict=True)]
    between = combine([y[: (size - 1) // 2] for y in odd], [x[2::2] for x in xs])
    even = [ops.cat([x[:1], y]) for x, y in zip(xs, between, strict=True)]
    return [_interleaved(a, b) for a, b in zip(even, odd, strict=True)]


def _interleaved(even: Tensor, odd: Tensor) -> Tensor:
    """Shape: (n or n + 1, *), (n, *) -> (2 n or 2 n + 1, *)"""
    pairs = ops.stack([even[: len(odd)], odd], 1).flatten(0, 1)
    return pairs if len(even) == len(odd) else ops.cat([pairs, even[-1:]])
