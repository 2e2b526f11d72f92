"""The fused kernel of weight normalisation: its numbers, and its first and second gradients."""

import pytest

import rushlight as torch


@pytest.mark.parametrize(("dim", "shape"), [(0, (3, 1, 1)), (2, (1, 1, 5)), (-1, ())])
def test_the_fused_kernel_and_its_gradients(dim, shape):
    torch.manual_seed(0)
    v, g = torch.randn(3, 4, 5, dtype=torch.float64), torch.rand(shape, dtype=torch.float64) + 0.5

    def fused(v, g):
        return torch._weight_norm(v, g, dim)

    others = tuple(d for d in range(3) if d != dim)
    assert torch.allclose(fused(v, g), g * v / v.square().sum(others, keepdim=bool(shape)).sqrt())
    inputs = v.requires_grad_(), g.requires_grad_()
    assert torch.autograd.gradcheck(fused, inputs)
    assert torch.autograd.gradgradcheck(fused, inputs)
