"""Kullback-Leibler divergences, KL(p || q) = E_p[log p(x) - log q(x)], one function for each pair of types.

`register_kl(P, Q)` adds one. Below are the closed forms: first a distribution and its own kind, then pairs of kinds
by the first's name, last the pairs where p has mass outside the support of q, so that the divergence is infinite.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from math import inf
from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor
from rushlight.ops.linalg.linalg import solve_triangular

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """Decorator: the function that computes KL(p || q) for p and q of these types, and of subclasses that have none.

    TypeError for anything but types.
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(function: Callable) -> Callable:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()  # a nearer match may be among them now
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q) for each distribution of the batch. NotImplementedError for a pair of types without a formula.

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 2.0))
    tensor(0.4431)
    """
    pair = (type(p), type(q))
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return function(p, q)


def _dispatch_kl(type_p: type, type_q: type) -> Callable | None:
    """The function of the nearest pair of base classes. A warning where nearest by p and nearest by q differ."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    order_p, order_q = type_p.__mro__.index, type_q.__mro__.index
    left = min(matches, key=lambda pair: (order_p(pair[0]), order_q(pair[1])))
    right = min(matches, key=lambda pair: (order_q(pair[1]), order_p(pair[0])))
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left]


def _x_log_x(x):
    return ops.xlogy(x, x)


def _squares(matrix: Tensor) -> Tensor:
    """trace(M M^T)"""
    return matrix.reshape(matrix.shape[:-2] + (-1,)).pow(2).sum(-1)


