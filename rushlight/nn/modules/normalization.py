"""Normalization within one sample: over its last dimensions, over groups of channels, or over neighbouring channels."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from .batchnorm import register_scale_and_shift, reset_scale_and_shift
from .expand import expand
from .module import Module

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LayerNorm(Module):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions.

    Source: Ba et al., Layer Normalization, 2016.

    Args:
        normalized_shape: the extents of those dimensions, also the shape of weight and bias.
        elementwise_affine: False leaves weight and bias out.
        bias: False leaves the bias out.
    Shape: (*, normalized_shape) -> the same
    Raises:
        RuntimeError: the last extents are others, as in `LayerNorm(3)(ones(2))`.

    >>> LayerNorm(2, elementwise_affine=False)(tensor([[1.0, 3.0]]))
    tensor([[-1.0000,  1.0000]])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = expand(normalized_shape, 1)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        affine = elementwise_affine
        register_scale_and_shift(self, self.normalized_shape, affine, affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1, shift 0."""
        if self.elementwise_affine:
            reset_scale_and_shift(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """(x - mean) / sqrt(var + eps) * weight + bias over each of `num_groups` groups of channels.

    Source: Wu and He, Group Normalization, 2018.

    Args:
        affine: with weight and bias.
    Shape: (N, C, *) -> the same; weight and bias (C)
    Raises:
        ValueError: the channels are no multiple of `num_groups`, as in `GroupNorm(2, 3)`.

    >>> GroupNorm(1, 2, affine=False)(tensor([[1.0, 3.0]]))
    tensor([[-1.0000,  1.0000]])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        register_scale_and_shift(self, num_channels, affine, affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1, shift 0."""
        if self.affine:
            reset_scale_and_shift(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions.

    Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.

    Args:
        eps: None for the type's machine epsilon.
        elementwise_affine: False leaves the weight out.
    Shape: (*, normalized_shape) -> the same
    Raises:
        RuntimeError: the last extents are others, as in `RMSNorm(3)(ones(2))`.

    >>> RMSNorm(2)(tensor([3.0, 4.0])).detach()
    tensor([0.8485, 1.1314])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = expand(normalized_shape, 1)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = ops.empty(self.normalized_shape, device=device, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", None if weight is None else Parameter(weight))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """x / (k + alpha * mean of x^2 over `size` neighbouring channels) ^ beta.

    Source: Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks, 2012.

    Shape: (N, C, *) -> the same
    Raises:
        ValueError: the input has less than three dimensions, as in `LocalResponseNorm(2)(ones(2, 2))`.

    >>> LocalResponseNorm(2)(ones(1, 3, 4)).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
