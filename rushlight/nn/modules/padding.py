"""Layers that enlarge the input at its edges. Sizes are one number, or (left, right, top, bottom, front, back)."""

from __future__ import annotations

from typing import Any

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F

from .expand import expand
from .module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _PadNd(Module):
    """Padding by a rule of `functional.pad`; a subclass names the rule and the number of dimensions."""

    _mode: str
    _dims: int

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = expand(padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Continue each row with its other end.

    Args:
        padding: an int, or (left, right).
    Shape: (N, C, L) or (C, L) -> (N, C, L') or (C, L')

    >>> CircularPad1d(1)(tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Continue each image with its opposite sides.

    Args:
        padding: an int, or (left, right, top, bottom).
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')

    >>> CircularPad2d(1)(ones(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Continue each volume with its opposite sides.

    Args:
        padding: an int, or (left, right, top, bottom, front, back).
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')

    >>> CircularPad3d(1)(ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class _ConstantPadNd(_PadNd):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Surround with `value`.

    Args:
        padding: an int, or (left, right).
    Shape: (N, C, L) or (C, L) -> (N, C, L') or (C, L')

    >>> ConstantPad1d(1, 9.0)(ones(1, 2))
    tensor([[9., 1., 1., 9.]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Surround with `value`.

    Args:
        padding: an int, or (left, right, top, bottom).
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')

    >>> ConstantPad2d(1, 9.0)(ones(1, 1, 1))
    tensor([[[9., 9., 9.],
             [9., 1., 9.],
             [9., 9., 9.]]])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Surround with `value`.

    Args:
        padding: an int, or (left, right, top, bottom, front, back).
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')

    >>> ConstantPad3d(1, 9.0)(ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirror at the first and last element, which is not repeated.

    Args:
        padding: an int, or (left, right).
    Shape: (N, C, L) or (C, L) -> (N, C, L') or (C, L')
    Raises:
        RuntimeError: the padding is as large as the input, as in `ReflectionPad1d(2)(ones(1, 2))`.

    >>> ReflectionPad1d(1)(tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Mirror at the edges, which are not repeated.

    Args:
        padding: an int, or (left, right, top, bottom).
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')
    Raises:
        RuntimeError: the padding is as large as the input, as in `ReflectionPad2d(2)(ones(1, 2, 2))`.

    >>> ReflectionPad2d(1)(arange(4.0).reshape(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Mirror at the faces, which are not repeated.

    Args:
        padding: an int, or (left, right, top, bottom, front, back).
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')
    Raises:
        RuntimeError: the padding is as large as the input, as in `ReflectionPad3d(2)(ones(1, 2, 2, 2))`.

    >>> ReflectionPad3d(1)(ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeat the first and last element.

    Args:
        padding: an int, or (left, right).
    Shape: (N, C, L) or (C, L) -> (N, C, L') or (C, L')

    >>> ReplicationPad1d(1)(tensor([[1.0, 2.0]]))
    tensor([[1., 1., 2., 2.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeat the edges.

    Args:
        padding: an int, or (left, right, top, bottom).
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')

    >>> ReplicationPad2d(1)(ones(1, 1, 2)).shape
    torch.Size([1, 3, 4])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeat the faces.

    Args:
        padding: an int, or (left, right, top, bottom, front, back).
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')

    >>> ReplicationPad3d(1)(ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class _ZeroPad(_ConstantPadNd):
    """Makes a constant padding one of zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Surround with zeros.

    Args:
        padding: an int, or (left, right).
    Shape: (N, C, L) or (C, L) -> (N, C, L') or (C, L')

    >>> ZeroPad1d(1)(ones(1, 2))
    tensor([[0., 1., 1., 0.]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Surround with zeros.

    Args:
        padding: an int, or (left, right, top, bottom).
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')

    >>> ZeroPad2d(1)(ones(1, 1, 1))
    tensor([[[0., 0., 0.],
             [0., 1., 0.],
             [0., 0., 0.]]])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Surround with zeros.

    Args:
        padding: an int, or (left, right, top, bottom, front, back).
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')

    >>> ZeroPad3d(1)(ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """
