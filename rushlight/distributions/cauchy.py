"""The Cauchy distribution."""

from __future__ import annotations

import math

from rushlight import ops

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, broadcast_all, filled

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The ratio of two normal numbers: p(x) = 1 / (pi scale (1 + z**2)) with z = (x - loc) / scale. It has no mean.

    Shape: loc (*), scale (*) -> batch (*), broadcast, events ()
    Raises:
        ValueError: `scale` is not positive, as in `Cauchy(tensor([0.0]), tensor([-1.0]))`.

    >>> Cauchy(0.0, 1.0).log_prob(tensor(0.0))
    tensor(-1.1447)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        return filled(self.loc, self._extended_shape(), math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return filled(self.loc, self._extended_shape(), math.inf)

    def rsample(self, sample_shape=SCALAR):
        noise = ops.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value):
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
