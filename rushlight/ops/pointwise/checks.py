"""Checks of operands, and torch's errors for those that an operator does not take."""

from __future__ import annotations

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import is_grad_enabled
from ...core.dispatch.slow_path import are_operands
from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor, type_word


def extremes(a: np.ndarray):
    """The smallest and the largest of some elements, nan where there is one. By their places: 0.5 us instead of 2."""
    return a.item(a.argmin()), a.item(a.argmax())


def lowest(a: np.ndarray):
    """The smallest of some elements."""
    return a.item(a.argmin())


def lies_within(index: np.ndarray, low: int, high: int) -> bool:
    """Whether all of an array of integers are in [low, high)."""
    if not index.size:
        return True
    smallest, largest = extremes(index)
    return low <= smallest and largest < high


def guard(op, check, *, operators=True):
    """Call `check(tensors)` in the careful path of `op`, where bools, numbers and mixed types arrive, before its work."""

    def guarded(careful):
        def call(record, tensors, *rest):
            if are_operands(tensors):
                check(tensors)
            return careful(record, tensors, *rest)

        return call

    op.record.checks.append(check)
    scope = op.record.complete_scope()
    for name in ("slow_call", "slow_out", "slow_operator")[: 3 if operators else 2]:
        scope[name] = guarded(scope[name])


def tensors_only(op, *positions):
    """Raise torch's TypeError for a number at one of `positions` (0, 1), when the function is called by its name."""
    name = op.record.name

    def check(tensors):
        for i in positions:
            if not isinstance(tensors[i], Tensor):
                argument = ("input", "other")[i]
                raise type_error(
                    f"{name}(): argument '{argument}' (position {i + 1}) must be Tensor, not {type(tensors[i]).__name__}"
                )

    guard(op, check, operators=False)
    if 1 in positions:
        op.__doc__ = op.__doc__.replace("a tensor or a number", "a tensor")


def refuse_bool(op, one: str, both: str) -> None:
    """Raise RuntimeError with torch's message when an operator meets bools."""
    guard(op, lambda tensors: check_bool(tensors, one, both))


def check_bool(tensors, one: str, both: str) -> None:
    bools = [_is_bool(t) for t in tensors]
    if any(bools):
        raise RuntimeError(both if all(bools) else one)


def _is_bool(t) -> bool:
    return t._array.dtype.kind == "b" if isinstance(t, Tensor) else isinstance(t, bool)


def word(a: np.ndarray) -> str:
    """The word for an array's type in torch's messages: 'Float', 'Long', ..."""
    return type_word(dtypes.from_numpy(a.dtype))


def c_word_of(a: np.ndarray) -> str:
    """The C++ name of an array's type: 'float', 'long int', ..."""
    return dtypes.c_word(dtypes.from_numpy(a.dtype))


def refuse(word: str, d: np.dtype, kinds: str) -> None:
    """Raise torch's error where a dtype is of one of NumPy's kinds ('b', 'c', ...)."""
    if d.kind in kinds:
        raise not_implemented(word, d)


def not_implemented(word: str, d) -> NotImplementedError:
    """torch's error for an element type that a kernel does not have; `d` is NumPy's dtype."""
    return NotImplementedError(f"\"{word}\" not implemented for '{type_word(dtypes.from_numpy(d))}'")


def refuse_history(function: str, **tensors: Tensor | None) -> None:
    """Raise torch's error where one of the tensors, for which `function` has no derivative, requires grad."""
    for name, t in tensors.items():
        if t is not None and t._edge is not None and is_grad_enabled():
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot "
                "have requires_grad True."
            )


def still_of_type(g: Tensor, *saved: Tensor | None, words: str = "expected scalar type {} but found {}") -> None:
    """Raise torch's error in a gradient rule where `t.data = ...` has given a saved tensor another type than forward saw."""
    d = g.dtype
    for t in saved:
        if t is not None and t.dtype is not d and not (d.itemsize == 2 and t.dtype is dtypes.float32):
            raise RuntimeError(words.format(type_word(d), type_word(t.dtype)))
