"""A branch that a tensor's value chooses, as an operator: outside compiled programs a plain `if`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...core.tensor.tensor import Tensor
from ...core.warn import warn
from ...utils._pytree import tree_flatten, tree_leaves, tree_unflatten
from .recorders import recorder

__all__ = ["cond"]


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Any = ()) -> Any:
    """`true_fn(*operands)` where `pred` is true, else `false_fn(*operands)`; gradients are of the branch that ran.

    `torch.export` and `torch.jit.trace` run both branches and record both; the program chooses each time that it runs.

    Args:
        pred: a bool, or a tensor of one element.
        operands: tensors, also inside lists, tuples and dicts.
    Raises:
        NotImplementedError: inside `make_fx`, whose graphs have no branches.
        RuntimeError: the branches of a program that is traced give other structures.
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
    parts = (true_fn, false_fn)
    tracer = recorder(pred)
    if tracer is not None:
        return _both(tracer, pred, parts, operands)  # type: ignore[arg-type]
    return parts[not pred](*operands)


def _both(tracer: Any, pred: Tensor, parts: tuple[Callable, Callable], operands: Any) -> Any:
    """Both branches as a part of the program that is being traced; the result of the one that runs."""
    structures = []

    def leaves(part: Callable) -> list[Tensor]:
        found, structure = tree_flatten(part(*operands))
        structures.append(structure)
        if not all(isinstance(leaf, Tensor) for leaf in found):
            raise RuntimeError(f"Expect branches to return a pytree of tensors, but got {found}.")
        if structure != structures[0]:
            raise RuntimeError(
                f"Unmatched output spec from torch.cond branches: true branch tree_spec {structures[0]} vs false branch "
                f"tree_spec {structure}."
            )
        return found

    results = tracer.branch(pred, [partial(leaves, part) for part in parts])
    return tree_unflatten(results, structures[0])
