"""The Poisson distribution."""

from __future__ import annotations

from rushlight import ops
from rushlight.core.dispatch.mode import no_grad

from . import constraints
from .exp_family import ExponentialFamily
from .utils import SCALAR, broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """p(k) = rate**k exp(-rate) / k!

    Shape: rate (*) -> batch (*), events ()
    Raises:
        ValueError: `rate` is negative, as in `Poisson(tensor([-1.0]))`.

    >>> Poisson(tensor([2.0])).log_prob(tensor([0.0]))
    tensor([-2.])
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _batched = ("rate",)

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.rate

    @property
    def mode(self):
        return self.rate.floor()

    @property
    def variance(self):
        return self.rate

    def sample(self, sample_shape=SCALAR):
        with no_grad():
            return ops.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (self.rate.log(),)

    def _log_normalizer(self, x):
        return x.exp()
