"""Training steps of many kinds: compiled, they leave bit for bit what eager calls leave."""

import cProfile
import gc
import sys

import numpy as np
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


def bits(value):
    """Everything that a result or a state holds, in a form that compares exactly."""
    if isinstance(value, torch.Tensor):
        return (str(value.dtype), tuple(value.shape), value.detach()._array.tobytes())
    if isinstance(value, dict):
        return {k: bits(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [bits(v) for v in value]
    return value


def mlp(*more):
    return nn.Sequential(nn.Linear(6, 8), *more, nn.ReLU(), nn.Linear(8, 3))


def batches(n=8):
    return [(torch.randn(4, 6), torch.randint(0, 3, (4,))) for _ in range(n)]


def train(model, optimizer, forward=None, **options):
    """An ordinary step."""

    def step(x, y):
        optimizer.zero_grad(**options)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def plain(make, **options):
    def build():
        model = mlp()
        optimizer = make(model.parameters(), **options)
        return train(model, optimizer), batches(), (model, optimizer)

    return build


def sgd_keeping_grads():
    model = mlp()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    return train(model, optimizer, set_to_none=False), batches(), (model, optimizer)


def dropout_and_batch_norm():
    model = mlp(nn.BatchNorm1d(8), nn.Dropout(0.4))
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    return train(model, optimizer), batches(), (model, optimizer)


def accumulation():
    model = mlp()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        total = 0.0
        for xs, ys in zip(x.chunk(2), y.chunk(2), strict=True):
            loss = F.cross_entropy(model(xs), ys) / 2
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        return total

    return step, batches(), (model, optimizer)


def clipping():
    model = mlp()
    optimizer = optim.AdamW(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        return {"loss": loss.item(), "norm": norm}

    return step, batches(), (model, optimizer)


def clip_values():
    model = mlp()
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.01)
        optimizer.step()

    return step, batches(), (model, optimizer)


def gan():
    G, D = nn.Linear(2, 6), nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    og, od = optim.Adam(G.parameters(), lr=0.01, betas=(0.5, 0.999)), optim.Adam(D.parameters(), lr=0.02)
    one, zero = torch.ones(4, 1), torch.zeros(4, 1)

    def step(x, y):
        fake = G(torch.randn(4, 2))
        od.zero_grad()
        d = F.binary_cross_entropy_with_logits(D(x), one) + F.binary_cross_entropy_with_logits(D(fake.detach()), zero)
        d.backward()
        od.step()
        og.zero_grad()
        g = F.binary_cross_entropy_with_logits(D(fake), one)
        g.backward()
        og.step()
        return d.item(), g.item()

    return step, batches(), (G, D, og, od)


def manual():
    w = torch.randn(6, 3, requires_grad=True)
    b = torch.zeros(3, requires_grad=True)

    def step(x, y):
        loss = F.cross_entropy(x @ w + b, y)
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.1 * p.grad
                p.grad = None
        return loss

    return step, batches(), (w, b)


def manual_zeroing():
    w = torch.randn(6, 3, requires_grad=True)

    def step(x, y):
        loss = F.cross_entropy(x @ w, y)
        loss.backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.1)
            w.grad.zero_()
        return loss

    return step, batches(), (w,)


def through_data():
    w = torch.randn(6, 3, requires_grad=True)

    def step(x, y):
        loss = F.cross_entropy(x @ w, y)
        loss.backward()
        w.data -= 0.1 * w.grad.data
        w.data.clamp_(-0.5, 0.5)
        w.grad.data.zero_()
        return loss.data

    return step, batches(), (w,)


def grad_function():
    w = torch.randn(6, 3, requires_grad=True)

    def step(x, y):
        loss = F.cross_entropy(x @ w, y)
        (g,) = torch.autograd.grad(loss, w)
        with torch.no_grad():
            w.add_(g, alpha=-0.1)
        return loss, g

    return step, batches(), (w,)


def gradient_penalty():
    w = torch.randn(6, 3, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.05)

    def step(x, y):
        x = x.clone().requires_grad_()
        out = F.cross_entropy(x @ w, y)
        (g,) = torch.autograd.grad(out, x, create_graph=True)
        loss = out + g.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, batches(), (w, optimizer)


def in_place_forward():
    model = mlp()
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        h = model[0](x)
        h[:, 1:3] = h[:, :2] * 2
        h[0].mul_(3.0)
        h += 1
        h.relu_()
        loss = F.cross_entropy(model[2](h), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, batches(), (model, optimizer)


def buffers():
    count, mean = torch.zeros((), dtype=torch.int64), torch.zeros(6)

    def step(x, y):
        count.add_(1)
        mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        mean[2:4] = 0.5
        return (x - mean).sum()

    return step, batches(), (count, mean)


def masks():
    w = torch.randn(6, 6, requires_grad=True)
    optimizer = optim.RMSprop([w], lr=0.01)

    def step(x, y):
        causal = torch.triu(torch.ones(6, 6), diagonal=1).bool()
        a = (w @ w.t()).masked_fill(causal, float("-inf")).softmax(-1)
        noise = torch.rand(4, 6) + torch.randn_like(x)
        loss = ((x + noise) @ a).square().mean() + torch.arange(6).float()[y].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, batches(), (w, optimizer)


def convolution():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3)
    )
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)
    data = [(torch.randn(4, 1, 6, 6), torch.randint(0, 3, (4,))) for _ in range(8)]
    return train(model, optimizer), data, (model, optimizer)


