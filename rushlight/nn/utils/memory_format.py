"""Convolution weights in another order in memory."""

from __future__ import annotations

from typing import Any

from rushlight.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of all 2-D convolutions below `module` to `memory_format`, in place.

    Shape: weight (K, C, R, S) -> (K, C, R, S), in another order in memory

    >>> convert_conv2d_weight_memory_format(nn.Conv2d(2, 2, 2), channels_last).weight.stride()
    (8, 1, 4, 2)
    """
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of all 3-D convolutions below `module` to `memory_format`, in place.

    Shape: weight (K, C, Q, R, S) -> (K, C, Q, R, S), in another order in memory
    """
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)


def _convert(module: Any, kinds: tuple, memory_format: Any) -> Any:
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module
