"""The negative binomial distribution."""

from __future__ import annotations

from rushlight import ops
from rushlight.core.dispatch.mode import no_grad

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import SCALAR, Odds, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Odds, Distribution):
    """The number of successes of probability `probs` (or of log odds `logits`) before `total_count` failures.

    It is a Poisson distribution whose rate is a gamma number, by which samples are drawn.

    Shape: total_count (*), probs or logits (*) -> batch (*), broadcast, events ()
    Raises:
        ValueError: both or none of `probs` and `logits` are given, as in `NegativeBinomial(tensor([3.0]))`.

    >>> NegativeBinomial(tensor([3.0]), tensor([0.5])).mean
    tensor([3.])
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _batched = ("total_count", "probs", "logits", "_param")

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        self._set_counted_odds(total_count, probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.total_count * self.logits.exp()

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self):
        return Gamma(concentration=self.total_count, rate=(-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape=SCALAR):
        with no_grad():
            return ops.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        unnormalized = n * ops.logsigmoid(-logits) + value * ops.logsigmoid(logits)
        normalization = -(n + value).lgamma() + (1.0 + value).lgamma() + n.lgamma()
        return unnormalized - normalization.masked_fill(n + value == 0.0, 0.0)
