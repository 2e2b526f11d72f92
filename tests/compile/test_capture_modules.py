"""Compiled modules and functions whose result is walked by a backward outside."""

import copy
import pickle
import warnings

import pytest

import rushlight as torch
from rushlight import nn, optim
from rushlight.compile.jit import step as steps
from rushlight.compile.runtime.interpret import Interpreter
from rushlight.core.jit_switch import jit
from rushlight.nn import functional as F


@pytest.fixture(autouse=True)
def bit_for_bit(monkeypatch):
    """Programs run with the kernels of eager calls, and nothing of an eager step runs natively."""
    monkeypatch.setattr(jit, "on", False)
    monkeypatch.setattr(steps, "build", Interpreter)


def network():
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))


def train(compiled, wrap=torch.compile, steps=8):
    torch.manual_seed(0)
    model = network()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    call = wrap(model) if compiled else model
    seen = []
    for i in range(steps):
        x, y = torch.randn(4, 6), torch.randint(0, 3, (4,))
        optimizer.zero_grad()
        loss = F.cross_entropy(call(x), y)
        loss.backward(retain_graph=i == 5)
        if i == 5:
            loss.backward()
        optimizer.step()
        seen.append(loss.item())
    model.eval()
    with torch.no_grad():
        seen += [call(torch.randn(4, 6)).sum().item() for _ in range(4)]
    return seen, [v.tolist() for v in model.state_dict().values()], [p._version for p in model.parameters()]


def in_place(model):
    model.compile()
    return model


@pytest.mark.parametrize("wrap", [torch.compile, in_place])
def test_a_compiled_module_trains_as_an_eager_one(wrap):
    assert train(True, wrap) == train(False)


def test_compile_shows_its_signature():
    from inspect import signature

    assert signature(torch.compile) == signature(torch.compile.api.compile)
    assert list(signature(torch.compile).parameters)[:2] == ["model", "fullgraph"]


def test_the_wrapper_shows_the_module():
    model = network()
    wrapped = torch.compile(model, mode="max-autotune", fullgraph=True, dynamic=False)
    assert isinstance(wrapped, nn.Module) and wrapped._orig_mod is model
    assert list(wrapped.state_dict())[:2] == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert [p is q for p, q in zip(wrapped.parameters(), model.parameters(), strict=True)] == [True] * 6
    wrapped.eval()
    assert not model.training and not wrapped.training
    wrapped.extra = 3
    assert model.extra == 3 and len(wrapped) == 5
    other = torch.compile(network())
    other.load_state_dict(wrapped.state_dict())
    assert torch.equal(other._orig_mod[0].weight, model[0].weight)
    again = copy.deepcopy(wrapped)
    assert torch.equal(again(torch.ones(2, 6)), model(torch.ones(2, 6)))


def test_pickling_an_in_place_compiled_module_leaves_the_programs_out():
    model = in_place(network().eval())
    again = pickle.loads(pickle.dumps(model))
    assert torch.equal(again(torch.ones(2, 6)), model(torch.ones(2, 6)))


def test_a_module_that_cannot_be_captured_runs_eagerly_with_one_warning():
    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.BatchNorm1d(3)

        def forward(self, x):
            x = self.bn(x + torch.rand(4, 3))
            return x * 2 if x.sum() > 0 else -x

    def outputs(compiled):
        torch.manual_seed(1)
        model = Branching()
        f = torch.compile(model) if compiled else model
        return [f(torch.randn(4, 3)).tolist() for _ in range(6)], model.bn.running_mean.tolist()

    with pytest.warns(UserWarning, match=r"runs eagerly: .*test_capture_modules.py:\d+: bool\(\) of a tensor") as seen:
        compiled = outputs(True)
    assert len(seen) == 1
    assert compiled == outputs(False)
    strict = torch.compile(Branching(), fullgraph=True)
    with pytest.raises(RuntimeError, match=r"bool\(\) of a tensor"):
        for _ in range(3):
            strict(torch.randn(4, 3))


