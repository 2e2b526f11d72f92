"""Causal masks of `torch.nn.attention.bias`."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.nn.attention.bias import CausalBias, CausalVariant, causal_lower_right, causal_upper_left


@pytest.mark.parametrize("make, shift", [(causal_upper_left, 0), (causal_lower_right, 2)])
def test_attention_sees_what_the_mask_says(make, shift):
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4)
    mask = make(3, 5)
    assert isinstance(mask, CausalBias) and mask.shape == (3, 5) and mask.dtype is torch.bool
    seen = torch.ones(3, 5).tril(shift).bool()
    assert torch.equal(mask._materialize(), seen)
    assert torch.equal(F.scaled_dot_product_attention(q, k, v, mask), F.scaled_dot_product_attention(q, k, v, seen))


def test_refusals():
    with pytest.raises(AssertionError, match="2D"):
        causal_upper_left(3)
    with pytest.raises(AssertionError):
        CausalBias(1, 2, 3)
    assert causal_lower_right(2, 2).variant is CausalVariant.LOWER_RIGHT


def test_it_is_shown_as_the_mask():
    assert repr(causal_upper_left(1, 2)) == "tensor([[ True, False]])" == str(causal_upper_left(1, 2))
    assert f"{causal_lower_right(2, 2)}" == "tensor([[ True, False],\n        [ True,  True]])"


def test_attention_gives_ordinary_tensors_and_other_functions_masks():
    q, k = torch.rand(1, 1, 2, 4), torch.rand(1, 1, 5, 4)
    mask = causal_upper_left(2, 5)
    found = F.scaled_dot_product_attention(q, k, k, mask)
    assert type(found) is torch.Tensor and found.shape == (1, 1, 2, 4)
    assert type(mask + 1) is CausalBias is type(mask.to(torch.float32))
    assert torch.equal(
        F.scaled_dot_product_attention(q, k, k, attn_mask=mask, scale=0.5),
        F.scaled_dot_product_attention(q, k, k, mask._materialize(), scale=0.5),
    )
    with pytest.raises(ValueError, match="should not be used with causal=True"):
        F.scaled_dot_product_attention(q, k, k, mask, is_causal=True)
    compiled = torch.compile(F.scaled_dot_product_attention)
    assert [type(compiled(q, k, k, mask)) for _ in range(3)] == [torch.Tensor] * 3
