"""What a function refers to beside its arguments: numbers and tensors, and the containers that hold them.

They are found by walking from the function: its closure and the globals that it names, the user's functions among
these, the attributes of the user's objects that the code names, the items of lists and dicts. Numbers and tensors
become guards. What the function changes in a container or an object, other than a number that is guarded, would be
missing in a replay: `changed` finds it.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from operator import call, is_
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from ..core.dtype import dtype
from ..core.mode import State
from ..core.storage import _PACKAGE
from ..core.tensor import Tensor
from .structure import same_plain

PLAIN = (int, float, bool, str, bytes, complex, type(None), dtype)
OURS = ("rushlight.", "torch.", "torchvision.")  # under the alias our classes name torch's modules as their own
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_CONTAINERS = (list, dict, set, deque, bytearray)
_TABLES = frozenset(("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"))
_MOST = 2000  # objects that are looked at


class Surroundings:
    """Found before a call (`leaves`: of its arguments), and added to as modules are entered."""

    def __init__(self, function: Any, leaves: list):
        self.places: list[tuple] = []  # (dict or cell, key, value) of numbers and tensors
        self.rows: list[tuple] = []  # (list, its items) where items are numbers or tensors
        self._kept: list[tuple[Any, Any]] = []  # (container or an object's attributes, a shallow copy)
        self._seen: dict[int, Any] = {}
        self._names: set[str] = set()
        self._own: list[Any] = []  # the user's objects
        self._noted: set[tuple] = set()
        self._add([function, getattr(function, "__self__", None), *(o for o in leaves if is_own(o))])

    def enter(self, module: Any) -> None:
        """A module is about to be called: its hooks, its own code, and the containers that it holds."""
        state = module.__dict__
        hooks = [getattr(h, "hook", h) for name in HOOKS for h in state.get(name, {}).values()]
        if type(module).__module__.startswith(OURS):
            self._add(hooks)
            return
        held = [
            v for k, v in state.items() if isinstance(v, _CONTAINERS) and k not in _TABLES and not k.endswith("_hooks")
        ]
        self._add([*hooks, type(module).forward, *held])

    def changed(self) -> str | None:
        """What the call has changed that a replay would not change; None if nothing is."""
        for now, before in self._kept:
            if not _same_items(now, before):
                kind = "an object's attribute" if isinstance(before, _Attributes) else f"a {type(now).__name__}"
                return f"{kind} is changed that lives outside the function: a replay would not change it"
        return None

    # ------------------------------------------------------------------------------------------ the walk

    def _add(self, objects: list) -> None:
        waiting = [o for o in objects if o is not None]
        while True:
            while waiting:
                o = waiting.pop()
                if id(o) in self._seen or len(self._seen) >= _MOST:
                    continue
                self._seen[id(o)] = o
                waiting += self._look(o)
            waiting = [v for o in self._own for v in self._attributes(o) if id(v) not in self._seen]
            if not waiting or len(self._seen) >= _MOST:
                return

    def _look(self, o: Any) -> list:
        """Note what an object holds, and give the objects in it that are to be looked at."""
        if isinstance(o, MethodType):
            return [o.__func__, o.__self__]
        if isinstance(o, partial):
            return [o.func, *o.args, *o.keywords.values()]
        if isinstance(o, FunctionType):
            return self._function(o)
        if isinstance(o, _CONTAINERS):
            return self._container(o)
        if isinstance(o, tuple):
            return [v for v in o if not isinstance(v, PLAIN)]
        if is_own(o) or _is_own_namespace(o):
            if is_own(o):
                self._kept.append((o.__dict__, _Attributes(o.__dict__)))
            self._own.append(o)
        elif type(o).__name__ == "CompiledStep":
            return [o.function]
        return []

    def _function(self, f: FunctionType) -> list:
        code = f.__code__
        if code.co_filename.startswith((_PACKAGE, "<rushlight")) or "site-packages" in code.co_filename:
            return []
        found: list = list(f.__defaults__ or ())
        for cell in f.__closure__ or ():
            try:
                found += self._note(cell, None, cell.cell_contents)
            except ValueError:  # not assigned yet
                continue
        scope = f.__globals__
        for inner in _codes(code):
            self._names.update(inner.co_names)
            for name in inner.co_names:
                if name in scope:
                    found += self._note(scope, name, scope[name])
        return found

    def _container(self, o: Any) -> list:
        self._kept.append((o, o.copy()))
        if isinstance(o, dict):
            return [v for key, value in o.items() for v in self._note(o, key, value)]
        if not isinstance(o, list):
            return []
        if any(_is_guarded(v) for v in o):
            self.rows.append((o, tuple(o)))
        return [v for v in o if not _is_guarded(v)]

    def _attributes(self, o: Any) -> Iterator:
        """What the code names of an object's attributes, and the methods among them."""
        names, state = self._names, o.__dict__
        all_of = not isinstance(o, ModuleType) and not names.isdisjoint(("getattr", "vars", "__dict__"))
        for key in list(state):
            if key in names or (all_of and isinstance(state, dict)):
                yield from self._note(state, key, state[key])
        if isinstance(o, ModuleType):
            return
        for cls in (o if isinstance(o, type) else type(o)).__mro__:
            if cls.__module__.startswith(OURS):
                continue
            for key, value in list(vars(cls).items()):
                value = getattr(value, "fget", None) or getattr(value, "__func__", value)
                if isinstance(value, FunctionType) and (key in names or key.startswith("__")):
                    yield value
                elif key in names and key not in state and _is_guarded(value):
                    yield from self._note(vars(cls), key, value)

    def _note(self, scope: Any, key: Any, value: Any) -> list:
        if _is_guarded(value):
            if (id(scope), key) not in self._noted:
                self._noted.add((id(scope), key))
                self.places.append((scope, key, value))
            return []
        return [value]


