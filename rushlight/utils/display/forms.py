"""The tensors in any nesting of values, and the nesting as a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ...core.tensor.dtype import get_default_dtype
from ...core.tensor.tensor import Tensor
from ...nn.parameter import is_lazy

__all__ = ["form", "size_bytes", "tensors_in"]


def _members(value: Any) -> list[tuple[str, Any]] | None:
    """(name, value) of the parts of anything that may hold tensors; None for all else."""
    if isinstance(value, Mapping):
        return [(str(k), v) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None) or ("",) * len(value)
        return list(zip(names, value, strict=True))
    if is_dataclass(value) and not isinstance(value, type):
        return [(f.name, getattr(value, f.name)) for f in fields(value)]
    if hasattr(value, "__dict__") and not callable(value) and not isinstance(value, type):
        return list(vars(value).items())
    return None


def tensors_in(value: Any, seen: tuple[int, ...] = ()) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if id(value) in seen:
        return []
    return [t for _, part in _members(value) or [] for t in tensors_in(part, (*seen, id(value)))]


def form(value: Any, seen: tuple[int, ...] = ()) -> str:
    """Shapes in the nesting of a value; the dtype as well where a printed tensor would name it."""
    if isinstance(value, Tensor):
        kind = "" if value.dtype is get_default_dtype() else f" {str(value.dtype).removeprefix('torch.')}"
        return f"[{', '.join(map(str, value.shape))}]{kind}"
    found = None if id(value) in seen else _members(value)
    if found is None or not tensors_in(value):
        return repr(value) if isinstance(value, (int, float, bool, str, type(None))) else type(value).__name__
    named = [(f"{name}=" if name else "", part) for name, part in found if part is not None or not name]
    parts = [name + form(part, (*seen, id(value))) for name, part in named]
    if type(value) in (list, tuple):
        return f"({', '.join(parts)})"
    return f"{'' if type(value) is dict else type(value).__name__}({', '.join(parts)})"


def size_bytes(t: Tensor) -> int:
    return 0 if is_lazy(t) else t.numel() * t.element_size()
