"""Attention against its formula in NumPy float64, gradients by differences."""

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.nn.attention import SDPBackend, sdpa_kernel
from rushlight.ops.nn import attention_blocks

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


def test_masks_are_joined_with_the_causal_one():
    q = torch.tensor(rng.randn(1, 2, 3, 4))
    seen = torch.tensor([[True, False, True], [True, True, True], [False, True, True]])
    joined = F.scaled_dot_product_attention(q, q, q, attn_mask=seen, is_causal=True)
    assert torch.equal(joined, F.scaled_dot_product_attention(q, q, q, attn_mask=seen.tril()))
    added = torch.tensor(rng.randn(3, 3))
    want = F.scaled_dot_product_attention(
        q, q, q, attn_mask=added.masked_fill(~torch.ones(3, 3, dtype=torch.bool).tril(), float("-inf"))
    )
    assert torch.equal(F.scaled_dot_product_attention(q, q, q, attn_mask=added, is_causal=True), want)


BATCH, ROWS, COLUMNS = (2, 3), 9, 13
SOME = rng.rand(*BATCH, ROWS, COLUMNS) < 0.6
SOME[1, 2, 4] = False
BLOCK_CASES = [
    ("plain", {}, 1),
    ("causal", {"is_causal": True}, 1),
    ("large scores", {}, 30),
    ("large and causal", {"is_causal": True}, 30),
    ("shared mask", {"attn_mask": SOME[0, 0]}, 1),
    ("a mask for each head", {"attn_mask": SOME}, 30),
    ("a mask for each sample", {"attn_mask": np.where(SOME[:, :1], 0, -np.inf)}, 1),
    ("a mask for each key", {"attn_mask": SOME[:, :, :1] * -50.0}, 1),
    ("far below", {"attn_mask": np.full((ROWS, COLUMNS), -1e4)}, 1),
]


@pytest.mark.parametrize(("name", "options", "size"), BLOCK_CASES, ids=[c[0] for c in BLOCK_CASES])
@pytest.mark.parametrize("elements", [1, 60, 1 << 18])
def test_blocks_give_the_formula(monkeypatch, name, options, size, elements):
    """Blocks of one query, of some queries, of several heads; in the memory's order of a transposed projection."""
    monkeypatch.setattr(attention_blocks, "_BLOCK", elements)
    monkeypatch.setattr(attention_blocks, "_FEWEST_ROWS", 1 if elements == 1 else 4)
    numbers = np.random.RandomState(2)
    shapes = [(2, n, 3, 4) for n in (ROWS, COLUMNS, COLUMNS)]
    leaves = [torch.tensor(numbers.randn(*s) * size, requires_grad=True) for s in shapes]
    mask = options.get("attn_mask")
    options = options if mask is None else {"attn_mask": torch.tensor(mask)}
    y = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in leaves), **options)
    g = torch.tensor(numbers.randn(*y.shape))
    q, k, v = (t.detach().numpy().swapaxes(1, 2) for t in leaves)
    added = 0.0 if mask is None else np.where(mask, 0, -np.inf) if mask.dtype == bool else mask
    if "is_causal" in options:
        added = np.where(np.tri(ROWS, COLUMNS, dtype=bool), 0, -np.inf)
    np.testing.assert_allclose(y.detach().numpy(), _attend(q, k, v, 0.5, added), rtol=1e-9, atol=1e-12)
    assert y.transpose(1, 2).is_contiguous()
    got = torch.autograd.grad(y, leaves, g, retain_graph=True)
    formula = torch.autograd.grad(y, leaves, g, create_graph=True)  # a recorded backward takes the formula
    for a, b in zip(got, formula, strict=True):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-8, atol=1e-9 * size**2)


def test_low_blocks_skip_what_no_query_sees():
    """The blocks of causal attention together hold little more than half of the scores."""
    cells = [
        (h.stop - h.start) * (r.stop - r.start) * seen
        for h, parts in attention_blocks.blocks(3, 2048, 2048, True)
        for r, seen in parts
    ]
    assert sum(cells) < 0.6 * 3 * 2048**2
    assert max(cells) <= attention_blocks._BLOCK


def test_a_mask_that_wants_a_gradient():
    mask = torch.tensor(rng.randn(3, 5), requires_grad=True)
    leaves = tuple(torch.tensor(a, requires_grad=True) for a in (Q, K, V))
    assert gradcheck(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m), (*leaves, mask))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("causal", [False, True])
def test_types(kind, causal):
    torch.manual_seed(0)
    leaves = [torch.randn(2, 2, 7, 4).to(kind).requires_grad_() for _ in range(3)]
    wide = [t.detach().double().requires_grad_() for t in leaves]
    y, want = (F.scaled_dot_product_attention(*ts, is_causal=causal) for ts in (leaves, wide))
    y.sum().backward()
    want.sum().backward()
    tolerance = 16 * torch.finfo(kind).eps
    assert y.dtype is kind
    for a, b in ((y, want), *((t.grad, w.grad) for t, w in zip(leaves, wide, strict=True))):
        torch.testing.assert_close(a.double(), b, rtol=tolerance, atol=tolerance)


