"""Functions that keep their results (`functools.lru_cache`, `functools.cache`): what they keep, and a condition on it.

Such a function is one of C, which calls the one that it wraps where it has no result. What it keeps is read from what it
tells the garbage collector: where the number of results is limited, a key, its result and a class for each; then, in all
of them, the dict of all results, and the wrapped function.
"""

from __future__ import annotations

import gc
from functools import lru_cache
from typing import Any

from .checks import MISSING, PLAIN, Check, is_same
from .layouts import of_dict

__all__ = ["KEEPING", "Kept", "KeptObjects"]

KEEPING: Any = type(lru_cache(dict))


def _held(f: Any) -> tuple[dict, dict]:
    """The dict that each new result is written into, and the results by their keys."""
    held = gc.get_referents(f)
    at = max(i for i, o in enumerate(held) if o is f.__wrapped__) - 1
    table = held[at]
    if f.cache_parameters()["maxsize"] is None:
        return table, dict(table)
    return table, dict(zip(held[1:at:3], held[2:at:3], strict=True))


class Kept(Check):
    """The results that a function keeps. It may keep more."""

    __slots__ = ("function", "results")

    def __init__(self, function: Any, what: str = ""):
        self.function, self.what = function, what
        self.results = _held(function)[1]

    def holds(self) -> bool:
        now = _held(self.function)[1]
        return all(is_same(now.get(key, MISSING), before) for key, before in self.results.items())

    def words(self) -> list[tuple[int, int]] | None:
        return of_dict(_held(self.function)[0])


class KeptObjects:
    """The results that a function kept before a call. It may keep numbers and texts besides."""

    def __init__(self, results: dict):
        self._known = {id(o): o for o in results.values()}

    def are_all_of(self, function: Any) -> bool:
        """Whether the function keeps no other object now."""
        return all(id(o) in self._known or isinstance(o, PLAIN) for o in _held(function)[1].values())