def _expect_same_events(p: Distribution, q: Distribution, kinds: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {kinds} with different event shapes cannot be computed")


# ---------------------------------------------------------------------------------------------- of one kind


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = p.probs * (ops.softplus(-q.logits) - ops.softplus(-p.logits))
    ones = ones.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0)
    zeros = (1 - p.probs) * (ops.softplus(q.logits) - ops.softplus(p.logits))
    return ones + zeros.masked_fill(q.probs == 1, inf).masked_fill(p.probs == 1, 0)


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta) -> Tensor:
    p1, p0, q1, q0 = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    total_p, total_q = p1 + p0, q1 + q0
    normalizers = (q1.lgamma() + q0.lgamma() + total_p.lgamma()) - (p1.lgamma() + p0.lgamma() + total_q.lgamma())
    moments = (p1 - q1) * p1.digamma(), (p0 - q0) * p0.digamma(), (total_q - total_p) * total_p.digamma()
    return normalizers + moments[0] + moments[1] + moments[2]


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * each).masked_fill(p.total_count > q.total_count, inf)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    return each.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    distance = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return distance.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    of_p = p._cont_bern_log_norm() + (-p.probs).log1p()
    of_q = -q._cont_bern_log_norm() - (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + of_p + of_q


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total_a, total_b = a.sum(-1), b.sum(-1)
    normalizers = total_a.lgamma() - total_b.lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return normalizers + ((a - b) * (a.digamma() - total_a.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """F(theta_q) - F(theta_p) - <theta_q - theta_p, grad F(theta_p)>, a Bregman divergence."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    thetas, normalizer, means = p._mean_parameters()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for theta_p, theta_q, mean in zip(thetas, q._natural_params, means):
        result = result - _sum_rightmost((theta_q - theta_p) * mean, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    normalizers = b * (p.rate / q.rate).log() + (b.lgamma() - a.lgamma())
    return normalizers + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, here, there = p.scale / q.scale, p.loc / q.scale, q.loc / q.scale
    tail = (there + (1 + ratio).lgamma() - here).exp()
    return -ratio.log() - there + here + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.support.lower_bound < q.support.lower_bound, inf)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), inf)


# ---------------------------------------------------------------------------------------------- multivariate normals
# 2 KL = log det Sq - log det Sp + trace(Sq^-1 Sp) + (mq - mp)^T Sq^-1 (mq - mp) - N


def _log_diagonal(distribution: MultivariateNormal) -> Tensor:
    return distribution._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _lowrank_trace(q: LowRankMultivariateNormal, p_factor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """trace(Sq^-1 F F^T) for Sq = W W^T + D, by Woodbury's formula."""
    w, d = q._parts()
    inner = solve_triangular(q._capacitance_tril, w.mT / d.unsqueeze(-2), upper=False)
    return _squares(p_factor * d.rsqrt().unsqueeze(-1)), _squares(inner @ p_factor), inner


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(
    p: LowRankMultivariateNormal, q: LowRankMultivariateNormal
) -> Tensor:
    _expect_same_events(p, q, "Low Rank Multivariate Normals")
    (w_p, d_p), (_, d_q) = p._parts(), q._parts()
    log_dets = _batch_lowrank_logdet(*q._parts(), q._capacitance_tril)
    log_dets = log_dets - _batch_lowrank_logdet(w_p, d_p, p._capacitance_tril)
    direct, removed, inner = _lowrank_trace(q, w_p)
    trace = (d_p / d_q).sum(-1) + direct - _squares(inner * d_p.sqrt().unsqueeze(-2)) - removed
    distance = _batch_lowrank_mahalanobis(*q._parts(), q.loc - p.loc, q._capacitance_tril)
    return 0.5 * (log_dets + trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _expect_same_events(p, q, "(Low Rank) Multivariate Normals")
    log_dets = _batch_lowrank_logdet(*q._parts(), q._capacitance_tril) - 2 * _log_diagonal(p)
    direct, removed, _ = _lowrank_trace(q, p._unbroadcasted_scale_tril)
    distance = _batch_lowrank_mahalanobis(*q._parts(), q.loc - p.loc, q._capacitance_tril)
    return 0.5 * (log_dets + (direct - removed) + distance - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    _expect_same_events(p, q, "(Low Rank) Multivariate Normals")
    (w, d), lower = p._parts(), q._unbroadcasted_scale_tril
    log_dets = 2 * _log_diagonal(q) - _batch_lowrank_logdet(w, d, p._capacitance_tril)
    trace = _solved_squares(lower, w) + _solved_squares(lower, d.sqrt().diag_embed())
    return 0.5 * (log_dets + trace + _batch_mahalanobis(lower, q.loc - p.loc) - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    _expect_same_events(p, q, "Multivariate Normals")
    lower = q._unbroadcasted_scale_tril
    trace = _solved_squares(lower, p._unbroadcasted_scale_tril)
    distance = _batch_mahalanobis(lower, q.loc - p.loc)
    return _log_diagonal(q) - _log_diagonal(p) + 0.5 * (trace + distance - p.event_shape[0])


def _solved_squares(lower, factor):
    """trace(M M^T) with M = lower^-1 factor, for batches that broadcast."""
    batch = ops.broadcast_shapes(lower.shape[:-2], factor.shape[:-2])
    expanded = (matrix.expand(batch + matrix.shape[-2:]) for matrix in (lower, factor))
    return _squares(solve_triangular(*expanded, upper=False))


# ---------------------------------------------------------------------------------------------- of two kinds


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p: Beta, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p: Beta, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p: Beta, q: Gamma) -> Tensor:
    a, total = p.concentration1, p.concentration1 + p.concentration0
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    log_moment = (q.concentration - 1) * (a.digamma() - total.digamma())
    return -p.entropy() + normalizer - log_moment + q.rate * a / total


@register_kl(Beta, Normal)
def _kl_beta_normal(p: Beta, q: Normal) -> Tensor:
    variance, mean = q.scale.pow(2), p.mean
    second = (mean * (1 - mean) / (p.concentration1 + p.concentration0 + 1) + mean.pow(2)) * 0.5
    distance = second - q.loc * mean + q.loc.pow(2) * 0.5
    return -p.entropy() + 0.5 * (variance * 2 * math.pi).log() + distance / variance


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p: Beta, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return result.masked_fill((q.low > p.support.lower_bound) | (q.high < p.support.upper_bound), inf)


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p: ContinuousBernoulli, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p: ContinuousBernoulli, q: Normal) -> Tensor:
    normalizer = 0.5 * (math.log(2.0 * math.pi) + (q.loc / q.scale).square()) + q.scale.log()
    moments = (p.variance + p.mean.square() - 2.0 * q.loc * p.mean) / (2.0 * q.scale.square())
    return -p.entropy() + normalizer + moments


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return result.masked_fill((q.low >= p.support.lower_bound) | (q.high <= p.support.upper_bound), inf)


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    ratio, a = q.rate / p.rate, q.concentration
    return -a * ratio.log() + ratio + a.lgamma() + a * euler_constant - (1 + euler_constant)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    product, offset = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 - offset + offset.exp() * product / (product + 1) + product.reciprocal()


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p: Exponential, q: Normal) -> Tensor:
    variance, squared = q.scale.pow(2), p.rate.pow(2)
    moments = squared.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5
    return 0.5 * (squared * variance * 2 * math.pi).log() - 1 + moments / variance


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p: Gamma, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    a, product, offset = p.concentration, p.rate * q.scale, q.loc / q.scale
    of_p = (a - 1) * a.digamma() - a.lgamma() - a
    tail = offset.exp() * (1 + product.reciprocal()).pow(-a) - offset
    return of_p + (product.log() + a / product) + tail


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p: Gamma, q: Normal) -> Tensor:
    a, variance, squared = p.concentration, q.scale.pow(2), p.rate.pow(2)
    normalizers = 0.5 * (squared * variance * 2 * math.pi).log() - a - a.lgamma()
    moments = 0.5 * (a.pow(2) + a) / squared - q.loc * a / p.rate + 0.5 * q.loc.pow(2)
    return normalizers + (a - 1) * a.digamma() + moments / variance


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p: Gumbel, q: Normal) -> Tensor:
    ratio = p.scale / q.scale
    variance = (math.pi * ratio * 0.5).pow(2) / 3
    distance = ((p.loc + p.scale * euler_constant - q.loc) / q.scale).pow(2) * 0.5
    return -(ratio / math.sqrt(2 * math.pi)).log() + variance + distance - (euler_constant + 1)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p: Laplace, q: Normal) -> Tensor:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    distance = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -0.5 * (2 * ratio / math.pi).log() + ratio + distance / variance - 1


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    here, there, ratio = p.loc / q.scale, q.loc / q.scale, (p.scale / q.scale).pow(2)
    tail = (-here + 0.5 * ratio + there).exp()
    return -ratio.log() * 0.5 + (here - there) + tail - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Normal, q: Laplace) -> Tensor:
    distance = p.loc - q.loc
    steps = distance / p.scale
    spread = math.sqrt(2 / math.pi) * p.scale * (-0.5 * steps.pow(2)).exp()
    shift = distance * (math.sqrt(0.5) * steps).erf()
    return -(p.scale / q.scale).log() + (spread + shift) / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    product = p.scale * q.rate
    result = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return result.masked_fill(p.alpha <= 1, inf)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    log_mean = p.scale.log() + p.alpha.reciprocal()
    normalizers = p.alpha.log() - log_mean + (q.concentration.lgamma() - q.concentration * q.rate.log())
    moments = (1 - q.concentration) * log_mean + q.rate * p.alpha * p.scale / (p.alpha - 1)
    return (normalizers + moments - 1).masked_fill(p.alpha <= 1, inf)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p: Pareto, q: Normal) -> Tensor:
    share = p.scale / (p.alpha - 1)
    normalizers = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log() - p.alpha.reciprocal()
    moments = p.alpha * share.pow(2) / (p.alpha - 2) + (p.alpha * share - q.loc).pow(2)
    return (normalizers + moments / (2 * q.scale.pow(2)) - 1).masked_fill(p.alpha <= 2, inf)


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Uniform, q: Beta) -> Tensor:
    a, b, width = q.concentration1, q.concentration0, p.high - p.low
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    log_x = (a - 1) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    log_rest = (b - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    outside = (p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)
    return (log_rest + normalizer - width.log() - log_x).masked_fill(outside, inf)


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    result = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()
    return result.masked_fill((p.high >= q.support.upper_bound) | (p.low <= q.support.lower_bound), inf)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return result.masked_fill(p.low < q.support.lower_bound, inf)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    width = p.high - p.low
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    log_x = (1 - q.concentration) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = -width.log() + normalizer + log_x + q.rate * (p.high + p.low) / 2
    return result.masked_fill(p.low < q.support.lower_bound, inf)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    share, high, low = q.scale / (p.high - p.low), (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return share.log() + 0.5 * (high + low) - share * ((-high).exp() - (-low).exp())


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    distance = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return (math.sqrt(math.pi * 2) * q.scale / width).log() + 0.5 * (width.pow(2) / 12 + distance) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    width = p.high - p.low
    log_x = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = log_x * (q.alpha + 1) - (q.alpha * q.scale.pow(q.alpha) * width).log()
    return result.masked_fill(p.low < q.support.lower_bound, inf)


# ---------------------------------------------------------------------------------------------- infinite

_OUTSIDE = {
    (Beta, "concentration1"): [Pareto],
    (ContinuousBernoulli, "probs"): [Pareto],
    (Exponential, "rate"): [Beta, ContinuousBernoulli, Pareto, Uniform],
    (Gamma, "concentration"): [Beta, ContinuousBernoulli, Pareto, Uniform],
    (Gumbel, "loc"): [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    (Laplace, "loc"): [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    (Normal, "loc"): [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    (Pareto, "scale"): [Beta, ContinuousBernoulli, Uniform],
    (Poisson, "rate"): [Bernoulli, Binomial],
}


def _infinite(name):
    return lambda p, q: ops.full_like(getattr(p, name), inf)


for (_p, _name), _kinds in _OUTSIDE.items():
    for _q in _kinds:
        register_kl(_p, _q)(_infinite(_name))