def embedding():
    model = nn.Sequential(nn.Embedding(7, 5), nn.LayerNorm(5), nn.GELU(), nn.Flatten(), nn.Linear(20, 3))
    optimizer = optim.Adagrad(model.parameters(), lr=0.1)
    data = [(torch.randint(0, 7, (4, 4)), torch.randint(0, 3, (4,))) for _ in range(8)]
    return train(model, optimizer), data, (model, optimizer)


def double_step():
    model = mlp()
    first = optim.SGD(model[0].parameters(), lr=0.1)
    second = optim.Adam(model[2].parameters(), lr=0.01, amsgrad=True, weight_decay=0.1)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        first.zero_grad()
        second.zero_grad()
        loss.backward()
        first.step()
        second.step()
        correct = (model(x).argmax(1) == y).sum()
        return loss.item() * len(x), correct.item(), None, "text"

    return step, batches(), (model, first, second)


def own_function():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    w = torch.randn(6, 3, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(Square.apply(x @ w), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, batches(), (w, optimizer)


def random_in_place():
    w = torch.zeros(4, 6)

    def step(x, y):
        w.normal_().add_(torch.empty(6, 4).uniform_(-1, 1).t())
        return w * torch.bernoulli(torch.full((4, 6), 0.5)) + torch.randperm(6)

    return step, batches(), (w,)


def group_options():
    model = mlp()
    optimizer = optim.SGD(
        [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.01}], lr=0.1, momentum=0.5
    )
    return train(model, optimizer), batches(), (model, optimizer)


def parts_of_one():
    """Parameters that are parts of one tensor, which is read after they are stepped."""
    model = mlp()
    flat = nn.utils.parameters_to_vector(model.parameters()).detach()
    nn.utils.vector_to_parameters(flat, model.parameters())
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    inner = train(model, optimizer)
    return lambda *batch: (inner(*batch), flat.square().sum()), batches(), (model, optimizer, flat)


def hooks():
    model = mlp()
    model[0].weight.register_hook(lambda g: g * 0.5)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    return train(model, optimizer), batches(), (model, optimizer)


STEPS = {
    "sgd": plain(optim.SGD, lr=0.1),
    "momentum": plain(optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": plain(optim.Adam, lr=0.01),
    "adamw": plain(optim.AdamW, lr=0.01, amsgrad=True),
    "adamax": plain(optim.Adamax, lr=0.01),
    "nadam": plain(optim.NAdam, lr=0.01),
    "radam": plain(optim.RAdam, lr=0.01),
    "adadelta": plain(optim.Adadelta, lr=0.5),
    "asgd": plain(optim.ASGD, lr=0.05),
    **{
        f.__name__: f
        for f in (
            sgd_keeping_grads, dropout_and_batch_norm, accumulation, clipping, clip_values, gan, manual, manual_zeroing,
            through_data, grad_function, gradient_penalty, in_place_forward, buffers, masks, convolution, embedding,
            double_step, own_function, random_in_place, group_options, parts_of_one, hooks,
        )
    },
}  # fmt: skip


def run(build, compiled, switch=None):
    """The results of every call, and what is left at the end."""
    torch.manual_seed(3)
    step, data, objects = build()
    f = torch.compile(step) if compiled else step
    results = []
    for i, batch in enumerate(data):
        out = (step if i == switch else f)(*batch)
        results.append(bits(out))
    if compiled and switch is None:
        assert f.captured and f.captured[0].program is not None, "nothing was replayed"
    return results, [state(o) for o in objects], bits(torch.get_rng_state())


def state(o):
    if isinstance(o, torch.Tensor):
        return bits(o), bits(o.grad)
    parts = bits(o.state_dict())
    if isinstance(o, nn.Module):
        return parts, [bits(p.grad) for p in o.parameters()]
    return parts


@pytest.mark.parametrize("name", STEPS)
def test_a_compiled_step_is_the_eager_step(name):
    assert run(STEPS[name], True) == run(STEPS[name], False)


@pytest.mark.parametrize("name", STEPS)
def test_eager_calls_in_between_go_on_with_the_same_numbers(name):
    assert run(STEPS[name], True, switch=5) == run(STEPS[name], False)


def test_gradients_that_are_parts_of_one_tensor_and_are_set_to_none():
    """They are parts of it where a call begins, and there are none where it ends."""
    p, q, flat = nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(4)), torch.zeros(10)
    optimizer = optim.SGD([p, q], lr=0.5)

    @torch.compile(fullgraph=True)
    def update():
        norm = nn.utils.clip_grad_norm_([p, q], 5.0)
        optimizer.step()
        optimizer.zero_grad()
        return norm

    for i in range(6):
        flat.fill_(i + 1.0)
        p.grad, q.grad = flat[:6].view(2, 3), flat[6:]
        norm = update()
        assert p.grad is None and norm.item() == pytest.approx((i + 1) * 10**0.5)
    assert update.captured[0].program is not None and len(update.captured) == 1
    expected = 1 - 0.5 * sum(min(1.0, 5 / ((i + 1) * 10**0.5)) * (i + 1) for i in range(6))
    assert torch.cat([p.detach().view(-1), q.detach()]).tolist() == pytest.approx([expected] * 10, rel=1e-5)
    p.grad, q.grad = flat[4:].view(2, 3), flat[:4]  # elsewhere in it
    flat.copy_(torch.arange(10.0) * 0.1)
    update()
    moved = [expected - 0.5 * i * 0.1 for i in (4, 5, 6, 7, 8, 9, 0, 1, 2, 3)]
    assert torch.cat([p.detach().view(-1), q.detach()]).tolist() == pytest.approx(moved, rel=1e-5)


def test_versions_grow_as_in_eager():
    def versions(compiled):
        step, data, (model, _) = STEPS["adam"]()
        f = torch.compile(step) if compiled else step
        for batch in data:
            f(*batch)
        return [p._version for p in model.parameters()]

    assert versions(True) == versions(False)


def test_numpy_arrays_as_arguments():
    total = torch.zeros(3)

    @torch.compile
    def step(a):
        total.add_(torch.from_numpy(a))
        return total.sum()

    results = [step(np.full(3, i, np.float32)).item() for i in range(6)]
    assert results == [0, 3, 9, 18, 30, 45]


def test_under_a_profiler_and_a_tracer():
    """Both go on after a capture, whatever they are made of, and the step is compiled."""
    step = torch.compile(lambda x: (x * 2).sum())
    profile = cProfile.Profile()
    lines = []

    def tracer(frame, event, _):
        lines.append(event)
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    profile.enable()
    try:
        results = [step(torch.ones(3)).item() for _ in range(4)]
        assert sys.gettrace() is tracer
        max(1, 2)
    finally:
        profile.disable()
        sys.settrace(before)
    assert results == [6.0] * 4
    assert step.has_program((torch.ones(3),), {})
    assert any("max" in str(entry.code) for entry in profile.getstats())
    assert "return" in lines


def test_finalizers_of_libraries_that_run_amid_a_capture_are_not_the_functions(monkeypatch):
    """Python's collector runs them at any moment: here while the step makes its lists."""
    source = "import time, weakref\nclass Handle:\n    def __del__(self):\n        time.time()\n"
    source += "class Watched: pass\ndef tell():\n    time.time()\ndef watch(o):\n    weakref.finalize(o, tell)\n"
    library: dict = {}
    exec(compile(source, "/usr/lib/site-packages/handles.py", "exec"), library)

    def drop():
        for kind in ("Handle", "Watched"):
            o = library[kind]()
            o.itself = o
            library["watch"](o)

    def step(x):
        lists = [[i] for i in range(5000)]
        return x * len(lists)

    compiled = torch.compile(step, fullgraph=True)
    gc.collect()
    for _ in range(5):
        drop()
        assert compiled(torch.ones(2)).tolist() == [5000, 5000]
