"""Methods that call a Python function for each element: `apply_`, `map_`, `map2_`. They are slow, in torch as here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dispatch.call_site import type_name
from ..dispatch.mode import emit_event
from ..dispatch.overlap import shares_places
from .storage import storage_of, user_line
from .tensor import Tensor, type_word, wrap

__all__ = ["apply_", "map2_", "map_"]


def apply_(self: Tensor, function: Callable, /) -> Tensor:
    """Replace each element by `function(element)`. RuntimeError for a tensor that requires grad."""
    return _replace("apply_", self, (), function)


def map_(self: Tensor, tensor: Tensor, function: Callable, /) -> Tensor:
    """Replace each element by `function(element, that of tensor)`; `tensor` has the same type and is broadcast."""
    return _replace("map_", self, (tensor,), function)


def map2_(self: Tensor, x: Tensor, y: Tensor, function: Callable, /) -> Tensor:
    """Replace each element by `function(element, that of x, that of y)`."""
    return _replace("map2_", self, (x, y), function)


def _replace(name: str, self: Tensor, others: tuple[Tensor, ...], function: Callable) -> Tensor:
    for i, (t, argument) in enumerate(zip(others, ("other",) if len(others) == 1 else ("x", "y"), strict=False)):
        if not isinstance(t, Tensor):
            raise TypeError(f"{name}(): argument '{argument}' (position {i + 1}) must be Tensor, not {type_name(t)}")
    if self.requires_grad or any(t.requires_grad for t in others):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    for t in others:
        if t.dtype is not self.dtype:
            words = f"torch.{type_word(self.dtype)}Tensor", f"torch.{type_word(t.dtype)}Tensor"
            raise TypeError(f"{name}: expected {words[0]} for 'other' (got {words[1]})")
    if not callable(function):
        raise TypeError(f"'{type(function).__name__}' object is not callable")
    cast = _cast(self)
    for t in (self, *others):
        emit_event("read", t, "the elements for a function of Python's")
    if _in_turn(self, others):
        rows = [t.expand(self.shape)._array for t in (self, *others)]  # type: ignore[attr-defined]
        for i in np.ndindex(self.shape):
            self._array[i] = cast(function(*(row[i].item() for row in rows)))
        storage_of(self).wrote(user_line(2))
        return self
    columns = [t.expand(self.shape)._array.ravel().tolist() for t in (self, *others)]  # type: ignore[attr-defined]
    values = [cast(function(*row)) for row in zip(*columns, strict=True)]
    return self.copy_(wrap(np.array(values, self._array.dtype).reshape(self._array.shape)))  # type: ignore[attr-defined]


def _in_turn(self: Tensor, others: tuple[Tensor, ...]) -> bool:
    """Whether an element may be read after another that shares its memory was written."""
    a = self._array
    if type(a) is not np.ndarray:
        return False
    return shares_places(a) or any(np.may_share_memory(a, t._array) for t in others)


def _cast(self: Tensor) -> Callable:
    if self.is_complex():
        return complex
    if not self.is_floating_point():
        return bool if self._array.dtype.kind == "b" else int

    def real(value: Any) -> float:
        if isinstance(value, str) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
            raise TypeError(f"must be real number, not {type(value).__name__}")
        return float(value)

    return real
