"""Layers that drop elements or whole channels at random in training, and do nothing in evaluation."""

from __future__ import annotations

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F

from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zero each element with probability `p`, and divide the others by 1 - p; nothing happens in evaluation.

    Source: Hinton et al., Improving Neural Networks by Preventing Co-adaptation of Feature Detectors, 2012.

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same
    Raises:
        ValueError: `p` is outside [0, 1], as in `Dropout(1.5)`.

    >>> Dropout(0.5).eval()(ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zero each channel with probability `p`, and divide the others by 1 - p; nothing happens in evaluation.

    Args:
        inplace: whether to write the result into the input.
    Shape: (N, C, L) or (C, L) -> the same
    Raises:
        ValueError: `p` is outside [0, 1], as in `Dropout1d(1.5)`.

    >>> Dropout1d(0.5).eval()(ones(1, 2))
    tensor([[1., 1.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zero each channel with probability `p`, and divide the others by 1 - p; nothing happens in evaluation.

    Args:
        inplace: whether to write the result into the input.
    Shape: (N, C, H, W) or (N, C, L) -> the same
    Raises:
        ValueError: `p` is outside [0, 1], as in `Dropout2d(1.5)`.

    >>> Dropout2d(0.5)(ones(1, 2, 3, 3)).shape
    torch.Size([1, 2, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zero each channel with probability `p`, and divide the others by 1 - p; nothing happens in evaluation.

    Args:
        inplace: whether to write the result into the input.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> the same
    Raises:
        ValueError: `p` is outside [0, 1], as in `Dropout3d(1.5)`.

    >>> Dropout3d(0.5)(ones(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance after `SELU`; nothing happens in evaluation.

    Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same
    Raises:
        ValueError: `p` is outside [0, 1], as in `AlphaDropout(1.5)`.

    >>> AlphaDropout(0.5).eval()(ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels.

    Args:
        inplace: whether to write the result into the input.
    Shape: (N, C, *) -> the same
    Raises:
        ValueError: `p` is outside [0, 1], as in `FeatureAlphaDropout(1.5)`.

    >>> FeatureAlphaDropout(0.5)(ones(1, 2, 3)).shape
    torch.Size([1, 2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
