"""Gradients that torch's backward nodes make of the input too, so that they require grad even where they do not vary."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

PLACES = torch.tensor([0, 1, 2])
CASES = {
    "nll_loss": (lambda x: F.nll_loss(x, PLACES), (3, 4), "NllLossBackwardBackward0"),
    "nll_loss2d": (
        lambda x: F.nll_loss(x, torch.zeros(3, 2, 2, dtype=torch.int64)), (3, 4, 2, 2), "NllLoss2DBackwardBackward0"),
    "fractional_max_pool2d": (
        lambda x: F.fractional_max_pool2d(x, 2, 3, _random_samples=torch.full((1, 2, 2), 0.3)), (1, 2, 8, 8),
        "FractionalMaxPool2DBackwardBackward0"),
    "grid_sample": (
        lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 2), align_corners=False), (1, 2, 4, 4),
        "GridSampler2DBackwardBackward0"),
    "conv1d": (lambda x: F.conv1d(x, torch.ones(2, 2, 2)), (1, 2, 4), "ConvolutionBackwardBackward0"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gradient_requires_grad_and_has_none(name):
    f, shape, node = CASES[name]
    x = torch.randn(shape, requires_grad=True)
    y = f(x)
    (g,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
    assert type(g.grad_fn).__name__ == node
    (gg,) = torch.autograd.grad(g.sum(), x)
    assert not gg.any()


def test_weight_of_convolution():
    x, w = torch.randn(1, 2, 4), torch.randn(2, 2, 2, requires_grad=True)
    (g,) = torch.autograd.grad(F.conv1d(x, w).sum(), w, create_graph=True)
    assert g.requires_grad and not torch.autograd.grad(g.sum(), w)[0].any()


def test_singular_logarithm_of_determinant():
    """With a graph torch solves a system, which has no solution; without one the gradient is infinite."""
    x = torch.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    with pytest.raises(torch.linalg.LinAlgError, match=r"torch.linalg.solve: .* singular"):
        torch.autograd.grad(torch.logdet(x), x, create_graph=True)
    assert torch.isinf(torch.autograd.grad(torch.logdet(x), x)[0]).all()
