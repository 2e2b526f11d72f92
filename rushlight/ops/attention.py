"""Attention by scaled dot products."""

from __future__ import annotations

import math

import numpy as np

from ..core.record import OPS, composite
from ..core.tensor import Tensor, wrap
from .sample import dropout


@composite(functional=True)
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """softmax(query key^T scale + mask) value: each query's mean of the values, weighted by how well the keys fit.

    attn_mask: True where a key may be seen (bool), or numbers to add. is_causal: query i sees the keys up to i. scale:
    1 / sqrt(E) by default. enable_gqa: key and value have fewer heads, each of which serves several of the query's.
    Shape: query (*, L, E), key (*, S, E), value (*, S, Ev) -> (*, L, Ev). Source: Vaswani et al. 2017.
    """
    _check(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        heads = query._array.shape[-3]
        key, value = (t.repeat_interleave(heads // t._array.shape[-3], -3) for t in (key, value))
    root = math.sqrt(1 / math.sqrt(query._array.shape[-1]) if scale is None else scale)
    scores = OPS["matmul"](query * root, (key * root).transpose(-2, -1))
    if is_causal:
        attn_mask = wrap(np.tri(*scores._array.shape[-2:], dtype=bool))
    if attn_mask is not None:
        if attn_mask._array.dtype.kind == "b":
            attn_mask = wrap(np.where(attn_mask._array, 0, -np.inf).astype(query._array.dtype))
        scores = scores + attn_mask
    weights = _rows_of_nothing(scores.softmax(-1), scores)
    return OPS["matmul"](dropout(weights, dropout_p), value)


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool) -> None:
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype.name} key.dtype: {key.dtype.name} and value.dtype: {value.dtype.name} instead."
        )
    if min(query._array.ndim, key._array.ndim, value._array.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query._array.ndim}, key.dim: {key._array.ndim} and value.dim: {value._array.ndim} instead."
        )
    if mask is not None:
        if is_causal:
            raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
        if mask._array.dtype.kind != "b" and mask.dtype is not query.dtype:
            raise RuntimeError(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                f"{mask.dtype.name} and  query.dtype: {query.dtype.name} instead."
            )


def _rows_of_nothing(weights: Tensor, scores: Tensor) -> Tensor:
    """Zeros instead of nan for a query that may see no key, as torch gives them."""
    nothing = ~np.isfinite(scores._array).any(-1, keepdims=True) & (scores._array == -np.inf).all(-1, keepdims=True)
    return weights.masked_fill(wrap(nothing), 0.0) if nothing.any() else weights
