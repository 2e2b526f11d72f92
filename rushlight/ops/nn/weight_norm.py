"""torch's fused weight normalisation: g v / |v|, the norms over all dimensions but the first or the last."""

from __future__ import annotations

import numpy as np

from ...core.dispatch.mode import is_grad_enabled
from ...core.dispatch.op import primitive
from ..pointwise.building_blocks import add_reduce

__all__ = ["weight_norm_interface"]


def _others(ndim: int, dim: int) -> tuple[int, ...]:
    return tuple(d for d in range(ndim) if d != dim)


@primitive(name="_weight_norm_interface", public=False, extras=("norms",), node="WeightNormInterfaceBackward0")
def weight_norm_interface(v, length, /, dim):
    """length v / |v|. Shape: (*), length with size 1 but for `dim` -> (*)"""
    norms = np.sqrt(add_reduce(v * v, _others(v.ndim, dim), None, None, True))
    return v * (length / norms), norms


@weight_norm_interface.vjp
def _(g, v, length, norms, dim):
    others = _others(v.ndim, dim)
    if is_grad_enabled():  # the saved norms have no history
        norms = (v * v).sum(others, True).sqrt() if others else v.abs()
    along = (g * v).sum(others, True) if others else g * v
    return length / norms * (g - v * (along / (norms * norms))), along / norms
