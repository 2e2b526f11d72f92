"""The Bernoulli distribution."""

from __future__ import annotations

from math import nan

from rushlight import ops
from rushlight.core.dispatch.mode import no_grad
from rushlight.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from .exp_family import ExponentialFamily
from .utils import SCALAR, Odds, along_batch, broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(Odds, ExponentialFamily):
    """1 with probability `probs`, else 0. Given by `probs` or by `logits`, the log odds; ValueError for both or none.

    Shape: probs or logits (*) -> batch (*), events ()
    Raises:
        ValueError: both or none of them are given, as in `Bernoulli()`.
        ValueError: a probability is outside [0, 1], as in `Bernoulli(tensor([2.0]))`.

    >>> Bernoulli(logits=tensor([0.0, 2.0])).probs
    tensor([0.5000, 0.8808])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _batched = ("probs", "logits", "_param")

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._set_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, nan)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=SCALAR):
        with no_grad():
            return ops.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return along_batch(ops.arange(2, dtype=self._param.dtype, device=self._param.device), self._batch_shape, expand)

    @property
    def _natural_params(self):
        return (self.probs.logit(),)

    def _log_normalizer(self, x):
        return x.exp().log1p()
