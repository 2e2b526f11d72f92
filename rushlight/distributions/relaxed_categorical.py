"""The relaxed one-hot categorical distribution."""

from __future__ import annotations

from rushlight import ops

from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import SCALAR, broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a `RelaxedOneHotCategorical`: Gumbel noise on the logits, divided by `temperature`.

    Source: E. Jang, S. Gu and B. Poole, "Categorical reparameterization with Gumbel-softmax" (2017).
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _batched = ("_categorical",)
    _kept = ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    @property
    def param_shape(self):
        return self._categorical.param_shape

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def probs(self):
        return self._categorical.probs

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    def rsample(self, sample_shape=SCALAR):
        shape = self._extended_shape(sample_shape)
        uniform = clamp_probs(ops.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-uniform.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        k = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        score = logits - value * self.temperature
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + (ops.full_like(self.temperature, float(k)).lgamma() + self.temperature.log() * (k - 1))


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex near its corners, nearer for a low `temperature` (a tensor); gradients reach the weights.

    Shape: temperature (), probs or logits (*, K) -> batch (*), events (K)
    Raises:
        ValueError: both or none of `probs` and `logits` are given, as in `RelaxedOneHotCategorical(tensor(1.0))`.

    >>> RelaxedOneHotCategorical(tensor(1.0), ones(3)).sample().shape
    torch.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _batched = ()
    base_dist: ExpRelaxedCategorical

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self):
        return self.base_dist.temperature

    @property
    def logits(self):
        return self.base_dist.logits

    @property
    def probs(self):
        return self.base_dist.probs
