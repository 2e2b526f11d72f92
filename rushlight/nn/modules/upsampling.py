"""Layers that resize sequences, images and volumes."""

from __future__ import annotations

from typing import Any

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F

from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """`functional.interpolate` as a layer, to an output `size` or by a `scale_factor`.

    Args:
        mode: "nearest", "linear", "bilinear", "bicubic" or "trilinear".
        align_corners: the centres of the corner elements stay where they are.
    Shape: (N, C, L), (N, C, H, W) or (N, C, D, H, W) -> (N, C, *size)
    Raises:
        ValueError: neither is given, as in `Upsample()(ones(1, 1, 2))`.

    >>> Upsample(scale_factor=2)(tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        target = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{target}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of images by repeating the nearest pixel.

    Shape: (N, C, H, W) -> (N, C, H', W')

    >>> UpsamplingNearest2d(scale_factor=2)(ones(1, 1, 2, 3)).shape
    torch.Size([1, 1, 4, 6])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of images by bilinear interpolation with aligned corners.

    Shape: (N, C, H, W) -> (N, C, H', W')

    >>> UpsamplingBilinear2d(scale_factor=2)(ones(1, 1, 2, 3)).shape
    torch.Size([1, 1, 4, 6])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
