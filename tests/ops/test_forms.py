"""Forms of calls that torch takes: keywords, mixed types, written parts; and the dimension that an error names."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


def test_options_of_functions_in_place_by_name():
    assert F.elu_(torch.tensor([-1.0]), alpha=2.0).item() == pytest.approx(-1.2642, abs=1e-4)
    assert F.leaky_relu_(torch.tensor([-1.0]), negative_slope=0.3).item() == pytest.approx(-0.3)
    assert F.hardtanh_(torch.tensor([5.0]), max_val=3.0).item() == 3
    with pytest.raises(TypeError, match=r"elu_\(\) got an unexpected keyword argument 'slope'"):
        F.elu_(torch.ones(1), slope=1)


def test_real_and_imaginary_parts_are_written():
    z = torch.zeros(2, dtype=torch.complex64)
    z.real, z.imag = 1.0, torch.tensor([3, 4])
    assert z.tolist() == [1 + 3j, 1 + 4j]
    x = torch.zeros(2)
    x.real = torch.ones(2)
    assert x.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="imag is not implemented"):
        x.imag = torch.ones(2)


def test_searching_promotes():
    assert torch.bucketize(torch.tensor([1.5, 2.5]), torch.tensor([1, 2, 3])).tolist() == [1, 2]
    assert torch.bucketize(torch.tensor([1, 2]), torch.tensor([1.5, 2.5])).tolist() == [0, 1]
    assert torch.searchsorted(torch.tensor([1, 2, 3], dtype=torch.int8), torch.tensor([300])).tolist() == [3]
    with pytest.raises(NotImplementedError, match="ComplexFloat"):
        torch.searchsorted(torch.tensor([1.0, 2.0]), torch.tensor([2j]))


def test_the_last_dimension_that_does_not_fit_is_named():
    with pytest.raises(RuntimeError, match=r"tensor a \(4\) must match the size of tensor b \(7\) .* dimension 2"):
        torch.ones(2, 3, 4) + torch.ones(5, 6, 7)


def test_attention_of_no_samples():
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    assert layer(torch.ones(0, 3, 4)).shape == (0, 3, 4)
    assert nn.MultiheadAttention(4, 2, batch_first=True)(*[torch.ones(0, 3, 4)] * 3)[0].shape == (0, 3, 4)


def test_second_order_of_a_logistic_loss():
    x, y = torch.arange(12.0).reshape(4, 3) / 10, torch.tensor([0.0, 1, 1, 0])
    h = torch.func.hessian(lambda w: F.binary_cross_entropy_with_logits(x @ w, y))(torch.zeros(3))
    assert torch.allclose(h, x.T @ x / 16, atol=1e-6)
