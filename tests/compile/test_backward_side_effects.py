"""A backward that does more than compute gradients does it as often as without compiling, no less and no more."""

import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.compile.capture.side_effects import side_effect

seen: list[int] = []
total = torch.zeros(3)


def _note(g):
    seen.append(1)
    return g


def _doubled(g):
    return g * 2


class Ctx(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, memory):
        ctx.memory = memory
        ctx.save_for_backward(x)
        return x * 2


class Pure(Ctx):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        grad = _doubled(g).clone()
        grad[x < 0] = 0
        grad.clamp_(min=-5)
        return grad, None


class WritesMemory(Ctx):
    @staticmethod
    def backward(ctx, g):
        memory = ctx.memory
        memory += g
        return memory * 1.0, None


class WritesItems(Ctx):
    @staticmethod
    def backward(ctx, g):
        ctx.memory[:2] += g[:2]
        return ctx.memory * 1.0, None


class Appends(Ctx):
    @staticmethod
    def backward(ctx, g):
        seen.append(1)
        return g * 2, None


class CallsAnother(Ctx):
    @staticmethod
    def backward(ctx, g):
        return _note(g) * 2, None


class Counts(Ctx):
    calls = 0

    @staticmethod
    def backward(ctx, g):
        Counts.calls += 1
        seen.append(1)
        return g * 2, None


class KeepsState(Ctx):
    @staticmethod
    def backward(ctx, g):
        ctx.passes = getattr(ctx, "passes", 0) + 1
        return g * ctx.passes, None


class ExtendsList(Ctx):
    @staticmethod
    def backward(ctx, g):
        notes = seen
        notes += [1]
        return g * 2, None


class WritesGlobal(Ctx):
    @staticmethod
    def backward(ctx, g):
        total.add_(g)
        return g * 2, None


class Net(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.memory = function, torch.zeros(3)
        self.weight = nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))

    def forward(self, x):
        self.memory.zero_()
        return (self.function.apply(self.weight * x, self.memory) * x).sum()


def _run(net, call, steps):
    """What each step leaves behind."""
    seen.clear()
    total.zero_()
    x, found = torch.tensor([0.5, 1.0, 2.0]), []
    for _ in range(steps):
        net.weight.grad = None
        call(x).backward()
        found.append((len(seen), net.weight.grad.tolist(), net.memory.tolist(), total.tolist()))
    return found


IMPURE = [WritesMemory, WritesItems, Appends, CallsAnother, Counts, KeepsState, ExtendsList, WritesGlobal]


@pytest.mark.parametrize("function", [Pure, *IMPURE])
@pytest.mark.parametrize("wrap", [torch.compile, lambda net: torch.compile(lambda x: net(x)), lambda net: net])
def test_it_is_done_as_often_as_without_compiling(function, wrap):
    expected = _run(net := Net(function), net.forward, 6)
    other = Net(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it runs eagerly
        assert _run(other, wrap(other), 6) == expected


def test_a_pure_backward_is_compiled():
    net, other = Net(Pure), Net(Pure)
    compiled = torch.compile(net, fullgraph=True)
    assert _run(net, compiled, 5) == _run(other, other.forward, 5)


def test_an_operator_of_the_library_counts_once():
    @torch.library.custom_op("side_effects::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def backward(ctx, g):
        seen.append(1)
        return g * 2

    twice.register_autograd(backward)
    net = nn.Linear(3, 2)
    compiled = torch.compile(lambda x: twice(net(x)).sum())
    seen.clear()
    with pytest.warns(UserWarning, match=r"runs eagerly.*the backward of .*side_effects_twice.* calls append\(\)"):
        for _ in range(5):
            compiled(torch.ones(4, 3)).backward()
    assert len(seen) == 5


def test_what_a_name_refers_to_is_looked_up_each_time():
    def calling(helper):
        return lambda ctx, g: helper(g)

    assert side_effect(calling(_doubled)) is None
    assert side_effect(calling(_note)) == "calls _note(), which calls append()"


def _drawn(ctx, g):
    return g * np.random.rand()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (Pure.backward, None),
        (WritesItems.backward, r"assigns to ctx.memory[:2], which exists outside it"),
        (Appends.backward, "calls append()"),
        (CallsAnother.backward, "calls _note(), which calls append()"),
        (Counts.backward, "assigns to the attribute .calls"),
        (lambda ctx, g: ctx.function(g), "calls ctx.function(), of which nothing is known"),
        (_drawn, "draws from NumPy's random generator"),
        (KeepsState.backward, "assigns to the attribute .passes"),
        (ExtendsList.backward, "extends a list"),
        (lambda ctx, g: print(g), "calls print, of which nothing is known"),
        (lambda ctx, g: torch.where(g > 0, g, torch.zeros_like(g)).sum(), None),
        (torch.autograd.function.once_differentiable(Appends.backward), "calls append()"),
        (eval("lambda ctx, g: g"), "has no source that can be read"),
    ],
)
def test_what_the_source_shows(function, words):
    assert side_effect(function) == words
