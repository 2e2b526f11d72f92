"""Normalization."""

from __future__ import annotations

import math
from typing import Any

from rushlight.core.tensor.tensor import Tensor

from .operators import ops


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
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel.

    In training mean and (biased) variance are the batch's, and the running ones move towards them (with the unbiased
    variance) by the share `momentum`, in place; otherwise the running ones are used.
    Source: Ioffe and Szegedy, Batch Normalization, 2015.

    Shape: (N, C, *), the others (C) -> (N, C, *)
    Raises:
        ValueError: there is one value for each channel in training, as in
            `batch_norm(ones(1, 2), None, None, training=True)`.
        RuntimeError: the running statistics have another size, as in `batch_norm(ones(2, 3), ones(2), ones(2))`.

    >>> batch_norm(tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training:
        _require_several(input.shape[0] * math.prod(input.shape[2:]), input.shape)
    if eps < 0.0 or (training and eps == 0.0):
        kind = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {kind}, but got {eps}")
    return ops.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


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
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of each sample.

    Source: Ulyanov et al., Instance Normalization, 2016.

    Args:
        use_input_stats: whether to use the sample's statistics rather than the running ones.
        momentum: the share by which running statistics, if given, move towards the batch's.
    Shape: (N, C, *), the others (C) -> (N, C, *)
    Raises:
        ValueError: there is one spatial element, as in `instance_norm(ones(2, 3, 1))`.

    >>> instance_norm(tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return ops.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions.

    Source: Ba et al., Layer Normalization, 2016.

    Args:
        normalized_shape: the sizes of these dimensions, a tuple.
        weight, bias: of that shape, or None.
    Shape: (*, normalized_shape) -> (*, normalized_shape)
    Raises:
        RuntimeError: the last sizes are others, as in `layer_norm(ones(2, 3), (2,))`.

    >>> layer_norm(tensor([1.0, 2.0, 3.0]), (3,))
    tensor([-1.2247,  0.0000,  1.2247])
    """
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over groups of channels.

    Source: Wu and He, Group Normalization, 2018.

    Args:
        weight, bias: one for each channel, or None.
    Shape: (N, C, *), weight and bias (C) -> (N, C, *)
    Raises:
        RuntimeError: C is no multiple of `num_groups`, as in `group_norm(ones(2, 3, 4), 2)`.

    >>> group_norm(tensor([[1.0, 3.0]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    samples, channels, *space = input.shape
    rows = samples * channels // num_groups
    _require_several(rows * math.prod(space), [rows, num_groups, *space])
    return ops.group_norm(input, num_groups, weight, bias, eps)
