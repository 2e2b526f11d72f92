"""The binomial distribution."""

from __future__ import annotations

from rushlight import ops
from rushlight.core.dispatch.mode import no_grad

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, Odds, along_batch

__all__ = ["Binomial"]


class Binomial(Odds, Distribution):
    """The number of successes in `total_count` trials of probability `probs` (or of log odds `logits`).

    Shape: total_count (*), probs or logits (*) -> batch (*), broadcast, events ()
    Raises:
        ValueError: both or none of `probs` and `logits` are given, as in `Binomial(3)`.

    >>> Binomial(10, tensor([0.5])).mean
    tensor([5.])
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _batched = ("total_count", "probs", "logits", "_param")

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self._set_counted_odds(total_count, probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=SCALAR):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return ops.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        """log (n over k) + k logits - n log(1 + exp(logits)), the last in a form that does not overflow."""
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        log_n, log_k, log_rest = ((v + 1).lgamma() for v in (n, value, n - value))
        normalizer = n * _positive_part(logits) + n * (-logits.abs()).exp().log1p() - log_n
        return value * logits - log_k - log_rest - normalizer

    def entropy(self):
        """The sum over all values. NotImplementedError where `total_count` differs within the batch."""
        log_prob = self.log_prob(self._values("entropy", expand=False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        """0 ... n. NotImplementedError where `total_count` differs within the batch."""
        return self._values("enumerate_support", expand)

    def _values(self, caller, expand):
        total_count = int(self.total_count.max())
        if self.total_count.min() != total_count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{caller}`.")
        values = ops.arange(1 + total_count, dtype=self._param.dtype, device=self._param.device)
        return along_batch(values, self._batch_shape, expand)


def _positive_part(x):
    """max(x, 0), whose gradient at 0 is 1/2."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2
