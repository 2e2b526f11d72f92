"""Replacing functions while a graph is traced, and putting them back."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..nn.modules.module import Module
from .node import map_aggregate
from .proxy import Proxy

__all__ = ["note"]

_orig_module_call = Module.__call__
_orig_module_getattr = Module.__getattr__
_MARK = "__fx_already_patched"
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}  # {(a module's globals by identity, a name): they}


def note(space: dict[str, Any], name: str) -> None:
    """Keep whole a function of a module with these globals in all tracing."""
    _wrapped_fns_to_patch[id(space), name] = space


class _Patcher:
    """A context in which functions are others; at its end they are what they were.

    deduplicate: what a patch has replaced already stays as it is.
    """

    def __init__(self) -> None:
        self.undo: list[Callable[[], Any]] = []
        self.visited: set[int] = set()

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *error: object) -> None:
        while self.undo:
            self.undo.pop()()
        self.visited.clear()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Callable, deduplicate: bool = True) -> None:
        """Replace a global of a module, or shadow a builtin in it. Raises KeyError for a name that is neither."""
        if name in frame_dict:
            old = frame_dict[name]
            self._replace(old, new_fn, deduplicate, frame_dict.__setitem__, name)
        elif hasattr(builtins, name):
            setattr(new_fn, _MARK, deduplicate)
            self.undo.append(lambda: frame_dict.__delitem__(name))
            frame_dict[name] = new_fn
        else:
            raise KeyError(name)

    def patch_method(self, cls: type, name: str, new_fn: Callable, deduplicate: bool = True) -> None:
        """Replace a method of a class."""
        self._replace(getattr(cls, name), new_fn, deduplicate, lambda name, f: setattr(cls, name, f), name)

    def _replace(self, old: Any, new: Any, deduplicate: bool, put: Callable[[str, Any], None], name: str) -> None:
        setattr(new, _MARK, deduplicate)
        if not getattr(old, _MARK, False):
            self.undo.append(lambda: put(name, old))
            put(name, new)

    def visit_once(self, thing: object) -> bool:
        """Whether this is the first call with an object."""
        first = id(thing) not in self.visited
        self.visited.add(id(thing))
        return first


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Keep whole what `torch.fx.wrap` was told of."""
    for (_, name), space in list(_wrapped_fns_to_patch.items()):
        function = space[name] if name in space else getattr(builtins, name)
        patcher.patch(space, name, _kept_whole(function))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Keep whole the functions among a module's globals that are in the set, as `sqrt` after `from math import sqrt`."""
    if not patcher.visit_once(frame_dict):
        return
    for name, value in list(frame_dict.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch(frame_dict, name, _kept_whole(value))


def _kept_whole(function: Callable) -> Callable:
    """A function whose calls with proxies become one node."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda a: found.append(a) if isinstance(a, Proxy) else None)
        if not found:
            return function(*args, **kwargs)
        made = found[-1].tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return call
