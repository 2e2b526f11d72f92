"""`torch.jit.trace` and `trace_module`: one run of a function or module as a program."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from ....compile.jit.region import region
from ....core.tensor.tensor import Tensor
from ....nn.modules.module import Module
from ..ir.class_names import TRACED, ClassNames, qualified_name
from ..ir.graph import Graph
from ..programs import Program, RecursiveScriptModule, ScriptFunction, mirrored
from . import trace_check
from .describe import warn_user
from .finishing import finish
from .trace_check import TracerWarning
from .tracer import Tracer, current

__all__ = ["check_result", "distinct", "is_tracing", "trace", "trace_module"]

_STRUCTURE = (
    " at the output of the tracer might cause the trace to be incorrect, this is only valid if the container "
    "structure does "
    "not change based on the module's inputs. Consider using a constant container instead (e.g. for `list`, use "
    "a `tuple` "
    "instead. for `dict`, use a `NamedTuple` instead). If you absolutely need this and know the side effects, pass "
    "strict=False to trace() to allow this behavior."
)


def is_tracing() -> bool:
    """Whether `trace` is running the code; not while `torch.export.export` does, which records by the same tracer."""
    return current() is not None and not region.exporting


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: dict[str, Any] | None = None,
    _store_inputs: bool = True,
) -> Any:
    """A program of the operators that `func`, a function or module, calls for the example inputs.

    It does the same for other inputs, of other sizes as well: what the function computed from sizes is computed
    again. Its control flow is the one that the example took: a TracerWarning says where Python looked at a tensor's
    values.

    example_inputs: a tensor, or a tuple of tensors or of tuples, lists and dicts of them; example_kwarg_inputs: the
    same by names. strict: lists among the results are warned of, and dicts raise. check_trace: the program, the
    function and a second trace run once more, and what differs by more than check_tolerance is warned of.
    check_inputs: a list of inputs for these runs; by default the example.

    Raises what `func` raises; RuntimeError for arguments and results that are no tensors, and for tensors that
    require grad and are neither inputs nor parameters; NotImplementedError, with its name, for an operator that no
    program has.
    """
    if isinstance(func, (RecursiveScriptModule, ScriptFunction)):
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
            stacklevel=2,
        )
        return func
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict, or example_inputs be given")
    options: dict[str, Any] = {"check_trace": check_trace, "check_tolerance": check_tolerance, "strict": strict}
    if example_kwarg_inputs is not None and not isinstance(example_kwarg_inputs, dict):
        raise RuntimeError("example_kwarg_inputs should be a dict")
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Module) and getattr(func, "__name__", "") == "forward":
        func = owner
    inputs, named = _arguments(example_inputs), example_kwarg_inputs or {}
    checks = None if check_inputs is None else [_arguments(x) for x in check_inputs]
    if isinstance(func, Module):
        return _trace_methods(func, {"forward": (inputs, named, checks)}, options)
    make = lambda args, kwargs: _function(func, args, kwargs, strict)  # noqa: E731
    program = make(inputs, named)
    if check_trace:
        for check in [inputs] if checks is None else checks:
            trace_check.run(func, program, make, check, named, check_tolerance)
    return program


def _arguments(inputs: Any) -> tuple:
    return (inputs,) if isinstance(inputs, (Tensor, dict)) else tuple(inputs or ())


def _function(func: Callable, inputs: tuple, named: dict[str, Any], strict: bool) -> ScriptFunction:
    graphs = _record(None, func, inputs, named, strict)
    graph = graphs[0][1]
    full = qualified_name(func)
    graph.name = full.rpartition(".")[2]
    return ScriptFunction(graph, full)


def _record(
    root: Module | None, func: Callable, inputs: tuple, named: dict[str, Any], strict: bool, names: Any = None
) -> list:
    tracer = Tracer(root, names or ClassNames())
    args, kwargs = _add_arguments(tracer, func, inputs, named)
    with tracer.running():
        result = func(*args, **kwargs)
    check_result(result, strict)
    return finish(tracer.build, tracer.build.result(result))


def _add_arguments(
    tracer: Tracer, func: Callable, inputs: tuple, named: dict[str, Any]
) -> tuple[tuple, dict[str, Any]]:
    target = func.forward if isinstance(func, Module) else func
    names = _parameter_names(target, len(inputs))
    seen: set[int] = set()
    given = [distinct(v, seen) for v in inputs]
    ordered = sorted(named, key=lambda k: names.index(k) if k in names else len(names))
    by_name = {k: distinct(named[k], seen) for k in ordered}
    try:
        for name, value in [*zip(names, given, strict=False), *by_name.items()]:
            tracer.build.argument(value, name)
    except TypeError:
        kinds = ", ".join(map(_kind, (*inputs, *named.values())))
        raise RuntimeError(
            f"Type 'Tuple[{kinds}]' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples "
            "of Tensors "
            "can be traced"
        ) from None
    return tuple(given), {k: by_name[k] for k in named}


def _kind(value: Any) -> str:
    return "Tensor" if isinstance(value, Tensor) else type(value).__name__


def _parameter_names(func: Callable, count: int) -> list[str]:
    try:
        parameters = list(inspect.signature(func).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "argument")
    names += [f"{rest}_{i + 1}" for i in range(len(names), count)]
    return names + [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]


def distinct(value: Any, seen: set[int]) -> Any:
    """The value, in which a tensor that comes a second time is another tensor of the same memory."""
    if isinstance(value, Tensor):
        if id(value) in seen:
            return value.view_as(value)
        seen.add(id(value))
        return value
    if isinstance(value, (tuple, list)):
        parts = [distinct(v, seen) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return {k: distinct(v, seen) for k, v in value.items()} if isinstance(value, dict) else value


def check_result(result: Any, strict: bool) -> None:
    """Raise or warn, as torch does, for what a traced function must not return."""
    if isinstance(result, (list, tuple)):
        if strict and isinstance(result, list):
            warn_user("Encountering a list" + _STRUCTURE, TracerWarning)
        for part in result:
            check_result(part, strict)
    elif isinstance(result, dict):
        if strict:
            raise RuntimeError("Encountering a dict" + _STRUCTURE)
        check_result(list(result.values()), strict)
    elif not isinstance(result, Tensor):
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced "
            "functions, got "
            f"{type(result).__name__}"
        )


# ------------------------------------------------------------------------------------------ modules


def trace_module(
    mod: Module,
    inputs: dict[str, Any],
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """`trace` of several methods of a module: `inputs` maps their names to example inputs.

    check_inputs: a list of such tables.
    """
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    methods = {}
    for name, example in inputs.items():
        given = ((), example) if example_inputs_is_kwarg else (_arguments(example), {})
        methods[name] = (*given, None if check_inputs is None else [_arguments(check[name]) for check in check_inputs])
    return _trace_methods(
        mod, methods, {"check_trace": check_trace, "check_tolerance": check_tolerance, "strict": strict}
    )


def _trace_methods(mod: Module, methods: dict[str, tuple], options: dict[str, Any]) -> Any:
    program = _make_module(mod, {name: given[:2] for name, given in methods.items()}, options["strict"])
    if options["check_trace"]:
        for name, (inputs, named, checks) in methods.items():
            func = mod if name == "forward" else getattr(mod, name)
            traced = program if name == "forward" else getattr(program, name)
            for check in [inputs] if checks is None else checks:
                make = lambda args, kwargs, name=name: _remade(mod, name, args, kwargs, options["strict"])  # noqa: E731
                trace_check.run(func, traced, make, check, named, options["check_tolerance"])
    return program


def _remade(mod: Module, name: str, args: tuple, kwargs: dict[str, Any], strict: bool) -> Any:
    program = _make_module(mod, {name: (args, kwargs)}, strict)
    return program if name == "forward" else getattr(program, name)


def _make_module(mod: Module, methods: dict[str, tuple], strict: bool) -> Any:
    """The program of a module for example arguments of some of its methods."""
    names = ClassNames(TRACED)
    names.give(mod)
    programs: dict[int, dict[str, Program]] = {}
    for name, (inputs, named) in methods.items():
        func = mod if name == "forward" else getattr(mod, name)
        for frame, graph in _record(mod, func, inputs, named, strict, names):
            own = programs.setdefault(id(frame.module), {})
            _name(frame, graph, name if frame.parent is None else "forward", own)
    return mirrored(mod, names, programs)


def _name(frame: Any, graph: Graph, name: str, taken: dict[str, Program]) -> None:
    """Give the graph of a call the name of a method that its module does not have yet."""
    base, number = name, 0
    while name in taken:
        number += 1
        name = f"{base}{number}"
    graph.name = name
    taken[name] = Program(graph, is_method=True)
    if frame.call is not None:
        frame.call.attributes["name"] = name
