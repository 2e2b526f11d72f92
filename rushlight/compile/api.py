"""`compile`, `explain`, `disable`, `reset`: what the user calls."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from ..backend.onednn.primitives import forget_unused
from ..core.dispatch.extension_points import namespace
from ..core.dispatch.mode import emit_event, thread
from .backends import OWN, list_backends
from .capture.listener import Listener
from .errors import InvalidBackend
from .explanation import explain
from .jit.region import region
from .jit.step import CompiledStep

__all__ = ["compile", "disable", "explain", "is_compiling", "is_exporting", "reset"]

_MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_steps: weakref.WeakSet[CompiledStep] = weakref.WeakSet()


def compile(
    model: Callable | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable | None = "rushlight",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """A function or module that runs as one program.

    model: a function such as a whole training step, or a Module; without it, a decorator.
    fullgraph: what cannot be captured raises, with the user's line, instead of running eagerly with one warning.
    backend: "rushlight"; torch's "inductor" and "eager" are taken for it and for no compiling. A function `f(graph_module,
    example_inputs)`, or the name of one in `torch._dynamo.list_backends()`, gets the function's calls as `torch.fx` graphs, and
    what it returns runs them; the Python code around them runs in each call.
    dynamic, mode: accepted; shapes are always compiled one by one. options: torch's settings of its own compiler, which
    have no meaning here: a warning names them. disable: return `model` as it is.

    Raises RuntimeError for an unknown mode or backend.
    """
    check_options(fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options)
    arguments = {"fullgraph": fullgraph, "dynamic": dynamic, "backend": backend, "mode": mode, "options": options}
    if model is None:
        return lambda f: compile(f, disable=disable, **arguments)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable or backend == "eager":
        return model
    if hasattr(model, "_compiled_wrapper"):
        return model._compiled_wrapper(arguments)
    return compile_forward(model, arguments)


def check_options(
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "rushlight",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> None:
    """Raise RuntimeError for an unknown mode or backend."""
    if mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(map(str, _MODES[1:]))}")
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if not (backend is None or callable(backend) or backend in list_backends(None)):
        raise InvalidBackend(backend, list_backends(None))
    if options and (backend is None or backend in OWN):
        warnings.warn(
            f"compile(options=...): Rushlight has no option {', '.join(options)}; it has no effect", stacklevel=3
        )


def compile_forward(forward: Callable, options: dict[str, Any]) -> CompiledStep:
    """A function or a module's call, compiled as `compile`'s options say."""
    fullgraph, backend = bool(options.get("fullgraph")), options.get("backend", "rushlight")
    if backend is None or backend in OWN:
        changed = _custom_passes(backend)
        if changed is None:
            return track(CompiledStep(forward, fullgraph))
        return track(_dynamo().optimize(changed, nopython=fullgraph)(forward))
    given = {k: options[k] for k in ("mode", "options") if options.get(k) is not None}
    return track(_dynamo().optimize(backend, nopython=fullgraph, **given)(forward))


def _custom_passes(backend: str | None) -> Callable | None:
    """What compiles where a program has set a pass of Inductor's that changes graphs, None where there is none."""
    if backend not in ("inductor", "rushlight", None):
        return None
    assert namespace.value is not None
    if (
        f"{namespace.value.__name__}.torch._inductor.config" not in sys.modules
    ):  # nothing was set: it is not loaded for this
        return None
    return namespace.value._inductor.custom_passes.backend()


def _dynamo() -> Any:
    """`torch._dynamo`, whose graphs backends of programs get."""
    assert namespace.value is not None
    return namespace.value._dynamo


def track(step: CompiledStep) -> CompiledStep:
    """Let `reset` know of it."""
    _steps.add(step)
    return step


def reset() -> None:
    """Forget every captured program and its code, and what eager loops compiled: of this thread, and what threads share."""
    import gc

    from .jit import backward, cache, module_calls
    from .lower.llvm import engine

    for step in list(_steps):
        step.reset()
    backward.forget()
    module_calls.forget()
    cache.forget()
    gc.collect()  # programs are part of cycles
    engine.forget()
    forget_unused()


def is_compiling() -> bool:
    """Whether the code that asks runs for a compiled function: captured, or as Python before there is a program."""
    return region.inside


def is_exporting() -> bool:
    """Whether the code that asks runs to be exported: by `torch.export.export`, or `torch.onnx.export` with `dynamo`."""
    return region.exporting


def _is_capturing() -> bool:
    return isinstance(thread.state.listener, Listener)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """torch's way to keep a function out of compiling. A step is captured whole: one that meets it runs eagerly."""
    if fn is None:
        return lambda f: disable(f, recursive, reason=reason)
    from functools import wraps

    @wraps(fn)
    def outside(*args: Any, **kwargs: Any) -> Any:
        if _is_capturing():
            emit_event("left", f"{fn.__qualname__} is excluded from compiling (torch.compiler.disable)")
        return region.run(False, fn, args, kwargs)

    return outside
