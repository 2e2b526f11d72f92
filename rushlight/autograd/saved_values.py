"""What a node keeps for backward, by torch's names: `y.grad_fn._saved_self`, `_raw_saved_self.register_hooks(...)`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dispatch.entry import is_result
from ..core.dispatch.extension_points import list_saved, read_saved
from ..core.dispatch.slow_path import relink
from ..core.tensor.node import Freed, Node, hooks_of
from ..core.tensor.tensor import Tensor, wrap
from .graph import Packed
from .saved_names import TRANSPOSED, torchs_name

__all__ = ["SavedTensor"]

_SAVED, _RAW = "_saved_", "_raw_saved_"


def _places(node: Node) -> dict[str, int]:
    """{torch's name: position in `saved`}."""
    if node.op is None:
        return {}
    names = [(torchs_name(node.op, name), i) for i, name in enumerate(type(node).saved_names)]
    return {name: i for name, i in names if name is not None}


def _read(node: Any, name: str) -> Any:
    """The value of `_saved_...` or the handle of `_raw_saved_...`; AttributeError for what the node does not keep."""
    raw = name.startswith(_RAW)
    place = _places(node).get(name.removeprefix(_RAW if raw else _SAVED)) if raw or name.startswith(_SAVED) else None
    if place is None:
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '{name}'")
    if type(node.saved) is Freed:
        raise node.saved.error(node.name())
    return SavedTensor(node, place) if raw else _value(node, place)


def _value(node: Any, place: int) -> Any:
    value, name = node.saved[place], type(node).saved_names[place]
    if node.op.kind == "binary" and not _is_needed(node, name):
        return None
    if type(value) is Packed:
        value = value.open()
    if is_result(name):
        return relink(node, value, name)
    if name.endswith("_shape"):
        return tuple(value)
    if isinstance(value, np.ndarray) or (node.op.kind == "binary" and not isinstance(value, Tensor)):
        return wrap(np.asarray(value))
    if value is None:  # what no rule that is wanted reads was not kept
        return None
    return value.t() if node.op.name in TRANSPOSED and name == "weight" else value


def _is_needed(node: Any, name: str) -> bool:
    """Whether the rule of an input that wants a gradient reads it."""
    wanted = (array for array, edge in zip(node.op.signature.arrays, node.edges) if edge is not None)
    return any(name in inspect.signature(node.op.rules[array]).parameters for array in wanted if array in node.op.rules)


class SavedTensor:
    """The place of one saved value: takes hooks of its own."""

    def __init__(self, node: Any, place: int):
        self._node, self._place = node, place

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Keep `pack_hook(tensor)` instead of the tensor, and ask `unpack_hook` for it in backward."""
        node, values = self._node, list(self._node.saved)
        if type(values[self._place]) is Packed:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set.")
        if not isinstance(values[self._place], (Tensor, np.ndarray)):
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        values[self._place] = Packed(values[self._place], (pack_hook, unpack_hook))
        node.saved = tuple(values)
        node.storage = None if is_result(type(node).saved_names[self._place]) else node.storage
        hooks_of(node).packed = True


def _names(node: Node) -> list[str]:
    """The names of a node's attributes of saved values."""
    return [prefix + name for name in _places(node) for prefix in (_SAVED, _RAW)]


read_saved.register(_read)
list_saved.register(_names)
