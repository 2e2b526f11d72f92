"""Descriptions of the tensors and calls that the operator suite makes.

A sample is `S(*args, **kwargs)` whose tensors are descriptions: `F(2, 3)` a floating tensor of that shape whose elements
all differ and keep away from the places where operators have kinks; `Fixed(data)` the given integers or bools (or
floats that take no gradient).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from .. import ops
from ..core.tensor import dtype as dtypes
from ..core.tensor.tensor import wrap

__all__ = ["Definite", "F", "Fixed", "S", "Sample"]


class F:
    """A floating tensor of a shape with distinct elements within (low, high)."""

    def __init__(self, *shape: int, low: float = -2.0, high: float = 2.0, complex: bool = False):
        self.shape, self.low, self.high, self.complex = shape, low, high, complex

    def array(self, rng: np.random.Generator, k: int) -> np.ndarray:
        """The elements of the `k`-th tensor of a call: no two tensors of a call have an element in common."""
        n = math.prod(self.shape)
        steps = (rng.permutation(n) + (0.371 + 0.618034 * k) % 1) / max(n, 1)
        a = (self.low + (self.high - self.low) * steps).reshape(self.shape)
        return a + 1j * a[..., ::-1] * 0.7 if self.complex else a


class Definite(F):
    """A symmetric positive definite matrix of n rows."""

    def __init__(self, n: int):
        super().__init__(n, n)

    def array(self, rng: np.random.Generator, k: int) -> np.ndarray:
        a = super().array(rng, k)
        return a @ a.T + np.eye(len(a))


class Fixed:
    """A tensor of given values that takes no gradient."""

    def __init__(self, data: Any, dtype: Any = None):
        self.data, self.dtype = data, dtype


class Sample:
    """One call: its arguments, with descriptions for tensors."""

    def __init__(self, args: tuple, kwargs: dict):
        self.args, self.kwargs = args, kwargs

    def make(
        self, dtype: Any = dtypes.float64, grad: bool = False, spread: bool = False, seed: int = 20
    ) -> tuple[list, dict]:
        """Fresh arguments. grad: the floating tensors require grad. spread: no tensor is contiguous. seed: of their values."""
        rng, count = np.random.default_rng(seed), itertools.count()

        def build(x: Any) -> Any:
            if isinstance(x, F):
                a = x.array(rng, next(count))
                kind = dtype.numpy if not x.complex else np.result_type(np.complex64, dtype.numpy)
                t = wrap(_spread(a.astype(kind)) if spread else a.astype(kind))
                return t.requires_grad_() if grad else t
            if isinstance(x, Fixed):
                t = ops.tensor(x.data, dtype=x.dtype)
                if t.is_floating_point():
                    t = t.to(dtype)  # type: ignore[attr-defined]
                return wrap(_spread(t._array)) if spread else t
            if isinstance(x, (tuple, list)):
                return type(x)(build(y) for y in x)
            return x

        return [build(x) for x in self.args], {k: build(v) for k, v in self.kwargs.items()}

    def __repr__(self) -> str:
        def show(x: Any) -> str:
            if isinstance(x, (tuple, list)):
                return f"[{', '.join(map(show, x))}]"
            return str(x.shape) if isinstance(x, F) else "fixed" if isinstance(x, Fixed) else repr(x)

        return ", ".join([*map(show, self.args), *(f"{k}={show(v)}" for k, v in self.kwargs.items())])


def _spread(a: np.ndarray) -> np.ndarray:
    """The same values on every second element of a wider array."""
    if not a.ndim:
        return a
    wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]


def S(*args: Any, **kwargs: Any) -> Sample:
    return Sample(args, kwargs)
