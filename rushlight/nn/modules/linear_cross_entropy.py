"""`LinearCrossEntropyLoss`: a linear layer and the cross entropy of its results, in one module."""

from __future__ import annotations

import math
from typing import Any

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F

from .linear import Linear
from .loss import _WeightedLoss

__all__ = ["LinearCrossEntropyLoss"]


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of `linear(input)`, a layer of its own without a bias by default.

    Args:
        in_features: of each sample.
        num_classes: C.
        out_features: sizes of further dimensions: a loss for each of their places.
        bias: whether the layer has one.
        reduction: "mean", "sum" or "none".
        weight: a factor for each class (C,).
        ignore_index: a class index whose samples do not count (default: -100); not for probabilities.
        label_smoothing: the share of each target that is spread over all classes, in [0, 1].
        options: None; torch computes the loss in chunks by them.
    Shape: input (N, in_features) or (in_features), target (N, *out_features) or () of classes, or (N, C, *out_features) of
        probabilities -> (), or (N, *out_features) with reduction="none"
    Raises:
        RuntimeError: `label_smoothing` is outside [0, 1], as in `LinearCrossEntropyLoss(2, 3, label_smoothing=2.0)`.
        RuntimeError: `weight` has another size, as in `LinearCrossEntropyLoss(2, 3, weight=ones(2))`.

    >>> LinearCrossEntropyLoss(5, 10, out_features=(4, 3))(ones(2, 5), zeros(2, 4, 3, dtype=int64)).shape
    torch.Size([])
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, None, None, reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias, device, dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        linear, shape = self.linear, (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input,
            linear.weight.reshape(*shape, linear.in_features),
            target,
            linear_bias=None if linear.bias is None else linear.bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
