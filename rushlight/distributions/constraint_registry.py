"""From constraints to transforms of unconstrained space into them.

`biject_to(constraint)` is a bijection with a Jacobian, for densities; `transform_to(constraint)` may be many-to-one and
is simpler, for optimizing parameters:

>>> from rushlight.distributions import Normal
>>> unconstrained = zeros(3)
>>> transform_to(Normal.arg_constraints["scale"])(unconstrained)
tensor([1., 1., 1.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .utils import NUMBER

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A function from constraints to transforms, chosen by the constraint's type."""

    def __init__(self):
        self._registry: dict[type, Callable[[Any], transforms.Transform]] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Callable | None = None) -> Any:
        """Let `factory(constraint)` make the transforms for a constraint's type; without a factory, a decorator.

        Raises TypeError for anything but a constraint or a class of constraints.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {kind}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        """The transform onto the region. NotImplementedError for a type that has none registered."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*regions: Any) -> Callable:
    def register(factory: Callable) -> Callable:
        for region in regions:
            biject_to.register(region, factory)
            transform_to.register(region, factory)
        return factory

    return register


_both(constraints.real)(lambda constraint: transforms.identity_transform)
_both(constraints.positive, constraints.nonnegative)(lambda constraint: transforms.ExpTransform())
_both(constraints.corr_cholesky)(lambda constraint: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
for _region in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_region, lambda constraint: transforms.PositiveDefiniteTransform())


@_both(constraints.greater_than, constraints.greater_than_eq)
def _onto_greater(constraint):
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@_both(constraints.less_than)
def _onto_less(constraint):
    flip = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), flip])


@_both(constraints.interval, constraints.half_open_interval)
def _onto_interval(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, NUMBER) and isinstance(high, NUMBER) and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _register_parts(registry: ConstraintRegistry) -> None:
    """Regions made of others, whose parts the same registry transforms."""
    registry.register(
        constraints.independent,
        lambda c: transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims),
    )
    registry.register(
        constraints.cat, lambda c: transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths)
    )
    registry.register(
        constraints.stack, lambda c: transforms.StackTransform([registry(part) for part in c.cseq], c.dim)
    )


_register_parts(biject_to)
_register_parts(transform_to)
