"""Normalization."""

from __future__ import annotations

import math
from typing import Any

from rushlight.core.tensor.tensor import Tensor

from .operators import ops

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]

normalize = ops.normalize
local_response_norm = ops.local_response_norm
rms_norm = ops.rms_norm


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` per channel, by the batch's statistics with ``training``.

    Then the running statistics move towards the batch's by the share ``momentum``, in place.
    Shape: (N, C, *); the others (C,). ValueError for one value per channel in training.
    """
    if training:
        _require_several(input.shape[0] * math.prod(input.shape[2:]), input.shape)
    if eps < 0.0 or (training and eps == 0.0):
        kind = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {kind}, but got {eps}")
    return ops.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _require_several(values_per_channel: int, size: Any) -> None:
    if values_per_channel == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`batch_norm` of every sample by itself. Shape: (N, C, *). ValueError for one spatial element."""
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return ops.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last dimensions. Shape: (*, normalized_shape)."""
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over groups of channels. Shape: (N, C, *)."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    samples, channels, *space = input.shape
    rows = samples * channels // num_groups
    _require_several(rows * math.prod(space), [rows, num_groups, *space])
    return ops.group_norm(input, num_groups, weight, bias, eps)
