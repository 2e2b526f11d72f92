"""Results that are no tensors, places in the graph, zeros that can be differentiated, decorated classes."""

import pytest

import rushlight as torch

place = torch.autograd.graph.get_gradient_edge


@pytest.mark.parametrize("materialize", [True, False])
def test_a_function_with_results_that_are_no_tensors(materialize):
    seen = []

    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 1, "a", x * 2, None

        @staticmethod
        def backward(ctx, *grads):
            seen.append([g if g is None else g.item() for g in grads])
            return 2 * grads[2]

    x = torch.tensor(3.0, requires_grad=True)
    _, word, second, nothing = Split.apply(x)
    second.backward()
    assert (word, nothing) == ("a", None) and x.grad == 2
    assert seen == [[0.0 if materialize else None, None, 1.0, None]]


def test_grad_by_a_place_in_the_graph():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    (alone,) = torch.autograd.grad(z, place(y), retain_graph=True)
    of_leaf, of_tensor = torch.autograd.grad(z, (place(x), y), retain_graph=True)
    assert (alone == 4).all() and (of_leaf == 8).all() and (of_tensor == 4).all()
    with pytest.raises(NotImplementedError, match="UnbindBackward0, which has several"):
        torch.autograd.grad(z, type(place(y))((x * 2).unbind()[1].grad_fn, 1), allow_unused=True)


def test_materialized_zeros_require_grad_where_a_graph_is_made():
    x, unused = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    for create in (True, False):
        grads = torch.autograd.grad((x * x).sum(), (x, unused), create_graph=create, materialize_grads=True)
        assert [g.requires_grad for g in grads] == [create, create] and not grads[1].any()


def test_a_class_under_no_grad():
    class Model:
        def __init__(self):
            self.recorded = torch.is_grad_enabled()

    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        make = torch.no_grad()(Model)
    assert make().recorded is False and isinstance(make(), Model)
    assert torch.is_grad_enabled()
