"""A nested state as a flat dict, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from ...core.tensor.tensor import Tensor

OBJ_PATH = tuple[str | int, ...]
FLATTEN_MAPPING = dict[str, OBJ_PATH]

__all__ = ["flatten_state_dict", "set_element", "traverse_state_dict", "unflatten_state_dict"]


def traverse_state_dict(state_dict: Mapping[str, Any], visitor: Callable[[OBJ_PATH, Any], None]) -> None:
    """Call `visitor(path, value)` for each value: inside dicts, and inside lists that contain a tensor or a dict.

    Keys of dicts become strings, as in torch.
    """
    for key, value in state_dict.items():
        _visit((str(key),), value, visitor)


def _visit(path: OBJ_PATH, value: Any, visitor: Callable[[OBJ_PATH, Any], None]) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _visit((*path, str(key)), inner, visitor)
    elif _is_terminal(value):
        visitor(path, value)
    else:
        for i, inner in enumerate(value):
            _visit((*path, i), inner, visitor)


def _is_terminal(value: Any) -> bool:
    if isinstance(value, Mapping):
        return False
    return not isinstance(value, list) or all(
        not isinstance(entry, Tensor) and (not isinstance(entry, Mapping | list) or _is_terminal(entry))
        for entry in value
    )


def flatten_state_dict(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], FLATTEN_MAPPING]:
    """(flat dict, {its key: path in the nested one}); the key is the path, joined by dots.

    Raises ValueError for two paths of one key, as in `flatten_state_dict({"a": {"b": 1}, "a.b": 2})`.
    """
    flat: dict[str, Any] = {}
    mappings: FLATTEN_MAPPING = {}

    def visit(path: OBJ_PATH, value: Any) -> None:
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], mappings[name] = value, path

    traverse_state_dict(state_dict, visit)
    return flat, mappings


def unflatten_state_dict(state_dict: Mapping[str, Any], mapping: FLATTEN_MAPPING) -> dict[str, Any]:
    """The nested dict of a flat one."""
    nested: dict[str, Any] = {}
    for key, value in state_dict.items():
        set_element(nested, mapping[key], value)
    return nested


def set_element(root_dict: Any, path: OBJ_PATH, value: Any) -> None:
    """Put a value at a path, and make the dicts and lists on the way that are not there."""
    container = root_dict
    for key, following in pairwise(path):
        inner = _at(container, key)
        if inner is None:
            inner = {} if isinstance(following, str) else []
            _put(container, key, inner)
        container = inner
    _put(container, path[-1], value)


def _at(container: Any, key: str | int) -> Any:
    if isinstance(container, Mapping):
        return container.get(key)
    return container[key] if isinstance(key, int) and key < len(container) else None


def _put(container: Any, key: str | int, value: Any) -> None:
    if isinstance(container, list) and isinstance(key, int):
        container.extend([None] * (key + 1 - len(container)))
    into: Any = container
    into[key] = value
