"""`vmap`: a function of one example as a function of a batch.

The function runs once, on tensors that hide the batch's dimension (`autograd.batched`). What looks at memory below the
operators, or draws random numbers that no batched tensor shapes, runs once for each example instead, and the results are
stacked. As in torch, a function may not branch by the values of its tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from rushlight import ops
from rushlight.autograd.batched.tensor import Batched, Level, drew_in_error_mode, entered, hide, reveal
from rushlight.core.random import default_generator
from rushlight.core.tensor.placeholder import NoArray
from rushlight.core.tensor.tensor import Tensor
from rushlight.utils._pytree import tree_flatten, tree_unflatten


def vmap(
    func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable:
    """`func` for each slice of its arguments along `in_dims`; its results stacked along `out_dims`.

    Args:
        in_dims, out_dims: an int, None (not mapped; of a result: the same for all examples), or a tuple of them nested
            as the arguments or results are.
        randomness: "error" (a draw raises), "different" or "same" draws for the examples.
        chunk_size: how many examples are computed at a time; all by default.
    Shape: func: (*n) -> (*m); the result: (B, *n) -> (B, *m)
    Raises:
        ValueError: the sizes of the mapped dimensions differ, as in `vmap(lambda a, b: a)(ones(2), ones(3))`.
        RuntimeError: `func` draws random numbers under "error", as in `vmap(lambda a: a + rand(1))(ones(2))`.

    >>> vmap(lambda a, b: (a * b).sum())(ones(3, 2), ones(3, 2))
    tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        name = getattr(func, "__name__", repr(func))
        where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
        leaves, structure, dims = _mapped(args, in_dims, where)
        size = _batch_size(leaves, dims)

        def run(own: list[Any]) -> Any:
            return func(*tree_unflatten(own, structure), **kwargs)

        chunks = _chunks(leaves, dims, size, chunk_size)
        parts = [_at_once(run, chunk, dims, randomness, out_dims, name) for chunk in chunks]
        return parts[0].tree() if len(parts) == 1 else _joined(parts)

    return call


def _chunks(leaves: list[Any], dims: list[Any], size: int, at_a_time: int | None) -> Iterator[list[Any]]:
    """The arguments, or those of so many examples at a time."""
    if at_a_time is None or at_a_time >= size:
        yield leaves
        return
    for start in range(0, size, at_a_time):
        n = min(at_a_time, size - start)
        yield [t if d is None else t.narrow(d, start, n) for t, d in zip(leaves, dims, strict=True)]


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
    return sizes[0]


# ---------------------------------------------------------------------------------------------- all examples at once


class _Results:
    """What the function returned for a batch: tensors with the batch along `dims` (None: without it), and their tree."""

    def __init__(self, tensors: list[Any], dims: list[Any], structure: Any):
        self.tensors, self.dims, self.structure = tensors, dims, structure

    def tree(self) -> Any:
        return tree_unflatten(self.tensors, self.structure)


def _joined(parts: list[_Results]) -> Any:
    """The results of all chunks as one."""
    first = parts[0]
    columns = zip(*[p.tensors for p in parts], strict=True)
    tensors = [c[0] if d is None else ops.cat(c, d) for c, d in zip(columns, first.dims, strict=True)]
    return tree_unflatten(tensors, first.structure)


def _at_once(run: Callable, leaves: list[Any], dims: list[Any], randomness: str, out_dims: Any, name: str) -> _Results:
    """The results of one run on batched tensors; of a run for each example where that does not do."""
    size = next(t.size(d) for t, d in zip(leaves, dims, strict=True) if d is not None)
    start = None if randomness == "error" else default_generator.state_bytes()
    with entered(size, randomness) as level:
        own = [t if d is None else hide(t.movedim(d, 0), level) for t, d in zip(leaves, dims, strict=True)]
        try:
            result = run(own)
        except NoArray:
            if level.wrote or not size:
                raise
            result, level = None, None
    if level is None or (randomness != "same" and level.drew_elsewhere()):
        _check_can_repeat(level, randomness)
        if start is not None:
            default_generator.set_state_bytes(start)
        results = _one_by_one(run, leaves, dims, [_Draws(randomness, start) for _ in range(size)])
        return _placed(results, out_dims, name, ops.stack)
    return _placed([result], out_dims, name, lambda values, dim: _whole(values[0], level, dim))


def _check_can_repeat(level: Level | None, randomness: str) -> None:
    """Whether the function may run again, for each example, because it drew random numbers that nothing batched shaped."""
    if level is None:
        return
    if randomness == "error":
        raise level.refuse_draw()
    if level.wrote:
        raise NotImplementedError(
            "vmap(randomness='different') of a function that draws random numbers and also writes to its arguments in place "
            "is not implemented"
        )


def _whole(t: Any, level: Level, dim: int) -> Any:
    """The result with the batch along `dim`: repeated where it does not depend on the example."""
    whole = reveal(t, level)
    return whole.movedim(0, dim) if dim else whole


# ---------------------------------------------------------------------------------------------- one example at a time


def _one_by_one(run: Callable, leaves: list[Any], dims: list[Any], guards: list[_Draws]) -> list[Any]:
    """What the function returns for each example."""
    results = []
    for i, guard in enumerate(guards):
        with guard:
            results.append(run([t if d is None else t.select(d, i) for t, d in zip(leaves, dims, strict=True)]))
    return results


class _Draws:
    """Around the run for one example: what happens to the random stream. start: its state, for mode "same"."""

    def __init__(self, mode: str, start: Any):
        self.mode, self.start = mode, start

    def __enter__(self) -> None:
        if self.mode == "same":
            default_generator.set_state_bytes(self.start)
        self.position = default_generator.position()
        self.before = default_generator.snapshot() if self.mode == "error" else ()

    def __exit__(self, kind: Any, *rest: object) -> None:
        if self.mode == "error" and kind is None and default_generator.position() != self.position:
            default_generator.restore(self.before)
            raise drew_in_error_mode()


# ---------------------------------------------------------------------------------------------- results


def _placed(results: list[Any], out_dims: Any, name: str, join: Callable) -> _Results:
    """The results of one run or of several, put together along `out_dims` by `join(values, dim)`."""
    columns, structure = [tree_flatten(r)[0] for r in results], tree_flatten(results[0])[1]
    if isinstance(results[0], Tensor) and isinstance(out_dims, (tuple, list)) and len(out_dims) == 1:
        out_dims = out_dims[0]
    dims = _spread(out_dims, results[0])
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. "
            f"outputs: {structure}."
        )
    values = zip(zip(*columns, strict=True), dims, strict=True)
    return _Results([_one(list(c), d, name, join) for c, d in values], dims, structure)


def _one(values: list[Any], dim: Any, name: str, join: Callable) -> Any:
    if dim is None:
        if isinstance(values[0], Batched):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
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
    return join(values, dim)
