"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math

from rushlight import ops
from rushlight.core.dispatch.mode import no_grad
from rushlight.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from .exp_family import ExponentialFamily
from .utils import SCALAR, Odds, broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Odds, ExponentialFamily):
    """p(x) proportional to probs**x (1 - probs)**(1 - x) on [0, 1]: a density for intensities of pixels.

    Where `probs` is within `lims`, around 1/2 where the normalizer is 0 / 0, Taylor series take over. Source:
    G. Loaiza-Ganem and J. P. Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational
    autoencoders" (2019).

    Shape: probs or logits (*) -> batch (*), events ()
    Raises:
        ValueError: both or none of them are given, as in `ContinuousBernoulli()`.

    >>> ContinuousBernoulli(tensor([0.5])).mean
    tensor([0.5000])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = ("probs", "logits", "_param")
    _kept = ("_lims",)

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._set_odds(probs, logits)
        if logits is None:
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self._param = self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    @lazy_property
    def probs(self):
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    # ------------------------------------------------------------------------------------------ around one half

    def _stable(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _away_from_half(self):
        """The probabilities where the formulas hold, and a harmless one elsewhere."""
        return ops.where(self._stable(), self.probs, self._lims[0] * ops.ones_like(self.probs))

    def _cont_bern_log_norm(self):
        """log C, the logarithm of the density's factor 2 atanh(1 - 2 probs) / (1 - 2 probs)."""
        probs = self._away_from_half()
        below = ops.where(probs <= 0.5, probs, ops.zeros_like(probs))
        above = ops.where(probs >= 0.5, probs, ops.ones_like(probs))
        log_numerator = ((-probs).log1p() - probs.log()).abs().log()
        formula = log_numerator - ops.where(probs <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        x = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return ops.where(self._stable(), formula, series)

    @property
    def mean(self):
        probs = self._away_from_half()
        formula = probs / (2.0 * probs - 1.0) + 1.0 / ((-probs).log1p() - probs.log())
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return ops.where(self._stable(), formula, series)

    @property
    def variance(self):
        probs = self._away_from_half()
        formula = probs * (probs - 1.0) / (1.0 - 2.0 * probs).pow(2) + 1.0 / ((-probs).log1p() - probs.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return ops.where(self._stable(), formula, series)

    # ------------------------------------------------------------------------------------------ draws and densities

    def sample(self, sample_shape=SCALAR):
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=SCALAR):
        shape = self._extended_shape(sample_shape)
        return self.icdf(ops.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        probs = self._away_from_half()
        formula = (probs.pow(value) * (1.0 - probs).pow(1.0 - value) + probs - 1.0) / (2.0 * probs - 1.0)
        inside = ops.where(self._stable(), formula, value)
        return ops.where(value <= 0.0, ops.zeros_like(value), ops.where(value >= 1.0, ops.ones_like(value), inside))

    def icdf(self, value):
        probs = self._away_from_half()
        log_rest = (-probs).log1p()
        formula = ((-probs + value * (2.0 * probs - 1.0)).log1p() - log_rest) / (probs.log() - log_rest)
        return ops.where(self._stable(), formula, value)

    def entropy(self):
        log_rest = (-self.probs).log1p()
        return self.mean * (log_rest - self.probs.log()) - self._cont_bern_log_norm() - log_rest

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        """log((exp(x) - 1) / x)"""
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        stable = (x <= low) | (x > high)
        away = ops.where(stable, x, low * ops.ones_like(x))
        formula = away.expm1().abs().log() - away.abs().log()
        series = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return ops.where(stable, formula, series)
