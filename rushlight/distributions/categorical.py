"""The categorical distribution."""

from __future__ import annotations

from math import nan
from typing import Any

from rushlight import ops
from rushlight.core.tensor import dtype as dtypes
from rushlight.core.tensor.layout import finfo
from rushlight.core.tensor.size import Size

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, along_batch, exactly_one, filled, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Categorical"]


class Categorical(Distribution):
    """An index 0 ... K - 1, drawn with the given weights.

    probs (*, K) are weights of any sum, which become probabilities; logits (*, K) are their logarithms.
    ValueError for both or neither, and for numbers.

    Shape: probs or logits (*, K) -> batch (*), events () int64
    Raises:
        ValueError: both or none of them are given, as in `Categorical()`.
        ValueError: a weight is negative, as in `Categorical(tensor([-1.0, 1.0]))`.

    >>> categorical = Categorical(tensor([1.0, 3.0]))
    >>> categorical.probs
    tensor([0.2500, 0.7500])
    >>> categorical.log_prob(tensor([0, 1]))
    tensor([-1.3863, -0.2877])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _batched = ("probs", "logits", "_param")
    _kept = ("_num_events",)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        exactly_one(probs, logits)
        name, weights = ("probs", probs) if logits is None else ("logits", logits)
        if weights.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if logits is None:
            self._param = self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self._param = self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.shape[-1]
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits)

    @property
    def param_shape(self):
        return self._param.size()

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @property
    def mean(self):
        return filled(self.probs, self._extended_shape(), nan)

    @property
    def mode(self):
        return self.probs.argmax(dim=-1)

    @property
    def variance(self):
        return filled(self.probs, self._extended_shape(), nan)

    def sample(self, sample_shape=SCALAR):
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        draws = ops.multinomial(rows, sample_shape.numel(), True).T
        return draws.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        index, log_probs = ops.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_probs.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)  # 0 log 0 = 0
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        values = ops.arange(self._num_events, dtype=dtypes.int64, device=self._param.device)
        return along_batch(values, self._batch_shape, expand)
