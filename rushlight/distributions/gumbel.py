"""The Gumbel distribution."""

from __future__ import annotations

import math

from rushlight import ops
from rushlight.core.tensor.layout import finfo

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import NUMBER, broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """loc - scale log(-log(u)) of a uniform u: the largest of many numbers. log p(x) = z - exp(z) - log(scale) with
    z = (loc - x) / scale.

    Shape: loc (*), scale (*) -> batch (*), broadcast, events ()
    Raises:
        ValueError: `scale` is not positive, as in `Gumbel(tensor([0.0]), tensor([-1.0]))`.

    >>> Gumbel(tensor([0.0]), tensor([1.0])).log_prob(tensor([0.0]))
    tensor([-1.])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _batched = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        low, high = limits.tiny, 1 - limits.eps
        if not (isinstance(loc, NUMBER) and isinstance(scale, NUMBER)):
            low, high = ops.full_like(self.loc, low), ops.full_like(self.loc, high)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-ops.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=loc, scale=-self.scale),
        ]
        super().__init__(Uniform(low, high, validate_args=validate_args), transforms, validate_args=validate_args)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z = (self.loc - value) / self.scale
        return z - z.exp() - self.scale.log()

    @property
    def mean(self):
        return self.loc + self.scale * euler_constant

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self):
        return self.stddev.pow(2)

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)
