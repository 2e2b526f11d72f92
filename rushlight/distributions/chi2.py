"""The chi-squared distribution."""

from __future__ import annotations

from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of `df` squared standard normal numbers: Gamma(df / 2, 1 / 2).

    Shape: df (*) -> batch (*), events ()
    Raises:
        ValueError: `df` is not positive, as in `Chi2(tensor([-1.0]))`.

    >>> Chi2(tensor([3.0])).mean
    tensor([3.])
    """

    arg_constraints = {"df": constraints.positive}
    _batched = Gamma._batched

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self):
        return self.concentration * 2
