"""backward and grad, as a user calls them."""

import pytest

import rushlight as rl


def leaf(*values):
    return rl.tensor(values, requires_grad=True)


def test_gradients_accumulate_over_backwards():
    w = leaf(1.0, 2.0)
    (w * w).sum().backward()
    first = w.grad
    (w * 3).sum().backward()
    assert w.grad.tolist() == [5.0, 7.0]
    assert w.grad is first
    w.grad = None
    (w * 3).sum().backward()
    assert w.grad.tolist() == [3.0, 3.0]


def test_accumulation_does_not_touch_a_gradient_kept_elsewhere():
    w = leaf(1.0, 2.0)
    g = rl.ones(2)
    w.backward(g)
    w.backward(g)
    assert w.grad.tolist() == [2.0, 2.0]
    assert g.tolist() == [1.0, 1.0]


def test_shared_gradients_are_not_added_into_each_other():
    # both inputs of an addition receive the same gradient; one of them receives more
    x = rl.tensor(0.7, dtype=rl.float64, requires_grad=True)
    y = (x + x * x) ** 3
    (g,) = rl.autograd.grad(y, x, create_graph=True)
    (g2,) = rl.autograd.grad(g * g, x)
    a, b, c = 1.19, 2.4, 2.0  # y = a**3 with a' = b and a'' = c
    assert g.item() == pytest.approx(3 * a**2 * b)
    assert g2.item() == pytest.approx(2 * g.item() * (6 * a * b**2 + 3 * a**2 * c))


def test_leaves_and_results():
    x = leaf(1.0)
    y = x * 2
    assert x.is_leaf and not y.is_leaf and x.grad_fn is None and y.requires_grad
    assert rl.ones(1).is_leaf and not rl.ones(1).requires_grad
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf variables"):
        y.requires_grad = False
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        rl.ones(1, dtype=rl.int64).requires_grad_()
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None


def test_backward_needs_a_scalar_or_a_gradient():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 2).backward(rl.ones(3))
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        rl.ones(1).backward()
    (x * 2).backward(rl.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 20.0]


def test_second_backward_raises():
    x = leaf(1.0, 2.0)
    y = x.exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_second_backward_names_the_operator_and_the_line():
    x = leaf(1.0, 2.0)
    y = x.exp().sum()
    y.backward()
    with pytest.raises(
        RuntimeError, match=r"saved by ExpBackward0 were freed by the backward called at .*test_backward\.py:\d+"
    ):
        y.backward()


