"""`linear_cross_entropy` and its module: numbers of torch 2.13, gradients, and errors."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn.functional import linear_cross_entropy as loss

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]])
W = torch.linspace(-1, 1, 18).view(6, 3)
CLASSES = torch.tensor([1, 4])


def near(*numbers):
    return pytest.approx(numbers[0] if len(numbers) == 1 else list(numbers), rel=2e-6)


def test_numbers_are_torchs():
    assert loss(X, W, CLASSES).item() == near(2.1812727451324463)
    smooth = loss(X, W, CLASSES, weight=torch.linspace(1, 2, 6), label_smoothing=0.1)
    assert smooth.item() == near(2.0148801803588867)
    assert loss(X, W, CLASSES, ignore_index=4, reduction="sum").item() == near(2.964062213897705)
    bias, target = torch.linspace(0, 1, 6).view(3, 2), torch.tensor([[1, 2], [0, 1]])
    each = loss(X, W.view(3, 2, 3), target, linear_bias=bias, reduction="none")
    assert each.flatten().tolist() == near(1.710803508758545, 0.2519800066947937, 2.868009567260742, 1.5856566429138184)


def test_the_module_has_a_layer_of_its_own():
    torch.manual_seed(0)
    layer = nn.LinearCrossEntropyLoss(3, 4)
    assert layer(X, torch.tensor([0, 3])).item() == near(1.820554256439209)
    assert list(layer.state_dict()) == ["linear.weight"]
    layer(X, torch.tensor([0, 3])).backward()
    assert layer.linear.weight.grad.shape == (4, 3)
    assert repr(layer) == (
        "LinearCrossEntropyLoss(\n  in_features=3, num_classes=4, out_features=(), bias=False, reduction=mean, "
        "ignore_index=None, label_smoothing=0.0, options=None\n"
        "  (linear): Linear(in_features=3, out_features=4, bias=False)\n)"
    )


def test_errors():
    with pytest.raises(RuntimeError, match=r"requires batched input, \(N, 3\), got unbatched"):
        loss(X[0], W.view(3, 2, 3), torch.tensor([1]))
    with pytest.raises(RuntimeError, match=r"expected linear_bias shape \(6,\), got \(3,\)"):
        loss(X, W, CLASSES, linear_bias=torch.ones(3))
    with pytest.raises(RuntimeError, match="ignore_index cannot be specified"):
        loss(X, W, torch.ones(2, 6), ignore_index=1)
    with pytest.raises(NotImplementedError, match="in chunks"):
        loss(X, W, CLASSES, options=object())
