"""Attention as its products and one pass over the rows of scores between them.

Scores are kept whole: up to `_LONGEST` keys that costs less than computing them block by block again.
"""

from __future__ import annotations

import numpy as np

from ..lazy import Lazy, Untraceable
from .product import product
from .table import rule

_LONGEST = 1024


def _scores(b, query: Lazy, key: Lazy, attn_mask: Lazy | None, is_causal: bool, scale: float) -> Lazy:
    if attn_mask is not None or query.ndim < 3 or key.shape[-2] > _LONGEST or query.shape[:-2] != key.shape[:-2]:
        raise Untraceable("attention with a mask or many keys")
    scores = product(b, query, key.swapaxes(-1, -2)) * query.dtype.type(scale)
    if not is_causal:
        return scores
    seen = b.positions(scores.shape, -1) <= b.positions(scores.shape, -2)
    return np.where(seen, scores, scores.dtype.type(-np.inf))


@rule("scaled_dot_product_attention")
def attention(b, query, key, value, attn_mask=None, is_causal=False, scale=1.0):
    scores = _scores(b, query, key, attn_mask, is_causal, scale)
    shift = scores.max(-1, keepdims=True)
    e = np.exp(scores - shift)
    share = 1 / e.sum(-1, keepdims=True)
    out = product(b, e * share, value)
    n = scores.size // (scores.shape[-1] * scores.shape[-2])
    return out, shift.reshape(n, -1, 1), share.reshape(n, -1, 1)


@rule("scaled_dot_product_attention_backward")
def attention_backward(b, grad, query, key, value, out, shift, share, attn_mask=None, is_causal=False, scale=1.0):
    scores = _scores(b, query, key, attn_mask, is_causal, scale)
    kept = (*scores.shape[:-1], 1)
    weights = np.exp(scores - shift.reshape(kept)) * share.reshape(kept)
    slopes = product(b, grad, value.swapaxes(-1, -2))
    delta = (weights * slopes).sum(-1, keepdims=True)
    slopes = weights * (slopes - delta) * query.dtype.type(scale)
    slopes, weights = b.lazy(b.store(slopes)), b.lazy(b.store(weights))
    dq, dk = product(b, slopes, key), product(b, slopes.swapaxes(-1, -2), query)
    return dq, dk, product(b, weights.swapaxes(-1, -2), grad)
