"""What `torch.jit.script` gives: functions and modules that run as the Python that they are, and have a graph.

A scripted module is of a class derived from the module's own: its methods are Python's, with the parameters, buffers and
attributes of the module that it was made of. `.graph`, `.code` and `.save` compile the methods when they are asked for.
"""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ....core.dispatch.aten.function_schema import FunctionSchema
from ....core.dispatch.extension_points import script_of_module
from ....nn.modules.container import ModuleDict, ModuleList
from ....nn.modules.module import Module
from ....nn.modules.parameter_containers import ParameterDict, ParameterList
from ..containers import ScriptDict, ScriptList
from ..ir.class_names import ClassNames, qualified_name
from ..ir.code import Constants, code_of_graph
from ..ir.graph import Graph
from ..ir.packed import class_of_packed
from ..ir.printing import GraphView
from ..ir.schema_of_graph import schema_of_graph
from ..programs import Program, RecursiveScriptModule, ScriptFunction
from ..recording.tracer import current
from ..scripting import ScriptModule
from .known import check_source
from .programs import Programs

__all__ = ["ScriptedFunction", "ScriptedModule", "script", "scripted_module"]


class ScriptedFunction(ScriptFunction):
    """A scripted function: it runs as Python."""

    def __init__(self, f: Callable):
        self._function = f
        self._compiled: Graph | None = None
        self.qualified_name = qualified_name(f)
        self.name = f.__name__
        functools.update_wrapper(self, f)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*map(_copied, args), **{name: _copied(value) for name, value in kwargs.items()})

    def _script_graph(self) -> Graph:
        if self._compiled is None:
            self._compiled = Programs().function(self._function)
        return self._compiled

    @property
    def _program(self) -> Program:  # type: ignore[override]
        return Program(self._script_graph())

    def __deepcopy__(self, memo: dict[int, Any]) -> ScriptedFunction:
        return self

    def __reduce__(self) -> Any:
        raise pickle.PickleError("ScriptFunction cannot be pickled")


def _copied(value: Any) -> Any:
    """An argument as a script gets it: lists and dictionaries are copied, so that the caller's stay as they are.

    A `ScriptList` or `ScriptDict` is what it holds, which script and caller share.
    """
    if isinstance(value, (ScriptList, ScriptDict)):
        return value._elements if isinstance(value, ScriptList) else value._items
    if type(value) is list:
        return [_copied(part) for part in value]
    return {key: _copied(part) for key, part in value.items()} if type(value) is dict else value


class ScriptMethod:
    """A method of a scripted module. graph, code: what it does."""

    def __init__(self, module: Any, name: str):
        self._module, self.name, self.__name__ = module, name, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._module, self.name)(*args, **kwargs)

    @property
    def graph(self) -> GraphView:
        """The program."""
        return GraphView(_graph_of(self._module, self.name))

    @property
    def code(self) -> str:
        """The program as TorchScript's source."""
        return code_of_graph(_graph_of(self._module, self.name), Constants())

    @property
    def schema(self) -> FunctionSchema:
        """Its arguments and its result with their types."""
        return schema_of_graph(_graph_of(self._module, self.name))


def _graph_of(module: Any, name: str) -> Graph:
    programs = module.__dict__.setdefault("_programs", Programs())
    return programs.method(module, name)


class ScriptedModule(RecursiveScriptModule):
    """A scripted module: see `scripted_module`."""

    _is_script = True

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = object.__new__(type(self))
        memo[id(self)] = made
        state = {k: v for k, v in self.__dict__.items() if k != "_programs"}
        made.__dict__.update(copy.deepcopy(state, memo))
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise pickle.PickleError(
            "ScriptModules cannot be saved using torch.save. Mixed serialization of script and non-script modules is not "
            "supported. For purely script modules use my_script_module.save(<filename>) instead."
        )

    def _run_method(self, name: str, arguments: tuple) -> Any:
        return getattr(self, name)(*arguments)

    @property
    def _forward(self) -> Graph:
        return _graph_of(self, "forward")

    def _compile(self) -> None:
        """Compile the methods that a file has: `forward`, and those that `torch.jit.export` marks."""
        kind = type(self).__mro__[1]
        if getattr(kind, "forward", None) not in (None, Module.forward) and not self._is_container():
            _graph_of(self, "forward")
        for name in dir(kind):
            if getattr(getattr(kind, name, None), "_torchscript_modifier", "") == "export":
                _graph_of(self, name)

    def _is_container(self) -> bool:
        return isinstance(self, (ModuleList, ModuleDict, ParameterList, ParameterDict))

    def _plain_attributes(self) -> dict[str, Any]:
        constants, inner = self.__dict__.get("_programs") or Programs(), self.__dict__["_own_names"]
        found = {n: self.__dict__[n] for n in inner if n in self.__dict__}
        kinds = (bool, int, float, str)
        return {
            n: v
            for n, v in found.items()
            if class_of_packed(v) or isinstance(v, kinds) and not constants.is_constant(self, n)
        }


