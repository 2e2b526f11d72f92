"""Which sizes of a captured module's inputs may change: `Dim`, `dynamic_shapes`, and the older `dynamic_axes`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.tensor.tensor import Tensor
from ...utils import _pytree as pytree
from .capture import Captured, bound

__all__ = ["Dim", "Hint", "dims", "dynamic_sizes", "hinted_sizes", "named_axes"]


class Hint:
    """A dimension whose size the module decides on: AUTO may change if the module lets it, DYNAMIC must, STATIC may not.

    Called, it gives the same with bounds, both included.
    """

    def __init__(self, name: str, min: int | None = None, max: int | None = None, has_bounds: bool = False):
        self.name, self.min, self.max, self.has_bounds = name, min, max, has_bounds

    def __call__(self, min: int | None = None, max: int | None = None) -> Hint:
        """Raises TypeError where it has bounds already; AssertionError for one below 0, and none within them."""
        if self.has_bounds:
            raise TypeError(f"{self!r} object is not callable: it has bounds")
        for name, given in (("min", min), ("max", max)):
            if given is not None and given < 0:
                raise AssertionError(f"{name} must be non-negative, got {given}")
        if min is not None and max is not None and min > max:
            raise AssertionError(f"min must be <= max, got min={min}, max={max}")
        return Hint(self.name, min, max, has_bounds=True)

    def __repr__(self) -> str:
        bounds = [f"{name}={n}" for name, n in (("min", self.min), ("max", self.max)) if n is not None]
        return f"DimHint({', '.join([self.name, *bounds])})"


class Dim:
    """A size that may change, by a name: inputs with the same one agree. min, max: its bounds, both included."""

    AUTO, DYNAMIC, STATIC = Hint("AUTO"), Hint("DYNAMIC"), Hint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None):
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        least, most = 0 if min is None else min, 2**63 - 1 if max is None else max
        if most <= least:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        self.__name__, self.min, self.max = name, least, most

    def __repr__(self) -> str:
        most = "" if self.max == 2**63 - 1 else f", max={self.max}"
        return f"Dim('{self.__name__}', min={self.min}{most})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """A `Dim` for each name."""
    return tuple(Dim(name, min=min, max=max) for name in names)


def dynamic_sizes(captured: Captured, shapes: Any, axes: Mapping[str, Any] | None, names: list[str]) -> dict:
    """{place of the input: {dimension: name}} of what may change; dimensions count from the front."""
    if axes and shapes:
        raise ValueError("dynamic_shapes and dynamic_axes cannot both be given")
    if axes:
        found = {i: named_axes(name, axes.get(name)) for i, name in enumerate(names)}
    else:
        found = {
            i: {d: _name(dim, path, d) for d, dim in row.items()}
            for i, (path, row) in (_of_shapes(captured, shapes) if shapes else {}).items()
        }
    return {i: _from_the_front(names[i], captured.inputs[i], sizes) for i, sizes in found.items() if sizes}


def hinted_sizes(captured: Captured, shapes: Any) -> dict[tuple[int, int], Hint]:
    """{(place of the input, dimension from the front): its AUTO or DYNAMIC}"""
    found = _of_shapes(captured, shapes) if shapes else {}
    return {
        (i, d % captured.inputs[i].ndim): dim
        for i, (_, row) in found.items()
        for d, dim in row.items()
        if isinstance(dim, Hint)
    }


def named_axes(name: str, given: Any) -> dict[int, str]:
    """An entry of `dynamic_axes`, {dimension: name} or [dimensions], as the former."""
    if isinstance(given, Mapping):
        return {int(d): str(text) for d, text in given.items()}
    return {int(d): f"{name}_dynamic_axes_{k + 1}" for k, d in enumerate(given or ())}


def _from_the_front(name: str, t: Tensor, sizes: dict[int, str]) -> dict[int, str]:
    for d in sizes:
        if not -t.ndim <= d < t.ndim:
            raise ValueError(f"{name} has {t.ndim} dimensions, of which {d} is to change")
    return {d % t.ndim: text for d, text in sizes.items()}


def _of_shapes(captured: Captured, shapes: Any) -> dict[int, tuple[str, dict[int, Any]]]:
    """{place of the input: (its name, {dimension: what describes it})} of what may change."""
    leaves, structure = captured.arguments
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    count = iter(range(len(tensors)))
    places = [_Place(next(count)) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    named = bound(captured.target, *pytree.tree_unflatten(places, structure))
    found: dict[int, tuple[str, dict[int, Any]]] = {}
    if isinstance(shapes, Mapping):
        unknown = set(shapes) - set(named)
        if unknown:
            raise ValueError(f"dynamic_shapes names {sorted(unknown)}, and the arguments are {sorted(named)}")
        shapes = [shapes.get(name) for name in named]
    elif len(shapes) != len(named):
        raise ValueError(f"dynamic_shapes has {len(shapes)} entries, for the arguments {list(named)}")
    for (name, value), shape in zip(named.items(), shapes, strict=True):
        _walk(value, shape, name, found)
    return found


class _Place(int):
    """A tensor among the arguments: how many come before it."""


def _walk(value: Any, shape: Any, path: str, found: dict[int, tuple[str, dict[int, Any]]]) -> None:
    """Add the changing sizes of each tensor in `value`."""
    if isinstance(value, _Place):
        items = shape.items() if isinstance(shape, Mapping) else enumerate(shape or ())
        found[int(value)] = path, {int(i): d for i, d in items if _may_change(d, path)}
    elif isinstance(value, Mapping):
        for key, part in value.items():
            _walk(part, None if shape is None else shape.get(key), f"{path}_{key}", found)
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            _walk(part, None if shape is None else shape[i], f"{path}_{i}", found)


def _may_change(dim: Any, path: str) -> bool:
    if isinstance(dim, Hint):
        return dim.name != "STATIC"
    if isinstance(dim, (str, Dim)):
        return True
    if dim is None or isinstance(dim, int):
        return False
    raise ValueError(f"dynamic_shapes of {path}: {dim!r} is no Dim, name, int or None")


def _name(dim: Any, path: str, place: Any) -> str:
    if isinstance(dim, str):
        return dim
    return dim.__name__ if isinstance(dim, Dim) else f"{path}_dim_{place}"
