"""Layers that trade channels for resolution, and channel groups for one another."""

from __future__ import annotations

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F

from .module import Module

__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """r^2 channels of each pixel become r x r pixels, r the `upscale_factor`.

    Source: Shi et al., Real-Time Single Image and Video Super-Resolution, 2016.

    Shape: (*, C r^2, H, W) -> (*, C, H r, W r)
    Raises:
        RuntimeError: the channels are no multiple of r^2, as in `PixelShuffle(2)(ones(3, 2, 2))`.

    >>> PixelShuffle(2)(ones(1, 8, 2, 3)).shape
    torch.Size([1, 2, 4, 6])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """The inverse of `PixelShuffle`: r x r pixels become r^2 channels.

    Shape: (*, C, H r, W r) -> (*, C r^2, H, W)
    Raises:
        RuntimeError: a side is no multiple of r, as in `PixelUnshuffle(2)(ones(1, 3, 2))`.

    >>> PixelUnshuffle(2)(ones(1, 2, 4, 6)).shape
    torch.Size([1, 8, 2, 3])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Interleave `groups` groups of channels.

    Shape: (N, C, *) -> (N, C, *)
    Raises:
        RuntimeError: C is no multiple of `groups`, as in `ChannelShuffle(2)(ones(1, 3, 1))`.

    >>> ChannelShuffle(2)(tensor([[[1], [2], [3], [4]]])).flatten()
    tensor([1, 3, 2, 4])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
