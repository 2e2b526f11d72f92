"""Layers that only change the shape."""

from __future__ import annotations

from typing import Any

from rushlight.core.tensor.tensor import Tensor

from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Join the dimensions `start_dim` to `end_dim`.

    Shape: (N, *) -> (N, product of *) by default
    Raises:
        IndexError: a dimension is out of range, as in `Flatten()(ones(2))`.

    >>> Flatten()(ones(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split the dimension `dim` into `unflattened_size`.

    Shape: (N, a b) -> (N, a, b) for dim 1, size (a, b)
    Raises:
        RuntimeError: the sizes have another product, as in `Unflatten(1, (2, 2))(ones(1, 6))`.

    >>> Unflatten(1, (2, 3))(ones(1, 6)).shape
    torch.Size([1, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        _require_ints(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def _require_ints(size: Any) -> None:
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(size).__name__}")
    for place, extent in enumerate(size):
        if not isinstance(extent, int):
            raise TypeError(
                "unflattened_size must be tuple of ints, but found element of type "
                f"{type(extent).__name__} at pos {place}"
            )
