"""Attention against its formula in NumPy float64, gradients by differences."""

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.autograd import gradcheck, gradgradcheck

rng = np.random.RandomState(1)
Q, K, V = rng.randn(2, 3, 4), rng.randn(2, 5, 4), rng.randn(2, 5, 2)
SEEN = np.array([[1, 0, 1, 1, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]], bool)  # the last query sees nothing


def _attend(q, k, v, scale, added):
    scores = q @ k.swapaxes(-1, -2) * scale + added
    top = np.where(np.isfinite(scores.max(-1, keepdims=True)), scores.max(-1, keepdims=True), 0)
    weights = np.exp(scores - top)
    return weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300) @ v


CASES = [
    ("plain", {}, 0.5, 0.0),
    ("scale", {"scale": 0.3}, 0.3, 0.0),
    ("causal", {"is_causal": True}, 0.5, np.where(np.tri(3, 5, dtype=bool), 0, -np.inf)),
    ("bool mask", {"attn_mask": torch.from_numpy(SEEN)}, 0.5, np.where(SEEN, 0, -np.inf)),
    ("added mask", {"attn_mask": torch.from_numpy(SEEN * 2.0)}, 0.5, SEEN * 2.0),
]


@pytest.mark.parametrize(("name", "options", "scale", "added"), CASES, ids=[c[0] for c in CASES])
def test_values_and_gradients(name, options, scale, added):
    leaves = tuple(torch.tensor(a, requires_grad=True) for a in (Q, K, V))
    y = F.scaled_dot_product_attention(*leaves, **options)
    np.testing.assert_allclose(y.detach().numpy(), _attend(Q, K, V, scale, added), rtol=1e-9, atol=1e-12)
    if name != "bool mask":  # a query that sees nothing has no differences to take
        assert gradcheck(lambda *t: F.scaled_dot_product_attention(*t, **options), leaves)
        assert gradgradcheck(lambda *t: F.scaled_dot_product_attention(*t, **options), leaves)


def test_grouped_queries_and_errors():
    q, k, v = (torch.tensor(rng.randn(n, 3, 4)) for n in (4, 2, 2))
    y = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    again = F.scaled_dot_product_attention(q, k.repeat_interleave(2, 0), v.repeat_interleave(2, 0))
    assert torch.equal(y, again)
    with pytest.raises(RuntimeError, match="same dtype"):
        F.scaled_dot_product_attention(q, k.float(), v)
    with pytest.raises(RuntimeError, match="should not be set when is_causal=True"):
        F.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(3, 3), is_causal=True)
