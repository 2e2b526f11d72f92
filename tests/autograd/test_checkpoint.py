"""Checkpointing: the same numbers, computed twice."""

import weakref

import pytest

import rushlight as rl
import rushlight.utils.checkpoint as checkpointing

FORMS = [True, False]


def net(x, y, k=1.0):
    return (x * y).sin().exp() * x * k


def inputs():
    return rl.tensor([1.0, 2.0, 3.0], requires_grad=True), rl.tensor([0.5, 1.0, 0.1], requires_grad=True)


@pytest.mark.parametrize("reentrant", FORMS)
def test_gradients_and_runs(reentrant):
    runs = []

    def counted(*args):
        runs.append(rl.is_grad_enabled())
        return net(*args)

    x, y = inputs()
    net(x, y).sum().backward()
    a, b = inputs()
    out = checkpointing.checkpoint(counted, a, b, use_reentrant=reentrant)
    assert runs == [not reentrant]
    out.sum().backward()
    assert runs == [not reentrant, True]
    assert rl.equal(a.grad, x.grad) and rl.equal(b.grad, y.grad)


@pytest.mark.parametrize("reentrant", FORMS)
def test_random_numbers_are_the_same_in_both_runs(reentrant):
    def dropped(x):
        return rl.nn.functional.dropout(x * x, 0.5)

    rl.manual_seed(3)
    x = rl.ones(50, requires_grad=True)
    out = checkpointing.checkpoint(dropped, x, use_reentrant=reentrant)
    after = rl.rand(1)
    out.sum().backward()
    assert rl.equal(x.grad, 2 * out.detach())
    rl.manual_seed(3)
    dropped(x)
    assert rl.equal(rl.rand(1), after)


def test_intermediate_results_are_not_kept():
    refs = []

    def part(x):
        h = x.exp()
        refs.append(weakref.ref(h))
        return (h * h).sin()

    x = rl.ones(3, requires_grad=True)
    out = checkpointing.checkpoint(part, x, use_reentrant=False)
    assert refs[0]() is None
    out.sum().backward()
    assert x.grad is not None


def test_keyword_arguments_grad_and_double_backward():
    x, y = inputs()
    out = checkpointing.checkpoint(net, x, y, k=2.0, use_reentrant=False)
    (g,) = rl.autograd.grad(out.sum(), x, create_graph=True)
    (expected,) = rl.autograd.grad(net(x, y, 2.0).sum(), x, create_graph=True)
    assert rl.allclose(g, expected)
    (g2,) = rl.autograd.grad(g.sum(), y)
    assert rl.allclose(g2, rl.autograd.grad(expected.sum(), y)[0])


def test_retained_graphs_run_again():
    runs = []

    def counted(x):
        runs.append(1)
        return x.exp()

    x = rl.ones(3, requires_grad=True)
    out = checkpointing.checkpoint(counted, x, use_reentrant=False).sum()
    out.backward(retain_graph=True)
    out.backward()
    assert len(runs) == 3
    with pytest.raises(RuntimeError, match="second time"):
        out.backward()


def test_nested_checkpoints():
    def inner(x):
        return (x * 2).exp().sin()

    x = rl.tensor([0.1, 0.2], requires_grad=True)
    out = checkpointing.checkpoint(
        lambda t: checkpointing.checkpoint(inner, t.sin(), use_reentrant=False).exp(), x, use_reentrant=False
    )
    (g,) = rl.autograd.grad(out.sum(), x)
    assert rl.allclose(g, rl.autograd.grad(inner(x.sin()).exp().sum(), x)[0])


def test_a_part_that_changes_between_the_runs():
    runs = []

    def unstable(x):
        runs.append(1)
        return (x[:2] if len(runs) == 1 else x).exp()

    x = rl.ones(3, requires_grad=True)
    out = checkpointing.checkpoint(unstable, x, use_reentrant=False)
    with pytest.raises(checkpointing.CheckpointError, match="have different metadata"):
        out.sum().backward()


def test_refusals_of_the_reentrant_form():
    x, y = inputs()
    with pytest.raises(ValueError, match="Unexpected keyword arguments: k"):
        checkpointing.checkpoint(net, x, y, k=2.0, use_reentrant=True)
    out = checkpointing.checkpoint(net, x, y, use_reentrant=True)
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad"):
        rl.autograd.grad(out.sum(), x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpointing.checkpoint(net, x.detach(), y.detach(), use_reentrant=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpointing.checkpoint(net, x, y)


@pytest.mark.parametrize("reentrant", FORMS)
@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_checkpoint_sequential(reentrant, segments):
    parts = [rl.exp, rl.sin, lambda x: x * x, rl.tanh, lambda x: x + 1]
    x = rl.tensor([0.1, 0.2], requires_grad=True)
    checkpointing.checkpoint_sequential(parts, segments, x, use_reentrant=reentrant).sum().backward()
    y = rl.tensor([0.1, 0.2], requires_grad=True)
    out = y
    for part in parts:
        out = part(out)
    out.sum().backward()
    assert rl.allclose(x.grad, y.grad)


@pytest.mark.parametrize("reentrant", FORMS)
def test_both_runs_move_running_statistics_also_where_the_second_one_ends(reentrant):
    x = rl.tensor([[1.0, 4.0], [3.0, 8.0]], requires_grad=True)
    norm, last = rl.nn.BatchNorm1d(2), rl.nn.Linear(2, 1)
    last(checkpointing.checkpoint(norm, x, use_reentrant=reentrant)).sum().backward()
    assert norm.num_batches_tracked == 2
    assert rl.allclose(norm.running_mean, 0.19 * rl.tensor([2.0, 6.0]))
    assert rl.allclose(norm.running_var, 0.81 + 0.19 * rl.tensor([2.0, 8.0]))


def test_whether_a_reentrant_checkpoint_may_run():
    seen = []

    class Tell(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(rl.autograd._is_checkpoint_valid())
            return g * 2

    x = rl.ones(3, requires_grad=True)
    Tell.apply(x).sum().backward()
    rl.autograd.grad(Tell.apply(x).sum(), x)
    Tell.apply(x).sum().backward(inputs=[x])
    assert seen == [True, False, False] and rl.autograd._is_checkpoint_valid()  # torch's
