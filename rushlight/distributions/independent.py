"""Batch axes taken as axes of the event."""

from __future__ import annotations

from typing import Generic, TypeVar

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, _sum_rightmost

__all__ = ["Independent"]

D = TypeVar("D", bound=Distribution)


class Independent(Distribution, Generic[D]):
    """A distribution whose last `reinterpreted_batch_ndims` batch axes belong to the event: densities multiply.

    Shape: batch (*, R) -> batch (*), events (R, *)
    Raises:
        ValueError: there are not as many batch axes, as in `Independent(distributions.Normal(zeros(2), ones(2)), 2)`.

    >>> from rushlight.distributions import Normal
    >>> Independent(Normal(zeros(2, 3), ones(2, 3)), 1).log_prob(zeros(3))
    tensor([-2.7568, -2.7568])
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    _batched = ("base_dist",)
    _kept = ("reinterpreted_batch_ndims",)
    base_dist: D

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        cut = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self):
        return self.reinterpreted_batch_ndims <= 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        result, extra = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(result, extra) if extra else result

    @property
    def mean(self):
        return self.base_dist.mean

    @property
    def mode(self):
        return self.base_dist.mode

    @property
    def variance(self):
        return self.base_dist.variance

    def sample(self, sample_shape=SCALAR):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=SCALAR):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self):
        return f"{self.__class__.__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
