"""Mixtures of distributions of one kind."""

from __future__ import annotations

from rushlight.core.dispatch.mode import no_grad

from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution
from .utils import SCALAR

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of K components, drawn by a `Categorical`. The components are the last batch axis of one distribution.

    Shape: mixture: batch (*) of K; components: batch (*, K), events (+) -> batch (*), events (+)
    Raises:
        ValueError: the mixture is not a Categorical, as in
            `MixtureSameFamily(distributions.Normal(0.0, 1.0), distributions.Normal(zeros(2), 1.0))`.

    >>> from rushlight.distributions import Normal
    >>> MixtureSameFamily(Categorical(ones(2)), Normal(tensor([-1.0, 3.0]), 1.0)).mean
    tensor(1.)
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    has_rsample = False
    _batched = ("_mixture_distribution", "_component_distribution")
    _kept = ("_num_component", "_event_ndims")

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        _check_parts(mixture_distribution, component_distribution)
        self._num_component = mixture_distribution.logits.shape[-1]
        self._event_ndims = len(component_distribution.event_shape)
        batch_shape = component_distribution.batch_shape[:-1]
        super().__init__(batch_shape, component_distribution.event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self):
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        return self._mixture_distribution

    @property
    def component_distribution(self):
        return self._component_distribution

    @property
    def mean(self):
        return (self._weights() * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self):
        """The mean of the variances and the variance of the means."""
        weights, component, axis = self._weights(), self.component_distribution, -1 - self._event_ndims
        within = (weights * component.variance).sum(axis)
        return within + (weights * (component.mean - self._pad(self.mean)).pow(2.0)).sum(axis)

    def cdf(self, x):
        return (self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x):
        if self._validate_args:
            self._validate_sample(x)
        log_components = self.component_distribution.log_prob(self._pad(x))
        return (log_components + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape=SCALAR):
        """A component's index, then draws of all components, of which that one is taken."""
        axis = len(sample_shape) + len(self.batch_shape)
        with no_grad():
            index = self.mixture_distribution.sample(sample_shape)
            draws = self.component_distribution.sample(sample_shape)
            index = index.reshape(index.shape + (1,) * (1 + self._event_ndims))
            index = index.repeat((1,) * (index.dim() - self._event_ndims) + tuple(self.event_shape))
            return draws.gather(axis, index).squeeze(axis)

    def _pad(self, x):
        """A value with an axis for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _weights(self):
        """The components' probabilities next to the components' values."""
        return self._pad_mixture_dimensions(self.mixture_distribution.probs)

    def _pad_mixture_dimensions(self, x):
        mixture_dims = len(self.mixture_distribution.batch_shape)
        extra = 0 if mixture_dims == 1 else len(self.batch_shape) - mixture_dims
        return x.reshape(x.shape[:-1] + (1,) * extra + x.shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"


def _check_parts(mixture, component):
    if not isinstance(mixture, Categorical):
        raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
    if not isinstance(component, Distribution):
        raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
    outer, inner = mixture.batch_shape, component.batch_shape[:-1]
    if any(i != j and i != 1 and j != 1 for i, j in zip(reversed(outer), reversed(inner))):
        raise ValueError(
            f"`mixture_distribution.batch_shape` ({outer}) is not compatible with "
            f"`component_distribution.batch_shape`({inner})"
        )
    weights, components = mixture.logits.shape[-1], component.batch_shape[-1]
    if weights != components:
        raise ValueError(
            f"`mixture_distribution component` ({weights}) does not equal `component_distribution.batch_shape[-1]` "
            f"({components})"
        )
