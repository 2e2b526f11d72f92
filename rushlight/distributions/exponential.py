"""The exponential distribution."""

from __future__ import annotations

from rushlight import ops

from . import constraints
from .exp_family import ExponentialFamily
from .utils import SCALAR, broadcast_all

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """p(x) = rate exp(-rate x) for x >= 0.

    Shape: rate (*) -> batch (*), events ()
    Raises:
        ValueError: `rate` is not positive, as in `Exponential(tensor([-1.0]))`.

    >>> Exponential(tensor([2.0])).mean
    tensor([0.5000])
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = ("rate",)

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.rate.reciprocal()

    @property
    def mode(self):
        return ops.zeros_like(self.rate)

    @property
    def stddev(self):
        return self.rate.reciprocal()

    @property
    def variance(self):
        return self.rate.pow(-2)

    def rsample(self, sample_shape=SCALAR):
        shape = self._extended_shape(sample_shape)
        return ops.empty(shape, dtype=self.rate.dtype, device=self.rate.device).exponential_() / self.rate

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 1 - (-self.rate * value).exp()

    def icdf(self, value):
        return -(-value).log1p() / self.rate

    def entropy(self):
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -(-x).log()
