"""`torch.jit`: there is no TorchScript here. What is scripted or traced runs as the Python that it is.

`script(f)` returns `f` itself, and so do the decorators: the numbers are the same, nothing is compiled, and what
TorchScript would reject is not rejected. (`torch.compile` is what makes programs faster.) A program cannot be written
to a file or read from one: `save`, `load` and attributes such as `.graph` raise and say what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from ..core.tensor.tensor import Tensor
from ..nn.modules.module import Module
from . import _trace_check as trace_check
from ._stand_ins import lookup, stand_in
from ._trace_check import TracerWarning
from .futures import Future
from .unavailable import exported

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]
__all__ += exported("jit")

_T = TypeVar("_T")
_is_instance = isinstance
_tracing = False


class Error(RuntimeError):
    """An error inside a scripted program."""


def is_scripting() -> bool:
    """Whether the code runs as TorchScript: False."""
    return False


def is_tracing() -> bool:
    """Whether `trace` is running the code."""
    return _tracing


# ---------------------------------------------------------------------------------------------- script


def script(obj: _T, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> _T:
    """`obj` itself, a function, module or class: it runs as the Python that it is.

    Raises RuntimeError for what torch cannot script either.
    """
    if not callable(obj):
        raise RuntimeError(f"torch.jit.script expects a function, a module or a class, got {type(obj).__name__}")
    return obj


def script_if_tracing(fn: _T) -> _T:
    """The function itself."""
    return fn


def script_method(fn: _T) -> _T:
    """The method itself."""
    return fn


def export(fn: _T) -> _T:
    """The method itself."""
    return fn


def unused(fn: _T) -> _T:
    """The method itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The method itself; also as `@ignore(drop=...)`."""
    if callable(drop):
        return drop
    if kwargs and set(kwargs) - {"drop_on_export"}:
        raise TypeError(f"ignore() got an unexpected keyword argument '{next(iter(kwargs))}'")
    return lambda fn: fn


def interface(obj: _T) -> _T:
    """The class itself."""
    return obj


def annotate(the_type: Any, the_value: _T) -> _T:
    """The value."""
    return the_value


def Attribute(value: _T, type: Any) -> _T:
    """The value."""
    return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether `obj` is of a type, which may be a container of types such as `list[int]`."""
    from typing import get_args, get_origin

    if _is_instance(target_type, tuple):
        return any(isinstance(obj, t) for t in target_type)
    origin, parts = get_origin(target_type), get_args(target_type)
    if origin is None:
        return _is_instance(obj, target_type)
    if not _is_instance(origin, type):  # Optional, Union
        return any(obj is None if part is type(None) else isinstance(obj, part) for part in parts)
    if origin in (list, set):
        return _is_instance(obj, origin) and all(isinstance(x, parts[0]) for x in obj)
    if origin is dict:
        return _is_instance(obj, dict) and all(
            isinstance(k, parts[0]) and isinstance(v, parts[1]) for k, v in obj.items()
        )
    if origin is tuple:
        return _is_instance(obj, tuple) and len(obj) == len(parts) and all(map(isinstance, obj, parts))
    return any(isinstance(obj, part) for part in parts)


class ScriptModule(Module):
    """A module whose methods are marked `@script_method`: an ordinary module here."""

    save = stand_in("jit.ScriptModule.save")
    graph = property(stand_in("jit.ScriptModule.graph"))
    code = property(stand_in("jit.ScriptModule.code"))


class RecursiveScriptModule(ScriptModule):
    """torch's class of what `script(module)` gives. Nothing here is of this class."""


class ScriptFunction:
    """torch's class of what `script(function)` gives. Nothing here is of this class."""


