"""A branch that a tensor's value chooses, as an operator: outside compiled programs a plain `if`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.tensor.tensor import Tensor
from ...core.warn import warn
from ...utils._pytree import tree_leaves

__all__ = ["cond"]


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Any = ()) -> Any:
    """`true_fn(*operands)` where `pred` is true, else `false_fn(*operands)`; gradients are of the branch that ran.

    Args:
        pred: a bool, or a tensor of one element.
        operands: tensors, also inside lists, tuples and dicts.
    Raises:
        RuntimeError: `pred` is a tensor of several elements, as in `cond(ones(2), abs, neg, (ones(1),))`.
        RuntimeError: an operand is no tensor, as in `cond(True, abs, neg, (1,))` or `cond(True, abs, neg, ones(1))`.

    >>> cond(tensor(False), lambda x: x + 1, lambda x: x - 1, (ones(2),))
    tensor([0., 0.])
    """
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(isinstance(x, Tensor) for x in tree_leaves(operands)):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but got "
            f"{operands}."
        )
    if isinstance(pred, Tensor):
        if pred.numel() != 1:
            raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    elif isinstance(pred, (bool, int, float)):
        warn(
            "Pred is a Python constant. When used with torch.cond, it specializes on one of the branches. If you want "
            "torch.cond to preserve two branches, please make the predicate a boolean tensor or a SymBool."
        )
    else:
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    return (true_fn if pred else false_fn)(*operands)
