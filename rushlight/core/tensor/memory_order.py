"""Methods about the layout of a tensor's elements, and older names of reshaping."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ..dispatch.op import OPS
from ..warn import warn
from .layout import channels_last, contiguous_format, memory_format
from .storage import address_of, storage_of
from .strides import element_strides, innermost_first
from .tensor import Tensor

__all__ = ["dim_order", "is_set_to", "new_empty_strided", "resize", "resize_as"]


def dim_order(self: Tensor, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """The dimensions from the one with the longest steps in memory to the densest.

    ambiguity_check: RuntimeError where another order describes the memory as well; with a list of memory formats, only
    where not exactly one of these does.
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(f, memory_format) for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = element_strides(self._array)
    ambiguous = 1 in self.shape or any(a == b for a, b in pairwise(strides))
    if ambiguity_check is not False and ambiguous and sum(_is_dense(self, f) for f in formats) != 1:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    rows, channels = _is_dense(self, contiguous_format), self.dim() == 4 and _is_dense(self, channels_last)
    if rows and not channels:
        return tuple(range(self.dim()))
    if channels and not rows:
        return 0, 2, 3, 1
    return tuple(innermost_first(tuple(self.shape), [strides])[::-1])


def _is_dense(t: Tensor, memory_format: Any) -> bool:
    return t.is_contiguous(memory_format=memory_format)


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both tensors have the same memory, the same place in it, and the same shape and strides."""
    a, b = self._array, tensor._array
    return (
        storage_of(self).root is storage_of(tensor).root
        and address_of(a) == address_of(b)
        and (a.shape, element_strides(a)) == (b.shape, element_strides(b))
    )


def new_empty_strided(
    self: Tensor,
    size: Any,
    stride: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """`torch.empty_strided` of this tensor's type."""
    return OPS["empty_strided"](
        size,
        stride,
        dtype=dtype or self.dtype,
        device=device,
        requires_grad=requires_grad,
        layout=layout,
        pin_memory=pin_memory,
    )


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """The elements in another shape of as many. Deprecated: `reshape`."""
    warn("non-inplace resize is deprecated")
    return _as_many(self, sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)


def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The elements in the shape of a tensor of as many. Deprecated: `reshape`."""
    warn("non-inplace resize_as is deprecated")
    return _as_many(self, tensor.shape)


def _as_many(self: Tensor, sizes: Any) -> Tensor:
    from math import prod

    if prod(sizes) != self._array.size:
        raise RuntimeError(
            f"requested resize to {tuple(sizes)} ({'x'.join(map(str, sizes))} elements in total), but the given tensor "
            f"has a size of {'x'.join(map(str, self.shape))} ({self._array.size} elements). autograd's resize can only "
            "change the shape of a given tensor, while preserving the number of elements. "
        )
    return self.contiguous().view(*sizes)  # type: ignore[attr-defined]


def __reversed__(self: Tensor) -> Tensor:
    """What `reversed(t)` gives: the rows from last to first, as one tensor."""
    return self.flip(0) if self.dim() else self  # type: ignore[attr-defined]


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What takes this tensor's place when a state dict with `other` is loaded by swapping."""
    if assign:
        return other.detach()  # type: ignore[attr-defined]
    return self.copy_(other).detach()  # type: ignore[attr-defined]


def is_distributed(input: Tensor) -> bool:
    """False.

    Shape: (*) -> a bool
    """
    return False


def cudnn_is_acceptable(input: Tensor) -> bool:
    """False: no tensor here is one that cuDNN could take.

    Shape: (*) -> a bool
    """
    return False
