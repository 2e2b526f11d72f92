"""Student's t distribution."""

from __future__ import annotations

import math

from rushlight import ops

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import SCALAR, _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """loc + scale x / sqrt(z / df) of a normal number x and a chi-squared number z with `df` degrees of freedom.

    Shape: df (*), loc (*), scale (*) -> batch (*), broadcast, events ()
    Raises:
        ValueError: `df` or `scale` is not positive, as in `StudentT(tensor([-1.0]))`.

    >>> StudentT(tensor([3.0])).mean
    tensor([0.])
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = ("df", "loc", "scale", "_chi2")

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        finite = self.df > 2
        df = ops.where(finite, self.df, 3.0)
        infinite = ops.full_like(self.df, math.inf).masked_fill(self.df <= 1, math.nan)
        return ops.where(finite, self.scale.pow(2) * df / (df - 2), infinite)

    def rsample(self, sample_shape=SCALAR):
        normal = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * (squares / self.df).rsqrt())

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y, half = (value - self.loc) / self.scale, 0.5 * (self.df + 1.0)
        log_scale = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
        return -half * (y**2.0 / self.df).log1p() - (log_scale + (0.5 * self.df).lgamma() - half.lgamma())

    def entropy(self):
        a, b = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = a.lgamma() + math.lgamma(0.5) - b.lgamma()
        return self.scale.log() + b * (b.digamma() - a.digamma()) + 0.5 * self.df.log() + log_beta
