"""Tracing: run a function on proxies and keep what they saw."""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..core import own_code
from ..core.device.devices import device
from ..core.tensor.dtype import dtype
from ..core.tensor.tensor import Tensor
from ..core.warn import warn
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ._compatibility import compatibility  # noqa: F401  (copies of `Tracer.trace` outside torch read it here)
from ._patching import (
    _autowrap_check,
    _orig_module_call,
    _orig_module_getattr,
    _patch_wrapped_functions,
    _Patcher,
    note,
)
from .assertions import _assert
from .graph import Graph
from .graph_module import GraphModule
from .node import has_side_effect
from .proxy import Proxy, TracerBase

__all__ = ["Tracer", "symbolic_trace", "wrap"]


class ScriptObject:
    """Objects of C++ classes that TorchScript knows. There are none, so that nothing is one. Raises RuntimeError."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise RuntimeError("ScriptObject: there are no C++ classes of TorchScript")


def wrap(fn_or_name: Any) -> Any:
    """Keep calls of a function of the calling module whole when tracing: a decorator, or called with its name.

    Raises NotImplementedError if it is not called at the top level of a module.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    if callable(fn_or_name) and not hasattr(fn_or_name, "__code__"):
        raise AssertionError("fn_or_name must be a global function or string name")
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    note(frame.f_globals, name)
    return fn_or_name


