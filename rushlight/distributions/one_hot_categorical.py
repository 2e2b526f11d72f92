"""The categorical distribution of one-hot vectors."""

from __future__ import annotations

from rushlight import ops
from rushlight.core.tensor.size import Size

from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .utils import SCALAR

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """`Categorical` whose draws are one-hot vectors. Shape: weights (*, K) -> draws (*, K)

    Shape: probs or logits (*, K) -> batch (*), events (K)
    Raises:
        ValueError: both or none of them are given, as in `OneHotCategorical()`.

    >>> OneHotCategorical(tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _batched = ("_categorical",)

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    @property
    def _param(self):
        return self._categorical._param

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def param_shape(self):
        return self._categorical.param_shape

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return ops.one_hot(self.probs.argmax(dim=-1), self.probs.shape[-1]).to(self.probs)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=SCALAR):
        index = self._categorical.sample(Size(sample_shape))
        return ops.one_hot(index, self._categorical._num_events).to(self.probs)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self.event_shape[0]
        values = ops.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n,) + tuple(self.batch_shape) + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples pass gradients on to the probabilities as if they were them.

    Source: Y. Bengio, N. Léonard and A. Courville, "Estimating or propagating gradients through stochastic neurons for
    conditional computation" (2013).

    Shape: probs or logits (*, K) -> batch (*), events (K)
    Raises:
        ValueError: both or none of them are given, as in `OneHotCategoricalStraightThrough()`.

    >>> OneHotCategoricalStraightThrough(tensor([0.0, 1.0])).rsample()
    tensor([0., 1.])
    """

    has_rsample = True

    def rsample(self, sample_shape=SCALAR):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
