"""Calls as programs before torch 1.5 wrote them, with a number in front of the tensors that it multiplies.

`m.add_(0.1, g)`, `v.addcmul_(1 - beta, g, g)`, `torch.addmm(beta, m, alpha, a, b)`. torch deprecates them, warns once, and
computes. An entry point that takes them has one more parameter, `*number_first`, which costs a usual call nothing.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..tensor.tensor import Tensor
from ..warn import warn
from .python_signatures import call_error

if TYPE_CHECKING:
    from .op import Op

__all__ = ["call", "hide_from_signature", "sum_arguments"]

_warned = False


def call(record: Op, args: tuple, keywords: dict[str, Any]) -> Any:
    """Call an operator by its tensors, with the numbers between them by name. Raises TypeError where they do not fit."""
    ordered = arguments(record.name, args, len(record.signature.arrays), record.number_first)
    return record.function(*ordered[0], **{**keywords, **ordered[1]})


def arguments(name: str, args: tuple, count: int, names: tuple[str, ...]) -> tuple[list[Any], dict[str, Any]]:
    """(the tensors, the numbers by name) of a call with so many tensors. A 0-dim tensor in a number's place is one."""
    surplus = len(args) - count
    tensors, numbers = list(args), []
    first = 0 if not isinstance(args[0], Tensor) else 1  # a function may have the first number before the input
    for place in (first, first if first else first + 1):
        if len(numbers) < surplus and place < len(tensors) and is_number(tensors[place]):
            numbers.append(tensors.pop(place))
    if len(numbers) != surplus or surplus > len(names) or not all(isinstance(t, Tensor) for t in tensors):
        raise call_error() or TypeError(f"{name}() takes {count} positional arguments but {len(args)} were given")
    _warn(name, names, count)
    return tensors, dict(zip(names, numbers, strict=False))


def sum_arguments(name: str, other: Any, number_first: tuple) -> tuple[Any, Any]:
    """(other, alpha) of `add(input, alpha, other)`, given what was taken for `other` and what came after it."""
    if len(number_first) != 1 or not is_number(other):
        raise call_error() or TypeError(f"{name}() takes 2 positional arguments but {2 + len(number_first)} were given")
    _warn(name, ("alpha",), 2)
    return number_first[0], other


def is_number(value: Any) -> bool:
    """Whether a value can be taken for a number: one of Python's or NumPy's, or a tensor without dimensions."""
    return not value.ndim if isinstance(value, Tensor) else hasattr(value, "__float__") or isinstance(value, complex)


def hide_from_signature(f: Any) -> Any:
    """Decorator: `inspect.signature` and `help` show a function without its parameter `*number_first`."""
    f.__wrapped__ = _Shown(f.__code__, f.__name__, f.__defaults__, f.__closure__, f.__kwdefaults__)
    return f


class _Shown:
    """Carries a function's signature without `*number_first`; `inspect` is imported only when it is read."""

    __slots__ = ("made_from",)

    def __init__(self, *made_from: Any) -> None:
        self.made_from = made_from

    @property
    def __signature__(self) -> Any:
        from inspect import Parameter, signature

        *parts, by_name = self.made_from
        f = FunctionType(parts[0], {}, *parts[1:])
        f.__kwdefaults__ = by_name
        shown = signature(f)
        kept = [p for p in shown.parameters.values() if p.kind is not Parameter.VAR_POSITIONAL]
        return shown.replace(parameters=kept)


def _warn(name: str, names: tuple[str, ...], count: int) -> None:
    global _warned
    if _warned:
        return
    _warned = True
    tensors = ["other"] if count == 2 else ["tensor1", "tensor2"]
    old = ", ".join([*(f"Number {n}" for n in names), *(f"Tensor {t}" for t in tensors)])
    new = ", ".join([*(f"Tensor {t}" for t in tensors), "*", *(f"Number {n} = 1" for n in names)])
    warn(
        f"This overload of {name} is deprecated:\n\t{name}({old})\n"
        f"Consider using one of the following signatures instead:\n\t{name}({new})",
    )
