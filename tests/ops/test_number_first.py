"""Calls of older programs: a number in front of the tensors that it multiplies."""

import inspect
import warnings

import pytest

import rushlight as torch
from rushlight.core.dispatch import number_first, torch_function

M, G, V = torch.zeros(2, 2), torch.ones(2, 2), torch.ones(2)
CALLS = [
    (lambda: M.clone().add_(2, G), 2),
    (lambda: torch.add(M, 2, G), 2),
    (lambda: torch.add(M, 2, G, out=torch.empty(2, 2)), 2),
    (lambda: torch.add(M, torch.tensor(2), G), 2),
    (lambda: M.add(2, 3), 6),
    (lambda: M.clone().sub_(2, G), -2),
    (lambda: M.sub(2, G), -2),
    (lambda: torch.addcmul(M, 2, G, G), 2),
    (lambda: M.clone().addcmul_(2, G, G), 2),
    (lambda: M.clone().addcdiv_(-0.5, G, G), -0.5),
    (lambda: torch.addcdiv(M, 2, G, G, out=torch.empty(2, 2)), 2),
    (lambda: torch.addmm(2, G, 3, G, G), 8),
    (lambda: torch.addmm(2, G, G, G), 4),
    (lambda: G.addmm(2, 3, G, G), 8),
    (lambda: G.clone().addmm_(2, G, G), 4),
    (lambda: torch.addmv(2, V, 3, G, V), 8),
    (lambda: G.clone().addr_(2, 3, V, V), 5),
    (lambda: G[None].baddbmm(2, G[None], G[None]), 4),
    (lambda: torch.addbmm(2, G, 3, G[None], G[None]), 8),
]


@pytest.fixture(autouse=True)
def silent(monkeypatch):
    monkeypatch.setattr(number_first, "_warned", True)


@pytest.mark.parametrize(("call", "value"), CALLS)
def test_value(call, value):
    assert (call() == value).all()


def test_gradients_and_compiled_calls():
    a, b = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    torch.addmm(2, a, 3, b, b).sum().backward()
    assert (a.grad == 2).all() and (b.grad == 12).all()
    step = torch.compile(lambda x, y: x.mul(0.9).add_(0.1, y).addcmul_(0.5, y, y))
    for _ in range(4):
        assert torch.allclose(step(G, G), torch.full((2, 2), 1.5))


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.add(M, G, 2),
        lambda: torch.add(M, G, G),
        lambda: torch.addmm(M, G, G, 2, 3),
        lambda: M.clone().addmm_(G, G, 2),
        lambda: M.addcmul(1, 2, G, G),
        lambda: M.clone().addcmul_(G, G, 2),
    ],
)
def test_numbers_elsewhere_are_refused(call):
    with pytest.raises(TypeError, match=r"positional arguments but|invalid combination of arguments"):
        call()


@pytest.mark.parametrize("asking", [False, True])
def test_one_warning_with_both_signatures(monkeypatch, asking):
    monkeypatch.setattr(number_first, "_warned", False)
    if asking:
        torch_function.activate()  # as the first class with __torch_function__ does; it lays frames between
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        M.clone().add_(2, G)
        M.clone().addcmul_(2, G, G)
    (warning,) = [w for w in caught if "overload" in str(w.message)]  # a collection may close what other tests left
    assert "This overload of add_ is deprecated:\n\tadd_(Number alpha, Tensor other)" in str(warning.message)
    assert warning.filename == __file__


def test_signatures_show_todays_form():
    assert str(inspect.signature(torch.add)) == "(input, other, *, alpha=1, out=None)"
    assert str(inspect.signature(torch.Tensor.addcmul_)) == "(self, tensor1, tensor2, *, value=1)"
    assert str(inspect.signature(torch.addmm)) == "(input, mat1, mat2, *, beta=1, alpha=1, out=None)"
