"""`torch._assert`: an assertion that is a call, so that graphs have it as a node, which stays though nothing reads it."""

from __future__ import annotations

from typing import Any

from ..core.dispatch.torch_function import ask, has_override
from ..core.tensor.tensor import Tensor
from .node import has_side_effect

__all__ = ["_assert"]


@has_side_effect
def _assert(condition: Any, message: str) -> None:
    """`assert condition, message` as a call, so that tracing sees it. Raises AssertionError."""
    if type(condition) is not Tensor and has_override(type(condition)):
        return ask(_assert, [condition], (condition, message), {})
    if not condition:
        raise AssertionError(message)
