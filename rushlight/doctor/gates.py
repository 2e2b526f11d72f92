"""Operators that may let no gradient through: a ReLU of negative numbers, a clamp out of its range, a saturated sigmoid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.tensor.node import Freed, Leaf
from .tape import Tape, name_of, saved

__all__ = ["closed_gates"]


def closed_gates(tape: Tape, leaf: Any) -> list[Any]:
    """The nodes at which the gradient of a leaf becomes zero for all elements, the nearest to the loss first; none if some way is open."""
    gates: dict[Any, None] = {}
    seen: set[Any] = set()
    waiting = [edge for edge in tape.roots if edge is not None]
    while waiting:
        edge = waiting.pop()
        if edge is leaf:
            return []
        if edge in seen or type(edge) is Leaf:
            continue
        seen.add(edge)
        for i, inner in enumerate(edge.edges):
            if inner is None:
                continue
            if is_closed(edge, i):
                gates[edge] = None
            else:
                waiting.append(inner)
    return sorted((g for g in gates if leaf in Tape([g]).leaves), key=lambda g: -g.seq)


def is_closed(node: Any, index: int) -> bool:
    """Whether the gradient of one input of a node is zero, whatever comes in."""
    rule = _RULES.get(name_of(node).partition(".")[0])
    if rule is None or node.saved is None or type(node.saved) is Freed:
        return False
    with np.errstate(all="ignore"):
        return bool(rule(node, index))


def _value(node: Any, name: str) -> Any:
    """What a node has saved, as an array or a number."""
    value = saved(node, name)
    return getattr(value, "_array", value)


def _at_rest(node: Any, index: int) -> Any:
    """A function of `out` whose derivative is zero at 0 (relu), or where out * (1 - out) is (sigmoid)."""
    out = _value(node, "out")
    if not isinstance(out, np.ndarray) or not out.size or out.dtype.kind != "f":
        return False
    name = name_of(node)
    return not out.any() if name == "relu" else not (1 - out * out if name == "tanh" else out * (1 - out)).any()


def _out_of(lower: str, upper: str) -> Callable[[Any, int], Any]:
    """A function that is flat below one of its saved values and above another."""

    def rule(node: Any, index: int) -> Any:
        x, low, high = _value(node, "input"), _value(node, lower), _value(node, upper)
        if not isinstance(x, np.ndarray) or not x.size or x.dtype.kind != "f" or index:
            return False
        flat = np.zeros(x.shape, bool)
        if low is not None:
            flat = flat | (x < low if name_of(node).startswith("clamp") else x <= low)
        if high is not None:
            flat = flat | (x > high if name_of(node).startswith("clamp") else x >= high)
        return flat.all()

    return rule


def _of_condition(node: Any, index: int) -> Any:
    condition = _value(node, "condition")  # the first input
    return isinstance(condition, np.ndarray) and index > 0 and not (condition if index == 1 else ~condition).any()


def _of_mask(node: Any, index: int) -> Any:
    mask = _value(node, "mask")
    return isinstance(mask, np.ndarray) and index == 0 and bool(mask.size) and mask.all()


def _of_factor(node: Any, index: int) -> Any:
    factor = _value(node, "y" if index == 0 else "x")
    if isinstance(factor, (int, float)):
        return factor == 0
    return isinstance(factor, np.ndarray) and factor.dtype.kind in "fb" and bool(factor.size) and not factor.any()


def _of_larger(node: Any, index: int) -> Any:
    x, y = _value(node, "x"), _value(node, "y")
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray) or not x.size or not y.size:
        return False
    first_is_taken = x >= y if name_of(node) == "maximum" else x <= y
    second_is_taken = x <= y if name_of(node) == "maximum" else x >= y
    return not (first_is_taken if index == 0 else second_is_taken).any()


_RULES: dict[str, Callable[[Any, int], Any]] = {
    "relu": _at_rest,
    "sigmoid": _at_rest,
    "tanh": _at_rest,
    "clamp": _out_of("min", "max"),
    "clamp_min": _out_of("limit", ""),
    "clamp_max": _out_of("", "limit"),
    "hardtanh": _out_of("min_val", "max_val"),
    "threshold": _out_of("threshold", ""),
    "where": _of_condition,
    "masked_fill": _of_mask,
    "mul": _of_factor,
    "maximum": _of_larger,
    "minimum": _of_larger,
}
