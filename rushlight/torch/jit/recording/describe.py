"""What a trace notes of tensors and of the Python around a call: types, names of variables, lines."""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

from ....core import own_code
from ....core.tensor.tensor import Tensor
from ..ir.graph import Type
from ..ir.literals import NAMES_OF_TYPES

__all__ = ["TensorFacts", "caller", "caller_place", "name_in_python", "program_place", "type_of_tensor", "warn_user"]

_MACHINERY = (*own_code.in_package("core"), *own_code.in_package("torch/jit"), "<rushlight")


def caller() -> Any:
    """The innermost frame outside of what calls, dispatches and records operators."""
    frame = sys._getframe(1)
    while frame is not None and _is_machinery(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _is_machinery(file: str) -> bool:
    return file.startswith(_MACHINERY) or file.endswith("contextlib.py")


def caller_place() -> str:
    """Where that is, as `.graph` shows it."""
    frame = caller()
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}:0"


def program_place() -> str:
    """The innermost line that is not Rushlight's own, in the same form."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(own_code.FILES):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}:0"


def name_in_python(t: Tensor) -> str:
    """The name of a local variable that is the tensor, or an empty text."""
    frame = caller()
    if frame is None:
        return ""
    return next(
        (name for name, value in frame.f_locals.items() if value is t and name.isidentifier() and name != "self"), ""
    )


class TensorFacts(NamedTuple):
    """What a trace has seen of a tensor. scalar_type: as "Float"; strides: in elements. None is not noted."""

    scalar_type: str
    device: str
    sizes: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    requires_grad: bool | None = None

    def __str__(self) -> str:
        """As `.graph` shows it."""
        parts = list(map(str, self.sizes or ()))
        if self.sizes and self.strides:
            parts.append(f"strides=[{', '.join(map(str, self.strides))}]")
        if self.requires_grad is not None:
            parts.append(f"requires_grad={int(self.requires_grad)}")
        return f"{self.scalar_type}({', '.join([*parts, f'device={self.device}'])})"


def type_of_tensor(t: Tensor) -> Type:
    """Its type with shape, strides, and whether it requires grad."""
    sizes, strides = tuple(map(int, t.shape)), tuple(map(int, t.stride()))
    return Type("Tensor", detail=TensorFacts(NAMES_OF_TYPES[t.dtype], str(t.device), sizes, strides, t.requires_grad))


def warn_user(text: str | Warning, category: type[Warning]) -> None:
    """Warn at the innermost line that is not Rushlight's own."""
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_code.co_filename.startswith(own_code.FILES):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
