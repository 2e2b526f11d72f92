"""`torch.autograd.graph.allow_mutation_on_saved_tensors`."""

import pytest

import rushlight as torch
from rushlight.autograd.graph import allow_mutation_on_saved_tensors


def test_backward_uses_the_values_of_the_call():
    x = torch.ones(2, requires_grad=True)
    with allow_mutation_on_saved_tensors():
        y = x.clone() * 2
        z = (y * y).sum()
        y.mul_(3)
        y[0] = 7
        z.backward()
    assert x.grad.tolist() == [8.0, 8.0]  # 2 * 2x * 2


def test_second_derivative():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with allow_mutation_on_saved_tensors():
        y = x.clone()
        z = (y**3).sum()
        with torch.no_grad():
            y.zero_()
        (g,) = torch.autograd.grad(z, x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
    assert g.tolist() == [3.0, 12.0] and h.tolist() == [6.0, 12.0]


def test_without_it_and_outside_of_it():
    x = torch.ones(2, requires_grad=True)
    y = x.clone()
    z = (y * y).sum()
    y.mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    block = allow_mutation_on_saved_tensors()
    with block:
        z = (x * x).sum()
        with pytest.raises(RuntimeError, match="cannot be nested"):
            block.__enter__()
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors' context"):
        z.backward()


def test_another_block_inside():
    with allow_mutation_on_saved_tensors() as block, pytest.raises(RuntimeError, match="cannot be nested"):
        block.clear()
        with allow_mutation_on_saved_tensors():
            pass
    with allow_mutation_on_saved_tensors():
        pass
