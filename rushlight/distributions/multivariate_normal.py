"""The multivariate normal distribution."""

from __future__ import annotations

import math

from rushlight import ops
from rushlight.ops.linalg.linalg import cholesky, solve_triangular

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


class MultivariateNormal(Distribution):
    """Normal vectors of mean `loc` (*, N) with one of `covariance_matrix`, its inverse `precision_matrix`, or the lower
    triangular `scale_tril` L with L L^T = covariance. Shape: (*, N, N)

    log p(x) = -(|L^-1 (x - loc)|**2 + N log(2 pi)) / 2 - log det L

    `scale_tril` is what everything is computed by. ValueError unless exactly one is given, and for too few dimensions.

    Shape: loc (*, N), matrix (*, N, N) -> batch (*), broadcast, events (N)
    Raises:
        ValueError: not exactly one matrix is given, as in `MultivariateNormal(zeros(2))`.
        ValueError: the matrix is not positive-definite, as in `MultivariateNormal(zeros(2), -eye(2))`.

    >>> MultivariateNormal(zeros(2), eye(2)).log_prob(zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _batched = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
    _kept = ("_unbroadcasted_scale_tril",)

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        forms = {"scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix}
        given = [(name, matrix) for name, matrix in forms.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given
        if matrix.dim() < 2:
            subject = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{subject} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = ops.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)

    def _expand_matrix(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        return self._expand_matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        lower = self._unbroadcasted_scale_tril
        return self._expand_matrix(lower @ lower.mT)

    @lazy_property
    def precision_matrix(self):
        return self._expand_matrix(ops.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=SCALAR):
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self):
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape)

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def scale_tril_of(name, matrix):
    """The lower triangular factor of a covariance that is given by one of its three forms."""
    if name == "scale_tril":
        return matrix
    return cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)


def _precision_to_scale_tril(precision):
    """L with L L^T = precision^-1: the inverse of the upper factor, which a Cholesky of the flipped matrix gives."""
    flipped = cholesky(precision.flip(-2, -1))
    inverse = flipped.flip(-2, -1).transpose(-2, -1)
    identity = ops.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(inverse, identity, upper=False)


def _batch_mv(matrix, vector):
    """matrix @ vector. Shape: (*, N, M), (*, M) -> (*, N)"""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(lower, x):
    """|lower^-1 x|**2. Shape: (*batch, N, N), (*samples, *batch, N) -> (*samples, *batch)

    The samples become columns, so that each matrix of the batch is solved once.
    """
    batch = x.shape[x.dim() + 1 - lower.dim() : -1]
    lower = lower.expand(batch + lower.shape[-2:])
    columns = x.reshape((-1,) + batch + x.shape[-1:]).movedim(0, -1)
    squares = solve_triangular(lower, columns, upper=False).pow(2).sum(-2)
    return squares.movedim(-1, 0).reshape(x.shape[:-1])
