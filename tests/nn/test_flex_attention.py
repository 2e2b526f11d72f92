"""flex_attention and block masks: numbers and pictures that torch 2.13 prints, gradients against attention with a bias."""

import warnings

import pytest

import rushlight as torch
from rushlight.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)

F = torch.nn.functional
DOCUMENTS = torch.tensor([0] * 10 + [1] * 20 + [2] * 10)
TWO = torch.stack([DOCUMENTS, DOCUMENTS.flip(0)])
LENGTHS = torch.tensor([7, 33])


def causal(b, h, q, k):
    return q >= k


def same_document(b, h, q, k):
    return DOCUMENTS[q] == DOCUMENTS[k]


def inputs(heads=4, values=16):
    torch.manual_seed(0)
    return [torch.randn(2, 4, 40, 16), torch.randn(2, heads, 40, 16), torch.randn(2, heads, 40, values)]


def close(found, wanted):
    torch.testing.assert_close(found, torch.tensor(wanted), atol=6e-5, rtol=1e-4)


def test_scores_are_changed_by_position():
    close(
        flex_attention(*inputs(), score_mod=lambda s, b, h, q, k: s + (q - k))[0, 0, 0, :4],
        [-0.8002, 0.2402, 0.0010, 0.4319],
    )


MASKS = {
    "causal": (causal, None, 8, [1, 1, 3], [0.0065, 0.2072, -0.2092, -0.2681, -1.5870]),
    "documents": (and_masks(causal, same_document), None, 8, [0, 0], [-2.8747, -2.5194, -1.7005, -1.1321, -1.4775]),
    "lengths": (lambda b, h, q, k: (k < LENGTHS[b]) & (q >= k), 2, 16, [1, 2], [6.1734, 3.5881, 4.2993, 0.1955, 3.5562]),
    "a row at a time": (lambda b, h, q, k: TWO[b][q] == TWO[b][k], 2, 16, [1, 2], [-2.3752, -0.8050, 1.3104, 0.2052, -1.9650]),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    mask, batch, size, place, wanted = MASKS[name]
    out = flex_attention(*inputs(), block_mask=create_block_mask(mask, batch, None, 40, 40, "cpu", size))
    out = out[tuple(place)]
    close(out[:5] if out.dim() == 1 else out.sum(-1)[:5], wanted)


BIAS = torch.arange(2 * 4 * 12 * 12).view(2, 4, 12, 12).sin()
ROWS = torch.arange(36).view(12, 3).cos()
MODS = {
    "one index after the other": (lambda s, b, h, q, k: s + BIAS[b][h][q][k], lambda: BIAS),
    "all indices at once": (lambda s, b, h, q, k: s + BIAS[b, h, q, k], lambda: BIAS),
    "a sum over a row": (lambda s, b, h, q, k: s + (ROWS[q] * ROWS[k]).sum(), lambda: ROWS @ ROWS.T),
    "a choice": (lambda s, b, h, q, k: torch.where(q > k, s, s - 1), lambda: -torch.ones(12, 12).triu()),
}


@pytest.mark.parametrize("name", MODS)
def test_modifications_mean_what_they_mean_for_numbers(name):
    mod, bias = MODS[name]
    q, k, v = (t[:, :, :12] for t in inputs())
    torch.testing.assert_close(flex_attention(q, k, v, mod), F.scaled_dot_product_attention(q, k, v, attn_mask=bias()))


def test_gradients_reach_what_a_modification_uses():
    torch.manual_seed(0)
    q, k, v, table = (torch.randn(*s, requires_grad=True) for s in [(2, 4, 12, 8)] * 3 + [(4, 24)])
    place = torch.arange(12)[:, None] - torch.arange(12) + 11
    mask = create_block_mask(causal, None, None, 12, 12, "cpu", 4)
    weight = torch.randn(2, 4, 12, 8)
    out = flex_attention(q, k, v, lambda s, b, h, i, j: s + table[h, i - j + 11], mask)
    found = torch.autograd.grad((out * weight).sum(), (q, k, v, table))
    bias = table[:, place].masked_fill(place < 11, -torch.inf)[None].expand(2, -1, -1, -1)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    for one, other in zip(found, torch.autograd.grad((out * weight).sum(), (q, k, v, table)), strict=True):
        torch.testing.assert_close(one, other)


def test_rows_with_nothing_left_are_zero_and_have_no_gradient():
    q, k, v = (t.requires_grad_() for t in inputs())
    mask = create_block_mask(lambda b, h, q, k: (q > 5) & (k < 10), 1, 1, 40, 40, "cpu")
    out, aux = flex_attention(q, k, v, block_mask=mask, return_aux=AuxRequest(lse=True, max_scores=True))
    close(out[0, 0, 4:7, :3].detach(), [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.5584, -0.1930, 0.5083]])
    assert aux.lse[0, 0, 0] == -torch.inf and aux.max_scores[0, 0, 0] == -torch.inf
    (out.sum() + aux.lse[:, :, 6:].sum()).backward()
    assert not q.grad[:, :, :6].any() and q.grad.isfinite().all() and k.grad[:, :, :10].all()


