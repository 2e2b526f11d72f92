"""Draws by rejection, each of which takes as many words as it needs.

They run value by value, as in torch, on a reservoir of uniforms; what is left of it goes back to the generator.

Poisson: the product of uniforms below rate 10, from there W. Hörmann, "The transformed rejection method for generating
Poisson random variables" (1993). Binomial: sums of geometric gaps below 10 expected successes, from there W. Hörmann,
"The generation of binomial random variates" (1993). Gamma: G. Marsaglia and W. W. Tsang, "A simple method for
generating gamma variables" (2000).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..tensor.dtype import from_numpy, type_word
from .continuous import canonical64
from .layout import FLOATING, cast, require, torch_name
from .mersenne import Generator, resolve

_BOTH = frozenset(["float32", "float64"])


class _Reservoir:
    """A generator's uniforms and normals one at a time; on leaving, its position is after the last one used."""

    def __init__(self, gen: Generator, expected: int):
        self.gen, self.size = gen, min(max(expected, 16), 1 << 14)

    def __enter__(self):
        self.gen.lock.acquire()
        self.bookmark, self.units, self.used = self.gen.remember(), iter(()), 0
        return self

    def __exit__(self, *error):
        self.gen.rewind(self.bookmark, 2 * self.used)
        self.gen.lock.release()

    def uniform(self) -> float:
        """The next uniform in [0, 1)."""
        value = next(self.units, None)
        if value is None:
            # The bookmark follows, so that rewinding passes over one block at most.
            self.bookmark, self.used = self.gen.remember(), 0
            self.units = iter(canonical64(self.gen, self.size).tolist())
            value = next(self.units)
        self.used += 1
        return value

    def normal(self) -> float:
        """The next standard normal; it shares the generator's cached value with `normal`."""
        cached, self.gen.cached_normal = self.gen.cached_normal, None
        if cached is not None:
            return cached
        u1, u2 = self.uniform(), self.uniform()
        radius, theta = math.sqrt(-2.0 * math.log1p(-u2)), 2.0 * math.pi * u1
        self.gen.cached_normal = radius * math.sin(theta)
        return radius * math.cos(theta)


def poisson(gen: Generator | None, rate: np.ndarray) -> np.ndarray:
    """Poisson counts of the given rates, in their type, as `torch.poisson`. Raises RuntimeError for a rate < 0."""
    require(rate.dtype, FLOATING, "poisson_cpu")
    if not (rate >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    with _Reservoir(resolve(gen), 4 * rate.size) as source:
        counts = [_poisson(lam, source.uniform) for lam in rate.astype(np.float64).ravel().tolist()]
    return cast(np.array(counts, np.int64), rate.dtype).reshape(rate.shape)


def _poisson(lam: float, uniform: Any) -> int:
    if lam == 0:
        return 0
    if lam >= 10:
        return _poisson_large(lam, uniform)
    limit, product, count = math.exp(-lam), uniform(), 0
    while product > limit:
        product *= uniform()
        count += 1
    return count


def _poisson_large(lam: float, uniform: Any) -> int:
    root, log_lam = math.sqrt(lam), math.log(lam)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + lam + 0.43)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        left = _log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if left <= -lam + k * log_lam - math.lgamma(k + 1):
            return k


