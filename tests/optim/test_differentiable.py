"""With ``differentiable=True`` a step is part of the graph: gradients against central differences."""

import pytest

import rushlight as torch

# name, options, steps: where an algorithm's second step writes over what its first one saved, torch's raises and so
# do these; SGD's first momentum is a detached copy of the gradient, in torch as well
CASES = [
    ("SGD", {"weight_decay": 0.1}, 2),
    ("SGD", {"maximize": True}, 2),
    ("Adam", {"weight_decay": 0.1}, 2),
    ("Adam", {"amsgrad": True}, 1),
    ("AdamW", {}, 2),
    ("RMSprop", {"centered": True, "momentum": 0.5}, 1),
    ("RMSprop", {}, 1),
    ("Adagrad", {"lr_decay": 0.1}, 1),
    ("Adadelta", {}, 1),
    ("Adamax", {}, 1),
    ("NAdam", {}, 1),
    ("RAdam", {"betas": (0.5, 0.6)}, 1),
    ("ASGD", {}, 2),
]


def loss_after(steps, name, options, scale):
    """The loss after some steps whose gradients are proportional to `scale`."""
    p = torch.tensor([0.3, -0.4, 0.9], dtype=torch.float64).clone()
    optimizer = getattr(torch.optim, name)([p], lr=0.05, differentiable=True, **options)
    for k in range(steps):
        p.grad = scale * torch.tensor([0.5 + k, -0.7, 0.2 - k], dtype=torch.float64)
        optimizer.step()
    return (p * p).sum()


@pytest.mark.parametrize("name, options, steps", CASES, ids=[f"{n} {o}" for n, o, _ in CASES])
def test_gradients_flow_through_the_step(name, options, steps):
    scale = torch.tensor([0.5, 0.7, -0.6], dtype=torch.float64, requires_grad=True)
    loss_after(steps, name, options, scale).backward()
    h = 1e-6
    for i in range(3):
        values = []
        for sign in (1, -1):
            moved = scale.detach().clone()
            moved[i] += sign * h
            values.append(loss_after(steps, name, options, moved.requires_grad_()).item())
        slope = (values[0] - values[1]) / (2 * h)
        assert scale.grad[i].item() == pytest.approx(slope, rel=2e-3, abs=1e-6)


def test_a_given_momentum_is_differentiated():
    for nesterov in (False, True):
        buffer = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
        p = torch.tensor([1.0], dtype=torch.float64).clone()
        optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.5, nesterov=nesterov, differentiable=True)
        optimizer.state[p]["momentum_buffer"] = buffer.clone()
        p.grad = torch.tensor([3.0], dtype=torch.float64)
        optimizer.step()
        p.sum().backward()
        assert buffer.grad.item() == pytest.approx(-0.1 * 0.5 * (0.5 if nesterov else 1))


def test_gradients_flow_to_the_options():
    for name, option in (("SGD", "lr"), ("SGD", "weight_decay"), ("Adam", "lr"), ("Adam", "weight_decay")):
        value = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
        p = torch.tensor([1.0, 2.0], dtype=torch.float64).clone()
        optimizer = getattr(torch.optim, name)([p], differentiable=True, **{"lr": 0.1, option: value})
        p.grad = torch.tensor([0.5, 0.25], dtype=torch.float64)
        optimizer.step()
        p.sum().backward()
        assert value.grad is not None, (name, option)
        assert value.grad.item() != 0


def test_without_it_nothing_is_recorded():
    p = torch.ones(2, requires_grad=True)
    p.grad = torch.ones(2)
    torch.optim.Adam([p]).step()
    assert p.is_leaf
    assert p.grad_fn is None


def test_foreach_cannot_be_recorded():
    p = torch.ones(2).clone()
    p.grad = torch.ones(2)
    with pytest.raises(AssertionError, match="_foreach ops don't support autograd"):
        torch.optim.Adam([p], foreach=True, differentiable=True).step()
