"""Programs: functions and modules that run a graph instead of Python.

A module's program shares its parameters and buffers with the module that was traced. It is a `Module`: it trains,
moves to other types and devices, and has a state_dict; `train()` and `eval()` change nothing that the trace has
fixed.
"""

from __future__ import annotations

import pickle
from typing import Any

from ...core.dispatch.aten.function_schema import FunctionSchema
from ...core.dispatch.extension_points import script_of_module
from ...core.tensor.tensor import Tensor
from ...nn.modules.module import Module
from .files.saving import save_to_buffer, write
from .ir.class_names import has_graphs
from .ir.code import Constants, code_of_graph
from .ir.graph import Graph
from .ir.inlining import inlined
from .ir.interpreter import Interpreter
from .ir.packed import class_of_packed
from .ir.printing import GraphView
from .ir.schema_of_graph import schema_of_graph
from .recording.tracer import current
from .scripting import ScriptModule

__all__ = [
    "TABLES",
    "Program",
    "RecursiveScriptModule",
    "ScriptFunction",
    "TopLevelTracedModule",
    "TracedModule",
    "export_opnames",
]


class Program:
    """A graph that is called as the function that it was: arguments by place or by name."""

    def __init__(self, graph: Graph, is_method: bool = False):
        self.graph, self.is_method = graph, is_method
        self._interpreter: Interpreter | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        return Program(self.graph, self.is_method)  # graphs do not change

    def __reduce__(self) -> Any:
        raise pickle.PickleError(
            "ScriptModules cannot be saved using torch.save. Mixed serialization of script and non-script "
            "modules is not "
            "supported. For purely script modules use my_script_module.save(<filename>) instead."
        )

    def run(self, arguments: tuple) -> Any:
        """What the graph gives for the values of its inputs."""
        if self._interpreter is None:
            self._interpreter = Interpreter(self.graph)
        return self._interpreter.run(arguments)

    def arguments(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """The values of the inputs, without the module. Raises RuntimeError as torch does where they do not fit."""
        parameters = self.graph.inputs[1:] if self.is_method else self.graph.inputs
        names = [value.hint or f"argument_{i + 1}" for i, value in enumerate(parameters)]
        me = "forward" if self.is_method else self.graph.name
        if len(args) > len(names):
            expected, given = len(names) + self.is_method, len(args) + self.is_method
            raise RuntimeError(
                f"{me}() expected at most {expected} argument(s) but received {given} argument(s). "
                f"Declaration: {self.declaration()}"
            )
        left = dict(kwargs)
        values = [*args, *(left.pop(name) for name in names[len(args) :] if name in left)]
        if left:
            raise RuntimeError(
                f"Unknown keyword argument '{next(iter(left))}' for operator '{me}'. Schema: {self.declaration()}"
            )
        for parameter in parameters[len(values) :]:
            if parameter not in self.graph.defaults:
                break
            values.append(self.graph.defaults[parameter])
        if len(values) < len(names):
            raise RuntimeError(
                f"{me}() is missing value for argument '{names[len(values)]}'. Declaration: {self.declaration()}"
            )
        for name, parameter, value in zip(names, parameters, values, strict=True):
            if parameter.type.kind == "Tensor" and not isinstance(value, Tensor):
                raise RuntimeError(
                    f"{me}() Expected a value of type 'Tensor' for argument '{name}' but instead found type "
                    f"'{type(value).__name__}'.\nDeclaration: {self.declaration()}"
                )
        return tuple(values)

    def declaration(self) -> str:
        """Its signature as torch shows it."""
        parts = [f"{v.type.kind if v.type.kind == 'Tensor' else v.type} {v.hint}" for v in self.graph.inputs]
        result = self.graph.outputs[0].type
        return f"{self.graph.name}({', '.join(parts)}) -> {result.kind if result.kind == 'Tensor' else result}"


class ScriptFunction:
    """A function as a program. name: the function's; graph, code: what it does."""

    def __init__(self, graph: Graph, qualified_name: str):
        self._program = Program(graph)
        self.qualified_name = qualified_name
        self.name = self.__name__ = graph.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracer = current()
        if tracer is not None and tracer.listens_here():
            return tracer.calls_program(self._program, args, kwargs, self._run, self.qualified_name)
        return self._run(*args, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return self._program.run(self._program.arguments(args, kwargs))

    @property
    def graph(self) -> GraphView:
        """The program."""
        return GraphView(self._program.graph)

    inlined_graph = graph

    @property
    def schema(self) -> FunctionSchema:
        """Its arguments and its result with their types."""
        return schema_of_graph(self._program.graph)

    def graph_for(self, *args: Any, **kwargs: Any) -> GraphView:
        """The program that runs for these arguments: nothing is specialised here, so it is the graph. It runs
        once.
        """
        self(*args, **kwargs)
        return self.graph

    @property
    def code(self) -> str:
        """The program as TorchScript's source."""
        return self.code_with_constants[0]

    @property
    def code_with_constants(self) -> tuple[str, list[Tensor]]:
        """The source and the tensors that it names CONSTANTS.c0 and so on."""
        constants = Constants()
        return code_of_graph(self._program.graph, constants), constants.tensors

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Write the program to a file, as `torch.jit.save`."""
        write(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: dict[str, Any] | None = None) -> bytes:
        """The bytes of such a file."""
        return save_to_buffer(self, _extra_files)

    def _graphs(self) -> list[Graph]:
        return [self._program.graph]


class ProgramMethod:
    """A method of a program, bound to its module."""

    def __init__(self, module: RecursiveScriptModule, name: str):
        self._module, self.name, self.__name__ = module, name, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._module._call_method(self.name, args, kwargs)

    @property
    def graph(self) -> GraphView:
        """The program."""
        return GraphView(self._module._methods[self.name].graph)

    @property
    def code(self) -> str:
        """The program as TorchScript's source."""
        return code_of_graph(self._module._methods[self.name].graph, Constants())

    @property
    def schema(self) -> FunctionSchema:
        """Its arguments and its result with their types."""
        return schema_of_graph(self._module._methods[self.name].graph)


class RecursiveScriptModule(ScriptModule):
    """A module as a program: its methods are graphs."""

    _is_script = False
    _methods: dict[str, Program]
    _class_name: str
    _plain_names: list[str]

    def __init__(self, class_name: str):
        super().__init__()
        self.__dict__["_methods"] = {}
        self.__dict__["_class_name"] = class_name
        self.__dict__["_plain_names"] = []

    @property
    def original_name(self) -> str:
        """The name of the class that the program was made of."""
        return self._class_name.rpartition(".")[2]

    def _plain_attributes(self) -> dict[str, Any]:
        """Attributes that are neither parameters, buffers nor modules, of a program that a file has them of."""
        return {name: self.__dict__[name] for name in self._plain_names if name in self.__dict__}

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"

    def _set_attribute(self, name: str, value: Any) -> None:
        """Set what a program sets: none of the tables that a module has."""
        if name in TABLES or name != "training" and name not in self.__dict__ and hasattr(type(self), name):
            raise RuntimeError(f"attribute '{name}' of {self.original_name} cannot be set by a program")
        setattr(self, name, value)

    def _run_method(self, name: str, arguments: tuple) -> Any:
        return self._methods[name].run((self, *arguments))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the method of that name."""
        return self._call_method("forward", args, kwargs)

    def _call_method(self, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        program = self._methods.get(name)
        if program is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return program.run((self, *program.arguments(args, kwargs)))

    def __getattr__(self, name: str) -> Any:
        program = self.__dict__.get("_methods", {}).get(name)
        if program is None:
            return super().__getattr__(name)
        return ProgramMethod(self, name)

    @property
    def _forward(self) -> Graph:
        if "forward" not in self._methods:
            raise RuntimeError(f"Method 'forward' is not defined on {self.original_name}: the trace did not call it")
        return self._methods["forward"].graph

    @property
    def graph(self) -> GraphView:  # type: ignore[override]
        """The program of `forward`."""
        return GraphView(self._forward)

    @property
    def inlined_graph(self) -> GraphView:
        """The program of `forward` with those of the modules that it calls."""
        return GraphView(inlined(self._forward, self))

    def graph_for(self, *args: Any, **kwargs: Any) -> GraphView:
        """The program that runs for these arguments: nothing is specialised here. It runs once."""
        self(*args, **kwargs)
        return self.inlined_graph

    @property
    def code(self) -> str:  # type: ignore[override]
        """The program of `forward` as TorchScript's source."""
        return self.code_with_constants[0]

    @property
    def code_with_constants(self) -> tuple[str, list[Tensor]]:
        """The source and the tensors that it names CONSTANTS.c0 and so on."""
        constants = Constants()
        return code_of_graph(self._forward, constants), constants.tensors

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:  # type: ignore[override]
        """Write the program to a file, as `torch.jit.save`."""
        write(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: dict[str, Any] | None = None) -> bytes:
        """The bytes of such a file."""
        return save_to_buffer(self, _extra_files)

    def _graphs(self) -> list[Graph]:
        modules = [m for m in self.modules() if isinstance(m, RecursiveScriptModule)]
        return [method.graph for m in modules for method in m._methods.values()]


TABLES = frozenset(RecursiveScriptModule("").__dict__) - {"training"}  # what a file may not set: hooks, tables, methods


class TracedModule(RecursiveScriptModule):
    """A module inside a trace."""

    def _get_name(self) -> str:
        return self.original_name


class TopLevelTracedModule(TracedModule):
    """What `torch.jit.trace` gives for a module."""


def mirrored(root: Module, names: Any, methods: dict[int, dict[str, Program]]) -> TopLevelTracedModule:
    """Programs for a module and those below it, with its own parameters and buffers.

    names: gives the classes' names; methods: the programs by the id of the module.
    """
    made: dict[int, Any] = {}

    def make(module: Any, kind: type[TracedModule]) -> Any:
        known = made.get(id(module))
        if known is not None:
            return known
        if has_graphs(module):
            assert script_of_module.value is not None
            return module if isinstance(module, RecursiveScriptModule) else script_of_module.value(module)
        program = made[id(module)] = kind(names.of(module))
        program._methods.update(methods.get(id(module), {}))
        program.training = module.training
        for name, parameter in module._parameters.items():
            program.register_parameter(name, parameter)
        for name, buffer in module._buffers.items():
            program.register_buffer(name, buffer, persistent=name not in module._non_persistent_buffers_set)
        for name, value in vars(module).items():
            if class_of_packed(value):
                program.__dict__[name] = value
                program._plain_names.append(name)
        for name, child in module._modules.items():
            program._modules[name] = None if child is None else make(child, TracedModule)
        return program

    top = make(root, TopLevelTracedModule)
    assert isinstance(top, TopLevelTracedModule)
    return top


def export_opnames(m: Any) -> list[str]:
    """The names of the operators that a program calls, with their overloads, sorted."""
    nodes = [node for graph in m._graphs() for node in graph.all_nodes() if node.schema is not None]
    names = {(node.kind, "" if node.schema.overload == "default" else f".{node.schema.overload}") for node in nodes}
    return sorted(kind + overload for kind, overload in names)