def _method_with_graph(f: Any) -> Any:
    """A method of a scripted module's class: bound to a module it also has `.graph` and `.code`."""

    class Bound:
        def __get__(self, module: Any, owner: Any = None) -> Any:
            return f if module is None else _BoundMethod(f, module)

    return Bound()


class _BoundMethod:
    def __init__(self, f: Any, module: Any):
        self.__func__, self.__self__, self.__name__ = f, module, f.__name__
        self.__doc__ = f.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracer = current()
        if tracer is not None and tracer.records(self.__self__):
            program = Program(_graph_of(self.__self__, self.__name__), is_method=True)
            return tracer.calls_method(self.__self__, program, args, kwargs, self._run)
        return self._run(*args, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)

    name = property(lambda self: self.__name__)
    graph = property(lambda self: GraphView(_graph_of(self.__self__, self.__name__)))
    code = property(lambda self: code_of_graph(_graph_of(self.__self__, self.__name__), Constants()))
    schema = property(lambda self: schema_of_graph(_graph_of(self.__self__, self.__name__)))
    __signature__ = property(lambda self: inspect.signature(self.__func__.__get__(self.__self__)))


@functools.cache
def _scripted_class(kind: type) -> type:
    space = {
        "__module__": "torch.jit._script",
        "__doc__": kind.__doc__,
        "__repr__": Module.__repr__,
        "_get_name": ScriptedModule._get_name,
        "extra_repr": ScriptedModule.extra_repr,
        "__getattr__": _getattr_of(kind),
        "__deepcopy__": ScriptedModule.__deepcopy__,
        "__reduce_ex__": ScriptedModule.__reduce_ex__,
        "original_name": property(lambda self: kind.__name__),
    }
    own = {n: f for k in reversed(kind.__mro__) if k is not Module and not _is_ours(k) for n, f in vars(k).items()}
    forward = own.get("forward")
    if inspect.isfunction(forward):
        space["forward"] = _method_with_graph(forward)
    else:
        space["forward"] = _method_with_graph(kind.forward)
    for name, f in own.items():
        if inspect.isfunction(f) and not name.startswith("__") and name != "forward":
            space[name] = _method_with_graph(f)
    return type("RecursiveScriptModule", (ScriptedModule,) if kind is Module else (kind, ScriptedModule), space)


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in (__name__.partition(".")[0], "torch")


def _getattr_of(kind: type) -> Any:
    def get(self: Any, name: str) -> Any:
        if name == "forward" or inspect.isfunction(getattr(kind, name, None)):
            return ScriptMethod(self, name)
        return kind.__getattr__(self, name)  # type: ignore[attr-defined]

    return get


def scripted_module(module: Module, names: ClassNames, made: dict[int, Any] | None = None) -> Any:
    """A script of a module and those below it: it shares the parameters, buffers and attributes."""
    if isinstance(module, RecursiveScriptModule):
        return module
    made = {} if made is None else made
    if id(module) in made:
        return made[id(module)]
    check_source(type(module).forward)
    result = made[id(module)] = object.__new__(_scripted_class(type(module)))
    state = result.__dict__
    state.update(module.__dict__)
    state["_methods"], state["_plain_names"] = {}, []
    state["_class_name"] = names.of(module)
    base = set(Module().__dict__)
    state["_own_names"] = [n for n in module.__dict__ if n not in base]
    children = {n: None if c is None else scripted_module(c, names, made) for n, c in module._modules.items()}
    state["_modules"] = type(module._modules)(children)
    for name, value in list(state.items()):  # attributes that hold modules otherwise, such as a list of them
        if isinstance(value, Module):
            state[name] = scripted_module(value, names, made)
    return result


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """A script of a function or module, which runs as the Python that it is; a class itself.

    What it gives has `.graph`, `.code` and `.save`, for which the source is compiled: they raise NotImplementedError, with
    the line, for what has no graph here (user-defined classes, lists with conditions, ...).

    Raises RuntimeError for what torch cannot script either, and OSError where a function's source cannot be read.
    """
    if isinstance(obj, ScriptModule):
        return obj
    if isinstance(obj, Module):
        return scripted_module(obj, ClassNames())
    if isinstance(obj, FunctionType):
        check_source(obj)
        return ScriptedFunction(obj)
    if isinstance(obj, (list, dict)):
        return ScriptList(obj) if isinstance(obj, list) else ScriptDict(obj)
    if isinstance(obj, type):
        _check_class(obj)
    elif not callable(obj) or isinstance(obj, BuiltinFunctionType):
        if type(obj).__module__ == "builtins":
            raise TypeError(
                f"{type(obj)} is a built-in class: torch.jit.script expects a function, a module or a class"
            )
        raise RuntimeError(f"torch.jit.script expects a function, a module or a class, got {type(obj).__name__}")
    return obj


def _check_class(kind: type) -> None:
    if issubclass(kind, Module):
        raise RuntimeError(
            f"Type '{kind}' cannot be compiled since it inherits from nn.Module, pass an instance instead"
        )
    if kind.__module__ == "builtins":
        raise RuntimeError(f"TorchScript classes must be new-style classes. Please inherit from 'object'. Got {kind}")


script_of_module.register(lambda module: scripted_module(module, ClassNames()))