# ---------------------------------------------------------------------------------------------- trace


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
    """Run `func` for the example inputs, and return it.

    The result is `func` itself: control flow stays as it is written instead of being fixed to what the example took.
    strict: whether a dict that is returned raises RuntimeError. Raises what `func` raises, and RuntimeError where it
    returns something else than tensors or containers of them.

    check_trace: torch runs the trace and the function again, and compares. Those runs draw random numbers and move running
    averages, so they happen here where the first did so, with torch's TracerWarning where two runs differ by more than
    check_tolerance. check_inputs: inputs of these runs, a list; by default the example.
    """
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict, or example_inputs be given")
    inputs, named = _arguments(example_inputs), example_kwarg_inputs or {}
    before = trace_check.marks(func)
    _check_traceable(_run_tracing(func, inputs, named), strict)
    if check_trace and trace_check.marks(func) != before:
        for check in [inputs] if check_inputs is None else map(_arguments, check_inputs):
            trace_check.run(func, partial(_run_tracing, func), check, named, check_tolerance)
    return func


def _arguments(inputs: Any) -> tuple:
    return (inputs,) if _is_instance(inputs, (Tensor, dict)) else tuple(inputs or ())


def _run_tracing(func: Any, inputs: tuple, named: dict[str, Any]) -> Any:
    global _tracing
    before, _tracing = _tracing, True
    try:
        return func(*inputs, **named)
    finally:
        _tracing = before


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
) -> Module:
    """`trace` of several methods of a module: `inputs` maps their names to example inputs. Returns the module.

    check_inputs: a list of such tables.
    """
    if not _is_instance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    for name, example in inputs.items():
        method = mod if name == "forward" else getattr(mod, name)
        checks = None if check_inputs is None else [check[name] for check in check_inputs]
        given = {"example_kwarg_inputs": example} if example_inputs_is_kwarg else {"example_inputs": example}
        trace(
            method,
            check_trace=check_trace,
            check_inputs=checks,
            check_tolerance=check_tolerance,
            strict=strict,
            **given,
        )
    return mod


def _check_traceable(result: Any, strict: bool) -> None:
    if _is_instance(result, (list, tuple)):
        for part in result:
            _check_traceable(part, strict)
    elif _is_instance(result, dict):
        if strict:
            raise RuntimeError(
                "Encountering a dict at the output of the tracer might cause the trace to be incorrect, this is only valid if "
                "the container structure does not change based on the module's inputs. Consider using a constant container "
                "instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely "
                "need this and know the side effects, pass strict=False to trace() to allow this behavior."
            )
        _check_traceable(list(result.values()), strict)
    elif not _is_instance(result, Tensor):
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions, got "
            f"{type(result).__name__}"
        )


# ---------------------------------------------------------------------------------------------- programs as things


def freeze(mod: Module, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Module:
    """The module itself, which has to be in evaluation mode, as in torch."""
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before "
            "freezing."
        )
    return mod


def optimize_for_inference(mod: Module, other_methods: list[str] | None = None) -> Module:
    """The module itself, in evaluation mode."""
    return mod.eval() if mod.training else mod


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Choose how TorchScript fuses: it does not run. Returns the strategy."""
    return strategy


def enable_onednn_fusion(enabled: bool) -> None:
    """Let TorchScript use oneDNN's fusions. Raises NotImplementedError when switched on."""
    if enabled:
        raise NotImplementedError("torch.jit.enable_onednn_fusion: use torch.compile")


def onednn_fusion_enabled() -> bool:
    """Whether TorchScript uses oneDNN's fusions: False."""
    return False


class _Context:
    def __init__(self, *args: Any):
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


class strict_fusion(_Context):
    """Context manager in which TorchScript has to fuse everything: it does not run."""


class optimized_execution(_Context):
    """Context manager for TorchScript's optimisations: it does not run."""


# ---------------------------------------------------------------------------------------------- tasks


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """A future of what the function returns: it runs now, as in torch outside TorchScript."""
    future: Future = Future()
    future.set_result(func(*args, **kwargs))
    return future


_fork = fork


def wait(future: Future) -> Any:
    """The value of a `fork`."""
    return future.wait()


_wait = wait


__getattr__, __dir__ = lookup(__name__)
