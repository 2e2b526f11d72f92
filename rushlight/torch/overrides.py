"""`torch.overrides`: asking for `__torch_function__`, and calling it.

How operators ask is told in `core/dispatch/torch_function.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core.dispatch.op import OPS
from ..core.dispatch.torch_function import activate, ask, has_override, modes
from ..core.tensor.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


def get_default_nowrap_functions() -> set[Any]:
    """The functions whose results `Tensor.__torch_function__` leaves as they are: the getters of `grad` and its like."""
    return {Tensor._base.__get__, Tensor.grad.__get__, Tensor._grad.__get__}  # type: ignore[attr-defined]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether an argument's class wants to be asked."""
    return any(has_override(type(value)) for value in relevant_args)


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` of one argument."""
    return has_override(type(arg))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of several arguments."""
    return has_torch_function(args)


def handle_torch_function(public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """What the first `__torch_function__` that takes the call returns, subclasses before their bases.

    Raises TypeError where all of them return NotImplemented.
    """
    return ask(public_api, [value for value in relevant_args if has_override(type(value))], args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable], Callable]:
    """Decorator: ask the arguments that `dispatcher(*args, **kwargs)` names for `__torch_function__` first."""

    def decorate(f: Callable) -> Callable:
        from functools import wraps

        @wraps(f)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return f(*args, **kwargs)

        return wrapped

    return decorate


def _assert_async(input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise RuntimeError with the message unless the one element of `input` is other than zero."""
    if not input:
        raise RuntimeError(assert_msg)


def is_tensor_like(inp: Any) -> bool:
    """Whether `inp` is a tensor, or its class defines `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether `func` is a method of Tensor, or the getter of one of its properties."""
    return func in _tensor_functions()


def _tensor_functions() -> set[Any]:
    members = [getattr(Tensor, name) for name in dir(Tensor)]
    return {getattr(member, "fget", None) or member for member in members if member.__hash__ is not None}


def get_overridable_functions() -> dict[Any, list[Callable]]:
    """The operators and the tensor's methods, by what they belong to."""
    import rushlight

    return {rushlight: list(OPS.values()), Tensor: [f for f in _tensor_functions() if callable(f)]}


def resolve_name(f: Callable) -> str | None:
    """The public name of an operator or method: 'torch.add', 'torch.Tensor.add'; None for anything else."""
    for name, operator in OPS.items():
        if operator is f:
            return f"torch.{name}"
    for name in dir(Tensor):
        if getattr(Tensor, name) is f:
            return f"torch.Tensor.{name}"
    return None


class TorchFunctionMode:
    """A context in which `__torch_function__(func, types, args, kwargs)` of this object gets every call of the thread.

    Within that method the mode is off, so that it can call `func`.
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        activate()
        modes().append(self)
        return self

    def __exit__(self, *error: object) -> None:
        modes().pop()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return func(*args, **(kwargs or {}))
