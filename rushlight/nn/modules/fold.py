"""Sliding windows as columns, and back."""

from __future__ import annotations

from typing import Any

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F

from .module import Module

__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """Add the columns of windows up into images.

    Args:
        output_size: (H, W).
    Shape: (N, C R S, windows) -> (N, C, H, W)
    Raises:
        RuntimeError: there are not as many windows, as in `Fold((3, 3), 2)(ones(1, 4, 5))`.

    >>> Fold((3, 3), 2)(ones(1, 4, 4)).shape
    torch.Size([1, 1, 3, 3])
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """The elements of each window as a column.

    Shape: (N, C, H, W) -> (N, C R S, windows)
    Raises:
        RuntimeError: the window is larger than the image, as in `Unfold(3)(ones(1, 1, 2, 2))`.

    >>> Unfold(2)(ones(1, 1, 3, 3)).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
