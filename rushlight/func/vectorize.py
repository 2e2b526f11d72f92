"""`vmap`: a function of one example as a function of a batch.

The function runs once for each example, and the results are stacked. That is right for every function, also where it
draws random numbers, branches by values or writes in place; it is as fast as a loop. (torch runs the function once, on
batches; its functions may not branch by values.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from rushlight import ops
from rushlight.core.random import default_generator
from rushlight.core.tensor import Tensor
from rushlight.utils._pytree import tree_flatten, tree_unflatten


def vmap(
    func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable:
    """`func` for each slice of its arguments along `in_dims`; its results stacked along `out_dims`.

    in_dims, out_dims: an int, None (not mapped; of a result: the same for all examples), or a tuple of them nested as the
    arguments or results are. randomness: "error" (a draw raises RuntimeError), "different" or "same" draws for the
    examples. chunk_size: how many examples torch computes at a time; changes nothing here.

    >>> vmap(lambda a, b: (a * b).sum())(ones(3, 2), ones(3, 2))
    tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        where = f"vmap({getattr(func, '__name__', repr(func))}, in_dims={in_dims}, ...)(<inputs>)"
        leaves, structure, dims = _mapped(args, in_dims, where)
        names = tree_flatten(kwargs)
        kw_dims = [0 if isinstance(t, Tensor) else None for t in names[0]]
        size = _batch_size([*leaves, *names[0]], [*dims, *kw_dims])
        results = []
        for i, guard in enumerate(_draws(size, randomness)):
            with guard:
                own = tree_unflatten(_slices(leaves, dims, i), structure)
                options = tree_unflatten(_slices(names[0], kw_dims, i), names[1])
                results.append(func(*own, **options))
        return _stacked(results, out_dims, func)

    return call


def _mapped(args: tuple, in_dims: Any, where: str) -> tuple[list[Any], Any, list[Any]]:
    """The leaves of the arguments, their structure, and for each leaf its mapped dimension or None."""
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"{where}: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no "
            "inputs. The latter is unsupported."
        )
    leaves, structure = tree_flatten(args)
    dims = _spread(in_dims, args)
    if dims is None:
        raise ValueError(f"{where}: in_dims is not compatible with the structure of `inputs`. inputs: {structure}.")
    for i, (leaf, d) in enumerate(zip(leaves, dims, strict=True)):
        if d is None:
            continue
        if not isinstance(d, int) or isinstance(d, bool):
            raise ValueError(
                f"{where}: Got in_dim={d} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{where}: Got in_dim={d} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.dim() <= d < leaf.dim():
            raise ValueError(
                f"{where}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {leaf.dim()} so "
                f"expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
        dims[i] = d % leaf.dim()
    return leaves, structure, dims


def _spread(dims: Any, tree: Any) -> list[Any] | None:
    """`dims`, nested like the upper part of `tree`, for each leaf of it; None where the two do not fit."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(tree_flatten(tree)[0])
    if isinstance(dims, dict):
        if not isinstance(tree, dict) or set(dims) != set(tree):
            return None
        pairs = [(dims[k], tree[k]) for k in tree]
    elif isinstance(dims, (tuple, list)):
        if not isinstance(tree, (tuple, list)) or len(dims) != len(tree):
            return None
        pairs = list(zip(dims, tree, strict=True))
    else:
        return [dims] * len(tree_flatten(tree)[0])
    parts = [_spread(d, t) for d, t in pairs]
    return None if any(p is None for p in parts) else [d for p in parts for d in p]  # type: ignore[union-attr]


def _batch_size(leaves: list[Any], dims: list[Any]) -> int:
    sizes = [leaf.size(d) for leaf, d in zip(leaves, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(n != sizes[0] for n in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    if not sizes[0]:
        raise NotImplementedError("vmap over an empty batch: the shapes of the results are not known")
    return sizes[0]


def _slices(leaves: list[Any], dims: list[Any], i: int) -> list[Any]:
    return [leaf if d is None else leaf.select(d, i) for leaf, d in zip(leaves, dims, strict=True)]


# ---------------------------------------------------------------------------------------------- random numbers


class _Draws:
    """Around the run for one example: what happens to the random stream."""

    def __init__(self, mode: str, start: Any):
        self.mode, self.start = mode, start

    def __enter__(self) -> None:
        if self.mode == "same":
            default_generator.set_state_bytes(self.start)

    def __exit__(self, kind: Any, *rest: object) -> None:
        if self.mode == "error" and kind is None and not np.array_equal(default_generator.state_bytes(), self.start):
            default_generator.set_state_bytes(self.start)
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )


def _draws(n: int, mode: str) -> list[_Draws]:
    start = None if mode == "different" else default_generator.state_bytes()
    return [_Draws(mode, start) for _ in range(n)]


# ---------------------------------------------------------------------------------------------- results


def _stacked(results: list[Any], out_dims: Any, func: Any) -> Any:
    name = getattr(func, "__name__", repr(func))
    columns, structure = [tree_flatten(r)[0] for r in results], tree_flatten(results[0])[1]
    if isinstance(results[0], Tensor) and isinstance(out_dims, (tuple, list)) and len(out_dims) == 1:
        out_dims = out_dims[0]
    dims = _spread(out_dims, results[0])
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. "
            f"outputs: {structure}."
        )
    return tree_unflatten(
        [_one(list(c), d, name) for c, d in zip(zip(*columns, strict=True), dims, strict=True)], structure
    )


def _one(values: list[Any], dim: Any, name: str) -> Any:
    if dim is None:
        return values[0]
    if not isinstance(dim, int):
        raise ValueError(
            f"vmap({name}, ...): `out_dims` must be an int, None or a python collection of ints representing where in the "
            "outputs the vmapped dimension should appear."
        )
    for v in values:
        if not isinstance(v, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(v)}. Did you mean to set out_dims= "
                "to None for output?"
            )
    return ops.stack(values, dim)
