"""Tensors that a module adopts when they are assigned to it: parameters and buffers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from rushlight import ops
from rushlight.core.overriding import disabled_impl
from rushlight.core.tensor import Tensor

__all__ = ["Buffer", "Parameter"]


class _FlaggedType(type(Tensor)):
    """Lets a tensor of another class count as an instance of the class through a flag it carries."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        flag = cls.__dict__.get("_flag")
        return flag is not None and isinstance(instance, Tensor) and getattr(instance, flag, False)


class Parameter(Tensor, metaclass=_FlaggedType):
    """A tensor that a `Module` registers as trainable when it is assigned as an attribute.

    ``data``: any tensor; its memory is shared, its history is not. Default: an empty one.
    ``requires_grad``: holds whether or not `no_grad` is active.

    >>> Parameter(ops.zeros(2)).requires_grad
    True
    """

    _flag = "_is_param"
    __torch_function__ = staticmethod(disabled_impl)  # results are plain tensors

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = ops.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            if requires_grad and not (data.is_floating_point() or data.is_complex()):
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            return Tensor._make_subclass(cls, data, requires_grad)
        return _flagged(data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, **kwargs: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(**kwargs)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        # a parameter that a hook watches is written without the hook, as torch writes it
        arguments = (self.data, self.requires_grad, OrderedDict())
        if not self.__dict__:
            return _rebuild_parameter, arguments
        return _rebuild_parameter_with_state, (*arguments, dict(self.__dict__))


def _flagged(data: Tensor, requires_grad: bool) -> Any:
    """A parameter of the data's own class: the class is kept, a flag makes ``isinstance`` say yes."""
    param = data.detach().requires_grad_(requires_grad)
    if type(param) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
            f"instance of the same type, but return type {type(param).__name__} was found instead. To use the type as "
            "a Parameter, please correct the detach() semantics defined by its class."
        )
    param._is_param = True
    return param


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: OrderedDict) -> Parameter:
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: OrderedDict, state: dict[str, Any]
) -> Parameter:
    param = Parameter(data, requires_grad)
    param.__dict__.update(state)
    return param


class Buffer(Tensor, metaclass=_FlaggedType):
    """A tensor that a `Module` registers as a buffer when it is assigned as an attribute.

    Not trained, but part of the module's state, like a running mean. The call returns a tensor of the data's own class
    that carries a mark, as torch's does. ``persistent``: whether `Module.state_dict` contains it.
    """

    _flag = "_is_buffer"
    __torch_function__ = staticmethod(disabled_impl)  # results are plain tensors

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = ops.empty(0)
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def reset_grads(params: Iterable[Tensor], set_to_none: bool) -> None:
    """Drop the gradients, or without ``set_to_none`` fill those that there are with zeros in place."""
    for p in params:
        grad = p.grad
        if grad is None:
            continue
        if set_to_none:
            p.grad = None
            continue
        if grad.grad_fn is not None:
            grad.detach_()
        else:
            grad.requires_grad_(False)
        grad.zero_()