def test_dropout_drops_whole_weights():
    """Without it the rows of the weights sum to one; with it each weight is zero or twice as large."""
    scores, eye = torch.randn(6, 6), torch.eye(6)
    kept = F.scaled_dot_product_attention(scores, eye, eye)
    dropped = F.scaled_dot_product_attention(scores, eye, eye, dropout_p=0.5)
    torch.testing.assert_close(kept.sum(-1), torch.ones(6))
    assert 0 < (dropped != 0).sum() < 36
    torch.testing.assert_close(dropped, torch.where(dropped != 0, 2 * kept, 0.0))


EMPTY = [((2, 3, 5, 4), (2, 3, 0, 4)), ((2, 3, 0, 4), (2, 3, 5, 4)), ((0, 5, 4), (0, 5, 4)), ((2, 5, 0), (2, 5, 0))]


@pytest.mark.parametrize(("queries", "keys"), EMPTY)
def test_nothing_to_see(queries, keys):
    q, k, v = torch.randn(queries), torch.randn(keys), torch.ones(*keys[:-1], 4)
    y = F.scaled_dot_product_attention(q, k, v)
    assert y.shape == (*queries[:-1], 4)
    assert (y == (1.0 if keys[-2] else 0.0)).all()


def test_broadcast_keys_and_negative_scale():
    q, k = torch.randn(2, 3, 5, 4), torch.randn(1, 1, 6, 4)
    y = F.scaled_dot_product_attention(q, k, k, scale=-0.5)
    np.testing.assert_allclose(y, _attend(q.numpy(), k.numpy(), k.numpy(), -0.5, 0.0), rtol=1e-5, atol=1e-6)


def test_the_kernels_to_choose_from():
    q, flat = torch.randn(1, 2, 3, 4, requires_grad=True), torch.randn(2, 3, 4)
    with sdpa_kernel(SDPBackend.MATH):
        math = F.scaled_dot_product_attention(q, q, q)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION], set_priority=True):
        flash = F.scaled_dot_product_attention(q, q, q)
        with pytest.raises(RuntimeError, match="No viable backend for scaled_dot_product_attention"):
            F.scaled_dot_product_attention(flat, flat, flat)
    assert torch.equal(math, flash)
    assert [str(t.grad_fn).split()[0] for t in (math, flash)] == [
        "<UnsafeViewBackward0",
        "<ScaledDotProductFlashAttentionForCpuBackward0",
    ]
    with pytest.raises(RuntimeError, match="No viable backend"), sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        F.scaled_dot_product_attention(q, q, q)
    assert F.scaled_dot_product_attention(flat, flat, flat).shape == (2, 3, 4)
    with pytest.raises(AssertionError, match="instance of SDPBackend or a list"), sdpa_kernel("math"):
        pass


ERRORS = [
    (
        (3, 5, 4),
        (3, 5, 4),
        {"attn_mask": torch.ones(5, 5).int()},
        RuntimeError,
        "attn_mask.dtype: int and  query.dtype: float",
    ),
    ((4,), (4,), {}, RuntimeError, "at least 2 dimensional, but got query.dim: 1"),
    ((4, 5, 4), (3, 5, 4), {}, RuntimeError, "size|shape"),
    ((4, 5, 4), (3, 5, 4), {"enable_gqa": True}, RuntimeError, "Number of heads in key and value must divide"),
    ((4, 5, 4), (4, 5, 4), {"attn_mask": torch.ones(5, 7)}, RuntimeError, "size of tensor a"),
    (
        (4, 5, 4),
        (4, 5, 4),
        {"dropout_p": 1.5},
        (RuntimeError, ValueError),
        "dropout probability has to be between 0 and 1",
    ),
]


@pytest.mark.parametrize(("queries", "keys", "options", "error", "words"), ERRORS)
def test_errors(queries, keys, options, error, words):
    q, k = torch.ones(queries), torch.ones(keys)
    with pytest.raises(error, match=words):
        F.scaled_dot_product_attention(q, k, k, **options)


def test_results_lie_in_memory_as_torchs_kernels_leave_them():
    heads, repeated = torch.rand(2, 5, 3, 4).transpose(1, 2), torch.rand(1, 3, 5, 4).expand(2, 3, 5, 4)
    assert F.scaled_dot_product_attention(heads, heads, heads).stride() == (60, 4, 12, 1)
    assert F.scaled_dot_product_attention(repeated, heads, heads).stride() == (60, 20, 4, 1)
    with sdpa_kernel(SDPBackend.MATH):
        assert F.scaled_dot_product_attention(heads, heads, heads).stride() == (60, 20, 4, 1)


@pytest.mark.parametrize("shape", [(1, 1, 2, 4), (1, 2, 4), (2, 4)])
@pytest.mark.parametrize("causal", [False, True])
def test_scores_that_are_all_minus_infinity_give_zeros_without_a_mask_too(shape, causal):
    query, key = torch.full(shape, -1e30), torch.full(shape, 1e30)
    inputs = [t.requires_grad_() for t in (query, key, torch.ones(shape))]
    out = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=causal)
    out.sum().backward()
    assert not out.any() and not any(t.grad.any() for t in inputs)
