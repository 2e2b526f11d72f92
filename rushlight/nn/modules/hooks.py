"""Hooks of modules: where they are kept, how they are registered, and the call that runs them.

`Module.__call__` goes straight to ``forward`` when no hook exists; otherwise `call_with_hooks` does the work here.
Order of a hooked call: forward pre-hooks, ``forward``, forward hooks; global hooks before the module's own.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rushlight.core.dispatch import extension_points
from rushlight.core.dispatch.mode import emit_event, thread
from rushlight.core.tensor.hooks import RemovableHandle
from rushlight.core.tensor.tensor import Tensor

from .backward_hooks import BackwardHook, warn_about_legacy_hook

__all__ = [
    "Hookable",
    "WrappedHook",
    "call_with_hooks",
    "register_hook",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_global_buffer_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Callable] = OrderedDict()

_global_forward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_is_full_backward_hook: bool | None = None

extension_points.hook_tables.register(
    _global_forward_pre_hooks,
    _global_forward_hooks,
    _global_forward_hooks_with_kwargs,
    _global_forward_hooks_always_called,
    _global_backward_pre_hooks,
    _global_backward_hooks,
)

# not empty while any of the last six may hold a hook: one look for each call of each module instead of four
global_hook_registered: list[bool] = []


_watching: list[None] = []  # one for each context of `watch_modules`; no hook, which other threads would see


class WrappedHook:
    """A hook that gets its module as first argument without keeping the module alive."""

    def __init__(self, hook: Callable, module: Any = None) -> None:
        functools.update_wrapper(self, hook)
        self.hook = hook
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        return {**state, "module": self.module()} if self.with_module else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


# Registration ---------------------------------------------------------------------------------------------------------


def register_hook(
    hooks: OrderedDict[int, Callable],
    hook: Callable,
    prepend: bool = False,
    flags: tuple[tuple[OrderedDict, bool], ...] = (),
) -> RemovableHandle:
    """Put the hook in its dictionary and its id in the dictionary of each flag that is set."""
    handle = RemovableHandle(hooks, extra_dict=[ids for ids, _ in flags])
    hooks[handle.id] = hook
    for ids, is_set in flags:
        if is_set:
            ids[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _register_for_calls(hooks: OrderedDict[int, Callable], hook: Callable, **options: Any) -> RemovableHandle:
    """As `register_hook`, for a hook on the calls of all modules."""
    handle = register_hook(hooks, hook, **options)
    _note_global_hooks()
    return handle


def _note_global_hooks() -> None:
    """Bring `global_hook_registered` up to date, without a moment in which another thread would miss a hook."""
    if not _any_global_hook() and not _watching:
        global_hook_registered.clear()
    if (_any_global_hook() or _watching) and not global_hook_registered:
        global_hook_registered.append(True)


@contextmanager
def watch_modules() -> Iterator[None]:
    """While it is entered, every call of a module is told to the thread's listener as `entered(module)`."""
    _watching.append(None)
    _note_global_hooks()
    try:
        yield
    finally:
        _watching.pop()


extension_points.watch_modules.register(watch_modules)


def _any_global_hook() -> bool:
    tables = _global_forward_pre_hooks, _global_forward_hooks, _global_backward_pre_hooks, _global_backward_hooks
    return any(tables)


def _require_one_kind(current: bool | None, wanted: bool, where: str) -> None:
    if current is not None and current is not wanted:
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them."
        )


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer) -> None or buffer`` whenever any module registers a buffer."""
    return register_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule) -> None or submodule`` whenever any module registers a submodule."""
    return register_hook(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, param) -> None or param`` whenever any module registers a parameter."""
    return register_hook(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args) -> None or args`` before every module's forward."""
    return _register_for_calls(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output) -> None or output`` after every module's forward.

    ``with_kwargs``: ``hook(module, args, kwargs, output)``. ``always_call``: also when forward raises.
    """
    flags = (_global_forward_hooks_with_kwargs, with_kwargs), (_global_forward_hooks_always_called, always_call)
    return _register_for_calls(_global_forward_hooks, hook, flags=flags)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` on the last node of every forward (deprecated)."""
    global _global_is_full_backward_hook
    _require_one_kind(_global_is_full_backward_hook, False, "as a global Module hook")
    _global_is_full_backward_hook = False
    return _register_for_calls(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output) -> None or grad_output`` before gradients flow through any module."""
    return _register_for_calls(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output) -> None or grad_input`` when a call's input gradients are known."""
    global _global_is_full_backward_hook
    _require_one_kind(_global_is_full_backward_hook, True, "as a global Module hook")
    _global_is_full_backward_hook = True
    return _register_for_calls(_global_backward_hooks, hook)