def binomial(gen: Generator | None, trials: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """Successes in the given numbers of trials, in their type, as `torch.binomial`.

    Shape: trials and prob broadcast. Raises RuntimeError where their types differ.
    """
    if trials.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {torch_name(prob.dtype)} but expected {torch_name(trials.dtype)}")
    if trials.dtype.kind in "biu":
        raise ValueError(
            f"binomial only supports floating-point dtypes for count, got: {type_word(from_numpy(trials.dtype))}"
        )
    require(trials.dtype, _BOTH, "binomial_cpu")
    trials, prob = np.broadcast_arrays(trials, prob)
    real = trials.dtype.type
    with _Reservoir(resolve(gen), 4 * trials.size) as source, np.errstate(all="ignore"):
        pairs = zip(trials.ravel().tolist(), prob.ravel().tolist(), strict=True)
        counts = [_binomial(real(n), real(p), real, source.uniform) for n, p in pairs]
    return np.array(counts, trials.dtype).reshape(trials.shape)


def _binomial(n: Any, p: Any, real: Any, uniform: Any) -> Any:
    if n <= 0 or p <= 0:
        return 0
    if p >= 1:
        return n
    if math.isnan(p):
        return math.nan
    rare = p if p <= 0.5 else real(1 - float(p))
    draw = _binomial_large if n * rare >= 10 else _binomial_small
    count = draw(n, rare, uniform)
    return count if p <= 0.5 else n - real(count)


def _binomial_small(n: Any, p: Any, uniform: Any) -> int:
    limit, log_q = float(n), float(np.log1p(-p)) if p.dtype == np.float32 else math.log1p(-p)
    total, count = math.ceil(_log(uniform()) / log_q), 0
    while total <= limit:
        total += math.ceil(_log(uniform()) / log_q)
        count += 1
    return count


def _binomial_large(n: Any, p: Any, uniform: Any) -> float:
    """n and p are of the caller's type, in which the first products are rounded; the rest is float64."""
    root = float(np.sqrt(n * p * (1 - p)))
    b = 1.15 + 2.53 * root
    a = -0.0873 + 0.0248 * b + 0.01 * float(p)
    c = float(n * p) + 0.5
    v_r = 0.92 - 4.2 / b
    odds = float(p / (1 - p))
    alpha = (2.83 + 5.1 / b) * root
    mode = float(np.floor((n + 1) * p))
    trials = float(n)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c)
        if k < 0 or k > trials:
            continue
        if us >= 0.07 and v <= v_r:
            return k
        v = _log(v * alpha / (a / (us * us) + b))
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (trials - mode + 1)))
            + (trials + 1) * math.log((trials - mode + 1) / (trials - k + 1))
            + (k + 0.5) * math.log(odds * (trials - k + 1) / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(trials - mode)
            - _stirling_tail(k)
            - _stirling_tail(trials - k)
        )
        if v <= bound:
            return k


_STIRLING = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling_tail(k: float) -> float:
    """log k! less Stirling's formula."""
    if k < len(_STIRLING):
        return _STIRLING[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def standard_gamma(gen: Generator | None, shape_parameter: np.ndarray) -> np.ndarray:
    """Gamma numbers of scale 1, in the type of their shape parameters, as `torch._standard_gamma`."""
    require(shape_parameter.dtype, _BOTH, "gamma_cpu")
    real = shape_parameter.dtype.type
    with _Reservoir(resolve(gen), 4 * shape_parameter.size) as source:
        draws = [_gamma(real(alpha), real, source) for alpha in shape_parameter.ravel().tolist()]
    smallest = np.finfo(real).tiny
    return np.maximum(np.array(draws, np.float64).astype(real), smallest).reshape(shape_parameter.shape)


def dirichlet(gen: Generator | None, concentration: np.ndarray) -> np.ndarray:
    """Points of the simplex along the last axis, as `torch._sample_dirichlet`. Shape: (*, K) -> (*, K)"""
    require(concentration.dtype, _BOTH, "dirichlet")
    gamma = standard_gamma(gen, concentration.astype(np.float64))
    share = (gamma / gamma.sum(-1, keepdims=True)).astype(concentration.dtype)
    real = concentration.dtype.type
    return np.clip(share, np.finfo(real).tiny, np.nextafter(real(1), real(0)))


def _gamma(alpha: Any, real: Any, source: _Reservoir) -> float:
    scale, third = 1.0, real(np.float32(1) / np.float32(3))
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = math.pow(1 - source.uniform(), float(real(1) / alpha))
        alpha = alpha + real(1)
    d = float(alpha - third)
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = source.normal()
        y = 1.0 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - source.uniform()
        xx = x * x
        if u < 1.0 - _SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
            return scale * d * v


_SQUEEZE = float(np.float32(0.0331))


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf
