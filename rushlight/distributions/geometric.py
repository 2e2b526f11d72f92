"""The geometric distribution."""

from __future__ import annotations

from rushlight import ops
from rushlight.core.dispatch.mode import no_grad
from rushlight.core.tensor.layout import finfo
from rushlight.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, Odds, broadcast_all

__all__ = ["Geometric"]


class Geometric(Odds, Distribution):
    """The number of failures before the first success of probability `probs` (or of log odds `logits`): 0, 1, 2, ...

    (`Tensor.geometric_` counts the success as well.)

    Shape: probs or logits (*) -> batch (*), events ()
    Raises:
        ValueError: both or none of them are given, as in `Geometric()`.

    >>> Geometric(tensor([0.25])).mean
    tensor([3.])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _batched = ("probs", "logits", "_param")

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._set_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._require_positive(self.probs)

    def _require_positive(self, probs):
        valid = probs > 0
        if not valid.all():
            raise ValueError(
                f"Expected parameter probs ({type(probs).__name__} of shape {tuple(probs.shape)}) of distribution "
                f"{self!r} to be positive but found invalid values:\n{probs.data[~valid]}"
            )

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return ops.zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=SCALAR):
        shape, probs = self._extended_shape(sample_shape), self.probs
        with no_grad():
            uniform = ops.empty(shape, dtype=probs.dtype, device=probs.device).uniform_(finfo(probs.dtype).tiny, 1)
            return (uniform.log() / (-probs).log1p()).floor()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        failing = probs.masked_fill((probs == 1) & (value == 0), 0)  # 0 log 0 = 0
        return value * (-failing).log1p() + self.probs.log()

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