class Hookable:
    """The part of `Module` that registers hooks on forward and backward."""

    _forward_pre_hooks: OrderedDict[int, Callable]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks: OrderedDict[int, Callable]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _backward_pre_hooks: OrderedDict[int, Callable]
    _backward_hooks: OrderedDict[int, Callable]
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args) -> None or args`` before forward.

        ``prepend``: before this module's other pre-hooks. ``with_kwargs``: ``hook(module, args, kwargs)``, which
        returns None or ``(args, kwargs)``.
        """
        flags = ((self._forward_pre_hooks_with_kwargs, with_kwargs),)
        return register_hook(self._forward_pre_hooks, hook, prepend, flags)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output) -> None or output`` after forward.

        ``prepend``: before this module's other forward hooks. ``with_kwargs``: ``hook(module, args, kwargs, output)``.
        ``always_call``: also when the call raises.
        """
        flags = (self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call)
        return register_hook(self._forward_hooks, hook, prepend, flags)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output) -> None or grad_output`` before the module's gradients are computed."""
        return register_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output) -> None or grad_input`` once the input gradients are known.

        Both are tuples, with None at the place of every argument that is not a tensor.
        """
        _require_one_kind(self._is_full_backward_hook, True, "on a single Module")
        self._is_full_backward_hook = True
        return register_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` on the last node of forward; prefer the full backward hook."""
        _require_one_kind(self._is_full_backward_hook, False, "on a single Module")
        self._is_full_backward_hook = False
        return register_hook(self._backward_hooks, hook)

    def _get_backward_hooks(self) -> tuple[list[Callable], list[Callable]]:
        """The full and the legacy backward hooks that this module's call must run."""
        full: list[Callable] = []
        legacy: list[Callable] = []
        for hooks, is_full in (
            (_global_backward_hooks, _global_is_full_backward_hook),
            (self._backward_hooks, self._is_full_backward_hook),
        ):
            if is_full is not None:
                (full if is_full else legacy).extend(hooks.values())
        return full, legacy

    def _get_backward_pre_hooks(self) -> list[Callable]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]


# The call -------------------------------------------------------------------------------------------------------------


def call_with_hooks(module: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """``module.forward(*args, **kwargs)`` with every hook that applies."""
    if global_hook_registered:
        _note_global_hooks()  # the last one may have been removed since
    if _watching and thread.state.level > 1:
        emit_event("entered", module)
    call = _HookedCall(module, args, kwargs)
    try:
        return call.run()
    except Exception:
        call.run_always_called_hooks()
        raise


class _HookedCall:
    """One call under way: hooks may replace its arguments and its result, and an error must see the latest of them."""

    def __init__(self, module: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.already_called: set[int] = set()

    def run(self) -> Any:
        module = self.module
        full, legacy = module._get_backward_hooks()
        pre = module._get_backward_pre_hooks()
        self.run_forward_pre_hooks()
        backward = BackwardHook(module, full, pre) if full or pre else None
        if backward is not None:
            self.args = backward.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        self.run_forward_hooks()
        if backward is not None:
            self.result = self.watch_output(backward)
        if legacy:
            self.attach_legacy_hooks(legacy)
        return self.result

    def run_forward_pre_hooks(self) -> None:
        module = self.module
        for key, hook in [*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()]:
            if key in module._forward_pre_hooks_with_kwargs:
                replaced = hook(module, self.args, self.kwargs)
                if replaced is None:
                    continue
                if not (isinstance(replaced, tuple) and len(replaced) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                    )
                self.args, self.kwargs = replaced
            else:
                replaced = hook(module, self.args)
                if replaced is not None:
                    self.args = replaced if isinstance(replaced, tuple) else (replaced,)

    def run_forward_hooks(self) -> None:
        for key, hook in [*_global_forward_hooks.items(), *self.module._forward_hooks.items()]:
            self.already_called.add(key)
            self.run_forward_hook(key, hook)

    def run_forward_hook(self, key: int, hook: Callable) -> None:
        with_kwargs = key in self.module._forward_hooks_with_kwargs or key in _global_forward_hooks_with_kwargs
        extra = (self.kwargs,) if with_kwargs else ()
        replaced = hook(self.module, self.args, *extra, self.result)
        if replaced is not None:
            self.result = replaced

    def watch_output(self, backward: BackwardHook) -> Any:
        if not isinstance(self.result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(self.result)}",
                stacklevel=5,
            )
        return backward.setup_output_hook(self.result)

    def attach_legacy_hooks(self, hooks: list[Callable]) -> None:
        node = _first_tensor(self.result).grad_fn
        if node is None:
            return
        for hook in hooks:
            node.register_hook(WrappedHook(hook, self.module))
        warn_about_legacy_hook(self.args, self.result, node)

    def run_always_called_hooks(self) -> None:
        """After an error: the hooks registered with ``always_call`` that have not run; their own errors only warn."""
        module = self.module
        for kind, hooks, wanted in (
            ("global module", _global_forward_hooks, _global_forward_hooks_always_called),
            ("module", module._forward_hooks, module._forward_hooks_always_called),
        ):
            for key, hook in hooks.items():
                if key not in wanted or key in self.already_called:
                    continue
                try:
                    self.run_forward_hook(key, hook)
                except Exception as error:
                    warnings.warn(
                        f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error}",
                        stacklevel=4,
                    )


def _first_tensor(result: Any) -> Tensor:
    while not isinstance(result, Tensor):
        if isinstance(result, dict):
            result = next(value for value in result.values() if isinstance(value, Tensor))
        else:
            result = result[0]
    return result
