"""Nested arguments and results flattened into leaves, and unflattened again.

Tuples, named tuples, lists, dicts and dataclasses are opened; anything else is a leaf, as are containers with attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...core.interrupts import raise_if_interrupted
from ...core.tensor.tensor import Tensor


class Slot:
    """The place of leaf number `index` in a template."""

    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index


class Opened:
    """A container in a template: its type, its keys (of dicts and dataclasses) and the templates inside.

    Of a result (`results.py`) also: number, in the order in which they were met; is_shared, whether it appears more than once.
    """

    __slots__ = ("kind", "keys", "items", "number", "is_shared")

    def __init__(self, kind: Any, keys: Any, items: list, number: int = 0):
        self.kind, self.keys, self.items = kind, keys, items
        self.number, self.is_shared = number, False

    def build(self, items: list) -> Any:
        """The container with these items."""
        kind = self.kind
        if kind is tuple or kind is list:
            return kind(items)
        if self.keys is None:
            return kind(*items)  # a named tuple
        if issubclass(kind, dict):
            return kind(zip(self.keys, items, strict=True))
        made = object.__new__(kind)
        for name, item in zip(self.keys, items, strict=True):
            object.__setattr__(made, name, item)
        return made


def flatten(value: Any, leaves: list) -> Any:
    """Append the leaves of `value` to `leaves`, and return its template."""
    kind: Any = type(value)
    attributes = getattr(value, "__dict__", None)
    if kind is tuple or kind is list or (isinstance(value, tuple) and hasattr(kind, "_fields") and not attributes):
        keys, items = None, value
    elif kind is dict or (isinstance(value, dict) and kind.__init__ is dict.__init__ and not attributes):
        table: Any = value
        keys, items = tuple(table), table.values()
    elif hasattr(kind, "__dataclass_fields__") and not isinstance(value, (tuple, list, dict)):
        keys = tuple(dict.fromkeys((*kind.__dataclass_fields__, *(attributes or ()))))  # others than fields, too
        items = [getattr(value, name) for name in keys]
    else:
        leaves.append(value)
        return Slot(len(leaves) - 1)
    return Opened(kind, keys, [flatten(item, leaves) for item in items])


def classes(template: Any) -> dict[type, None]:
    """The program's own classes among those that were opened."""
    if type(template) is Slot:
        return {}
    own = {} if template.kind in (tuple, list, dict) else {template.kind: None}
    for item in template.items:
        own |= classes(item)
    return own


def containers(value: Any) -> Iterator:
    """The lists, dicts and other containers that can be changed, in a nested value."""
    opened = isinstance(value, (tuple, list, dict))
    if isinstance(value, (list, dict, set, bytearray)):
        yield value
    if opened:
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)


def rebuild(template: Any, leaf: Callable[[int], Any], shared: dict[int, Any] | None = None) -> Any:
    """The value of a template; `leaf(i)` gives leaf number i. shared: what was built of it and appears again."""
    if type(template) is Slot:
        return leaf(template.index)
    if shared is None:
        shared = {}
    if template.is_shared and template.number in shared:
        return shared[template.number]
    made = template.build([rebuild(item, leaf, shared) for item in template.items])
    if template.is_shared:
        shared[template.number] = made
    return made


def same(a: Any, b: Any) -> bool:
    """Whether two templates have the same structure."""
    if type(a) is Slot or type(b) is Slot:
        return type(a) is type(b)
    alike = a.kind is b.kind and a.keys == b.keys and a.number == b.number and len(a.items) == len(b.items)
    return alike and all(map(same, a.items, b.items))


def same_plain(x: Any, y: Any) -> bool:
    """Equality of Python values; arrays count by their geometry, nan equals nan."""
    if x is y:
        return True
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        x, y = x._array, y._array
        return not x.size and not y.size and x.shape == y.shape and x.dtype == y.dtype
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return x.shape == y.shape and x.dtype == y.dtype and x.strides == y.strides
    if type(x) is not type(y):
        return False
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all(map(same_plain, x, y))
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(same_plain(v, y[k]) for k, v in x.items())
    if isinstance(x, partial):
        return same_plain((x.func, x.args, x.keywords), (y.func, y.args, y.keywords))
    if callable(x) and hasattr(x, "__code__"):
        return x.__code__ is y.__code__
    try:
        return bool(x == y) or bool(x != x and y != y)
    except Exception as error:
        raise_if_interrupted(error)
        return False
