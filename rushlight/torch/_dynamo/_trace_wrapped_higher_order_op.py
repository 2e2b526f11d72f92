"""`torch._dynamo._trace_wrapped_higher_order_op`: the mode in which libraries map functions of positions over tensors.

>>> import rushlight as torch
>>> allowed = torch.tensor([True, False, True])
>>> with TransformGetItemToIndex():
...     torch.vmap(lambda i: allowed[i])(torch.arange(3))
tensor([ True, False,  True])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.tensor.dtype import bool_
from ...core.tensor.tensor import Tensor
from ...ops import tensor
from ..overrides import TorchFunctionMode

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """x[i, j] with numbers and 0-d tensors picks the element by its place, also inside `vmap`; the result is no view."""

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func is Tensor.__getitem__:
            index = args[1] if isinstance(args[1], (tuple, list)) else (args[1],)
            if all(_is_place(i) for i in index):
                return func(args[0], tuple(_in_one_dimension(i) for i in index)).squeeze(0)
        return func(*args, **(kwargs or {}))


def _is_place(index: Any) -> bool:
    if isinstance(index, Tensor):
        return index.ndim == 0 and index.dtype is not bool_
    return isinstance(index, int) and not isinstance(index, bool)


def _in_one_dimension(index: Tensor | int) -> Tensor:
    return tensor([index]) if isinstance(index, int) else index.reshape(1)
