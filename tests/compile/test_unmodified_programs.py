"""Programs as users write them: compiled, they return, print and leave behind what they do eagerly, in every call."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn, optim
from rushlight.nn import functional as F

CALLS = 7  # the first plain, two captured, four replayed
PROGRAMS: dict = {}


def program(f):
    """Register a program: f(wrap) wraps what it compiles, and returns what it saw."""
    PROGRAMS[f.__name__] = f
    return f


def inputs(*shape, n=CALLS, seed=0):
    rng = np.random.default_rng(seed)
    return [torch.from_numpy(rng.normal(size=shape).astype(np.float32)) for _ in range(n)]


def gradients(f):
    """The gradients of each of the `inputs` for what f makes of it."""
    out = []
    for x in inputs(3):
        f(x.requires_grad_()).backward()
        out.append(x.grad)
    return out


def plainly(value):
    """Everything that a value holds, as Python objects."""
    if isinstance(value, torch.Tensor):
        return (str(value.dtype), value.requires_grad, tuple(value.shape), value.detach().tolist())
    if isinstance(value, dict):
        return {k: plainly(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plainly(v) for v in value]
    if hasattr(value, "__dataclass_fields__"):
        return type(value).__name__, plainly(vars(value))
    return type(value).__name__, value


def near(a, b, where="", rel=2e-5):
    """Raise where two values of `plainly` differ in more than rounding."""
    if isinstance(a, dict) and isinstance(b, dict):
        assert list(a) == list(b), where
        for k in a:
            near(a[k], b[k], f"{where}.{k}", rel)
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            near(x, y, f"{where}[{i}]", rel)
    elif isinstance(a, float) and isinstance(b, float):
        assert a == pytest.approx(b, rel=rel, abs=rel / 10, nan_ok=True), f"{where}: {a} and {b}"
    else:
        assert type(a) is type(b) and a == b, f"{where}: {a!r} and {b!r}"


def observed(program, wrap):
    """What a program returns and prints, and its warnings about compiling."""
    torch.manual_seed(0)
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as seen, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        value = plainly(program(wrap))
    end = torch.rand(1).item()
    return value, out.getvalue(), end, [str(w.message) for w in seen if "eagerly" in str(w.message)]


def same(value):
    return value


# ------------------------------------------------------------------------------------------------ arguments


@program
def float_that_changes(wrap):
    f = wrap(lambda x, lr: x * lr)
    return [f(x, 0.1 * i) for i, x in enumerate(inputs(3, n=20))]


@program
def int_that_changes(wrap):
    f = wrap(lambda x, n: x[:n].sum() * n)
    return [f(x, i % 5) for i, x in enumerate(inputs(6, n=24))]


@program
def keywords_and_defaults(wrap):
    @wrap
    def f(x, scale=2.0, *more, bias=None, **rest):
        y = x * scale + sum(more)
        return (y if bias is None else y + bias), sorted(rest)

    out = []
    for x in inputs(3):
        out += [f(x), f(x, 3.0), f(x, bias=x), f(x, 1.0, 2, 3), f(x=x, scale=1.5), f(x, other=1)]
    return out


@program
def nested_arguments(wrap):
    f = wrap(lambda batch, *, flags: {"y": batch["x"][0] * batch["x"][1], "on": flags[0]})
    return [f({"x": [x, x + 1]}, flags=(True, None)) for x in inputs(3)]


@program
def arguments_that_are_the_same(wrap):
    f = wrap(lambda x, y: x * 2 + y)
    out = []
    for x in inputs(6, n=8):
        out += [f(x, x), f(x, x + 1), f(x[1:], x[:-1]), f(x[::2], x[::2]), f(x[:3], x[3:])]
    return out


@program
def written_arguments_that_overlap(wrap):
    f = wrap(lambda x, y: (x.mul_(2), y + 1)[1])
    out = []
    for x in inputs(6, n=6):
        out += [f(x[:3].clone(), x[3:]), f(x[:3], x[2:5]), f(x[:3], x[3:]), f(x, x), x.clone()]
    return out


@program
def strings_and_none(wrap):
    f = wrap(lambda x, how, mask=None: (x if mask is None else x * mask).sum() if how == "sum" else x.mean())
    return [f(x, how, mask) for x in inputs(3) for how in ("sum", "mean") for mask in (None, x)]


@program
def dtype_and_device_arguments(wrap):
    f = wrap(lambda x, kind, device: torch.zeros(3, dtype=kind, device=device) + x.to(kind))
    kinds = (torch.float64, torch.int32)
    return [f(x, kind, torch.device("cpu")) for x in inputs(3) for kind in kinds]


@program
def batches_of_changing_size(wrap):
    f = wrap(nn.Linear(4, 2))
    return [f(x[:n]) for x in inputs(12, 4, n=3) for n in (8, 8, 8, 8, 5, 12, 1, 3, 8)]


@program
def dynamic_shapes(wrap):
    f = wrap(lambda x: (x.softmax(-1) * x.shape[0]).sum())
    return [f(x[: i % 11 + 1]) for i, x in enumerate(inputs(12, 4, n=26))]


@program
def numpy_arguments(wrap):
    f = wrap(lambda a: torch.from_numpy(a) * 2)
    return [f(x.numpy()) for x in inputs(3)]


@program
def generators_as_arguments(wrap):
    f = wrap(lambda xs: sum(x * 2 for x in xs))
    return [f(x + i for i in range(3)) for x in inputs(3)]


@program
def a_generator_function(wrap):
    def produce(x):
        for i in range(3):
            yield x * i

    f = wrap(lambda x: list(produce(x)))
    g = wrap(produce)
    return [[f(x), list(g(x))] for x in inputs(3)]


# ------------------------------------------------------------------------------------------------ results

Pair = namedtuple("Pair", "first second")


@dataclass
class Output:
    loss: torch.Tensor
    logits: object = None
    hidden: tuple = ()


@program
def results_of_all_kinds(wrap):
    @wrap
    def f(x):
        y = x * 2
        return {"pair": Pair(y, 3), "out": Output(y.sum(), y, (x, y + 1)), "none": None, 4: [True, "text", 1.5]}

    return [f(x) for x in inputs(3)]


@program
def no_result(wrap):
    total = torch.zeros(3)

    @wrap
    def f(x):
        total.add_(x)

    return [(f(x), total.clone()) for x in inputs(3)]


@program
def aliases_and_views_returned(wrap):
    @wrap
    def f(x):
        y = x + 1
        return x, x[1:], y, y.t(), y[0], y.view(-1), x.detach()

    out = []
    for x in inputs(3, 2):
        results = f(x)
        x.add_(10)
        results[2].mul_(3)
        out.append([results, results[1]._is_view(), results[1]._base is x, x._version == results[0]._version])
    return out


@program
def a_written_argument_returned(wrap):
    f = wrap(lambda x: x.mul_(2))
    out = []
    for x in inputs(3):
        y = f(x)
        out.append((y is x, x.clone(), x._version))
    return out


@program
def results_of_other_types(wrap):
    f = wrap(lambda x: (x.shape, x.dtype, x.size(0), x.numel(), tuple(x.stride()), x.dim()))
    return [f(x) for x in inputs(3, 2)]


@program
def a_set_and_a_range(wrap):
    f = wrap(lambda x: (x + 1, {1, 2}, range(3), slice(1, 2), frozenset("a")))
    return [repr(f(x)) for x in inputs(2)]


@program
def a_constant_tensor(wrap):
    f = wrap(lambda x: (torch.arange(4), torch.tensor([1.0, 2.0]), x))
    out = []
    for x in inputs(2):
        a, b, _ = f(x)
        a.add_(1), b.mul_(2)
        out.append((a, b))
    return out


@program
def changed_results_do_not_come_back(wrap):
    f = wrap(lambda x: [x * 2])
    out, kept = [], []
    for x in inputs(3):
        (y,) = f(x)
        y += 1
        kept.append(y)
        out.append(y.clone())
    return out, kept


# ------------------------------------------------------------------------------------------------ surroundings


@program
def a_closure_that_is_reassigned(wrap):
    w, k = torch.ones(3), 1

    @wrap
    def f(x):
        return x * w + k

    out = []
    for i, x in enumerate(inputs(3, n=16)):
        if i == 5:
            w = torch.full((3,), 2.0)
        if i == 10:
            k = 7
        out.append(f(x))
    return out


@program
def a_closure_over_a_closure(wrap):
    w = torch.ones(3)

    def inner(x):
        return x * w

    f = wrap(lambda x: inner(x))
    out = []
    for i, x in enumerate(inputs(3, n=14)):
        if i == 6:
            w = torch.full((3,), 2.0)
        out.append(f(x))
    return out


@program
def numbers_of_a_closure_over_a_closure(wrap):
    k = 1.5

    def inner(x):
        return x * k

    f = wrap(lambda x: inner(x))
    out = []
    for i, x in enumerate(inputs(3, n=14)):
        if i == 6:
            k = 2.5
        out.append(f(x))
    return out


_STATE = torch.zeros(3)
_SETTINGS = {"scale": 1.0}


@program
def global_state(wrap):
    global _STATE
    _STATE = torch.zeros(3)

    @wrap
    def f(x):
        global _STATE
        _STATE = _STATE * 0.5 + x
        return _STATE.sum()

    return [(f(x), _STATE) for x in inputs(3, n=10)]


@program
def a_dict_of_settings(wrap):
    _SETTINGS["scale"] = 1.0
    f = wrap(lambda x: x * _SETTINGS["scale"])
    out = []
    for i, x in enumerate(inputs(3, n=14)):
        if i == 6:
            _SETTINGS["scale"] = 3.0
        out.append(f(x))
    return out


@program
def a_list_of_tensors_that_grows(wrap):
    seen: list = []

    @wrap
    def f(x):
        seen.append(x * 2)
        return sum(seen)

    return [f(x) for x in inputs(3)], seen


@program
def a_list_of_numbers_that_grows(wrap):
    seen: list = []

    @wrap
    def f(x):
        seen.append(len(seen))
        return x + 1

    return [f(x) for x in inputs(3)], seen


@program
def losses_kept_in_a_list(wrap):
    seen: list = []

    @wrap
    def f(x):
        seen.append(x.sum().item())
        return x + 1

    return [f(x) for x in inputs(3)], np.array(seen).tolist(), sum(seen), [f"{v:.3f}" for v in seen]


@program
def tensors_in_a_dict_replaced(wrap):
    state = {"h": torch.zeros(3)}

    @wrap
    def f(x):
        state["h"] = state["h"] * 0.5 + x
        return state["h"].sum()

    return [(f(x), state["h"]) for x in inputs(3, n=10)]


@program
def a_list_argument_changed_inside(wrap):
    def f(xs):
        xs.append(xs[0] + 1)
        xs[0] = xs[0] * 2

    f, out = wrap(f), []
    for x in inputs(3):
        xs = [x]
        f(xs)
        out.append(xs)
    return out


@program
def a_dict_argument_changed_inside(wrap):
    def f(d):
        d["y"] = d["x"] + 1
        return d

    f, out = wrap(f), []
    for x in inputs(3):
        d = {"x": x}
        out.append((f(d) is d, d))
    return out


@program
def an_attribute_that_counts(wrap):
    class Counter:
        def __init__(self):
            self.n, self.last = 0, None

        def step(self, x):
            self.n += 1
            self.last = self.n * 2
            return x * self.n

    c = Counter()
    f = wrap(c.step)
    return [(f(x), c.n, c.last) for x in inputs(3, n=13)]


@program
def a_nonlocal_that_counts(wrap):
    n = 0

    @wrap
    def f(x):
        nonlocal n
        n += 1
        return x + 1

    return [(f(x), n) for x in inputs(3, n=13)]


@program
def a_module_that_counts(wrap):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.linear = nn.Linear(3, 2)

        def forward(self, x):
            self.calls += 1
            return self.linear(x)

    m = Counting()
    f = wrap(m)
    return [(f(x), m.calls) for x in inputs(2, 3, n=13)]


@program
def a_module_that_keeps_its_activation(wrap):
    class Keeping(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 2)
            self.kept = None
            self.all = []

        def forward(self, x):
            y = self.linear(x)
            self.kept = y.detach()
            self.all.append(y.shape[0])
            return y

    m = Keeping()
    f = wrap(m)
    return [(f(x), m.kept) for x in inputs(2, 3)], m.all


@program
def printing(wrap):
    @wrap
    def f(x):
        print("shape", tuple(x.shape))
        return x + 1

    return [f(x) for x in inputs(3)]


@program
def printing_a_loss(wrap):
    @wrap
    def f(x):
        loss = x.square().sum()
        print(f"{loss.item():.4f}", loss)
        return loss

    return [f(x) for x in inputs(3)]


@program
def printing_a_float(wrap):
    @wrap
    def f(x):
        loss = float(x.square().sum())
        print(round(loss, 3))
        return loss

    return [f(x) for x in inputs(3)]


@program
def deciding_by_a_float(wrap):
    best = [float("inf")]

    @wrap
    def f(x):
        loss = float(x.square().sum())
        if loss < best[0]:
            best[0] = loss
        return loss

    return [(f(x), best[0]) for x in inputs(3)]


# ------------------------------------------------------------------------------------------------ control flow


@program
def branches(wrap):
    f = wrap(lambda x: x * 2 if x.sum() > 0 else -x)
    return [f(x) for x in inputs(3)]


@program
def branches_with_gradients(wrap):
    w = torch.ones(3, requires_grad=True)

    @wrap
    def f(x):
        y = w * x
        return y.sum() * 2 if y.sum() > 0 else y.square().sum()

    out = []
    for x in inputs(3):
        w.grad = None
        f(x).backward()
        out.append(w.grad)
    return out


@program
def loops_until_converged(wrap):
    @wrap
    def f(x):
        n = 0
        while x.abs().max() > 0.1:
            x, n = x / 2, n + 1
        return x, n

    return [f(x) for x in inputs(3)]


@program
def numbers_read_and_used(wrap):
    f = wrap(lambda x: (x / x.abs().max().item(), x.argmax().item(), x.tolist(), f"{x[0].item():.2f}"))
    return [f(x) for x in inputs(3)]


@program
def numbers_read_and_looked_at(wrap):
    import math

    def step(x, finite):
        loss = x.sum().item()
        return loss if finite(loss) else -1.0

    out = []
    for finite in (math.isfinite, np.isfinite):
        f = wrap(lambda x, finite=finite: step(x, finite))
        xs = inputs(3)
        xs[5][0] = float("nan")
        out.append([f(x) for x in xs])
    return out


@program
def a_number_at_the_end(wrap):
    def evaluate(x):
        return float(x.mean())

    @wrap
    def f(x):
        loss = float(x.square().sum())
        return {"loss": loss, "mean": evaluate(x), "items": (x.max().item(), x.sum().item() / 2)}

    return [f(x) for x in inputs(3)]


@program
def an_index_that_was_read(wrap):
    f = wrap(lambda x: x[int(x.argmax())] + x[x.argmin()] + x[x > 0].sum() + torch.nonzero(x > 0).shape[0])
    return [f(x) for x in inputs(6)]


@program
def assertions_of_the_user(wrap):
    @wrap
    def f(x, n):
        assert torch.isfinite(x).all(), "not finite"
        if n == 4:
            raise ValueError("four")
        return x * 2

    out = []
    for i, x in enumerate(inputs(3)):
        try:
            out.append(f(x, i))
        except ValueError as error:
            out.append(str(error))
    return out


@program
def exceptions_by_shape(wrap):
    @wrap
    def f(x):
        if x.shape[0] > 3:
            raise ValueError(f"too long: {x.shape[0]}")
        return x @ torch.ones(3)

    out = []
    for n in (3, 3, 5, 3, 2, 3, 3, 5, 2, 3):
        try:
            out.append(f(torch.ones(n)))
        except (ValueError, RuntimeError) as error:
            out.append((type(error).__name__, str(error)))
    return out


@program
def errors_that_the_function_catches(wrap):
    @wrap
    def f(x):
        try:
            y = x * 2 if x.sum() > 0 else -x
        except RuntimeError:
            y = x * 0
        return y

    return [f(x) for x in inputs(3)]


@program
def modes_inside(wrap):
    w = torch.ones(3, requires_grad=True)

    @wrap
    def f(x):
        with torch.no_grad():
            a = w * x
        with torch.inference_mode():
            b = (x * 3).sum()
        with torch.enable_grad():
            c = w + x
        return a, b.item(), c, torch.is_grad_enabled()

    out = []
    for i, x in enumerate(inputs(3, n=14)):
        with torch.set_grad_enabled(i % 2 == 0):
            out.append(f(x))
    return out


@program
def inference_results(wrap):
    f = wrap(torch.inference_mode()(lambda x: x * 2))
    return [(f(x), f(x).is_inference()) for x in inputs(3)]


@program
def modes_switched_for_good(wrap):
    @wrap
    def f(x):
        torch.set_grad_enabled(False)
        return x + 1

    out = []
    for x in inputs(3):
        with torch.enable_grad():
            f(x)
            out.append(torch.is_grad_enabled())
    return out


@program
def autocast_inside(wrap):
    linear = nn.Linear(4, 3)

    @wrap
    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = linear(x)
        return y.dtype, y.float().sum() * 0

    return [f(x) for x in inputs(2, 4)]


@program
def autocast_outside(wrap):
    linear = wrap(nn.Linear(4, 3))
    out = []
    for i, x in enumerate(inputs(2, 4, n=16)):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=i % 2 == 0):
            out.append(linear(x).dtype)
    return out


# ------------------------------------------------------------------------------------------------ gradients


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x**3 * scale

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g * ctx.scale, None


@program
def an_own_function(wrap):
    f = wrap(lambda x: Cube.apply(x, 2.0).sum())
    return gradients(f)


@program
def an_own_function_that_looks_at_values(wrap):
    class Clipped(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g / max(1.0, g.norm().item())

    f = wrap(lambda x: (Clipped.apply(x) ** 2).sum())
    return gradients(f)


@program
def hooks_on_tensors_inside(wrap):
    seen: list = []

    @wrap
    def f(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(g.sum().item()) or g * 3)
        return y.sum()

    out = []
    for x in inputs(3):
        x.requires_grad_()
        f(x).backward()
        out.append((x.grad, len(seen)))
    return out, seen


@program
def hooks_on_parameters(wrap):
    w, seen = torch.ones(3, requires_grad=True), []
    w.register_hook(lambda g: seen.append(g.sum().item()))
    f = wrap(lambda x: (w * x).sum())
    out = []
    for x in inputs(3):
        w.grad = None
        f(x).backward()
        out.append((w.grad, len(seen)))
    return out, seen


@program
def hooks_on_modules(wrap):
    m, seen = nn.Sequential(nn.Linear(3, 3), nn.Tanh()), []
    f = wrap(m)
    out = []
    for i, x in enumerate(inputs(2, 3, n=18)):
        if i == 6:
            handle = m[0].register_forward_hook(lambda mod, a, y: seen.append(y.shape) or y * 2)
        if i == 12:
            handle.remove()
        out.append((f(x), len(seen)))
    return out


@program
def backward_hooks_on_modules(wrap):
    m, seen = nn.Sequential(nn.Linear(3, 3), nn.Tanh()), []
    m[1].register_full_backward_hook(lambda mod, gi, go: seen.append(go[0].sum().item()))
    f = wrap(m)
    for x in inputs(2, 3):
        f(x).sum().backward()
    return seen, m[0].weight.grad


@program
def retained_gradients(wrap):
    @wrap
    def f(x):
        y = x * 2
        y.retain_grad()
        return y, (y**2).sum()

    out = []
    for x in inputs(3):
        x.requires_grad_()
        y, loss = f(x)
        loss.backward()
        out.append((y.grad, x.grad))
    return out


@program
def second_derivatives_inside(wrap):
    @wrap
    def f(x):
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        return g.detach(), h

    return [f(x.requires_grad_()) for x in inputs(3)]


@program
def functional_gradients(wrap):
    f = wrap(torch.func.grad(lambda x: (x**3).sum()))
    g = wrap(torch.vmap(lambda x: x.sin().sum()))
    return [(f(x[0]), g(x)) for x in inputs(2, 3)]


@program
def checkpointed(wrap):
    m = nn.Linear(3, 3)
    f = wrap(lambda x: torch.utils.checkpoint.checkpoint(m, x, use_reentrant=False).sum())
    out = []
    for x in inputs(2, 3):
        m.zero_grad()
        f(x).backward()
        out.append(m.weight.grad)
    return out


@program
def frozen_parameters(wrap):
    m = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    f, out = wrap(m), []
    for i, x in enumerate(inputs(2, 3, n=16)):
        m[0].requires_grad_(i % 8 < 4)
        m.zero_grad()
        f(x).sum().backward()
        out.append([p.grad for p in m.parameters()])
    return out


# ------------------------------------------------------------------------------------------------ parts of a training


def _train(m, loss_of, step, n=10, shape=(4, 6)):
    seen = []
    rng = np.random.default_rng(5)
    for i, x in enumerate(inputs(*shape, n=n)):
        y = torch.from_numpy(rng.integers(0, 3, shape[0]))
        m.zero_grad()
        loss = loss_of(m(x), y)
        loss.backward()
        step()
        seen.append(loss.item())
        if i == 6:
            m.eval()
            seen.append(m(x).detach())
            m.train()
    return seen


def _network():
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))


@program
def the_model_only(wrap):
    m = _network()
    optimizer = optim.Adam(m.parameters(), eps=1e-3)
    return _train(wrap(m), F.cross_entropy, optimizer.step), m.state_dict()


@program
def the_loss_only(wrap):
    m = _network()
    return _train(m, wrap(nn.CrossEntropyLoss()), optim.Adam(m.parameters(), eps=1e-3).step), m.state_dict()


@program
def the_loss_function_only(wrap):
    m = _network()
    return _train(m, wrap(F.cross_entropy), optim.Adam(m.parameters(), eps=1e-3).step), m.state_dict()


@program
def a_submodule_only(wrap):
    m = _network()
    m[4] = wrap(m[4])
    return _train(m, F.cross_entropy, optim.Adam(m.parameters(), eps=1e-3).step), list(m.state_dict().values())


@program
def the_forward_only(wrap):
    m = _network()
    m.forward = wrap(m.forward)
    return _train(m, F.cross_entropy, optim.Adam(m.parameters(), eps=1e-3).step), m.state_dict()


@program
def the_optimizer_only(wrap):
    m = _network()
    optimizer = optim.AdamW(m.parameters(), lr=0.01, eps=1e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)

    @wrap
    def step():
        optimizer.step()
        schedule.step()

    return _train(m, F.cross_entropy, step), m.state_dict()


@program
def the_method_of_an_optimizer(wrap):
    m = _network()
    optimizer = optim.SGD(m.parameters(), lr=0.01, momentum=0.9)
    return _train(m, F.cross_entropy, wrap(optimizer.step)), m.state_dict()


@program
def an_optimizer_with_a_closure(wrap):
    w = torch.ones(3, requires_grad=True)
    optimizer = optim.LBFGS([w], max_iter=3)

    @wrap
    def step(x):
        def closure():
            optimizer.zero_grad()
            loss = (w * x).square().sum()
            loss.backward()
            return loss

        return optimizer.step(closure)

    return [(step(x), w.clone()) for x in inputs(3)]


@program
def a_method_of_a_trainer(wrap):
    class Trainer:
        def __init__(self):
            self.model = _network()
            self.optimizer = optim.Adam(self.model.parameters(), eps=1e-3)
            self.steps = 0
            self.train_step = wrap(self._train_step)

        def _train_step(self, x, y):
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            return loss

    t = Trainer()
    return [t.train_step(x, torch.tensor([0, 1, 2, 0])) for x in inputs(4, 6)], t.model.state_dict()


@program
def compiled_inside_compiled(wrap):
    inner = wrap(lambda x: x.sin() * 2)
    module = wrap(nn.Linear(3, 3))
    outer = wrap(lambda x: module(inner(x)) + inner(x))
    return [(inner(x), outer(x), inner(x)) for x in inputs(2, 3, n=10)]


@program
def gradients_accumulated_over_calls(wrap):
    m = nn.Linear(3, 2)
    optimizer = optim.SGD(m.parameters(), lr=0.1)

    @wrap
    def step(x, last):
        (m(x).square().sum() / 4).backward()
        if last:
            nn.utils.clip_grad_value_(m.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()

    for i, x in enumerate(inputs(4, 3, n=24)):
        step(x, i % 4 == 3)
    return m.state_dict()


@program
def generation_with_a_cache(wrap):
    m = wrap(nn.Linear(4, 4))
    cache, out = [], []
    with torch.no_grad():
        for x in inputs(1, 4, n=12):
            cache.append(m(x))
            out.append(torch.cat(cache).mean(0))
    return out


@program
def dropout_in_turn(wrap):
    m = nn.Dropout(0.5)
    f, out = wrap(m), []
    for i, x in enumerate(inputs(8, n=20)):
        m.train(i % 5 < 3)
        out.append(f(x))
    return out


@program
def parameters_replaced(wrap):
    m = nn.Linear(3, 3)
    f, out = wrap(m), []
    for i, x in enumerate(inputs(2, 3, n=18)):
        if i == 6:
            m.weight.data = torch.ones(3, 3)
        if i == 9:
            m.weight = nn.Parameter(torch.zeros(3, 3))
        if i == 14:
            m.load_state_dict({"weight": torch.ones(3, 3), "bias": torch.ones(3)})
        out.append(f(x))
    return out


@program
def a_module_converted_later(wrap):
    m = nn.Linear(3, 3)
    f = wrap(m)
    out = [f(x) for x in inputs(2, 3)]
    m.double()
    return out, [f(x.double()) for x in inputs(2, 3)]


@program
def distributions(wrap):
    D = torch.distributions

    @wrap
    def f(x):
        normal = D.Normal(x, x.exp(), validate_args=False)
        categorical = D.Categorical(logits=x, validate_args=False)
        return normal.rsample(), normal.log_prob(x + 1), categorical.sample(), categorical.entropy()

    return [f(x) for x in inputs(2, 3)]


@program
def distributions_that_check(wrap):
    D = torch.distributions
    f = wrap(lambda x: D.Normal(x, x.exp()).log_prob(x) + D.Bernoulli(logits=x).sample())
    return [f(x) for x in inputs(2, 3)]


@program
def distributions_that_reject(wrap):
    D = torch.distributions

    @wrap
    def f(x):
        wishart = D.Wishart(torch.tensor(5.0), torch.eye(3))
        circle = D.VonMises(x, torch.full_like(x, 2.0))
        return wishart.rsample(), circle.sample(), circle.log_prob(x), wishart.log_prob(torch.eye(3) * 2)

    return [f(x) for x in inputs(2)]


@program
def torch_functions_with_out(wrap):
    out = torch.zeros(3)
    f = wrap(lambda x: torch.add(x, 1, out=out))
    seen = []
    for x in inputs(3):
        y = f(x)
        seen.append((y is out, out.clone(), out._version))
    return seen


@program
def tensors_made_and_filled(wrap):
    @wrap
    def f(x):
        y = torch.empty(3, 2)
        y[:, 0] = x
        y[:, 1].fill_(x.shape[0])
        z = torch.zeros_like(y)
        for i in range(3):
            z[i] = y[i] * i
        return y, z

    return [f(x) for x in inputs(3)]


@program
def memory_formats(wrap):
    f = wrap(nn.Conv2d(3, 2, 3))
    x = inputs(2, 3, 5, 5, n=10)
    return [f(t if i % 2 else t.to(memory_format=torch.channels_last)) for i, t in enumerate(x)]


@program
def random_numbers_of_python(wrap):
    import random

    random.seed(0)
    f = wrap(lambda x: x * random.random())
    return [f(x) for x in inputs(3)]


@program
def seeds_inside(wrap):
    @wrap
    def f(x):
        torch.manual_seed(7)
        return x + torch.rand(3)

    return [f(x) for x in inputs(3)]


@program
def own_generators(wrap):
    g = torch.Generator().manual_seed(3)
    f = wrap(lambda x: x + torch.rand(3, generator=g))
    out = [f(x) for x in inputs(3)]
    g.manual_seed(3)
    return out, [f(x) for x in inputs(3)], torch.rand(1, generator=g)


@program
def kept_out(wrap):
    @torch.compiler.disable
    def outside(x):
        return x * 2 if x.sum() > 0 else x

    @wrap
    def f(x):
        torch.compiler.cudagraph_mark_step_begin()
        torch._dynamo.graph_break()
        return outside(x) + 1

    return [f(x) for x in inputs(3)]


@program
def subclasses_of_tensors(wrap):
    class Marked(torch.Tensor):
        pass

    f = wrap(lambda x: x * 2)
    return [type(f(x.as_subclass(Marked))).__name__ for x in inputs(3)] + [type(f(x)).__name__ for x in inputs(3)]


@program
def parameters_lists_and_buffers(wrap):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = nn.ParameterList([nn.Parameter(torch.ones(3) * i) for i in range(3)])
            self.layers = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Tanh()})
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x, which="a"):
            self.count += 1
            for w in self.weights:
                x = x + w
            return self.layers[which](x)

    m = Net()
    f = wrap(m)
    return [(f(x), f(x, "b"), m.count.item()) for x in inputs(2, 3)]


# ------------------------------------------------------------------------------- integers that Python decides by


def sequences(order):
    def run(wrap):
        torch.manual_seed(0)
        net = nn.LSTM(3, 4, batch_first=True)

        @wrap
        def f(x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=order == "sorted")
            return nn.utils.rnn.pad_packed_sequence(net(packed)[0], batch_first=True)[0].sum(0)

        rows = [[4, 2, 1], [4, 3, 3]] if order == "sorted" else [[2, 4, 1], [3, 4, 3]]
        return [f(x, torch.tensor(rows[i // 6])) for i, x in enumerate(inputs(3, 4, 3, n=12))]

    run.__name__ = f"{order}_sequences"
    return program(run)


sequences("sorted")
sequences("unsorted")


@program
def parts_by_a_tensor(wrap):
    f = wrap(lambda x, sizes: [part.sum() for part in x.split(sizes.tolist())])
    sizes = [torch.tensor([1, 2, 3]), torch.tensor([3, 1, 2])]
    return [f(x, sizes[i // 5 % 2]) for i, x in enumerate(inputs(6, n=20))]


@program
def a_flag_as_a_tensor(wrap):
    f = wrap(lambda x, flag: x * 2 if flag else x - 1)
    return [f(x, torch.tensor(i // 5 % 2 == 0)) for i, x in enumerate(inputs(3, n=20))]


@program
def a_counter_that_decides(wrap):
    count = torch.zeros((), dtype=torch.int64)

    @wrap
    def f(x):
        count.add_(1)
        return x * 2 if int(count) % 3 else x

    return [(f(x), count.item()) for x in inputs(3, n=9)]


@program
def a_counter_outside_that_decides(wrap):
    count = torch.zeros((), dtype=torch.int64)
    f = wrap(lambda x: x * 2 if int(count) > 9 else x)
    out = []
    for x in inputs(3, n=18):
        out.append(f(x))
        count += 3
    return out


@program
def a_flag_that_is_computed(wrap):
    f = wrap(lambda x: x * 2 if bool((x > 0).all()) else x - 1)
    return [f(x) for x in inputs(1, n=12)]


def bags(mode, padding_idx=None, weighted=False, include_last=False):
    def run(wrap):
        torch.manual_seed(0)
        table = torch.randn(7, 3, requires_grad=True)

        @wrap
        def f(index, offsets, weights):
            out = torch.nn.functional.embedding_bag(
                index,
                table,
                offsets,
                mode=mode,
                padding_idx=padding_idx,
                per_sample_weights=weights if weighted else None,
                include_last_offset=include_last,
            )
            (out.sin().sum()).backward()
            grad, table.grad = table.grad, None
            return out.detach(), grad

        out = []
        for i, x in enumerate(inputs(8, n=10)):
            offsets = [0, i % 4, i % 4, 5] + [8] * include_last
            out.append(f((x * 10).long() % 7, torch.tensor(offsets), x))
        return out

    run.__name__ = f"bags_{mode}_{padding_idx}_{weighted}_{include_last}"
    return program(run)


for _mode in ("sum", "mean", "max"):
    for _options in ((), (3,), (3, False, True)):
        bags(_mode, *_options)
bags("sum", 2, True)


@program
def segments(wrap):
    def f(x, lengths, how):
        y = torch.segment_reduce(x, how, lengths=lengths)
        y.square().sum().backward()
        grad, x.grad = x.grad, None
        return y.detach(), grad

    f = wrap(f)
    out = []
    for i, x in enumerate(inputs(6, n=8)):
        for how in ("sum", "mean", "max", "min"):
            out.append(f(x.requires_grad_(), torch.tensor([i % 4 + 1, 5 - i % 4]), how))
    return out


@program
def margins_of_labels(wrap):
    f = wrap(lambda x, y: torch.nn.functional.multilabel_margin_loss(x, y))
    out = []
    for i, x in enumerate(inputs(2, 4, n=8)):
        x.requires_grad_()
        f(x, torch.tensor([[i % 4, -1, 0, 0], [3, (i + 1) % 3, -1, 2]])).backward()
        out.append(x.grad)
    return out


@program
def repeats_of_a_known_total(wrap):
    f = wrap(lambda x, n: x.repeat_interleave(n, output_size=6) * 2)
    return [f(x, torch.tensor([i % 4, 3 - i % 4, 3])) for i, x in enumerate(inputs(3, n=9))]


@program
def solutions_by_factors(wrap):
    def f(x, y):
        factors, pivots = torch.linalg.lu_factor(x)
        return torch.linalg.lu_solve(factors, pivots, y).sum() + torch.linalg.lu(x)[2].diagonal().sum()

    f = wrap(f)
    out = []
    for x in inputs(4, 4, n=8):
        x.requires_grad_()
        f(x, x.detach() + 1).backward()
        out.append(x.grad)
    return out


@program
def strided_windows(wrap):
    def f(x):
        return torch.as_strided(x * 2, (3, 2), (2, 1), 1).square().sum()

    f = wrap(f)
    out = []
    for x in inputs(8, n=8):
        f(x.requires_grad_()).backward()
        out.append(x.grad)
    return out


@program
def pictures_overwritten_by_a_channel(wrap):
    torch.manual_seed(0)
    weight = torch.randn(4, 2, 2, 2)

    @wrap
    def f(x):
        y = torch.nn.functional.conv2d(x, weight, padding=1)
        y.copy_(y.narrow(-3, 3, 1))
        return y

    return [f(x) for x in inputs(3, 2, 5, 5)]


COMPILED = [
    *("sorted_sequences", "parts_by_a_tensor", "a_flag_as_a_tensor", "segments", "margins_of_labels"),
    *("repeats_of_a_known_total", "solutions_by_factors", "strided_windows"),
    *(name for name in PROGRAMS if name.startswith("bags_")),
]


@pytest.mark.parametrize("name", COMPILED)
def test_stays_compiled(name):
    torch.compiler.reset()
    assert not observed(PROGRAMS[name], torch.compile)[3]


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_as_eager(name):
    value, printed, end, _ = observed(PROGRAMS[name], same)
    for wrap in (torch.compile, lambda f: torch.compile(f, mode="reduce-overhead", dynamic=True)):
        torch.compiler.reset()
        got, text, later, told = observed(PROGRAMS[name], wrap)
        near(value, got)
        assert text == printed and later == end
        assert len(told) == len(set(told)), told
