"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings

from rushlight import ops
from rushlight.core.tensor.layout import finfo
from rushlight.core.tensor.size import Size
from rushlight.ops.linalg.linalg import slogdet

from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import scale_tril_of
from .utils import NUMBER, SCALAR, lazy_property

__all__ = ["Wishart"]

_LOG_2 = math.log(2)


class Wishart(ExponentialFamily):
    """The sum of x x^T of `df` normal vectors x of mean 0 and the given covariance (*, N, N); df > N - 1 is any number.

    The covariance is given in one of three forms, as for `MultivariateNormal`; `df` may be a tensor of the batch.
    ValueError for df <= N - 1. A UserWarning tells that df < N, where samples are nearly singular. Samples come by
    Bartlett's decomposition.

    Shape: df (*), matrix (*, N, N) -> batch (*), events (N, N)
    Raises:
        ValueError: df <= N - 1, as in `Wishart(tensor([1.0]), eye(2))`.
        AssertionError: not exactly one matrix is given, as in `Wishart(tensor([3.0]))`.

    >>> Wishart(tensor(3.0), eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = ("covariance_matrix", "precision_matrix", "scale_tril", "df", "_dist_chi2")

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        forms = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = [(name, matrix) for name, matrix in forms.items() if matrix is not None]
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = self._set_df(df, matrix)
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)
        steps = ops.arange(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - steps.expand(batch_shape + (-1,)))

    def _set_df(self, df, matrix):
        """Store `df` and return the batch's shape."""
        batch_shape, n = matrix.shape[:-2], matrix.shape[-1]
        if isinstance(df, NUMBER):
            self.df = ops.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = ops.broadcast_shapes(batch_shape, df.shape)
            self.df = df.expand(batch_shape)
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=3,
            )
        return batch_shape

    def _expand_rest(self, new, batch_shape):
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(batch_shape + self._event_shape)

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    @lazy_property
    def scale_tril(self):
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self):
        lower = self._unbroadcasted_scale_tril
        return (lower @ lower.transpose(-2, -1)).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self):
        lower = self._unbroadcasted_scale_tril
        identity = ops.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device)
        return ops.cholesky_solve(identity, lower).expand(self._batch_shape + self._event_shape)

    def _df_of_matrices(self):
        return self.df.view(self._batch_shape + (1, 1)) if self._batch_shape else self.df

    @property
    def mean(self):
        return self._df_of_matrices() * self.covariance_matrix

    @property
    def mode(self):
        factor = self._df_of_matrices() - self._event_shape[-1] - 1
        return factor.masked_fill(factor <= 0, math.nan) * self.covariance_matrix

    @property
    def variance(self):
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self._df_of_matrices() * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    # ------------------------------------------------------------------------------------------ draws

    def _bartlett_sampling(self, sample_shape=SCALAR):
        """(L A) (L A)^T, with roots of chi-squared numbers on A's diagonal and normal numbers below."""
        p = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt()
        a = diagonal.clamp(min=finfo(diagonal.dtype).eps).diag_embed()
        row, column = ops.tril_indices(p, p, offset=-1)
        below = Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,)
        a[..., row, column] = ops.randn(below, dtype=a.dtype, device=a.device)
        factor = self._unbroadcasted_scale_tril @ a
        return factor @ factor.transpose(-2, -1)

    def _any_of_batch(self, mask):
        batch = len(self._batch_shape)
        return mask.reshape(mask.shape[: mask.dim() - batch] + (-1,)).any(-1) if batch else mask

    def rsample(self, sample_shape=SCALAR, max_try_correction=None):
        """Draws. torch draws once more those that are positive definite and says that they are singular; the numbers of
        a seed are the same here only if this does, too. `max_try_correction` (10) limits the repetitions.
        """
        tries = 10 if max_try_correction is None else max_try_correction
        sample = self._bartlett_sampling(Size(sample_shape))
        again = self._any_of_batch(self.support.check(sample))
        if not again.any():
            return sample
        warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(tries):
            new = self._bartlett_sampling(again[again].shape)
            chosen = again.clone()  # which backward keeps
            sample[chosen] = new
            again[chosen] = self._any_of_batch(~self.support.check(new))
            if not again.any():
                break
        return sample

    # ------------------------------------------------------------------------------------------ densities

    def _half_log_det(self):
        """log det(2 V) / 2"""
        log_diagonal = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return self._event_shape[-1] * _LOG_2 / 2 + log_diagonal

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        trace = ops.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        normalizer = -nu * self._half_log_det() - (nu / 2).mvlgamma(p)
        return normalizer + (nu - p - 1) / 2 * slogdet(value).logabsdet - trace / 2

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        log_gamma, digamma = (nu / 2).mvlgamma(p), _mvdigamma(nu / 2, p)
        return (p + 1) * self._half_log_det() + log_gamma - (nu - p - 1) / 2 * digamma + nu * p / 2

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-slogdet(-2 * x).logabsdet + _LOG_2 * p) + half.mvlgamma(p)


def _mvdigamma(x, p):
    """The derivative of log of the multivariate gamma function of dimension p."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    return (x.unsqueeze(-1) - ops.arange(p, dtype=x.dtype, device=x.device) / 2).digamma().sum(-1)
