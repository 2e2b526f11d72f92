"""Affine layers."""

from __future__ import annotations

import math
from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from .module import Module

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Gives back its input; takes and ignores any arguments, so that it can replace another layer.

    Shape: (*) -> (*)

    >>> Identity(54, unused=True)(ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """input @ weight.T + bias.

    Weight and bias are drawn from U(-k, k) with k = 1 / sqrt(in_features).

    Args:
        bias: whether there is one.
    Shape: (*, in_features) -> (*, out_features); weight (out_features, in_features), bias (out_features)
    Raises:
        RuntimeError: the last size is not in_features, as in `Linear(3, 2)(ones(4))`.

    >>> Linear(3, 2)(ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(ops.empty((out_features, in_features), device=device, dtype=dtype))
        register_bias(self, out_features if bias else None, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Re-initialise the parameters."""
        reset_affine(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` under the name that torch prints for the last layer of `MultiheadAttention`."""


class Bilinear(Module):
    """input1 @ weight[k] @ input2 + bias[k] for every output feature k.

    Args:
        bias: whether there is one.
    Shape: (*, in1_features), (*, in2_features) -> (*, out_features); weight (out_features, in1_features, in2_features)
    Raises:
        ValueError: in1_features is not positive, as in `Bilinear(0, 2, 3)`.

    >>> Bilinear(2, 3, 4)(ones(5, 2), ones(5, 3)).shape
    torch.Size([5, 4])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(ops.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        register_bias(self, out_features if bias else None, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Re-initialise the parameters. ValueError without input features."""
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


def register_bias(module: Module, size: int | None, device: Any, dtype: Any) -> None:
    """Give the module an uninitialised bias of this size, or the place of one."""
    bias = None if size is None else Parameter(ops.empty(size, device=device, dtype=dtype))
    module.register_parameter("bias", bias)


def reset_affine(weight: Tensor, bias: Tensor | None) -> None:
    """Draw a weight and a bias from U(-k, k), k = 1 / sqrt(fan in), in this order, as torch's layers do."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)