def test_a_function_that_returns_a_loss():
    def results(compiled):
        torch.manual_seed(0)
        w = torch.randn(6, 3, requires_grad=True)

        def loss_of(x, y):
            out = x @ w
            return F.cross_entropy(out, y), out

        f = torch.compile(loss_of) if compiled else loss_of
        seen = []
        for _ in range(7):
            x = torch.randn(4, 6).requires_grad_()
            loss, out = f(x * 2, torch.randint(0, 3, (4,)))
            (loss + out[0].sum()).backward()
            seen.append((loss.item(), x.grad.tolist(), w.grad.tolist()))
            w.data -= 0.1 * w.grad
        return seen

    assert results(True) == results(False)


def test_only_one_result_is_walked():
    w = torch.ones(3, requires_grad=True)

    @torch.compile
    def f(x):
        return (x * w).sum(), (x + w).prod()

    for i in range(5):
        w.grad = None
        first, second = f(torch.arange(3.0))
        (first if i % 2 else second).backward()
        assert w.grad.tolist() == ([0, 1, 2] if i % 2 else [6, 3, 2])


def test_errors_of_the_compiled_backward():
    w = torch.ones(3, requires_grad=True)

    @torch.compile
    def f(x):
        return (x * w * w).sum()

    for _ in range(4):
        loss = f(torch.ones(3))
    loss.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()
    with pytest.raises(RuntimeError, match="double backward"):
        f(torch.ones(3)).backward(create_graph=True)
    loss = f(torch.ones(3))
    with torch.no_grad():
        w.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_hidden_state_as_argument_and_result():
    def losses(compiled):
        torch.manual_seed(0)
        cell, head = nn.RNNCell(3, 4), nn.Linear(4, 1)
        optimizer = optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)

        def step(xs, h):
            h = h.detach()
            optimizer.zero_grad()
            loss = 0
            for x in xs.unbind(0):
                h = cell(x, h)
                loss = loss + head(h).square().mean()
            loss.backward()
            optimizer.step()
            return loss, h

        f = torch.compile(step) if compiled else step
        h, seen = torch.zeros(2, 4), []
        for _ in range(8):
            loss, h = f(torch.randn(5, 2, 3), h)
            seen.append((loss.item(), h.tolist()))
        return seen

    assert losses(True) == losses(False)


def test_state_that_a_module_carries_in_an_attribute():
    class Carrying(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRUCell(3, 4)
            self.hidden = torch.zeros(2, 4)
            self.register_buffer("mean", torch.zeros(4))

        def forward(self, x):
            h = self.cell(x, self.hidden)
            self.hidden = h.detach()
            self.mean = 0.9 * self.mean + 0.1 * h.detach().mean(0)
            return h

    def states(compiled):
        torch.manual_seed(0)
        model = Carrying()
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        f = torch.compile(step) if compiled else step
        seen = []
        for i in range(9):
            seen.append((f(torch.randn(2, 3)).item(), model.hidden.tolist(), model.mean.tolist()))
            if i == 6:
                model.hidden = torch.ones(2, 4)
        if compiled:
            assert len(f.captured) == 1
        return seen, [v.tolist() for v in model.state_dict().values()]

    assert states(True) == states(False)


def test_inference_makes_no_history():
    model = torch.compile(network().eval())
    with torch.no_grad():
        for _ in range(5):
            assert not model(torch.ones(2, 6)).requires_grad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(model(torch.ones(2, 6)).requires_grad for _ in range(4))


def test_a_sparse_tensor_elsewhere_does_not_concern_a_program():
    elsewhere = torch.eye(3).to_sparse()
    w = torch.ones(3, requires_grad=True)

    @torch.compile(fullgraph=True)
    def step():
        w.grad = None
        (w * 2).sum().backward()
        return w.grad.clone()

    assert [step().tolist() for _ in range(5)] == [[2.0] * 3] * 5 and elsewhere.is_sparse


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return self.a(x), torch.sigmoid(self.b(x))


def test_parameters_of_unused_results_get_no_gradient():
    net = Two()
    compiled = torch.compile(net, fullgraph=True)
    for _ in range(5):
        net.zero_grad()
        compiled(torch.ones(2, 3))[0].sum().backward()
    assert net.b.weight.grad is None and net.a.weight.grad is not None


def test_a_result_that_backward_needs_must_not_be_changed():
    compiled = torch.compile(Two(), fullgraph=True)
    for _ in range(5):
        y = compiled(torch.ones(2, 3))[1]
        y.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
