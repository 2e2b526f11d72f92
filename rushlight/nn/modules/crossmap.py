"""The response normalization of Lua Torch, for models that were trained with it."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.autograd.function import Function
from rushlight.core.tensor.tensor import Tensor

from .normalization import LocalResponseNorm

__all__ = ["CrossMapLRN2d"]


class CrossMapLRN2d(LocalResponseNorm):
    """`x / (k + alpha / size * sum of x^2 over neighbouring channels) ^ beta`.

    The sums and their gradient are torch's, which is not quite `LocalResponseNorm`: the first channel never leaves the
    running sum, and the gradient takes windows of `size` channels. ValueError for an input without four dimensions.

    Shape: (N, C, H, W) -> the same
    Raises:
        ValueError: the input has not four dimensions, as in `CrossMapLRN2d(2)(ones(2, 2))`.

    >>> CrossMapLRN2d(2)(ones(1, 3, 2, 2)).shape
    torch.Size([1, 3, 2, 2])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        return _CrossMap.apply(input, self.size, self.alpha, self.beta, self.k)


class _CrossMap(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        scale = _running_sums(input**2, int((size - 1) / 2 + 1)) * (alpha / size) + k
        output = scale**-beta * input
        ctx.save_for_backward(input, output, scale)
        ctx.size, ctx.alpha, ctx.beta = size, alpha, beta
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        input, output, scale = ctx.saved_tensors
        channels, size = input.size(1), ctx.size
        ratio = input.new_zeros(input.size(0), channels + size - 1, *input.shape[2:])
        ratio.narrow(1, int(size - (size - 1) / 2), channels).copy_(grad_output * output / scale)
        total = ratio.narrow(1, 0, size - 1).sum(1)
        sums = []
        for c in range(channels):
            total = total + ratio[:, c + size - 1]
            sums.append(total)
            total = total - ratio[:, c]
        factor = -2 * ctx.alpha * ctx.beta / size
        return scale**-ctx.beta * grad_output + factor * input * ops.stack(sums, 1), None, None, None, None


def _running_sums(squares: Tensor, reach: int) -> Tensor:
    channels = squares.size(1)
    sums = [squares[:, : min(reach, channels)].sum(1)]
    for c in range(1, channels):
        total = sums[-1]
        if c < channels - reach + 1:
            total = total + squares[:, c + reach - 1]
        if c > reach:
            total = total - squares[:, c - reach]
        sums.append(total)
    return ops.stack(sums, 1)
