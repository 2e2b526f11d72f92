"""Attention as its products and one pass over the rows of scores between them, or block by block where it is long.

Keeping all scores costs less than computing them again up to some hundred keys: (8, 8, n, 32) forward and backward, ms,
whole and in blocks, causal: n = 256 18 and 29, 512 91 and 69; not causal: 512 217 and 256, 1024 242 and 256.
"""

from __future__ import annotations

import numpy as np

from ..ir.lazy import Lazy, Untraceable, where
from .product import product
from .table import rule

_LONGEST, _LONGEST_CAUSAL = 512, 256


def _scores(b, query: Lazy, key: Lazy, attn_mask: Lazy | None, is_causal: bool, scale: float) -> Lazy:
    scores = product(b, query, key.swapaxes(-1, -2)) * query.dtype.type(scale)
    if attn_mask is not None:
        none = scores.dtype.type(-np.inf)
        hidden = attn_mask.dtype == np.bool_
        scores = where(attn_mask, scores, none) if hidden else scores + attn_mask.astype(scores.dtype)
    if not is_causal:
        return scores
    seen = b.positions(scores.shape, -1) <= b.positions(scores.shape, -2)
    return where(seen, scores, scores.dtype.type(-np.inf))


def _check(query: Lazy, key: Lazy, value: Lazy) -> None:
    batch = query.shape[:-2]
    if query.ndim < 3 or key.shape[:-2] != batch or value.shape[:-2] != batch:
        raise Untraceable("attention of operands that broadcast")


def _in_blocks(key: Lazy, attn_mask: Lazy | None, is_causal: bool) -> bool:
    """Whether the scores are not kept. With a mask they are: the library's loop over blocks reads none."""
    return attn_mask is None and key.shape[-2] > (_LONGEST_CAUSAL if is_causal else _LONGEST)


def _wide(x: Lazy) -> Lazy:
    """16-bit floats as float32: scores, their maximum and their sum are float32, as in the eager kernel."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


@rule("scaled_dot_product_attention")
def attention(b, query, key, value, attn_mask=None, is_causal=False, scale=1.0):
    _check(query, key, value)
    kind, (query, key, value) = query.dtype, map(_wide, (query, key, value))
    out, shift, share = _attention(b, query, key, value, attn_mask, is_causal, scale)
    return out.astype(kind), shift, share


def _attention(b, query, key, value, attn_mask, is_causal, scale):
    if _in_blocks(key, attn_mask, is_causal):
        lse = (*query.shape[:-1], 1)
        shapes = ((*query.shape[:-1], value.shape[-1]), query.dtype), (lse, query.dtype)
        refs = (query.ref(), key.ref(), value.ref())
        out, shift = b.extern("attention_forward", refs, *shapes, scale=scale, causal=is_causal)
        shift = b.lazy(shift).reshape(-1, query.shape[-2], 1)
        return b.lazy(out), shift, b.constant(1, query.dtype, shift.shape)
    scores = _scores(b, query, key, attn_mask, is_causal, scale)
    shift = scores.max(-1, keepdims=True)
    if attn_mask is not None:  # a query that sees no key takes nothing
        shift = where(shift == -np.inf, shift.dtype.type(0), shift)
    e = np.exp(scores - shift)
    total = e.sum(-1, keepdims=True)
    share = 1 / total if attn_mask is None else where(total == 0, query.dtype.type(0), 1 / total)
    out = product(b, e * share, value)
    n = scores.size // (scores.shape[-1] * scores.shape[-2])
    return out, shift.reshape(n, -1, 1), share.reshape(n, -1, 1)


@rule("scaled_dot_product_attention_backward")
def attention_backward(
    b, grad, query, key, value, out, shift, share, attn_mask=None, is_causal=False, scale=1.0, by_formula=True
):
    _check(query, key, value)
    kind, (grad, query, key, value, out) = query.dtype, map(_wide, (grad, query, key, value, out))
    found = _attention_backward(b, grad, query, key, value, out, shift, share, attn_mask, is_causal, scale)
    return tuple(x.astype(kind) for x in found)


def _attention_backward(b, grad, query, key, value, out, shift, share, attn_mask, is_causal, scale):
    if _in_blocks(key, attn_mask, is_causal):
        lse = (shift - np.log(share)).reshape(*query.shape[:-1], 1)
        refs = tuple(x.ref() for x in (grad, query, key, value, out, lse))
        shapes = [(x.shape, x.dtype) for x in (query, key, value)]
        found = b.extern("attention_backward", refs, *shapes, scale=scale, causal=is_causal)
        return tuple(map(b.lazy, found))
    scores = _scores(b, query, key, attn_mask, is_causal, scale)
    kept = (*scores.shape[:-1], 1)
    weights = np.exp(scores - shift.reshape(kept)) * share.reshape(kept)
    slopes = product(b, grad, value.swapaxes(-1, -2))
    delta = (weights * slopes).sum(-1, keepdims=True)
    slopes = weights * (slopes - delta) * query.dtype.type(scale)
    slopes, weights = b.lazy(b.store(slopes)), b.lazy(b.store(weights))
    dq, dk = product(b, slopes, key), product(b, slopes.swapaxes(-1, -2), query)
    return dq, dk, product(b, weights.swapaxes(-1, -2), grad)
