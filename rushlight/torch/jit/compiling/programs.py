"""What scripts call: graphs of functions and of modules' methods, each compiled once."""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

from ....core.dispatch.op import OPS
from ....nn import functional
from ....nn.modules.module import Module
from ..ir.class_names import ClassNames, qualified_name
from ..ir.functional_rules import NAMESPACES
from ..ir.graph import Graph
from ..programs import Program
from .compiler import Compiler
from .known import Operators, source_of
from .library import function_source, method_source
from .quantized_library import operator_of_levels

__all__ = ["Programs"]

_OURS = (__name__.partition(".")[0], "torch")  # classes of `nn` say that they are torch's
_FUNCTIONS: dict[Any, tuple[Graph, str]] = {}


def _is_ours(module_name: str | None) -> bool:
    return (module_name or "").partition(".")[0] in _OURS


class Programs:
    """The graphs of one script."""

    def __init__(self) -> None:
        self._names = ClassNames()
        self._compiling: list[Any] = []

    # ------------------------------------------------------------------------------------------ functions

    def function(self, f: Any) -> Graph:
        """The graph of a Python function."""
        if f in self._compiling:
            raise NotImplementedError(f"torch.jit.script: {f.__name__} calls itself, which has no graph here")
        self._compiling.append(f)
        try:
            return Compiler(source_of(f), self).graph
        finally:
            self._compiling.pop()

    def known_call(self, f: Any, home: Any = None) -> tuple[Graph, str] | None:
        """The graph and the name of a function that has a graph of its own; None for operators.

        home: the module of Python that the function was read from: `torch.tanh` is an operator, `F.tanh` a function.
        """
        if hasattr(f, "_script_graph"):
            return f._script_graph(), f.qualified_name
        if hasattr(f, "_program") and hasattr(f, "qualified_name"):
            return f._program.graph, f.qualified_name
        if (
            f == "_reduction"
            or self.is_functional(f)
            and (home is functional or home is None and not self.is_operator(f))
        ):
            return self._of_library(f if isinstance(f, str) else f.__name__)
        if isinstance(f, FunctionType) and not _is_ours(f.__module__):
            if f not in _FUNCTIONS:
                _FUNCTIONS[f] = (self.function(f), qualified_name(f))
            return _FUNCTIONS[f]
        return None

    def _of_library(self, name: str) -> tuple[Graph, str] | None:
        if name not in _FUNCTIONS:
            source = function_source(name, functional)
            if source is None:
                return None
            graph = Compiler(source, self).graph
            _FUNCTIONS[name] = (graph, f"__torch__.torch.nn.functional.{graph.name}")
        return _FUNCTIONS[name]

    def home_of(self, f: Any) -> Any:
        """The module of Python that a function which a module holds is taken to be of: `nn.functional` before others."""
        return functional if callable(f) and self.is_functional(f) else None

    def is_functional(self, f: Any) -> bool:
        """Whether a function is one of `nn.functional`."""
        return getattr(functional, getattr(f, "__name__", ""), None) is f

    def is_operator(self, f: Any) -> bool:
        """Whether a function is an operator of torch."""
        if isinstance(f, Operators.Named):
            return True
        name = getattr(f, "__name__", "")
        return OPS.get(name) is f or any(getattr(space, name, None) is f for space in NAMESPACES.values())

    def is_torch(self, home: Any) -> bool:
        """Whether a module of Python is `torch` itself."""
        return isinstance(home, ModuleType) and home.__name__ in _OURS

    def operator_of_levels(self, f: Any) -> str | None:
        """The name of an operator of quantized tensors, None for all else."""
        return operator_of_levels(f)

    def is_scripting_question(self, f: Any) -> bool:
        """Whether a function is `torch.jit.is_scripting` or `is_tracing`."""
        return getattr(f, "__name__", "") in ("is_scripting", "is_tracing") and _is_ours(getattr(f, "__module__", ""))

    def runs(self, graph: Graph) -> Program:
        """What runs a graph."""
        return Program(graph)

    # ------------------------------------------------------------------------------------------ modules

    def class_name(self, module: Any) -> str:
        """The name of a module's class in the program."""
        return getattr(module, "_class_name", None) or self._names.of(module)

    def method(self, module: Any, name: str) -> Graph:
        """The graph of a method."""
        methods = module.__dict__.get("_methods")
        if methods is not None and name in methods:
            return methods[name].graph
        graph = self._compiled_method(module, name)
        if methods is not None:
            methods[name] = Program(graph, is_method=True)
        return graph

    def _compiled_method(self, module: Any, name: str) -> Graph:
        source = method_source(module, name, functional)
        if source is None:
            f = getattr(type(module), name, None)
            if not isinstance(f, FunctionType):
                raise AttributeError(f"'{type(module).__name__}' object has no attribute '{name}'")
            if _is_ours(f.__module__):
                raise NotImplementedError(
                    f"torch.jit.script: {f.__qualname__} has no graph here. The program runs as Python"
                )
            source = source_of(f)
        if (id(module), name) in self._compiling:
            raise NotImplementedError(f"torch.jit.script: {name} calls itself, which has no graph here")
        self._compiling.append((id(module), name))
        try:
            return Compiler(source, self, module, name).graph
        finally:
            self._compiling.pop()

    def has_method(self, module: Any, name: str) -> bool:
        """Whether an attribute of a module is one of its methods."""
        return isinstance(getattr(type(module), name, None), FunctionType)

    def is_constant(self, module: Any, name: str) -> bool:
        """Whether an attribute is fixed in the program: of the modules of `nn`, `__constants__`, and `Final`."""
        kind = next((k for k in type(module).__mro__ if k.__name__ != "RecursiveScriptModule"), Module)
        if _is_ours(kind.__module__) or name in getattr(module, "__constants__", ()):
            return True
        hint = str(getattr(kind, "__annotations__", {}).get(name, ""))
        return "Final" in hint
