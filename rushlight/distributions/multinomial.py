"""The multinomial distribution."""

from __future__ import annotations

import math

from rushlight import ops
from rushlight.core.tensor.size import Size

from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import SCALAR, broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each of K categories comes up in `total_count` draws. Weights are given as for `Categorical`.

    `total_count` is one int for the batch; NotImplementedError for anything else. `log_prob` does not ask that the
    counts of a value sum to it.

    Shape: probs or logits (*, K) -> batch (*), events (K)
    Raises:
        NotImplementedError: `total_count` is no int, as in `Multinomial(tensor([1, 2]), ones(2, 3))`.

    >>> Multinomial(4, tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _batched = ("_categorical", "_binomial")
    _kept = ("total_count",)
    total_count: int

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def param_shape(self):
        return self._categorical.param_shape

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=SCALAR):
        sample_shape = Size(sample_shape)
        draws = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = ops.zeros(self._extended_shape(sample_shape), dtype=draws.dtype, device=draws.device)
        return counts.scatter_add_(-1, draws, ops.ones_like(draws)).type_as(self.probs)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)  # 0 log 0 = 0
        log_orders = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return log_orders + (logits * value).sum(-1)

    def entropy(self):
        n = ops.tensor(self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        weights = self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()
        return n * self._categorical.entropy() - (n + 1).lgamma() + weights.sum([0, -1])
