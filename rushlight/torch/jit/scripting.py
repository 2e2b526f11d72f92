"""The parts of `torch.jit` around programs that are written instead of traced: they run as the Python that they are.

`script(f)` has a graph besides, made of the source when it is asked for (`compiling/`); what TorchScript would reject is
not rejected before that. (`torch.compile` is what makes programs faster.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from ...core.dispatch.extension_points import script_of_module
from ...nn.modules.module import Module
from ..futures import Future
from .recording.tracer import current

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "Future",
    "ScriptModule",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "isinstance",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "unused",
    "wait",
]

_T = TypeVar("_T")
_is_instance = isinstance


class Error(RuntimeError):
    """An error inside a scripted program."""


def is_scripting() -> bool:
    """Whether the code runs as TorchScript: False."""
    return False


# ---------------------------------------------------------------------------------------------- script


def script_if_tracing(fn: _T) -> _T:
    """The function itself."""
    return fn


def script_method(fn: _T) -> _T:
    """The method itself."""
    return fn


def export(fn: _T) -> _T:
    """The method itself, marked: a script's file has it."""
    fn._torchscript_modifier = "export"  # type: ignore[attr-defined]
    return fn


def _overload(func: _T) -> _T:
    """The function itself: a declaration of one of several forms, of which the last definition runs."""
    return func


_overload_method = _overload


def unused(fn: _T) -> _T:
    """The method itself, marked: the program in a file raises where it is called."""
    fn._torchscript_modifier = "unused"  # type: ignore[attr-defined]
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The method itself, marked: a program that calls it cannot be saved; also as `@ignore(drop=...)`."""
    if callable(drop):
        drop._torchscript_modifier = "ignore"
        return drop
    if kwargs and set(kwargs) - {"drop_on_export"}:
        raise TypeError(f"ignore() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if drop or kwargs.get("drop_on_export"):
        return unused

    return ignore


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


def _script_of(module: Module) -> Any:
    assert script_of_module.value is not None
    return script_of_module.value(module)


class ScriptModule(Module):
    """A module whose methods are marked `@script_method`: they run as Python."""

    _is_script = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracer = current()
        if tracer is None or self._runs_as_python() or not tracer.records(self):
            return super().__call__(*args, **kwargs)
        script = self if "_methods" in self.__dict__ else _script_of(self)
        assert script._forward is not None
        return tracer.calls_method(self, script._methods["forward"], args, kwargs, super().__call__)

    def _runs_as_python(self) -> bool:
        """Whether there is no graph to call: of `torch.jit.script(module)` the methods give theirs themselves."""
        return self._is_script and "_methods" in self.__dict__

    @property
    def graph(self) -> Any:
        """The program of `forward`."""
        return _script_of(self).graph

    @property
    def code(self) -> str:
        """The program of `forward` as TorchScript's source."""
        return _script_of(self).code

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Write the program to a file, as `torch.jit.save`."""
        _script_of(self).save(f, _extra_files)

    def __getattr__(self, name: str) -> Any:
        if name == "forward":  # found by Python otherwise: programs ask for it this way to see its graph
            return _script_of(self).__getattr__(name)
        return super().__getattr__(name)


# ---------------------------------------------------------------------------------------------- programs as things


def freeze(mod: Module, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Module:
    """The module itself, which has to be in evaluation mode, as in torch."""
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
            "before "
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
