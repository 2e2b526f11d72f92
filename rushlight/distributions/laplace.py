"""The Laplace distribution."""

from __future__ import annotations

from rushlight import ops
from rushlight.core.tensor.layout import finfo

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """p(x) = exp(-|x - loc| / scale) / (2 scale)

    Shape: loc (*), scale (*) -> batch (*), broadcast, events ()
    Raises:
        ValueError: `scale` is not positive, as in `Laplace(tensor([0.0]), tensor([-1.0]))`.

    >>> Laplace(tensor([0.0]), tensor([1.0])).log_prob(tensor([0.0]))
    tensor([-0.6931])
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
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        return 2**0.5 * self.scale

    def rsample(self, sample_shape=SCALAR):
        noise = ops.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        noise.uniform_(finfo(self.loc.dtype).eps - 1, 1)  # without -1, whose logarithm below is infinite
        return self.loc - self.scale * noise.sign() * (-noise.abs()).log1p()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value):
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self):
        return 1 + (2 * self.scale).log()
