"""Which sizes of a captured module's inputs may change: `Dim`, `dynamic_shapes`, and the older `dynamic_axes`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.tensor.tensor import Tensor
from ...utils import _pytree as pytree
from .capture import Captured

__all__ = ["Dim", "dims", "dynamic_sizes"]


class _Hint:
    """A dimension that is described by itself: AUTO and DYNAMIC may change, STATIC may not."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"_DimHint(type=<_DimHintType.{self.name}>)"


class Dim:
    """A size that may change, by a name: inputs with the same one agree. min, max: its bounds, both included."""

    AUTO, DYNAMIC, STATIC = _Hint("AUTO"), _Hint("DYNAMIC"), _Hint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None):
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        least, most = 0 if min is None else min, 2**63 - 1 if max is None else max
        if most <= least:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        self.__name__, self.min, self.max = name, least, most

    def __repr__(self) -> str:
        return f"Dim('{self.__name__}', min={self.min}, max={self.max})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """A `Dim` for each name."""
    return tuple(Dim(name, min=min, max=max) for name in names)


def dynamic_sizes(captured: Captured, shapes: Any, axes: Mapping[str, Any] | None, names: list[str]) -> dict:
    """{place of the input: {dimension: name}} of what may change."""
    if axes and shapes:
        raise ValueError("dynamic_shapes and dynamic_axes cannot both be given")
    if axes:
        found = {}
        for i, name in enumerate(names):
            given = axes.get(name) or {}
            if not isinstance(given, Mapping):
                given = {int(d): f"{name}_dynamic_axes_{k + 1}" for k, d in enumerate(given)}
            if given:
                found[i] = dict(given)
        return found
    return _of_shapes(captured, shapes) if shapes else {}


def _of_shapes(captured: Captured, shapes: Any) -> dict:
    leaves, structure = captured.arguments
    args, kwargs = pytree.tree_unflatten(leaves, structure)
    found: list[dict[int, str]] = []
    if isinstance(shapes, Mapping):
        parameters = captured.parameters
        named = dict(zip(parameters, args, strict=False)) | dict(kwargs)
        unknown = set(shapes) - set(named)
        if unknown:
            raise ValueError(f"dynamic_shapes names {sorted(unknown)}, and the arguments are {sorted(named)}")
        for name, value in named.items():
            _walk(value, shapes.get(name), name, found)
    else:
        for i, (value, shape) in enumerate(zip((*args, *kwargs.values()), shapes, strict=True)):
            _walk(value, shape, f"args_{i}", found)
    return {i: sizes for i, sizes in enumerate(found) if sizes}


def _walk(value: Any, shape: Any, path: str, found: list[dict[int, str]]) -> None:
    """Add the changing sizes of each tensor in `value`."""
    if isinstance(value, Tensor):
        items = shape.items() if isinstance(shape, Mapping) else enumerate(shape or ())
        found.append({int(i): _name(d, path, i) for i, d in items if _may_change(d)})
    elif isinstance(value, Mapping):
        for key, part in value.items():
            _walk(part, None if shape is None else shape.get(key), f"{path}_{key}", found)
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            _walk(part, None if shape is None else shape[i], f"{path}_{i}", found)


def _may_change(dim: Any) -> bool:
    return not (dim is None or dim is Dim.STATIC or isinstance(dim, int))


def _name(dim: Any, path: str, place: Any) -> str:
    if isinstance(dim, str):
        return dim
    return dim.__name__ if isinstance(dim, Dim) else f"{path}_dim_{place}"
