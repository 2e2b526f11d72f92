"""A loop that a tensor's value ends, as an operator: outside compiled programs a plain `while`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.tensor.tensor import Tensor
from ...utils._pytree import tree_flatten, tree_leaves
from .recorders import recorder

__all__ = ["while_loop"]


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: Any) -> Any:
    """`carried = body_fn(*carried)` as long as `cond_fn(*carried)` is true: the last `carried`.

    Args:
        carried_inputs: tensors and ints, also inside lists, tuples and dicts; their shapes and types may not change.
    A traced program repeats the example's number of rounds: `torch.export` raises where it depends on the inputs' elements,
    `torch.jit.trace` warns.

    Raises:
        RuntimeError: the body changes a shape or type, as in `while_loop(all, lambda x: (x[1:],), (ones(2),))`.

    >>> while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (tensor(0), ones(2)))
    (tensor(3), tensor([8., 8.]))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)) or not all(
        isinstance(x, (Tensor, int)) for x in tree_leaves(carried_inputs)
    ):
        raise RuntimeError(
            "Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only consists of tensor or int "
            f"leaves, but got {carried_inputs}."
        )
    result = carried = carried_inputs
    first = _described(carried)
    while _is_true(cond_fn(*carried)):
        result = body_fn(*carried)
        carried = result if isinstance(result, (tuple, list)) else (result,)
        if (now := _described(carried)) != first:
            raise RuntimeError(
                f"Expected body_fn_output and carried_inputs to have same metadata but found: {now} vs {first}"
            )
    return result


def _described(values: Any) -> list[Any]:
    leaves, _ = tree_flatten(values)
    return [(tuple(x.shape), x.dtype, x.device) if isinstance(x, Tensor) else type(x) for x in leaves]


def _is_true(value: Any) -> bool:
    if isinstance(value, Tensor) and value.numel() == 1:
        tracer = recorder(value)
        if tracer is not None:
            tracer.branched(value)
        return bool(value)
    if isinstance(value, bool):
        return value
    raise RuntimeError(f"cond_fn must return a boolean scalar tensor or a bool but got {value}")
