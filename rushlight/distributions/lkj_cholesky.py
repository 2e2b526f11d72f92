"""The LKJ distribution of correlation matrices, by their Cholesky factors."""

from __future__ import annotations

import math

from rushlight import ops
from rushlight.core.tensor.layout import finfo
from rushlight.core.tensor.size import Size

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import SCALAR, broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Factors L of correlation matrices M = L L^T of `dim` rows, with density of M proportional to
    det(M)**(concentration - 1). concentration = 1 is uniform; above, M is nearer to the identity.

    Shape: concentration (*) -> batch (*), events (dim, dim)
    Raises:
        ValueError: dim < 2, as in `LKJCholesky(1)`.

    >>> LKJCholesky(3).sample().shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _batched = ("concentration", "_beta")
    _kept = ("dim",)

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        row = ops.arange(-1, dim - 1, dtype=self.concentration.dtype, device=self.concentration.device).clamp(min=0)
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(row + 0.5, marginal.unsqueeze(-1) - 0.5 * row)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args)

    def sample(self, sample_shape=SCALAR):
        """Rows: a Beta number for the squared length left of the diagonal, in a uniform direction."""
        length = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = ops.randn(self._extended_shape(sample_shape), dtype=length.dtype, device=length.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :] = 0.0  # the first row has no such part; its norm was 0
        left = length.sqrt() * direction
        diagonal = (1 - (left**2).sum(-1)).clamp(min=finfo(left.dtype).tiny).sqrt()
        return left + diagonal.diag_embed()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        rows = ops.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        unnormalized = (order * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        return unnormalized - (0.5 * n * math.log(math.pi) + (alpha - 0.5).mvlgamma(n) - alpha.lgamma() * n)
