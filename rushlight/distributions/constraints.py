"""Regions of space: where parameters may be, and where samples are.

A constraint's `check(value)` says for each element (or event: `event_dim` axes on the right) whether it is inside.
`is_discrete` says that the region consists of separate points. A region that depends on other parameters is
`dependent`; as a property of a distribution it is a `dependent_property`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight import ops
from rushlight.core.dispatch.extension_points import profiled_block
from rushlight.core.dispatch.mode import assert_all, thread
from rushlight.core.dispatch.torch_function import modes as function_modes
from rushlight.core.tensor import dtype as dtypes
from rushlight.core.tensor.layout import finfo
from rushlight.core.tensor.tensor import Tensor
from rushlight.ops.linalg.linalg import cholesky_ex, eigvalsh, norm

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A region; `check` says which elements or events are inside."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Booleans, one for each event. Shape: (*batch, *event) -> (*batch)"""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__[1:] + "()"


def _require_constraint(base: Any) -> None:
    if not isinstance(base, Constraint):
        raise AssertionError(f"base_constraint must be a Constraint, got {type(base).__name__}")


# ---------------------------------------------------------------------------------------------- dependent regions


class _Dependent(Constraint):
    """A region that other variables determine. What of it is known beforehand can be said."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:
        return self._known("is_discrete")

    @property
    def event_dim(self) -> int:
        return self._known("event_dim")

    def _known(self, name: str) -> Any:
        value = getattr(self, "_" + name)
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """Decorator: a property that gives a constraint; on the class itself it counts as a dependent constraint."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Any) -> _DependentProperty:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint is one that cannot be checked by itself."""
    return isinstance(constraint, _Dependent)


# ---------------------------------------------------------------------------------------------- numbers


class _Bounded(Constraint):
    """A region with parameters, which its printed form names."""

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}({', '.join(f'{k}={v}' for k, v in vars(self).items())})"


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Any:
        return (value == 0) | (value == 1)


class _IntegerInterval(_Bounded):
    """The integers from lower_bound to upper_bound, both included."""

    is_discrete = True

    def __init__(self, lower_bound: Any, upper_bound: Any):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Bounded):
    """The integers up to upper_bound."""

    is_discrete = True

    def __init__(self, upper_bound: Any):
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    """The integers from lower_bound on."""

    is_discrete = True

    def __init__(self, lower_bound: Any):
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """Every number, but not NaN."""

    def check(self, value: Tensor) -> Any:
        return value == value


class _GreaterThan(_Bounded):
    """lower_bound < x"""

    def __init__(self, lower_bound: Any):
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_Bounded):
    """lower_bound <= x"""

    def __init__(self, lower_bound: Any):
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Bounded):
    """x < upper_bound"""

    def __init__(self, upper_bound: Any):
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Bounded):
    """lower_bound <= x <= upper_bound"""

    def __init__(self, lower_bound: Any, upper_bound: Any):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    """lower_bound <= x < upper_bound"""

    def __init__(self, lower_bound: Any, upper_bound: Any):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


def holds(constraint: Any, value: Tensor) -> bool:
    """Whether all of `value` is inside.

    Where nothing listens, elements are compared with numbers as arrays, without operators' calls.
    """
    if isinstance(constraint, _IndependentConstraint) and value.dim() >= constraint.event_dim:
        constraint = constraint.base_constraint
    if (
        type(constraint) in _COMPARISONS
        and all(map(_is_number, vars(constraint).values()))
        and thread.state.level <= 1
        and type(value) is Tensor
        and type(value._array) is np.ndarray
        and value._array.dtype.kind != "c"
        and profiled_block.value is None
        and not function_modes()
    ):
        return bool(thread.state.run(constraint.check, value._array).all())
    return assert_all(constraint.check(value).all())


def _is_number(bound: Any) -> bool:
    return type(bound) in (int, float)


_COMPARISONS = {
    _Boolean, _IntegerInterval, _IntegerLessThan, _IntegerGreaterThan, _Real, _GreaterThan, _GreaterThanEq, _LessThan, _Interval,
    _HalfOpenInterval,
}  # fmt: skip


# ---------------------------------------------------------------------------------------------- vectors


class _OneHot(Constraint):
    """One 1 among zeros."""

    is_discrete, event_dim = True, 1

    def check(self, value: Tensor) -> Tensor:
        return boolean.check(value).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Nonnegative numbers whose sum is 1, within 1e-6."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Nonnegative counts whose sum is at most upper_bound."""

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any):
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# ---------------------------------------------------------------------------------------------- matrices


class _LowerTriangular(Constraint):
    """Square matrices that are zero above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).reshape(value.shape[:-2] + (-1,)).min(-1)[0]


class _LowerCholesky(Constraint):
    """Lower triangular with a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]


class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices: rows of length 1."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        unit = (norm(value.detach(), dim=-1) - 1).abs() <= tolerance
        return lower_cholesky.check(value) & unit.all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        rows, columns = value.shape[-2:]
        return ops.full(value.shape[:-2], rows == columns, dtype=dtypes.bool_, device=value.device)


class _Symmetric(_Square):
    """Square matrices equal to their transpose, within 1e-6."""

    def check(self, value: Tensor) -> Tensor:
        is_square = super().check(value)
        if not is_square.all():
            return is_square
        return ops.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric with no negative eigenvalue."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        return eigvalsh(value).ge(0).all(-1) if is_symmetric.all() else is_symmetric


class _PositiveDefinite(_Symmetric):
    """Symmetric with a Cholesky factor."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        return cholesky_ex(value).info.eq(0) if is_symmetric.all() else is_symmetric


# ---------------------------------------------------------------------------------------------- regions of regions


class _IndependentConstraint(Constraint):
    """A region for each of `reinterpreted_batch_ndims` more axes, which belong to the event then."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        _require_constraint(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            kind = type(reinterpreted_batch_ndims).__name__
            raise AssertionError(f"reinterpreted_batch_ndims must be an int, got {kind}")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        inside, extra = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if inside.dim() < extra:
            raise ValueError(f"Expected value.dim() >= {self.base_constraint.event_dim + extra} but got {value.dim()}")
        return inside.reshape(inside.shape[: inside.dim() - extra] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The region of a mixture's samples: those that all components allow. The components are an axis before events."""

    def __init__(self, base_constraint: Constraint):
        _require_constraint(base_constraint)
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        inside = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return inside.reshape(inside.shape[: value.dim() - self.event_dim] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_constraint!r})"


class _Sequence(Constraint):
    """Several regions along an axis."""

    cseq: list[Constraint]
    dim: int

    def _set(self, cseq: Any, dim: int) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)

    def _require_axis(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Sequence):
    """Pieces of the given lengths along an axis, each in its own region."""

    def __init__(self, cseq: Any, dim: int = 0, lengths: Any = None):
        self._set(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    @property
    def event_dim(self) -> int:
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        self._require_axis(value)
        pieces = value.split(self.lengths, self.dim)
        return ops.cat([c.check(v) for c, v in zip(self.cseq, pieces)], self.dim)


class _Stack(_Sequence):
    """Slices along an axis, each in its own region."""

    def __init__(self, cseq: Any, dim: int = 0):
        self._set(cseq, dim)

    @property
    def event_dim(self) -> int:
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        self._require_axis(value)
        return ops.stack([c.check(v) for c, v in zip(self.cseq, value.unbind(self.dim))], self.dim)


# ---------------------------------------------------------------------------------------------- public names

dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
