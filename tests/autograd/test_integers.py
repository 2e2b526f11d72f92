"""Integers and bools have no gradient, and none passes through them: conversions, writes into them, `dtype=`."""

import pytest

import rushlight as torch

X = torch.tensor([[1.5, -2.0], [0.0, 3.0]], requires_grad=True)
CONVERSIONS = {
    "bool": lambda: X.bool(),
    "long": lambda: X.long(),
    "int": lambda: X.int(),
    "to": lambda: X.to(torch.int64),
    "to of a tensor": lambda: X.to(torch.ones(1, dtype=torch.uint8)),
    "type": lambda: X.type(torch.int32),
    "there and back": lambda: X.bool().to(X),
    "there and back, other floats": lambda: X.long().double(),
    "copied into": lambda: torch.zeros(2, 2, dtype=torch.int64).copy_(X),
    "copied from": lambda: torch.zeros(2, 2).copy_(X.bool()),
    "comparison": lambda: (X > 0).to(X),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_no_history(name):
    result = CONVERSIONS[name]()
    assert not result.requires_grad and result.grad_fn is None


def test_an_indexed_write_of_floats_into_integers():
    counts = torch.zeros(2, 2, dtype=torch.int64)
    counts[0] = X[0]
    counts.index_put_((torch.tensor([1]),), X[1].long())
    assert not counts.requires_grad and counts.tolist() == [[1, -2], [0, 3]]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_mask_made_of_values_is_a_constant(compiled):
    w = torch.tensor([1.0, -2.0, 0.0, 3.0], requires_grad=True)

    def step():
        w.grad = None
        ((w * 2).bool().to(w) * w.exp() + (w > 0).float() * w).sum().backward()
        return w.grad.clone()

    step = torch.compile(step) if compiled else step
    for _ in range(4):
        torch.testing.assert_close(step(), w.detach().exp() * (w != 0) + (w > 0).float())


@pytest.mark.parametrize("name", ["sum", "nansum", "prod"])
def test_a_reduction_to_integers_of_what_needs_a_gradient_raises(name):
    with pytest.raises(RuntimeError, match="Autograd not support dtype: Long"):
        getattr(X, name)(dtype=torch.int64)
    assert getattr(X.detach(), name)(dtype=torch.int64).dtype is torch.int64
    assert X.cumsum(0, dtype=torch.float64).requires_grad
    with pytest.raises(RuntimeError, match="Autograd not support dtype: Int"):
        X.cumprod(1, dtype=torch.int32)
