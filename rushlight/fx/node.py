"""A node of a graph: one call, parameter, result or attribute."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from types import FunctionType, GenericAlias
from typing import Any

from ..core.dispatch.extension_points import namespace, operators_of_levels
from ..nn import functional, told_functions
from ..nn.modules.module import Module

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Argument = Any
Target = Any

OPERATIONS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")
_side_effectful: set[Callable] = set()


def has_side_effect(fn: Callable) -> Callable:
    """Decorator: calls of `fn` stay in a graph though their result is unused."""
    _side_effectful.add(fn)
    return fn


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """The argument with `fn` applied to each node in it."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """The argument with `fn` applied to each leaf of its tuples, lists, dicts and slices."""
    if isinstance(a, tuple):
        parts = [map_aggregate(x, fn) for x in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return [map_aggregate(x, fn) for x in a]
    if isinstance(a, dict):
        return {k: map_aggregate(v, fn) for k, v in a.items()}
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


class Node:
    """One step of a `Graph`.

    op: 'placeholder' (target: the parameter's name), 'get_attr' (target: the path in the module), 'call_function' (target:
    the function), 'call_method' (target: the method's name; the first argument is self), 'call_module' (target: the path
    of the module), 'output' (args[0]: the result). users: the nodes that have this one among their arguments.
    """

    def __init__(
        self, graph: Any, name: str, op: str, target: Target, args: tuple, kwargs: dict, return_type: Any = None
    ):
        if op not in OPERATIONS:
            raise AssertionError(f"op must be one of {OPERATIONS}, got {op!r}")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a Callable is expected"
            )
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(f"Node [name = '{name}'] target {target} has type {type(target)} but a str is expected")
        self.graph, self.name, self.op, self.type = graph, name, op, return_type
        self.target: Any = target
        self._args: tuple = ()
        self._kwargs: dict[str, Any] = {}
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self.meta: dict[str, Any] = {}
        self._set_arguments(tuple(args), dict(kwargs))

    # ------------------------------------------------------------------------------------------ place

    @property
    def next(self) -> Node:
        """The node that comes after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node that comes before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move `x` to the place before this node."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move `x` to the place after this node."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    # ------------------------------------------------------------------------------------------ arguments

    @property
    def args(self) -> tuple:
        """The positional arguments."""
        return self._args

    @args.setter
    def args(self, values: tuple) -> None:
        self._set_arguments(tuple(values), self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, values: dict[str, Any]) -> None:
        self._set_arguments(self._args, dict(values))

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _set_arguments(self, args: tuple, kwargs: dict[str, Any]) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = args, kwargs, {}
        map_arg((args, kwargs), lambda n: self._input_nodes.setdefault(n))
        for new in self._input_nodes:
            new.users.setdefault(self)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace positional argument `idx`."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put a positional argument before argument `idx`."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replace, or add, the argument `key`."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Put `new_input` wherever `old_input` is an argument of this node."""

        def swap(n: Node) -> Node:
            return new_input if n is old_input else n

        self._set_arguments(map_arg(self.args, swap), map_arg(self.kwargs, swap))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Put `replace_with` wherever this node is an argument; the nodes that it was an argument of."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with has meta"
                )
            replace_with.meta.update(self.meta)
        users = [u for u in self.users if delete_user_cb(u)]
        for user in users:
            user.replace_input_with(self, replace_with)
        return users

    # ------------------------------------------------------------------------------------------ facts

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node has to stay though it is unused."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            return (
                self.target in _side_effectful or (name.endswith("_") and not name.endswith("__")) or name == "setitem"
            )
        if self.op == "call_method":
            return self.target.endswith("_") and not self.target.endswith("__")
        if self.op == "call_module":
            module = self.graph.owning_module
            return module is None or not isinstance(module.get_submodule(self.target), Module)
        return False

    def __repr__(self) -> str:
        return self.name

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None
    ) -> str | None:
        """The node as a line of text."""
        if self.op == "output":
            return f"return {self.args[0]}"
        head = f"%{self.name} : {_type_text(self.type)}[num_users={len(self.users)}] = {self.op}[target={self._pretty_target()}]"
        if self.op == "placeholder":
            return head + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_with_percent(self.args)}, kwargs = {_with_percent(self.kwargs)})"

    def _pretty_target(self) -> str:
        return qualified_name(self.target) if self.op == "call_function" else self.target


def _type_text(kind: Any) -> str:
    return "" if kind is None else f"{type_repr(kind)} "


def type_repr(kind: Any) -> str:
    """An annotation's text: a class by its module and name, others as they print themselves."""
    if isinstance(kind, type) and not isinstance(kind, GenericAlias):
        name = kind.__qualname__
        return name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"
    return "..." if kind is ... else kind.__name__ if isinstance(kind, FunctionType) else repr(kind)


def _with_percent(a: Argument) -> str:
    """An argument's text, with nodes as %name."""
    if isinstance(a, Node):
        return f"%{a.name}"
    if isinstance(a, tuple):
        inside = ", ".join(map(_with_percent, a))
        return f"({inside},)" if len(a) == 1 else f"({inside})"
    if isinstance(a, list):
        return f"[{', '.join(map(_with_percent, a))}]"
    if isinstance(a, dict):
        return "{" + ", ".join(f"{k}: {_with_percent(v)}" for k, v in a.items()) + "}"
    return str(a)


def qualified_name(function: Callable) -> str:
    """Where a function can be found: 'torch.relu', 'operator.add', 'torch.nn.functional.dropout'."""
    name = getattr(function, "__name__", None) or type(function).__name__
    if getattr(builtins, name, None) is function:
        return f"builtins.{name}"
    if getattr(operator, name.lstrip("_"), None) is function:
        return f"operator.{name.lstrip('_')}"
    if getattr(functional, name, None) is function and name in told_functions.WRITTEN_IN_PYTHON:
        return f"torch.nn.functional.{name}"
    if getattr(functional, name, None) is function and name in told_functions.BUILT_IN:
        return f"torch._C._nn.{told_functions.BUILT_IN[name]}"
    if getattr(namespace.value, name, None) is function:
        return f"torch.{'functional.' * (name in _OF_FUNCTIONAL)}{name}"
    if getattr(functional, name, None) is function:
        return f"torch.nn.functional.{name}"
    home = getattr(function, "__module__", None) or "builtins"
    if home in _OF_LEVELS:
        return f"torch.ops.quantized.{next((n for n, f in (operators_of_levels.value or {}).items() if f is function), name)}"
    module = home.replace("rushlight", "torch", 1).replace("torch._ops", "torch.ops")
    return f"{module}.{getattr(function, '__qualname__', name)}"


_OF_FUNCTIONAL = frozenset((
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "cdist",
    "chain_matmul", "einsum", "lu", "meshgrid", "norm", "split", "stft", "tensordot", "unique", "unique_consecutive",
    "unravel_index",
))  # fmt: skip
_OF_LEVELS = (
    "rushlight.ops.quantized",
    "rushlight.ops.quantized.functions",
    "rushlight.nn.quantization.static.library",
)
