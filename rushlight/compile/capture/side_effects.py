"""What a function of the user's does besides computing its result, as far as its source shows.

A capture sends gradients through a function's history while the call is still under way, and the real backward comes later:
the Python of a custom function's `backward` runs once more than the user has written. So its source is read first. Writes
to tensors are not looked for here: the recorder refuses those before they are made.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from ...autograd.function import Function
from ...core import own_code
from ...core.tensor.tensor import Tensor

if TYPE_CHECKING:
    import ast

__all__ = ["side_effect"]

_LIBRARIES = frozenset(
    {"torch", "rushlight", "numpy", "math", "operator", "functools", "itertools", "einops", "typing"}
)
_BUILTINS = frozenset({
    abs, all, any, bool, complex, dict, divmod, enumerate, filter, float, frozenset, getattr, hasattr, int, isinstance,
    issubclass, len, list, map, max, min, pow, range, reversed, round, set, slice, sorted, str, sum, tuple, type, zip,
})  # fmt: skip
_CHANGING = frozenset({
    "append", "backward", "clear", "extend", "insert", "manual_seed", "pop", "popleft", "remove", "save", "seed", "send",
    "setdefault", "step", "update", "write",
})  # fmt: skip


def side_effect(function: Callable[..., Any], seen: set[Any] | None = None) -> str | None:
    """What the function does or may do, in words that follow its name; None where its source shows nothing.

    seen: the code of the functions that call it. Nothing is remembered: what a name refers to may change between captures.
    """
    while getattr(function, "__module__", "").startswith(own_code.MODULES) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__  # a decorator of our own
    if not isinstance(function, FunctionType):
        return None if _is_of_library(function) else f"calls {_name(function)}, which is not written in Python"
    if _is_of_library(function):
        return None
    seen = set() if seen is None else seen
    if function.__code__ in seen:  # a call of itself shows nothing new
        return None
    seen.add(function.__code__)
    return _of_source(function, seen)


def _of_source(function: FunctionType, seen: set[Any]) -> str | None:
    import ast
    import inspect
    import textwrap

    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        return "has no source that can be read"
    try:
        _Reader(function, seen).read(tree)
    except _Found as found:
        return str(found)
    return None


def _name(value: Any) -> str:
    return getattr(value, "__qualname__", type(value).__name__)


def _is_of_library(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").partition(".")[0] in _LIBRARIES


class _Found(Exception):
    """A side effect, in words."""


_UNKNOWN = object()


class _Reader:
    """Goes through the source of one function."""

    def __init__(self, function: FunctionType, seen: set[Any]):
        self.seen, self.globals = seen, function.__globals__
        code = function.__code__
        self.context = code.co_varnames[0] if code.co_argcount else None
        self.locals = {*code.co_varnames, *code.co_cellvars}
        closure = function.__closure__ or ()
        self.free = dict(zip(code.co_freevars, closure, strict=True))

    def read(self, tree: ast.AST) -> None:
        """Raise `_Found` for the first side effect."""
        import ast

        for node in ast.walk(tree):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                raise _Found(f"assigns to {node.names[0]}, a variable outside it")
            if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
                raise _Found("is a generator")
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                self._assigned(node)
            elif isinstance(node, ast.AugAssign) and isinstance(node.value, (ast.List, ast.ListComp)):
                raise _Found("extends a list")
            elif isinstance(node, ast.Call):
                self._called(node.func)

    def _assigned(self, target: Any) -> None:
        import ast

        root = _root(target)
        of_context = isinstance(root, ast.Name) and root.id == self.context
        if isinstance(target, ast.Attribute):  # of the context, too: the real backward would find it there
            raise _Found(f"assigns to the attribute .{target.attr}")
        held = self._value(root)
        if of_context or (held is not _UNKNOWN and not isinstance(held, Tensor)):
            raise _Found(f"assigns to {ast.unparse(target)}, which exists outside it")

    def _value(self, root: Any) -> Any:
        """What a name outside the function is; `_UNKNOWN` for its own variables, and for other expressions."""
        import ast

        if not isinstance(root, ast.Name) or root.id in self.locals:
            return _UNKNOWN
        if root.id in self.free:
            try:
                return self.free[root.id].cell_contents
            except ValueError:
                return _UNKNOWN
        return self.globals.get(root.id, getattr(builtins, root.id, _UNKNOWN))

    def _called(self, called: Any) -> None:
        import ast

        root = _root(called)
        value = self._value(root)
        if isinstance(called, ast.Name):
            if value is _UNKNOWN:
                raise _Found(f"calls {called.id}(), of which nothing is known")
            self._function(value)
        elif isinstance(called, ast.Attribute):
            if called.attr in _CHANGING:
                raise _Found(f"calls {called.attr}()")
            if isinstance(root, ast.Name) and root.id == self.context and called.value is root:
                raise _Found(f"calls {ast.unparse(called)}(), of which nothing is known")
            path = _path(called, root)
            if "random" in path[:-1] and value is not _UNKNOWN and getattr(value, "__name__", "") == "numpy":
                raise _Found("draws from NumPy's random generator")
            if path and value is not _UNKNOWN and not isinstance(value, Tensor):
                self._function(_attribute(value, path))
        elif not isinstance(called, ast.Lambda):
            raise _Found(f"calls {ast.unparse(called)}, of which nothing is known")

    def _function(self, value: Any) -> None:
        if isinstance(value, type) and issubclass(value, Function):
            value = value.forward
        if getattr(value, "__name__", "") == "apply" and isinstance(getattr(value, "__self__", None), type):
            value = value.__self__.forward  # `Function.apply`
        try:
            if value in _BUILTINS:
                return
        except TypeError:
            pass
        if isinstance(value, FunctionType):
            found = side_effect(value, self.seen)
            if found is not None:
                raise _Found(f"calls {value.__name__}(), which {found}")
        elif not _is_of_library(value) and not (isinstance(value, type) and issubclass(value, BaseException)):
            raise _Found(f"calls {_name(value)}, of which nothing is known")


def _root(node: Any) -> Any:
    """The expression that attributes, items and calls start from."""
    import ast

    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def _path(called: Any, root: Any) -> list[str]:
    """The names after `root` in `root.a.b`; empty for a method of what something gives."""
    import ast

    path: list[str] = []
    while isinstance(called, ast.Attribute):
        path.insert(0, called.attr)
        called = called.value
    return path if called is root else []


def _attribute(value: Any, path: list[str]) -> Any:
    """What `value.a.b` is, for modules and classes; an object itself."""
    for name in path:
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in _LIBRARIES:
            return len  # whatever it is: it changes nothing that stays
        if not isinstance(value, (ModuleType, type)):
            return value
        value = getattr(value, name, value)
    return value