def test_retain_graph_allows_a_second_backward():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_operators_that_save_nothing_can_be_walked_twice():
    x = leaf(1.0, 2.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_max_frees_its_indices():
    y = leaf(1.0, 2.0).max(0)[0]
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


NAMES = [
    (lambda x: x + x, "AddBackward0"),
    (lambda x: x * 2, "MulBackward0"),
    (lambda x: x.sum(), "SumBackward0"),
    (lambda x: x.sum(0), "SumBackward1"),
    (lambda x: x.mean(), "MeanBackward0"),
    (lambda x: x @ x, "DotBackward0"),
    (lambda x: x.view(1, 2), "ViewBackward0"),
    (lambda x: x[0], "SelectBackward0"),
    (lambda x: x[:1], "SliceBackward0"),
    (lambda x: x[[0]], "IndexBackward0"),
    (lambda x: x.max(0)[0], "MaxBackward0"),
    (lambda x: x.clone(), "CloneBackward0"),
    (lambda x: x**2, "PowBackward0"),
    (lambda x: rl.stack([x, x]), "StackBackward0"),
]


@pytest.mark.parametrize("make, name", NAMES, ids=[n for _, n in NAMES])
def test_names_of_nodes(make, name):
    y = make(leaf(1.0, 2.0))
    assert y.grad_fn.name() == name
    assert type(y.grad_fn).__name__ == name
    assert f"grad_fn=<{name}>" in repr(y)


def test_next_functions_lead_to_the_leaves():
    x = leaf(1.0)
    y = x * 2 + x
    (mul, i), (accumulate, j) = y.grad_fn.next_functions
    assert (mul.name(), i, j) == ("MulBackward0", 0, 0)
    assert accumulate.name() == "torch::autograd::AccumulateGrad"
    assert accumulate.variable is x
    assert mul.next_functions[0][0] is accumulate


def test_grad_returns_without_accumulating():
    x, y = leaf(2.0), leaf(3.0)
    gx, gy = rl.autograd.grad(x * y, (x, y))
    assert (gx.item(), gy.item()) == (3.0, 2.0)
    assert x.grad is None and y.grad is None


def test_grad_of_an_unused_input():
    x, y = leaf(2.0), leaf(3.0)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        rl.autograd.grad(x * 2, y)
    assert rl.autograd.grad(x * 2, (x, y), allow_unused=True)[1] is None
    assert rl.autograd.grad(x * 2, (x, y), materialize_grads=True)[1].item() == 0.0
    with pytest.raises(ValueError, match="allow_unused"):
        rl.autograd.grad(x * 2, y, materialize_grads=True, allow_unused=False)
    with pytest.raises(RuntimeError, match="does not require grad"):
        rl.autograd.grad(x * 2, rl.ones(1))


def test_grad_of_an_intermediate_result():
    x = leaf(2.0)
    y = x * x
    z = y.exp() + y
    assert rl.autograd.grad(z, y, retain_graph=True)[0].item() == pytest.approx(55.598, abs=1e-3)
    assert rl.autograd.grad(z, (y, x))[1].item() == pytest.approx(4 * 55.598, abs=1e-2)


def test_grad_outputs_weigh_several_outputs():
    x = leaf(1.0, 2.0)
    (g,) = rl.autograd.grad([x * 2, x * x], x, [rl.ones(2), rl.tensor([1.0, 10.0])])
    assert g.tolist() == [4.0, 42.0]


def test_batched_grads_are_those_one_by_one():
    x = leaf(1.0, 2.0)
    y = x * x
    (g,) = rl.autograd.grad(y, x, rl.eye(2), is_grads_batched=True)
    assert g.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_backward_into_given_inputs_only():
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    (z * z).backward(inputs=[x])
    assert x.grad.item() == 36.0 and y.grad is None
    with pytest.raises(RuntimeError, match="cannot be empty"):
        (x * y).backward(inputs=[])


def test_double_and_triple_backward():
    x = leaf(2.0)
    (g1,) = rl.autograd.grad(x**4, x, create_graph=True)
    (g2,) = rl.autograd.grad(g1, x, create_graph=True)
    (g3,) = rl.autograd.grad(g2, x)
    assert [g1.item(), g2.item(), g3.item()] == [32.0, 48.0, 48.0]


def test_gradient_penalty_trains_through_a_gradient():
    w = leaf(2.0)
    x = leaf(3.0)
    (g,) = rl.autograd.grad(w * x * x, x, create_graph=True)  # 2 w x
    ((g - 1) ** 2).sum().backward()
    assert w.grad.item() == 2 * (12 - 1) * 6
    assert x.grad.item() == 2 * (12 - 1) * 4


@pytest.mark.filterwarnings("ignore:Using backward")
def test_create_graph_makes_grad_differentiable():
    x = leaf(3.0)
    (x**3).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    x.grad.sum().backward()
    assert x.grad.item() == 27.0 + 18.0
    x.grad = None


def test_detach_stops_the_gradient_and_shares_memory():
    x = leaf(2.0)
    y = x * 3
    d = y.detach()
    assert not d.requires_grad and d.data_ptr() == y.data_ptr()
    (y * d).sum().backward()
    assert x.grad.item() == 18.0


def test_a_leaf_may_be_the_root():
    x = leaf(2.0)
    x.sum().backward()
    y = rl.tensor(3.0, requires_grad=True)
    y.backward()
    assert y.grad.item() == 1.0


def test_assigning_a_gradient_is_checked():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="same size"):
        x.grad = rl.ones(3)
    with pytest.raises(RuntimeError, match="dtype"):
        x.grad = rl.ones(2, dtype=rl.float64)
    with pytest.raises(TypeError):
        x.grad = 3.0
    x.grad = rl.ones(2)
    x.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_tensor_that_required_grad_before_is_the_same_leaf():
    w = leaf(1.0, 2.0)
    seen = []
    w.register_hook(lambda g: seen.append("hook"))
    y = (w * 3).sum()
    w.requires_grad_(False)
    w.requires_grad_(True)
    y.backward()
    assert w.grad.tolist() == [3.0, 3.0] and seen == ["hook"]
    z = (w * 2).sum()
    w.detach_()
    w.requires_grad = True
    z.backward()
    assert w.grad.tolist() == [5.0, 5.0] and seen == ["hook"] * 2


def test_the_gradient_of_a_sum_is_repeated_without_a_copy():
    x = rl.ones(3, 2, requires_grad=True)
    assert rl.autograd.grad(x.sum(), x)[0].stride() == (0, 0)
    assert rl.autograd.grad((x.sum(1) * rl.arange(3.0)).sum(), x)[0].stride() == (1, 0)
    assert rl.autograd.grad(x.mean(), x)[0].stride() == (2, 1)
    y = x * 1
    y.retain_grad()
    y.sum().backward()
    assert y.grad.stride() == x.grad.stride() == (2, 1)


def test_what_inputs_names_is_walked_once():
    x = leaf(2.0)
    y = x * x
    y.sum().backward(inputs=[y])
    assert y.grad.item() == 1.0 and x.grad is None
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
