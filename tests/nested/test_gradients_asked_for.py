"""The gradients that `autograd.grad` gives for nested tensors are nested."""

import pytest

import rushlight as rl


@pytest.mark.parametrize("layout", [rl.strided, rl.jagged])
def test_the_gradient_of_a_nested_tensor_is_nested(layout):
    parts = [rl.arange(6.0).reshape(3, 2), rl.ones(1, 2)]
    t = rl.nested.nested_tensor(parts, layout=layout, requires_grad=True)
    (g,) = rl.autograd.grad(sum(u.sum() for u in (t * t).unbind()), t)
    assert g.is_nested
    assert g.layout is layout
    assert [u.tolist() for u in g.unbind()] == [(2 * p).tolist() for p in parts]


def test_the_tensors_of_a_leaf_are_shown_with_its_mark():
    t = rl.nested.nested_tensor([rl.ones(2)], requires_grad=True)
    assert repr(t) == "nested_tensor([\n  tensor([1., 1.], requires_grad=True)\n], requires_grad=True)"
