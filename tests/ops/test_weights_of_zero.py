"""Targets whose class has the weight 0, alone or not, and rectified single numbers of 16 bits: as torch 2.13 has them."""

import math

import pytest

import rushlight as torch
import rushlight.nn.functional as F


@pytest.mark.parametrize("loss", [F.nll_loss, F.cross_entropy])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 2)])
def test_the_mean_over_no_weight_has_no_gradient(loss, shape):
    x = torch.zeros(shape).requires_grad_()
    target = torch.zeros((shape[0], *shape[2:]), dtype=torch.int64)
    result = loss(x, target, weight=torch.tensor([0.0, 1.0, 2.0]))
    assert math.isnan(result.item())
    (g,) = torch.autograd.grad(result, x)
    assert g[:, 0].isnan().all()


def test_what_is_ignored_stays_zero():
    x = torch.zeros(2, 3).requires_grad_()
    result = F.nll_loss(x, torch.tensor([1, 1]), weight=torch.tensor([0.0, 1.0, 2.0]), ignore_index=1)
    assert torch.autograd.grad(result, x)[0].tolist() == [[0.0] * 3] * 2


def test_one_of_several_weights_is_zero():
    x = torch.zeros(2, 3).requires_grad_()
    result = F.nll_loss(x, torch.tensor([0, 2]), weight=torch.tensor([0.0, 1.0, 2.0]))
    assert torch.autograd.grad(result, x)[0].tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, -1.0]]


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("value, expected", [(2.5, 2.5), (-1.0, 0.0)])
def test_relu_of_one_number_of_16_bits_has_no_dimension(kind, value, expected):
    x = torch.tensor(value, dtype=getattr(torch, kind))
    assert torch.relu(x).shape == () and torch.relu(x).item() == expected
    assert x.relu_().item() == expected
