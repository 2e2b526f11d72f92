"""Containers read by the methods of Python's own classes.

A subclass may override `get`, `items` or `__iter__`: with other parameters (transformers' registry, a dict whose `get` takes
a model), other values, or effects. A condition is on what the container holds, and runs no code of the program.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["copied", "getter", "items_of", "iterated", "length", "same_items"]

# OrderedDict before dict: its order is its own
_OWN = (OrderedDict, dict, list, deque, set, bytearray, tuple, frozenset)


def _own(container: Any) -> Any:
    kind = type(container)
    return kind if kind in _OWN else next(c for c in _OWN if isinstance(container, c))


def getter(table: dict) -> Callable[..., Any]:
    """dict's own `get` of a table."""
    return dict.get.__get__(table)


def iterated(container: Any) -> Iterator:
    """The items of a container, the keys of a dict."""
    return _own(container).__iter__(container)


def items_of(table: dict) -> Any:
    """The pairs of a dict."""
    return _own(table).items(table)


def length(container: Any) -> int:
    return _own(container).__len__(container)


def copied(container: Any) -> Any:
    """A shallow copy of Python's own class, for `same_items`; of a deque a list."""
    if isinstance(container, dict):
        return dict.copy(container)
    return list(iterated(container)) if isinstance(container, deque) else _own(container).copy(container)


def same_items(now: Any, before: Any, is_same: Callable[[Any, Any], bool]) -> bool:
    """Whether a container holds what it held when the copy was made; `is_same` compares values."""
    if length(now) != len(before):
        return False
    if isinstance(now, dict):
        return all(k in before and is_same(v, before[k]) for k, v in items_of(now))
    if isinstance(now, (list, deque)):
        return all(map(is_same, iterated(now), before))
    return bool(_own(now).__eq__(now, before))
