"""The F distribution of Fisher and Snedecor."""

from __future__ import annotations

from math import nan

from rushlight.core.tensor.layout import finfo

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import SCALAR, broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers with `df1` and `df2` degrees of freedom, each divided by them.

    Shape: df1 (*), df2 (*) -> batch (*), broadcast, events ()
    Raises:
        ValueError: a parameter is not positive, as in `FisherSnedecor(tensor([-1.0]), tensor([1.0]))`.

    >>> FisherSnedecor(tensor([2.0]), tensor([4.0])).mean
    tensor([2.])
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _batched = ("df1", "df2", "_gamma1", "_gamma2")

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self):
        df2 = self.df2.masked_fill(self.df2 <= 2, nan)
        return df2 / (df2 - 2)

    @property
    def mode(self):
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, nan)

    @property
    def variance(self):
        df2 = self.df2.masked_fill(self.df2 <= 4, nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape=SCALAR):
        above, below = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        tiny = finfo(below.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        factor = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return factor + (a * ratio.log() + (a - 1) * value.log()) - (a + b) * (ratio * value).log1p()
