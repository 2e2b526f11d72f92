"""Exponential families: densities exp(<t(x), theta> - F(theta) + k(x)) with natural parameters theta."""

from __future__ import annotations

from typing import Any

from rushlight import autograd
from rushlight.core.tensor.tensor import Tensor

from .distribution import Distribution
from .utils import undefined

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution whose entropy and divergences follow from its log normalizer F.

    A subclass gives the natural parameters theta (`_natural_params`), F (`_log_normalizer`) and the mean of the carrier
    measure, E[k(x)] (`_mean_carrier_measure`). The gradient of F is E[t(x)], and autograd takes it. Source: F. Nielsen
    and R. Nock, "Entropies and cross-entropies of exponential families" (2010).

    Shape: parameters (*) -> batch (*), events (+)
    """

    _natural_params: Any = undefined("theta, a tuple of tensors.")
    _mean_carrier_measure: Any = undefined("E[k(x)].")

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """F(theta) - <theta, grad F(theta)> - E[k(x)], cut off from the parameters' own history."""
        carrier = self._mean_carrier_measure
        thetas, normalizer, means = self._mean_parameters()
        result = normalizer - carrier
        for theta, mean in zip(thetas, means):
            result = result - (theta * mean).reshape(self._batch_shape + (-1,)).sum(-1)
        return result

    def _mean_parameters(self) -> tuple[list[Tensor], Tensor, tuple[Tensor, ...]]:
        """Detached natural parameters, F of them, and F's gradient."""
        thetas = [theta.detach().requires_grad_() for theta in self._natural_params]
        normalizer = self._log_normalizer(*thetas)
        return thetas, normalizer, autograd.grad(normalizer.sum(), thetas, create_graph=True)
