"""What cannot be captured says so, with the user's line; what changes between calls is captured again."""

import itertools
import re
from dataclasses import dataclass

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn, optim
from rushlight.compile.capture.sources import CaptureError
from rushlight.compile.jit import step as steps
from rushlight.compile.runtime.interpret import Interpreter
from rushlight.core.jit_switch import jit
from rushlight.nn import functional as F


@pytest.fixture(autouse=True)
def bit_for_bit(monkeypatch):
    """Programs run with the kernels of eager calls, and nothing of an eager step runs natively."""
    monkeypatch.setattr(jit, "on", False)
    monkeypatch.setattr(steps, "build", Interpreter)


def strict(f):
    return torch.compile(f, fullgraph=True)


def call(f, times, *args):
    return [f(*args) for _ in range(times)]


def branch(x):
    return x if x.sum() > 0 else -x


def index(x):
    return x[x.argmax()]


def convert(x):
    return torch.zeros(int(x.sum()))


def array(x):
    return x.numpy().sum()


def listing(x):
    return x.tolist()


def printing(x):
    return f"{x.sum()}"


def number_used(x):
    return x * x.sum().item()


def number_decides(x):
    return x.sum().item() > 3


def number_as_text(x):
    return f"{x.sum().item():.2f}"


def float_first(x):
    return float(x.sum()), x + 1


def seeded(x):
    torch.manual_seed(0)
    return x + torch.rand(3)


def mask(x):
    return x[x > 1]


@torch.compiler.disable
def outside(x):
    return x + 1


def kept_out(x):
    return outside(x)


