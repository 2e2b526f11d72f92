"""The generalized Pareto distribution."""

from __future__ import annotations

from math import inf, nan

from rushlight import ops

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """What exceeds a high threshold: P(X > x) = (1 + c z)**(-1 / c) with z = (x - loc) / scale, c = `concentration`.

    c = 0 is the exponential distribution, exp(-z); for c < 0 the support ends at loc - scale / c.

    Shape: loc (*), scale (*), concentration (*) -> batch (*), broadcast, events ()
    Raises:
        ValueError: `scale` is not positive, as in `GeneralizedPareto(tensor([0.0]), tensor([-1.0]), tensor([0.0]))`.

    >>> GeneralizedPareto(tensor([0.0]), tensor([1.0]), tensor([0.0])).log_prob(tensor([1.0]))
    tensor([-1.])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _batched = ("loc", "scale", "concentration")

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        upper = ops.where(self.concentration < 0, self.loc - self.scale / self.concentration, inf)
        return constraints.interval(self.loc, upper)

    def _by_concentration(self):
        """Where the concentration counts as zero, and the concentration with ones there."""
        zero = ops.isclose(self.concentration, ops.zeros_like(self.concentration))
        return zero, ops.where(zero, ops.ones_like(self.concentration), self.concentration)

    def _z(self, x):
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape=SCALAR):
        shape = self._extended_shape(sample_shape)
        return self.icdf(ops.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z, (zero, c) = self._z(value), self._by_concentration()
        power = 1 / c + ops.ones_like(z)
        curved = ops.where(power == 0, power, power * (c * z).log1p())
        return -self.scale.log() - ops.where(zero, z, curved)

    def log_survival_function(self, value):
        """log P(X > value)."""
        if self._validate_args:
            self._validate_sample(value)
        z, (zero, c) = self._z(value), self._by_concentration()
        return ops.where(zero, -z, -(c * z).log1p() / c)

    def log_cdf(self, value):
        """log P(X <= value)."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value):
        return self.log_cdf(value).exp()

    def icdf(self, value):
        zero, c = self._by_concentration()
        log_survival = (-value).log1p()
        curved = self.loc + self.scale / c * (-c * log_survival).expm1()
        return ops.where(zero, self.loc - self.scale * log_survival, curved)

    @property
    def mean(self):
        finite = self.concentration < 1
        c = ops.where(finite, self.concentration, 0.5)
        return ops.where(finite, self.loc + self.scale / (1 - c), nan)

    @property
    def variance(self):
        finite = self.concentration < 0.5
        c = ops.where(finite, self.concentration, 0.25)
        return ops.where(finite, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), nan)

    @property
    def mode(self):
        return self.loc

    def entropy(self):
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)
