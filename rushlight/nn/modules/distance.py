"""Distances and similarities of pairs of vectors."""

from __future__ import annotations

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F

from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps over the last dimension.

    Args:
        keepdim: whether that dimension stays, with size 1.
    Shape: (N, D), (N, D) -> (N), or (N, 1) with `keepdim`
    Raises:
        RuntimeError: the shapes do not broadcast, as in `PairwiseDistance()(ones(1, 2), ones(1, 3))`.

    >>> PairwiseDistance()(tensor([[0.0, 0.0]]), tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """x1 . x2 / max(|x1| |x2|, eps) over `dim`.

    Shape: (*, D, *), (*, D, *) -> (*, *)
    Raises:
        RuntimeError: the shapes do not broadcast, as in `CosineSimilarity()(ones(1, 2), ones(1, 3))`.

    >>> CosineSimilarity()(tensor([[1.0, 0.0]]), tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