class _Attributes(dict):
    """A copy of an object's attributes. Numbers and tensors among them may change: they are guarded."""


def is_own(o: Any) -> bool:
    """Whether an object is an instance of a class of the user's that is no tensor, module or function."""
    kind = type(o)
    if kind.__module__.startswith((*OURS, "numpy")) or _root(kind.__module__) in sys.stdlib_module_names - {
        "__main__",
        "types",
    }:
        return False
    if isinstance(o, (Tensor, State.module_type or Tensor, type, ModuleType, *_CONTAINERS, tuple)):
        return False
    return isinstance(getattr(o, "__dict__", None), dict) and not hasattr(o, "__code__")


def _is_own_namespace(o: Any) -> bool:
    """Whether a class or a Python module is the user's."""
    if isinstance(o, ModuleType):
        path = getattr(o, "__file__", None) or ""
        inside = path.startswith(_PACKAGE) or "site-packages" in path or _root(o.__name__) in _FOREIGN
        return bool(path) and not inside
    module = getattr(o, "__module__", None)
    return isinstance(o, type) and isinstance(module, str) and _root(module) not in _FOREIGN


_FOREIGN = (sys.stdlib_module_names - {"__main__"}) | {"numpy", "rushlight", "torch", "torchvision"}


def _root(name: str) -> str:
    return name.partition(".")[0]


def _is_guarded(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(v, PLAIN) for v in value)
    return isinstance(value, (*PLAIN, Tensor)) and not isinstance(value, BuiltinFunctionType)


def _codes(code: Any) -> Iterator:
    """A code object and those inside it."""
    yield code
    for c in code.co_consts:
        if hasattr(c, "co_code"):
            yield from _codes(c)


def _same_items(now: Any, before: Any) -> bool:
    if isinstance(before, _Attributes):
        return all(_may_become(before.get(k, _same_items), v) for k, v in now.items()) and now.keys() >= before.keys()
    if len(now) != len(before):
        return False
    if isinstance(now, dict):
        return all(k in before and _is(v, before[k]) for k, v in now.items())
    if isinstance(now, (list, deque)):
        return all(map(_is, now, before))
    return bool(now == before)


def _may_become(before: Any, now: Any) -> bool:
    return _is(now, before) or _is_guarded(now)


def _is(a: Any, b: Any) -> bool:
    return a is b or (not isinstance(a, Tensor) and _is_guarded(a) and same_plain(a, b))


_call: Any = call


def as_guards(places: list) -> tuple[Callable[[], bool], list[tuple]]:
    """A quick test that everything is the same object as before, and (scope, key, value) for a closer look."""
    cells = [(scope, value) for scope, key, value in places if type(scope).__name__ == "cell"]
    tables = [(scope.get, key, value) for scope, key, value in places if type(scope).__name__ != "cell"]
    gets, keys, values = zip(*tables, strict=True) if tables else ((), (), ())

    def unchanged() -> bool:
        for cell, value in cells:
            if cell.cell_contents is not value:
                return False
        return all(map(is_, map(_call, gets, keys), values))

    return unchanged, places
