"""Attention and transformer modules: torch's numbers in training and evaluation, its words, its errors."""

import copy
import json
import pathlib

import numpy as np
import pytest
import transformer_cases

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
NUMBERS = np.load(GOLDEN / "transformer.npz")
WORDS = json.loads((GOLDEN / "transformer.json").read_text())
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True", "ignore:Support for mismatched")


@pytest.mark.parametrize("name", transformer_cases.CASES)
def test_numbers(name):
    got = transformer_cases.run(torch, name)
    want = [NUMBERS[key] for key in sorted(k for k in NUMBERS.files if k.startswith(name + "|"))]
    assert [a.shape for a in got] == [a.shape for a in want]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", transformer_cases.CASES)
def test_words(name):
    assert transformer_cases.words(torch, name) == WORDS[name]


@pytest.mark.parametrize("need_weights", [True, False])
def test_both_ways_agree(need_weights):
    """With weights the scores are whole, without them the attention goes block by block."""
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(2, 70, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(70)
    out, weights = attention(x, x, x, attn_mask=mask, is_causal=True, need_weights=need_weights)
    want, _ = attention(x, x, x, attn_mask=mask)
    torch.testing.assert_close(out, want)
    assert (weights is not None) == need_weights


def test_static_keys_and_values():
    """Keys and values given as projected: the same as projecting with the unit matrix."""
    q, k, v = (torch.randn(n, 2, 4) for n in (3, 5, 5))
    eye, no_bias = torch.eye(4), None
    w = [eye, no_bias]
    common = {"use_separate_proj_weight": True, "q_proj_weight": eye, "k_proj_weight": eye, "v_proj_weight": eye}
    arguments = (4, 2, None, None, None, None, False, 0.0, *w)
    want, _ = F.multi_head_attention_forward(q, k, v, *arguments, **common)
    static = [t.view(5, 4, 2).transpose(0, 1) for t in (k, v)]
    got, _ = F.multi_head_attention_forward(q, k, v, *arguments, **common, static_k=static[0], static_v=static[1])
    torch.testing.assert_close(got, want)
    with pytest.raises(AssertionError, match=r"expecting static_k.size\(0\) of 4, but got 3"):
        F.multi_head_attention_forward(q, k, v, *arguments, **common, static_k=static[0][:3])


def test_zeros_where_torch_leaves_padding_out():
    """An encoder in evaluation without gradients gives zeros for padding at the end, and only then."""
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 8, batch_first=True), 1).eval()
    x, end = torch.randn(2, 4, 8), torch.tensor([[False, False, True, True]] * 2)
    kept = encoder(x, src_key_padding_mask=end)
    with torch.no_grad():
        dropped = encoder(x, src_key_padding_mask=end)
        front = encoder(x, src_key_padding_mask=end.flip(1))
    assert not dropped[:, 2:].any() and kept[:, 2:].any() and front[:, :2].any()
    torch.testing.assert_close(dropped[:, :2], kept[:, :2])


def test_modules_are_copied_and_saved():
    model = nn.Transformer(8, 2, 1, 1, 8)
    other = nn.Transformer(8, 2, 1, 1, 8)
    other.load_state_dict(model.state_dict())
    src, tgt = torch.randn(3, 2, 8), torch.randn(4, 2, 8)
    for m in (other, copy.deepcopy(model)):
        torch.testing.assert_close(m.eval()(src, tgt), model.eval()(src, tgt))


def test_custom_stacks():
    class Echo(nn.Module):
        def forward(self, x, *rest, **masks):
            return 2 * x

    model = nn.Transformer(4, 2, custom_encoder=Echo(), custom_decoder=Echo())
    assert torch.equal(model(torch.ones(2, 1, 4), torch.ones(3, 1, 4)), torch.full((3, 1, 4), 2.0))


def _attend(*shapes, **options):
    return nn.MultiheadAttention(4, 2)(*(torch.ones(s) for s in shapes), **options)


X = (3, 2, 4)
ERRORS = [
    (lambda: nn.MultiheadAttention(0, 1), ValueError, "must be greater than 0"),
    (lambda: nn.MultiheadAttention(4, 3), AssertionError, "embed_dim must be divisible by num_heads"),
    (lambda: _attend((4,), (4,), (4,)), AssertionError, "unbatched 2D or batched 3D tensor but received 1-D"),
    (lambda: _attend(X, (3, 4), X), AssertionError, "expected `key` and `value` to be 3-D but found 2-D"),
    (lambda: _attend(X, X, (2, 2, 4)), AssertionError, "does not match value shape"),
    (lambda: _attend((3, 2, 6), X, X), AssertionError, "was expecting embedding dimension of 4, but got 6"),
    (lambda: _attend(X, X, X, attn_mask=torch.zeros(2, 2)), RuntimeError, r"but should be \(3, 3\)"),
    (lambda: _attend(X, X, X, attn_mask=torch.zeros(3, 3, 3)), RuntimeError, r"but should be \(4, 3, 3\)"),
    (lambda: _attend(X, X, X, attn_mask=torch.ones(3, 3).int()), AssertionError, "only bool and floating types of"),
    (lambda: _attend(X, X, X, key_padding_mask=torch.zeros(2, 2)), AssertionError, "shape.1. to be 3, but got 2"),
    (lambda: _attend(X, X, X, key_padding_mask=torch.zeros(3)), AssertionError, "`None` or 2-D but found 1-D"),
    (lambda: _attend(X, X, X, is_causal=True), RuntimeError, "Need attn_mask if specifying the is_causal hint"),
    (lambda: nn.TransformerEncoderLayer(4, 2, activation="tanh"), RuntimeError, "should be relu/gelu, not tanh"),
    (lambda: nn.Transformer(4, 2, 1, 1)(torch.ones(X), torch.ones(3, 1, 4)), RuntimeError, "batch number of src"),
    (lambda: nn.Transformer(4, 2, 1, 1)(torch.ones(X), torch.ones(3, 2, 5)), RuntimeError, "feature number of src"),
]


@pytest.mark.parametrize(("call", "error", "words"), ERRORS, ids=[w for _, _, w in ERRORS])
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.filterwarnings("error")
def test_warnings():
    with pytest.warns(UserWarning, match=r"use_nested_tensor is False because encoder_layer.norm_first was True"):
        nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, batch_first=True, norm_first=True), 1)
    x = torch.ones(3, 2, 4)
    with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask is deprecated"):
        nn.MultiheadAttention(4, 2)(
            x, x, x, attn_mask=torch.zeros(3, 3), key_padding_mask=torch.zeros(2, 3, dtype=torch.bool)
        )