def test_auxiliary_results_and_shared_heads():
    mask = create_block_mask(causal, None, None, 40, 40, "cpu", 8)
    _, aux = flex_attention(*inputs(), block_mask=mask, return_aux=AuxRequest(lse=True))
    close(aux.lse[0, 0, :5], [0.3980, 0.1805, 1.7356, 1.0701, 1.7588])
    assert aux.max_scores is None
    q, k, v = inputs(2, 8)
    out = flex_attention(q, k, v, enable_gqa=True, scale=0.3)
    expected = F.scaled_dot_product_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1), scale=0.3)
    torch.testing.assert_close(out, expected)
    with pytest.warns(FutureWarning, match="return_lse"):
        assert len(flex_attention(*inputs(), return_lse=True)) == 2


def test_compiled_as_eager():
    q, k, v = inputs()
    two = TWO.clone()  # of this test: a capture does not see what was there before the file's first one
    mask = create_block_mask(lambda b, h, q, k: two[b][q] == two[b][k], 2, None, 40, 40, "cpu", 8)
    compiled = torch.compile(lambda q: flex_attention(q, k, v, lambda s, b, h, i, j: s * 0.5 - (i - j).abs(), mask))
    results = [compiled(q) for _ in range(5)]
    torch.testing.assert_close(results[-1], results[0])


CAUSAL = """BlockMask(shape=(1, 1, 40, 40), sparsity=40.00%,\x20
(0, 0)
██       \x20
████     \x20
██████   \x20
████████ \x20
██████████
)"""
BAND = """BlockMask(shape=(1, 1, 300, 500), sparsity=23.54%,\x20
(0, 0)
████   \x20
██████ \x20
  ████
)"""


def test_pictures():
    mask = create_block_mask(causal, None, None, 40, 40, "cpu", 8)
    assert str(mask) == CAUSAL
    assert str(create_block_mask(lambda b, h, q, k: (q - k).abs() <= 5, 1, 1, 300, 500)) == BAND
    assert "full_q_indices=torch.Size([1, 1, 5, 5])" in repr(mask) and "mask_mod=causal" in repr(mask)
    several = create_block_mask(lambda b, h, q, k: (q >= k) & (b + h > 0), 2, 3, 20, 20, "cpu", 10)
    assert several.to_string(limit=2).splitlines()[0] == "(0, 0)"
    assert several.to_string(limit=2).splitlines()[-1].startswith("You can also index")


def test_block_lists():
    mask = create_block_mask(causal, None, None, 40, 40, "cpu", 8)
    assert mask.kv_indices[0, 0].tolist()[1] == [1, 0, 2, 3, 4] and mask.kv_indices.dtype is torch.int32
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 2, 3, 4]]]
    assert mask.full_q_num_blocks.tolist() == [[[4, 3, 2, 1, 0]]]
    assert mask.to_dense().tolist() == [[torch.ones(5, 5).tril().int().tolist()]]
    smaller = mask._adjust(24, 20)
    assert smaller.shape == (1, 1, 24, 20) and smaller.to_dense().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]]
    rebuilt = BlockMask.from_kv_blocks(mask.kv_num_blocks, mask.kv_indices, BLOCK_SIZE=8)
    assert rebuilt.to_dense().tolist() == [[torch.eye(5).int().tolist()]] and rebuilt.full_kv_indices is None
    assert [type(x).__name__ for x in mask.as_tuple()][:3] == ["int", "int", "Tensor"] and len(mask.as_tuple()) == 17


def test_masks_of_positions():
    assert create_mask(causal, 1, 1, 2, 3).tolist() == [[[[True, False, False], [True, True, False]]]]
    scores = create_mask(lambda s, b, h, q, k: torch.where(q > k, s, -torch.inf), 1, 1, 2, 2)
    assert scores.tolist() == [[[[False, False], [True, False]]]]
    either = or_masks(causal, lambda b, h, q, k: k == 2)
    assert create_mask(either, None, None, 2, 3)[0, 0].int().tolist() == [[1, 0, 1], [1, 1, 1]]


def test_mistakes():
    q, k, v = inputs()
    mask = create_block_mask(causal, 2, None, 40, 40, "cpu", 8)
    for message, kind, call in (
        ("same number of heads but got Hq=4 and Hkv=2", ValueError, lambda: flex_attention(q, k[:, :2], v[:, :2])),
        ("same embedding dimension but got E=3 and E=16", ValueError, lambda: flex_attention(q[..., :3], k, v)),
        ("created for a smaller length", ValueError, lambda: flex_attention(q.repeat(1, 1, 2, 1), k, v, block_mask=mask)),
        ("created for a larger length", ValueError, lambda: flex_attention(q[:, :, :8], k, v, block_mask=mask)),
        ("sliced BlockMask", RuntimeError, lambda: flex_attention(q, k, v, block_mask=mask[0])),
        ("must be 4D", NotImplementedError, lambda: flex_attention(q[0], k[0], v[0])),
        ("requires a mask_mod", AssertionError, lambda: create_block_mask(lambda s, b, h, q, k: s, 1, 1, 4, 4)),
        ("compute_dq_write_order", NotImplementedError, lambda: create_block_mask(causal, 1, 1, 4, 4, compute_dq_write_order=True)),
        ("Invalid BACKEND", ValueError, lambda: flex_attention(q, k, v, kernel_options={"BACKEND": "none"})),
    ):  # fmt: skip
        with pytest.raises(kind, match=message), warnings.catch_warnings():
            flex_attention(*inputs())
            call()
