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
    """Continue each row with its other end. Shape: (N, C, L) or (C, L)."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Continue each image with its opposite sides. Shape: (N, C, H, W) or (C, H, W)."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Continue each volume with its opposite sides. Shape: (N, C, D, H, W) or (C, D, H, W)."""

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
    """Surround with ``value``. Shape: (N, C, L) or (C, L)."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Surround with ``value``. Shape: (N, C, H, W) or (C, H, W)."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Surround with ``value``. Shape: (N, C, D, H, W) or (C, D, H, W)."""

    _dims = 3


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirror at the first and last element, which is not repeated. Shape: (N, C, L) or (C, L)."""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Mirror at the edges, which are not repeated. Shape: (N, C, H, W) or (C, H, W)."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Mirror at the faces, which are not repeated. Shape: (N, C, D, H, W) or (C, D, H, W)."""

    _dims = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeat the first and last element. Shape: (N, C, L) or (C, L)."""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeat the edges. Shape: (N, C, H, W) or (C, H, W)."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeat the faces. Shape: (N, C, D, H, W) or (C, D, H, W)."""

    _dims = 3


class _ZeroPad:
    """Makes a constant padding one of zeros."""

    padding: tuple[int, ...]

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Surround with zeros. Shape: (N, C, L) or (C, L)."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Surround with zeros. Shape: (N, C, H, W) or (C, H, W)."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Surround with zeros. Shape: (N, C, D, H, W) or (C, D, H, W)."""
