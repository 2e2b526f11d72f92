"""What every distribution is: shapes, checks of parameters and values, copies with larger batches."""

from __future__ import annotations

import warnings
from typing import Any

from rushlight.core.dispatch.mode import no_grad
from rushlight.core.tensor.size import Size
from rushlight.core.tensor.tensor import Tensor

from . import constraints
from .utils import SCALAR, lazy_property, undefined

__all__ = ["Distribution"]


class Distribution:
    """A batch of independent probability distributions of events.

    A sample's shape is sample_shape + batch_shape + event_shape: numbers that the caller asks for, distributions with
    parameters of their own, and the axes of one draw.

    A subclass names its parameters and their regions in `arg_constraints` and the region of its samples in `support`;
    unless `validate_args` is False (or Python runs with -O), parameters and the values passed to `log_prob` are checked
    against them, except within a function that is being compiled. A subclass that lists in `_batched` its attributes
    that begin with the batch's axes, and in `_kept` those that do not, can be expanded.

    Shape: parameters (*) -> batch (*), events (+); samples (sample_shape, *, +)
    Raises:
        ValueError: a parameter is outside its region, as in `distributions.Normal(0.0, -1.0)`.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: Any = __debug__
    _batched: tuple[str, ...]
    _kept: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions made from now on check their arguments unless told otherwise."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = SCALAR, event_shape: Any = SCALAR, validate_args: bool | None = None):
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    # ------------------------------------------------------------------------------------------ shapes and regions

    arg_constraints: Any = undefined("The parameters' names, and the region of allowed values of each.")
    support: Any = undefined("The region that contains all samples.")

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with its parameters expanded to `batch_shape`.

        A subclass that has its own `expand` passes the copy that it makes on as `_instance`.
        """
        owner = next((c for c in type(self).__mro__ if "_batched" in vars(c)), None)
        if owner is None:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        batch_shape = Size(batch_shape)
        for name in owner._batched:
            if name in vars(self):
                setattr(new, name, _expanded(vars(self)[name], len(self._batch_shape), batch_shape))
        for name in owner._kept:
            setattr(new, name, vars(self)[name])
        self._expand_rest(new, batch_shape)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expand_rest(self, new: Any, batch_shape: Size) -> None:
        """What a kind of distribution adds to its expanded copy."""

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """The copy to fill in. NotImplementedError for a subclass with an `__init__` of its own but no `expand`."""
        if _instance is not None:
            return _instance
        if type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self))

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        """The shape of `sample(sample_shape)`."""
        if not isinstance(sample_shape, Size):
            sample_shape = Size(sample_shape)
        return Size(sample_shape + self._batch_shape + self._event_shape)

    # ------------------------------------------------------------------------------------------ draws and densities

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        """Draws without a gradient. Shape: sample_shape + batch_shape + event_shape"""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        """Draws that are functions of the parameters, so that gradients reach them (where `has_rsample`)."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """The older name of `sample((n,))`."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning, stacklevel=2
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at `value`. ValueError for values off the support."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of draws up to `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a new first axis; with expand=False without the batch's size."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """-E[log p(x)], in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return self.entropy().exp()

    # ------------------------------------------------------------------------------------------ moments

    mean: Any = undefined("The mean.")
    variance: Any = undefined("The variance.")

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    # ------------------------------------------------------------------------------------------ checks

    def _validate_parameters(self) -> None:
        for name, constraint in self._declared_constraints().items():
            if constraints.is_dependent(constraint):
                continue
            if name not in vars(self) and isinstance(getattr(type(self), name), lazy_property):
                continue  # follows from the one that was given
            value = getattr(self, name)
            if not constraints.holds(constraint, value):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def _declared_constraints(self) -> dict[str, constraints.Constraint]:
        try:
            return self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return {}

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError unless `value` can be a draw: its type, its shape, and its region."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        self._validate_sample_shape(value.size())
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not constraints.holds(support, value):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _validate_sample_shape(self, shape: Size) -> None:
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        if any(i != j and i != 1 and j != 1 for i, j in zip(reversed(shape), reversed(expected))):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")

    def __repr__(self) -> str:
        given = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        parts = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given.items()]
        return f"{self.__class__.__name__}({', '.join(parts)})"


def _expanded(part: Any, batch_dims: int, batch_shape: Size) -> Any:
    """A tensor, or a distribution, whose first axes are the batch's: with a larger batch."""
    shape = part.batch_shape if isinstance(part, Distribution) else part.shape
    return part.expand(batch_shape + shape[batch_dims:])
