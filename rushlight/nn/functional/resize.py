"""Padding, resampling and rearranging of sequences, images and volumes."""

from __future__ import annotations

import warnings
from typing import Any

from rushlight.core.tensor.tensor import Tensor

from .operators import ops


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """`interpolate` under its deprecated name.

    Args:
        size: an int or one for each spatial dimension.
        scale_factor: a number or one for each spatial dimension, instead of `size`.
    Shape: (N, C, L), (N, C, H, W) or (N, C, D, H, W) -> (N, C, *size)
    Raises:
        ValueError: size and scale_factor are both missing, as in `upsample(ones(1, 1, 2))`.
    """
    _warn_deprecated("upsample")
    return ops.interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` by the nearest element, under a deprecated name.

    Args:
        size: an int or one for each spatial dimension.
        scale_factor: a number or one for each spatial dimension, instead of `size`.
    Shape: (N, C, L), (N, C, H, W) or (N, C, D, H, W) -> (N, C, *size)
    Raises:
        ValueError: size and scale_factor are both missing, as in `upsample_nearest(ones(1, 1, 2))`.
    """
    _warn_deprecated("upsample_nearest")
    return ops.interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Bilinear `interpolate` with aligned corners, under a deprecated name.

    Args:
        size: an int or a pair.
        scale_factor: a number or a pair, instead of `size`.
    Shape: (N, C, H, W) -> (N, C, *size)
    Raises:
        ValueError: size and scale_factor are both missing, as in `upsample_bilinear(ones(1, 1, 2, 2))`.
    """
    _warn_deprecated("upsample_bilinear")
    return ops.interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _warn_deprecated(name: str) -> None:
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)
