"""`torch.utils._python_dispatch`: modes that see every operator, and questions about tensors that wrap others.

A mode sees what runs inside it: operators by torch's names (`torch.ops.aten`), those of the backward pass too, and functions
that make tensors. What it calls itself it does not see.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.device.devices import CPU
from ..core.dispatch import torch_function
from ..core.dispatch.aten.operators import operator
from ..core.dispatch.aten.torch_dispatch import Modes, ask_mode, without_modes
from ..core.dispatch.mode import thread
from ..core.tensor.tensor import Tensor

__all__ = [
    "TorchDispatchMode", "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type", "return_and_correct_aliasing",
]  # fmt: skip

_FACTORIES = {
    "arange",
    "empty",
    "eye",
    "full",
    "linspace",
    "logspace",
    "ones",
    "rand",
    "randint",
    "randn",
    "randperm",
    "zeros",
}
_SIZED = {"empty", "ones", "rand", "randn", "zeros"}
_LIKE = {f"{what}_like" for what in ("empty", "full", "ones", "rand", "randn", "zeros")}
_NEW = {"new_empty", "new_ones", "new_zeros"}
_OVERLOADS = {"empty": "memory_format"}
_NUMBERS = {"item": None, "__float__": float, "__int__": int, "__bool__": bool}


def active_modes() -> list[Any]:
    """The active modes of this thread, the innermost last."""
    modes = thread.state.dispatching
    return list(modes.modes) if modes else []


class TorchDispatchMode:
    """A context in which `__torch_dispatch__(self, func, types, args=(), kwargs=None)` is asked for every operator.

    func: an overload such as `torch.ops.aten.add.Tensor`, which can be called. types: the classes among the arguments that
    wrap other tensors. What it returns is the operator's result.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Raises NotImplementedError: a subclass says what happens."""
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__")

    def __enter__(self) -> Any:
        state = thread.state
        state.dispatching = Modes([*active_modes(), self])
        state.refresh()
        torch_function.activate()
        torch_function.modes().append(_Factories(self))
        return self

    def __exit__(self, *error: object) -> None:
        modes = torch_function.modes()
        modes.remove(next(m for m in reversed(modes) if isinstance(m, _Factories) and m.mode is self))
        state = thread.state
        outer = active_modes()[:-1]
        state.dispatching = Modes(outer) if outer else None
        state.refresh()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """A mode of this class, as it was written before torch 1.13."""
        return cls(*args, **kwargs)


class _Factories:
    """Sees calls of functions that make tensors, which are no operators here, for the mode around it."""

    def __init__(self, mode: TorchDispatchMode):
        self.mode = mode

    def __torch_function__(
        self, function: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name, options = getattr(function, "__name__", ""), dict(kwargs or {})
        if thread.state.dispatching is None or "out" in options:
            return function(*args, **options)
        if name in _NUMBERS and type(args[0]) is Tensor and args[0].numel() == 1:
            number = ask_mode(operator("_local_scalar_dense").default, args, {})
            return number if name == "item" else _NUMBERS[name](number)
        if name == "tensor":
            wants_grad = options.pop("requires_grad", False)
            made = ask_mode(operator("lift_fresh").default, (function(*args, **options),), {})
            return made.requires_grad_() if wants_grad else made
        if name in _LIKE | _NEW and args:
            wants_grad = options.pop("requires_grad", False)
            if name in _NEW:
                sizes = args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
                args = (args[0], list(sizes or options.pop("size", ())))
            made = ask_mode(operator(name).default, args, {**options, "pin_memory": options.get("pin_memory", False)})
            return made.requires_grad_() if wants_grad else made
        if name not in _FACTORIES:
            return function(*args, **options)
        wants_grad = options.pop("requires_grad", False)
        if name in _SIZED:
            args = (
                list(args[0])
                if len(args) == 1 and isinstance(args[0], (tuple, list))
                else list(args or options.pop("size")),
            )
        options = {**options, "device": options.get("device") or CPU, "pin_memory": options.get("pin_memory", False)}
        made = ask_mode(getattr(operator(name), _OVERLOADS.get(name, "default")), args, options)
        return made.requires_grad_() if wants_grad else made


def _get_current_dispatch_mode() -> Any:
    """The innermost active mode, or None."""
    return active_modes()[-1] if active_modes() else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The active modes, the innermost last."""
    return active_modes()


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """A context without the modes around it."""
    before = active_modes()
    with without_modes():
        yield before


def return_and_correct_aliasing(func: Any, args: tuple, kwargs: dict[str, Any] | None, out: Any) -> Any:
    """The result of an operator as torch's schema has it: an argument that the operator writes into is itself the result."""
    written = func.overloadpacket.__name__.endswith("_") and not func.overloadpacket.__name__.startswith("_")
    return args[0] if written and args and isinstance(args[0], Tensor) else out


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether `t` is of a subclass of Tensor that says how it is made of other tensors, and made again."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """The same of a class: it has `__tensor_flatten__` and `__tensor_unflatten__`."""
    both = ("__tensor_flatten__", "__tensor_unflatten__")
    return issubclass(t, Tensor) and t is not Tensor and all(hasattr(t, name) for name in both)
