"""The normal distribution."""

from __future__ import annotations

import math

from rushlight import ops
from rushlight.core.dispatch.mode import no_grad

from . import constraints
from .exp_family import ExponentialFamily
from .utils import SCALAR, _standard_normal, broadcast_all

__all__ = ["Normal"]

_LOG_ROOT_TWO_PI = math.log(math.sqrt(2 * math.pi))


class Normal(ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    log p(x) = -((x - loc) / scale)**2 / 2 - log(scale) - log(2 pi) / 2

    Shape: loc (*), scale (*) -> batch (*), broadcast, events ()
    Raises:
        ValueError: `scale` is not positive, as in `Normal(tensor([0.0]), tensor([-1.0]))`.

    >>> normal = Normal(tensor([0.0, 1.0]), 2.0)
    >>> normal
    Normal(loc: torch.Size([2]), scale: torch.Size([2]))
    >>> normal.log_prob(tensor(1.0))
    tensor([-1.7371, -1.6121])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        return self.stddev.pow(2)

    def sample(self, sample_shape=SCALAR):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return ops.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=SCALAR):
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - _LOG_ROOT_TWO_PI

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value):
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self):
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x, y):
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()
