"""`Variable`: torch 0.3's wrapper, today another way to write a tensor."""

from __future__ import annotations

from typing import Any

from ..core.tensor.tensor import Tensor, alias


class _VariableMeta(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=_VariableMeta):
    """`Variable(tensor, requires_grad=False, volatile=False)` gives an alias of the tensor as a leaf."""

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if volatile is not None:
            import warnings

            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2
            )
        if data is None:
            return Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        t = alias(data, Tensor)
        return t.requires_grad_() if requires_grad else t