REFUSED = {
    branch: r"bool\(\) of a tensor",
    index: "an index of a tensor",
    convert: r"int\(\) of a tensor",
    array: r"numpy\(\) of a tensor",
    listing: r"tolist\(\) of a tensor",
    printing: "an f-string uses",
    number_used: r"test_capture_errors.py:\d+: .*\.item\(\) of a tensor computed inside",
    number_decides: "a comparison uses",
    number_as_text: "an f-string uses",
    float_first: "must be the last operation",
    seeded: "state of a random generator",
    mask: r"the result shape of index\(\) depends",
    kept_out: "outside is excluded from compiling",
}


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_refused(f):
    with pytest.raises(CaptureError, match=REFUSED[f]):
        call(strict(f), 4, torch.tensor([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_refused_without_fullgraph_runs_eagerly_with_one_warning(f):
    def results(f):
        torch.manual_seed(3)
        return repr(call(f, 5, torch.tensor([1.0, 2.0, 3.0])))

    expected = results(f)
    with pytest.warns(UserWarning, match=rf"{f.__name__} runs eagerly: .*test_capture_errors.py:\d+: ") as seen:
        assert results(torch.compile(f)) == expected
    assert len(seen) == 1 and seen[0].filename == __file__ and re.search(REFUSED[f], str(seen[0].message))


def test_the_message_names_the_line():
    with pytest.raises(RuntimeError, match=r"test_capture_errors.py:\d+: bool\(\)"):
        call(strict(branch), 4, torch.ones(3))


def test_a_number_that_changes_names_operator_and_line(python_unseen):
    count = itertools.count(1)

    @strict
    def f(x):
        return x * (1 / next(count))

    with pytest.raises(CaptureError, match=r"test_capture_errors.py:\d+: mul gets 0.5 in one call .* and 0.33"):
        call(f, 4, torch.ones(3))


def test_a_constant_that_changes(python_unseen):
    count = itertools.count(1)

    @strict
    def f(x):
        return x + torch.tensor([next(count), 1])

    with pytest.raises(CaptureError, match=r"test_capture_errors.py:\d+: .* holds \[2, 1\] in one call and \[3, 1\]"):
        call(f, 4, torch.ones(2))


def test_an_unmarked_number_in_the_result():
    step = strict(lambda x: float.__add__(x.sum().item(), 1.0))
    with pytest.raises(CaptureError, match=r"by \.item\(\) and arithmetic"):
        for i in range(4):
            step(torch.ones(3) * i)


@pytest.mark.parametrize("what", ["tensor", "number"])
def test_what_is_kept_elsewhere(what):
    kept = []

    @strict
    def f(x):
        y = x * 2
        kept.append(y if what == "tensor" else y.sum().item())
        return y.sum()

    with pytest.raises(CaptureError, match="is stored outside"):
        call(f, 3, torch.ones(2))


# ------------------------------------------------------------------------------------------------ guards


def test_each_shape_type_and_flag_has_its_program():
    @torch.compile
    def f(x, scale=2):
        return x * scale

    for _ in range(5):
        for x in (torch.ones(2), torch.ones(3), torch.ones(3, dtype=torch.float64), torch.ones(4)[::2]):
            assert torch.equal(f(x), x * 2)
        assert f(torch.ones(2), scale=3).tolist() == [3, 3]
        assert f(torch.ones(2, requires_grad=True)).requires_grad
        with torch.no_grad():
            assert not f(torch.ones(2, requires_grad=True)).requires_grad
    assert len(f.captured) == 7


def test_arguments_that_share_memory():
    @torch.compile
    def f(x, y):
        x.mul_(2)
        return x + y

    for _ in range(5):
        x, y = torch.ones(2), torch.ones(2)
        assert f(x, y).tolist() == [3, 3] and x.tolist() == [2, 2]
        assert f(y, y).tolist() == [4, 4]


def test_the_gradient_before_is_read_and_replaced():
    w = torch.ones(2, requires_grad=True)
    w.grad = torch.zeros(2)

    @torch.compile
    def f(x):
        before = w.grad
        w.grad = None
        (w * x).sum().backward()
        w.grad.add_(before)
        return before * 1

    assert [f(torch.full((2,), float(i)))[0].item() for i in range(8)] == [0, 0, 1, 3, 6, 10, 15, 21]


def test_too_many_programs():
    @torch.compile
    def f(x, n):
        return x * n

    with pytest.warns(
        UserWarning, match="captured 8 times .* and runs eagerly from now on; last failed guard: argument 1: "
    ):
        for n in range(30):
            assert f(torch.ones(2), n).tolist() == [n, n]


def test_more_loads_than_programs(monkeypatch):
    monkeypatch.setattr(steps, "REPAID", 3)
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5, momentum=0.5)

    def step(x):
        optimizer.zero_grad()
        loss = ((x * w) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    def run(step, calls):
        with torch.no_grad():
            w.fill_(1)
        optimizer.state.clear()
        losses = []
        for _ in range(20):
            losses += [step(torch.full((2, 3), 0.1)).item() for _ in range(calls)]
            optimizer.load_state_dict(optimizer.state_dict())  # which makes new groups and a new state
        return losses

    compiled = torch.compile(step)
    assert run(compiled, 6) == run(step, 6)
    assert not compiled.given_up and len(compiled.captured) <= steps.settings.limit
    with pytest.warns(UserWarning, match="captured 8 times .*; last failed guard: the groups of SGD: 'param_groups'"):
        run(compiled, 3)  # one call with each program does not repay it


def test_more_shapes_than_programs(monkeypatch):
    monkeypatch.setattr(steps, "REPAID", 3)
    monkeypatch.setattr(steps, "_BETWEEN", 5)
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        loss = ((x * w) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    compiled, eager = [], []
    inputs = [torch.full((n, 3), 1 / n) for n in range(1, 15)]
    with pytest.warns(
        UserWarning, match=r"step was captured 8 times \(the limit\): calls with arguments of other shapes"
    ):
        for _ in range(40):
            compiled += [step(x).item() for x in inputs]
    assert sum(c.program is not None for c in step.captured) == len(inputs)
    step, w = step.function, w.detach().fill_(1).requires_grad_()
    optimizer = torch.optim.SGD([w], lr=0.5)
    for _ in range(40):
        eager += [step(x).item() for x in inputs]
    assert compiled == pytest.approx(eager, rel=1e-5)


def test_shapes_beyond_the_memory_that_programs_may_keep(monkeypatch):
    monkeypatch.setattr(steps, "REPAID", 1)
    monkeypatch.setattr(steps, "_KEPT_BYTES", -1)  # the interpreter keeps none

    @torch.compile
    def f(x):
        return (x * 2).sum(0)

    with pytest.warns(UserWarning, match="other shapes"):
        for _ in range(6):
            for n in range(1, 15):
                assert f(torch.ones(n, 2)).tolist() == [2 * n, 2 * n]
    assert sum(c.program is not None for c in f.captured) == 8


def test_values_that_the_function_refers_to():
    scale, bias = 2.0, torch.zeros(2)

    @torch.compile
    def f(x):
        return x * scale + bias

    assert [y.tolist() for y in call(f, 4, torch.ones(2))] == [[2, 2]] * 4
    scale = 3.0
    assert [y.tolist() for y in call(f, 4, torch.ones(2))] == [[3, 3]] * 4
    bias = torch.ones(2)
    assert [y.tolist() for y in call(f, 4, torch.ones(2))] == [[4, 4]] * 4
    bias.data = torch.full((2,), 5.0)
    assert [y.tolist() for y in call(f, 4, torch.ones(2))] == [[8, 8]] * 4


def test_training_flags_hooks_and_replaced_parameters():
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    f = torch.compile(lambda x: model(x))
    x = torch.ones(2, 2)

    def both():
        with torch.no_grad():
            torch.manual_seed(1)
            got = call(f, 4, x)[-1]
            torch.manual_seed(1)
            assert torch.equal(got, call(model, 4, x)[-1])

    both()
    model.eval()
    both()
    handle = model[0].register_forward_hook(lambda module, args, out: out + 1)
    both()
    handle.remove()
    both()
    model[0].weight = nn.Parameter(torch.ones(2, 2))
    both()
    model[0].load_state_dict({"weight": torch.zeros(2, 2), "bias": torch.ones(2)})
    both()


def test_attributes_of_own_objects():
    class Trainer:
        scale = 2.0

        def __init__(self):
            self.bias = 1.0

        @torch.compile
        def method(self, x):
            return x * self.scale + self.bias

        def closure(self):
            return torch.compile(lambda x: x * self.scale + self.bias)

    for which in ("method", "closure"):
        trainer = Trainer()
        f = trainer.method if which == "method" else trainer.closure()
        for bias in (1.0, 5.0, 1.0):
            trainer.bias = bias
            assert [y.item() for y in call(f, 4, torch.ones(()))] == [2 + bias] * 4


def test_attributes_of_own_modules():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = 2.0

        def forward(self, x):
            return x * self.factor

    model = Scale()
    f = torch.compile(model)
    assert [y.tolist() for y in call(f, 4, torch.ones(1))] == [[2]] * 4
    model.factor = 5.0
    assert [y.tolist() for y in call(f, 4, torch.ones(1))] == [[5]] * 4


# ------------------------------------------------------------------------------------------------ optimizers


def descend(compiled, make, schedule=None, change=None, steps=14):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = make(model.parameters())
    scheduler = schedule(optimizer) if schedule else None

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        if scheduler is not None and change is None:
            scheduler.step(*([loss.item()] if isinstance(scheduler, optim.lr_scheduler.ReduceLROnPlateau) else []))
        return loss.item()

    f = torch.compile(step) if compiled else step
    seen = []
    for i in range(steps):
        seen.append((f(torch.randn(4, 3)), optimizer.param_groups[0]["lr"]))
        if change is not None:
            change(i, optimizer, scheduler)
    if compiled:
        assert f.captured[0].program is not None
        assert len(f.captured) <= 3
    return seen, [p.tolist() for p in model.parameters()], scheduler and scheduler.last_epoch


SCHEDULES = {
    "StepLR": lambda o: optim.lr_scheduler.StepLR(o, 2, 0.5),
    "CosineAnnealingLR": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 10),
    "OneCycleLR": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=20),
    "ReduceLROnPlateau": lambda o: optim.lr_scheduler.ReduceLROnPlateau(o, patience=0),
    "SequentialLR": lambda o: optim.lr_scheduler.SequentialLR(
        o, [optim.lr_scheduler.LinearLR(o, 0.1, total_iters=4), optim.lr_scheduler.ExponentialLR(o, 0.9)], [4]
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("inside", [True, False])
def test_schedulers(name, inside):
    def outside(i, optimizer, scheduler):
        scheduler.step(*([1.0 / (i + 1)] if name == "ReduceLROnPlateau" else []))

    make = lambda p: optim.Adam(p, lr=0.05)  # noqa: E731
    arguments = make, SCHEDULES[name], None if inside else outside
    assert descend(True, *arguments) == descend(False, *arguments)


def test_options_changed_by_hand():
    def change(i, optimizer, scheduler):
        optimizer.param_groups[0]["lr"] = 0.1 / (i + 1)
        if i > 4:
            optimizer.param_groups[0]["betas"] = (0.9 - 0.01 * i, 0.99)

    make = lambda p: optim.Adam(p, lr=0.05)  # noqa: E731
    assert descend(True, make, None, change, 20) == descend(False, make, None, change, 20)


def test_a_loaded_optimizer_state():
    def change(i, optimizer, scheduler):
        if i == 6:
            optimizer.load_state_dict(optimizer.state_dict())

    make = lambda p: optim.SGD(p, lr=0.05, momentum=0.9)  # noqa: E731
    assert descend(True, make, None, change) == descend(False, make, None, change)


def test_gradients_reset_outside_the_step():
    def weights(compiled):
        torch.manual_seed(0)
        w = torch.randn(3, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.1)

        def backward(x):
            loss = (w * x).square().sum()
            loss.backward()
            return loss

        f = torch.compile(backward) if compiled else backward
        for i in range(16):
            f(torch.randn(3))
            if i % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
        return w.tolist(), w.grad

    assert weights(True) == weights(False)


# ------------------------------------------------------------------------------------------------ results


@dataclass
class Pair:
    first: torch.Tensor
    second: object


def test_results_keep_their_structure_and_their_aliases():
    buffer = torch.zeros(4)

    @torch.compile
    def f(x):
        y = x * 2
        buffer.add_(1)
        return {"a": [y, y[1:], Pair(y.view(2, 2), None)], "b": (buffer, buffer[:2], x)}, y.sum().item() / 2 + 1, "text"

    for i in range(6):
        x = torch.full((4,), float(i))
        out, number, text = f(x)
        (y, tail, pair), (same, head, given) = out["a"], out["b"]
        assert (number, text) == (4 * i + 1, "text") and pair.second is None
        assert same is buffer and given is x and head.data_ptr() == buffer.data_ptr()
        y.zero_()
        assert not tail.any() and not pair.first.any() and y._version == tail._version == 1
        assert buffer.tolist() == [i + 1] * 4


def test_float_at_the_end():
    f = torch.compile(lambda x: {"loss": float(x.sum())})
    assert [f(torch.full((2,), float(i)))["loss"] for i in range(6)] == [0, 2, 4, 6, 8, 10]


def test_held_gradients_are_not_overwritten():
    w = torch.ones(2, requires_grad=True)

    @torch.compile
    def f(x):
        w.grad = None
        (w * x).sum().backward()

    held = []
    for i in range(8):
        f(torch.full((2,), float(i)))
        held.append(w.grad)
    assert [g.tolist() for g in held] == [[i, i] for i in range(8)]


def test_reset_and_disable():
    f = torch.compile(lambda x: x + 1)
    call(f, 5, torch.ones(1))
    assert f.captured
    torch.compiler.reset()
    assert not f.captured and f(torch.ones(1)).item() == 2
    g = lambda x: x  # noqa: E731
    assert torch.compile(g, disable=True) is g
    assert not torch.compiler.is_compiling()
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        torch.compile(g, mode="fastest")
    with pytest.raises(RuntimeError, match="Invalid backend"):
        torch.compile(g, backend="cuda")


def test_decorators_and_methods():
    class Trainer:
        def __init__(self):
            self.w = torch.ones(2, requires_grad=True)

        @torch.compile(mode="reduce-overhead")
        def step(self, x):
            self.w.grad = None
            F.mse_loss(self.w * x, x).backward()
            with torch.no_grad():
                self.w -= 0.1
            return self.w.grad

    trainer = Trainer()
    for i in range(5):
        trainer.step(torch.ones(2))
        assert trainer.w[0].item() == pytest.approx(0.9 - 0.1 * i)


def test_training_mode_set_inside():
    def results(compiled):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))

        def step(x):
            model.train()
            out = model(x).detach()
            model.eval()
            return out, model(x).detach()

        f = torch.compile(step) if compiled else step
        seen = []
        for i in range(12):
            if i % 4 == 0:
                model.train()
            seen.append([y.tolist() for y in f(torch.ones(2, 2))])
            assert not model.training and not model[1].training
        if compiled:
            assert all(c.program for c in f.captured) and len(f.captured) == 2
        return seen

    assert results(True) == results(False)


def test_settings_of_dynamo(monkeypatch):
    import rushlight._dynamo as dynamo

    monkeypatch.setattr(dynamo.config, "suppress_errors", True)
    f = strict(branch)
    with pytest.warns(UserWarning, match="runs eagerly"):
        assert [y.tolist() for y in call(f, 4, -torch.ones(1))] == [[1.0]] * 4
    monkeypatch.setattr(dynamo.config, "cache_size_limit", 1)
    g = torch.compile(lambda x: x + 1)
    with pytest.warns(UserWarning, match="captured 1 times"):
        for n in (2, 2, 2, 3):
            g(torch.ones(n))
    with pytest.raises(AttributeError):
        dynamo.config.nonsense = 3


def test_step_hooks_of_optimizers_are_refused():
    w = torch.ones(2, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)
    optimizer.register_step_post_hook(lambda *_: None)

    @strict
    def step():
        (w * w).sum().backward()
        optimizer.step()

    with pytest.raises(CaptureError, match="step hooks"):
        call(step, 3)


def test_explain():
    @torch.compile
    def f(x):
        return (x * 2).exp(), x.exp()

    about = torch.compile.explain(f)(torch.ones(2))
    assert about.programs == 1 and about.operators == {"exp": 2, "mul": 1}
    assert "1 arguments" in str(about) and "2 exp, mul" in str(about)
    assert torch.compile.explain(lambda x: x.sin())(torch.ones(2)).operators == {"sin": 1}


def test_explain_says_why_a_function_has_no_program():
    def branch(a, b):
        if b.sum() < 0:
            b = b * -1
        return a * b

    about = torch.compile.explain(branch)(torch.ones(2), torch.ones(2))
    assert about.programs == 0 and len(about.break_reasons) == 1
    assert "bool() of a tensor computed inside the compiled function" in about.break_reasons[0]
    assert str(about).splitlines()[:1] == [f"{branch.__qualname__}: 0 programs"] and "runs eagerly: " in str(about)
    assert torch.compile.explain(lambda x: x + 1)(torch.ones(2)).break_reasons == []


def test_the_log(monkeypatch, capsys):
    monkeypatch.setenv("RUSHLIGHT_LOG", "graph")
    call(torch.compile(lambda x: x.exp()), 4, torch.ones(2))
    assert "= exp(" in capsys.readouterr().err


@pytest.fixture
def for_torch(monkeypatch):
    """As in a program that imports Rushlight as `torch`."""
    from rushlight.core.jit_switch import jit

    monkeypatch.setattr(jit, "for_torch", True)


@pytest.mark.usefixtures("for_torch")
def test_fullgraph_in_programs_for_torch_raises_where_torch_breaks_the_graph():
    def branch(x):
        return x if x.sum() > 0 else -x

    def masked(x):
        return x[x > 0]

    def number(x):
        return x * (x.sum().item() > 0)

    for f in (branch, masked, number):
        compiled = torch.compile(f, fullgraph=True)
        with pytest.raises(RuntimeError, match="compiled"):
            for _ in range(4):
                compiled(torch.ones(3))


@pytest.mark.usefixtures("for_torch")
def test_fullgraph_in_programs_for_torch_runs_what_torch_compiles():
    seen = []

    def remember(x):
        seen.append(1)
        return x * len(seen)

    def with_numpy(x):
        return torch.from_numpy(np.cumsum((x * 2).numpy()))

    for f, words in ((remember, "a list outside the function"), (with_numpy, r"numpy\(\) of a tensor")):
        compiled = torch.compile(f, fullgraph=True)
        with pytest.warns(UserWarning, match=f"{f.__name__} runs eagerly: .*{words}"):
            results = [compiled(torch.ones(3)).tolist() for _ in range(5)]
        assert results == ([[n] * 3 for n in range(1, 6)] if f is remember else [[2, 4, 6]] * 5)
    assert len(seen) == 5