class Tracer(TracerBase):
    """Traces a module or function; subclasses say what is kept whole by `is_leaf_module`.

    traced_func_name: the method of a module that is traced.
    """

    traced_func_name = "forward"

    def __init__(
        self, autowrap_modules: tuple = (), autowrap_functions: tuple = (), param_shapes_constant: bool = False
    ):
        self._autowrap_function_ids = {
            id(f)
            for m in (math, *autowrap_modules)
            for n, f in vars(m).items()
            if callable(f) and not n.startswith("_")
        } | {id(f) for f in autowrap_functions}
        self._autowrap_search = [math, *autowrap_modules]
        self.root: Module = Module()
        self.tensor_attrs: dict[Any, str] = {}

    # ------------------------------------------------------------------------------------------ what may be changed

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module's call becomes one node: torch's own modules, but not Sequential."""
        return type(m).__module__.startswith(("torch.nn", "rushlight.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of a module in the root. Raises NameError for one that is not part of it."""
        for name, module in self.root.named_modules(remove_duplicate=False):
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable, args: tuple, kwargs: dict) -> Any:
        """A module is called: one node if it is a leaf, else its own calls."""
        path = self.path_of_module(m)
        if not self.is_leaf_module(m, path):
            return forward(*args, **kwargs)
        return self.create_proxy("call_module", path, args, kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """An attribute of a module is read: parameters become proxies."""
        if not isinstance(attr_val, Parameter):
            return attr_val
        for name, parameter in self.root.named_parameters():
            if parameter is attr_val:
                if name not in parameter_proxy_cache:
                    parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {})
                return parameter_proxy_cache[name]
        return attr_val

    def create_arg(self, a: Any) -> Any:
        """Tensors and modules as arguments become attributes of the root."""
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", name, (), {})
            return self.create_node("get_attr", self._constant(a), (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        return super().create_arg(a)

    def _constant(self, a: Tensor) -> str:
        name = self.tensor_attrs.get(id(a))
        if name is None:
            i = 0
            while hasattr(self.root, f"_tensor_constant{i}"):
                i += 1
            name = self.tensor_attrs[id(a)] = f"_tensor_constant{i}"
            setattr(self.root, name, a)
        return name

    # ------------------------------------------------------------------------------------------ tracing

    def trace(self, root: Module | Callable, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module's forward, or of a function.

        concrete_args: values that parameters have in the graph. Calling it with others raises AssertionError; of tensors
        nothing is checked. Lists and dicts raise NotImplementedError.
        """
        if isinstance(root, Module):
            self.root, function = root, getattr(type(root), self.traced_func_name)
        else:
            self.root, function = Module(), root
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {}
        called, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        with _Patcher() as patcher:
            self._patch(patcher, function)
            result = called(*args)
            self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=_returned(function))
        return self.graph

    def create_args_for_root(
        self, root_fn: Callable, is_module: bool, concrete_args: dict[str, Any] | None = None
    ) -> tuple[Callable, list[Any]]:
        """Make a placeholder for each parameter; the function to call, whose parameters are all plain, and its arguments."""
        args, kwargs = self._placeholders(root_fn, is_module, concrete_args or {})
        flat = _flat(root_fn)
        if flat is not root_fn:
            return flat, [*args, *kwargs.values()]
        return functools.partial(root_fn, **kwargs) if kwargs else root_fn, args

    def _patch(self, patcher: _Patcher, function: Callable) -> None:
        """Let calls and attributes of modules, and functions that are kept whole, go to this tracer."""
        parameters: dict[str, Proxy] = {}

        def call(module: Module, *args: Any, **kwargs: Any) -> Any:
            _autowrap_check(
                patcher, getattr(getattr(module, "forward", module), "__globals__", {}), self._autowrap_function_ids
            )
            return self.call_module(module, lambda *a, **k: _orig_module_call(module, *a, **k), args, kwargs)

        def attribute(module: Module, name: str) -> Any:
            return self.getattr(name, _orig_module_getattr(module, name), parameters)

        patcher.patch_method(Module, "__getattr__", attribute, deduplicate=False)
        patcher.patch_method(Module, "__call__", call, deduplicate=False)
        _patch_wrapped_functions(patcher)
        spaces: list[Any] = [getattr(function, "__globals__", {}), *map(vars, self._autowrap_search)]
        for space in spaces:
            _autowrap_check(patcher, space, self._autowrap_function_ids)

    def _placeholders(self, function: Callable, is_method: bool, concrete: dict[str, Any]) -> tuple[list, dict]:
        """A proxy for each parameter of the function, *args and **kwargs last; the values that it is called with."""
        args: list[Any] = [self.root] if is_method else []
        kwargs: dict[str, Any] = {}
        types = _annotations(function)
        parameters = list(inspect.signature(function).parameters.values())[1 if is_method else 0 :]
        for p in sorted(parameters, key=lambda p: p.kind in _MANY):
            if p.name in concrete:
                value: Any = self._specialized(p, concrete[p.name])
            elif p.kind in _MANY:
                stars = "*" if p.kind is p.VAR_POSITIONAL else "**"
                value = self.create_proxy("placeholder", stars + p.name, (), {})
            else:
                default = () if p.default is p.empty else (self.create_arg(p.default),)
                value = self.create_proxy("placeholder", p.name, default, {}, type_expr=types.get(p.name))
            if p.kind is p.KEYWORD_ONLY or p.kind in _MANY:
                kwargs[p.name] = value
            else:
                args.append(value)
        return args, kwargs

    def _specialized(self, p: inspect.Parameter, value: Any) -> Any:
        """The value that a parameter has while it is traced, and nodes that raise where a call gives another."""
        if isinstance(value, (list, dict)):
            raise NotImplementedError(f"concrete_args: a value of type {type(value)} for {p.name}")
        given = self.create_proxy("placeholder", f"{p.name}_1", () if p.default is p.empty else (p.default,), {})
        text = f"{p.name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (given, text), {})
        elif isinstance(value, _COMPARED):
            _assert(given == value, text)
        else:
            warn(
                f"Was not able to add assertion to guarantee correct input {p.name} to specialized function. It is up to the "
                "user to make sure that your inputs match the inputs you specialized the function with."
            )
        return value


@has_side_effect
def _assert_is_none(value: Any, msg: str) -> None:
    """Raise AssertionError with the message unless a value is None."""
    assert value is None, msg


_COMPARED = (bool, int, float, complex, str, tuple, dtype, device)
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_STARS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _flat(function: Callable) -> Callable:
    """The function with its keyword-only parameters, *args and **kwargs as plain ones, in this order.

    So `args` is one proxy while it is traced, and `args[0]` a node; else the function itself.
    """
    code = getattr(function, "__code__", None)
    if (
        code is None
        or inspect.unwrap(function) is not function
        or not (code.co_kwonlyargcount or code.co_flags & _STARS)
    ):
        return function
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    count = code.co_argcount + code.co_kwonlyargcount + stars
    plain = code.replace(co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~_STARS)
    return FunctionType(plain, function.__globals__, function.__name__, None, function.__closure__)


def _returned(function: Callable) -> Any:
    """The annotation of a function's result; as in torch, not where parameters are keyword-only or of any number."""
    kinds = {p.kind for p in inspect.signature(function).parameters.values()}
    return None if kinds & {*_MANY, inspect.Parameter.KEYWORD_ONLY} else _annotations(function).get("return")


def _annotations(function: Callable) -> dict[str, Any]:
    """A function's annotations; those of the package's own functions, which are kept as text, as what they mean.

    Where they say `Any`, torch's say nothing.
    """
    if getattr(function, "__module__", "").startswith(own_code.MODULES):
        return {n: kind for n, kind in inspect.get_annotations(function, eval_str=True).items() if kind is not Any}
    return getattr(function, "__annotations__", {})


def symbolic_trace(root: Module | Callable, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module or function as a `GraphModule`.

    Raises TraceError where its course depends on values.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
