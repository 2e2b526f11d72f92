"""Mistakes that users make: the exception is torch's class, and its message has the words that people search for."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn


def x():
    return torch.ones(3, 4)


def prob():
    return torch.full((3,), 0.5)


MISTAKES = [
    (lambda: float(x()), ValueError, "only one element tensors can be converted to Python scalars"),
    (lambda: int(x()), ValueError, "only one element tensors can be converted to Python scalars"),
    (lambda: x().item(), RuntimeError, "a Tensor with 12 elements cannot be converted to Scalar"),
    (lambda: torch.cat([x(), 1]), TypeError, "expected Tensor as element 1 in argument 0, but got int"),
    (lambda: torch.cat((x(), None)), TypeError, "expected Tensor as element 1 in argument 0, but got NoneType"),
    (lambda: torch.stack([x(), "a"]), TypeError, "expected Tensor as element 1 in argument 0, but got str"),
    (lambda: torch.rand(-2), RuntimeError, "negative dimension -2"),
    (lambda: torch.randn(2, -3), RuntimeError, "negative dimension -3"),
    (lambda: torch.randint(3, (-2,)), RuntimeError, "negative dimension -2"),
    (lambda: torch.normal(0.0, 1.0, (-1,)), RuntimeError, "negative dimension -1"),
    (lambda: x().resize_(-1), RuntimeError, "negative dimension -1"),
    (lambda: x().requires_grad_("yes"), TypeError, "must be bool, not str"),
    (lambda: torch.set_grad_enabled("yes"), TypeError, "must be bool, not str"),
    (lambda: x().sum("rows"), TypeError, "int"),
    (lambda: x().cumsum(7.0), TypeError, "must be int, not float"),
    (lambda: x().clamp("a"), TypeError, "clamp"),
    (lambda: torch.can_cast(x(), torch.float32), TypeError, "must be torch.dtype, not Tensor"),
    (lambda: torch.promote_types(torch.float32, 1), TypeError, "must be torch.dtype, not int"),
    (lambda: x()[torch.tensor([0, 1], dtype=torch.int16)], IndexError, "must be long, int, byte or bool tensors"),
    (lambda: F.binary_cross_entropy(prob(), torch.tensor([0, 1, 1])), RuntimeError, "Found dtype Long but expected Float"),
    (lambda: F.binary_cross_entropy(prob(), prob() + 1), RuntimeError, "all elements of target should be between 0 and 1"),
    (lambda: F.binary_cross_entropy_with_logits(prob(), torch.tensor([0, 1, 1])), RuntimeError,
     "result type Float can't be cast to the desired output type Long"),
    (lambda: F.mse_loss(torch.tensor([1]), torch.tensor([1])), NotImplementedError, "not implemented for 'Long'"),
    (lambda: F.smooth_l1_loss(prob(), prob(), beta=-1.0), RuntimeError, "does not support negative values for beta"),
    (lambda: F.kl_div(prob(), torch.tensor([0, 1, 1]), reduction="sum"), RuntimeError, "Integral inputs not supported"),
    (lambda: F.cross_entropy(x(), torch.tensor([0, 1, 2]), weight=torch.ones(4).double()), RuntimeError,
     "expected scalar type Float but found Double"),
    (lambda: nn.BatchNorm2d(3)(torch.ones(2, 3, 2, 2).double()), RuntimeError, "mixed dtype"),
    (lambda: nn.BatchNorm2d(3)(torch.ones(2, 3, 2, 2).long()), NotImplementedError, "not implemented for 'Long'"),
    (lambda: nn.LayerNorm(4)(x().double()), RuntimeError, "mixed dtype"),
]  # fmt: skip


@pytest.mark.parametrize(("act", "kind", "words"), MISTAKES, ids=[w for _, _, w in MISTAKES])
def test_mistake(act, kind, words):
    with pytest.raises(kind) as caught:
        act()
    assert caught.type is kind
    assert words in str(caught.value)


def test_indices_that_do_not_fit_are_named_in_an_assignment():
    t = torch.ones(2, 4)
    with pytest.raises(IndexError, match="could not be broadcast together with shapes"):
        t[torch.tensor([0, 0]), torch.tensor([0, 1, 2])] = 1.0


def test_bool_targets_of_regression_losses_have_gradients():
    for loss in (F.mse_loss, F.smooth_l1_loss):
        p = torch.tensor([0.2, 0.7, 0.4], requires_grad=True)
        loss(p, torch.tensor([False, True, True])).backward()
        q = torch.tensor([0.2, 0.7, 0.4], requires_grad=True)
        loss(q, torch.tensor([0.0, 1.0, 1.0])).backward()
        assert torch.equal(p.grad, q.grad)


def test_huber_loss_answers_in_the_inputs_type_and_refuses_mixed_gradients():
    p = prob().requires_grad_()
    loss = F.huber_loss(p, prob().double())
    assert loss.dtype is torch.float32
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        loss.backward()
