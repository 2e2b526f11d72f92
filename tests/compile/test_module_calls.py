"""Modules that ordinary loops call: their calls become programs, and nothing that a program can see tells so."""

import contextlib
import copy
import gc
import io
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.compile.jit import backward, module_calls, step
from rushlight.compile.lower.llvm.engine import available
from rushlight.core.dispatch.extension_points import module_caller, module_programs
from rushlight.core.jit_switch import jit
from rushlight.nn import functional as F


class Network(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.hidden = nn.Linear(36, 12)
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        return self.out(self.drop(torch.tanh(self.hidden(x.flatten(1)))))


@pytest.fixture
def made():
    """How many programs were made of modules' calls."""
    count = []
    module_calls.made.register(lambda calls: count.append(calls.__name__))
    yield count
    module_calls.made.register(None)
    torch.compiler.reset()


@contextlib.contextmanager
def noted():
    """Every outermost module is noted, and captured from its second call on."""
    search = module_calls.Search()
    search.called = lambda: None
    module_caller.register(search)
    try:
        yield
    finally:
        module_caller.register(None)


@contextlib.contextmanager
def plain():
    """Nothing becomes a program."""
    jit.on = False
    try:
        yield
    finally:
        jit.on = True


def batch(n=5, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(n, 2, 8, 8, generator=g), torch.randint(0, 3, (n,), generator=g)


def train(net, steps=12, each=lambda i, net: None, batches=batch, forward=None):
    """Losses of a loop, and everything that it leaves behind."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for i in range(steps):
        each(i, net)
        x, y = batches(seed=i)
        optimizer.zero_grad()
        loss = F.cross_entropy((forward or net)(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [t.detach().numpy().copy() for t in net.state_dict().values()] + [torch.rand(3).numpy()]


def both(make, **options):
    """The same loop by the operators and by programs; the second one's network."""
    results = []
    for on in (False, True):
        torch.manual_seed(3)
        net = make()
        with noted() if on else plain():
            results.append(train(net, **options))
    (a, left), (b, right) = results
    np.testing.assert_allclose(a, b, rtol=2e-4)
    for s, t in zip(left, right, strict=True):
        np.testing.assert_allclose(s, t, rtol=2e-3, atol=2e-5)
    return net


@pytest.mark.skipif(not available(), reason="loops become programs with llvmlite only")
def test_a_loop_finds_its_module_by_itself(made):
    torch.compiler.reset()
    torch.manual_seed(3)
    train(Network(0.3), steps=80)
    assert made


def test_the_loop_computes_the_same(made):
    both(lambda: Network(0.3))
    assert len(made) == 1


def test_a_module_that_refers_to_many_objects(made, monkeypatch):
    """Such as sentences as lists of numbers; where there are too many to look through, the log says that."""

    class Reader(Network):
        def __init__(self, sentences):
            super().__init__()
            self.sentences = [[i] for i in range(sentences)]

    both(lambda: Reader(250_000))
    assert len(made) == 1
    told = []
    monkeypatch.setattr(module_calls._route, "tell_refused", lambda what, why: told.append(str(why)))
    monkeypatch.setattr(module_calls, "_MOST_SEEN", 20_000)
    both(lambda: Reader(30_000))
    assert len(made) == 1 and "too many objects" in told[0]


def test_second_derivatives_of_all_parameters(made):
    """What the first derivatives have saved leads into the module's history, and so does the loss."""

    def penalties(x):
        torch.manual_seed(1)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 4), nn.Sigmoid())
        found = []
        for _ in range(6):
            x = x.detach().requires_grad_()
            out = net(x)
            params = [*net.parameters(), x]
            grads = torch.autograd.grad(out.pow(2).mean(), params, create_graph=True)
            total = sum((g * g).sum() for g in grads)
            found += [g.numpy() for g in torch.autograd.grad(total, params, retain_graph=True)]
            (total + out.sum()).backward()
            found += [p.grad.numpy().copy() for p in params]
            with pytest.raises(RuntimeError, match="second time"):
                total.backward()
        return found

    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    with plain():
        expected = penalties(x)
    with noted():
        found = penalties(x)
    assert made
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6)


class Wrapper(nn.Module):
    """Counts its calls, so that it cannot be a program itself."""

    def __init__(self, net):
        super().__init__()
        self.net, self.calls, self.criterion = net, 0, nn.CrossEntropyLoss()

    def forward(self, x):
        self.calls += 1
        return self.net(x) * self.calls


def test_the_module_within_a_wrapper(made):
    net = both(lambda: Wrapper(Network(0.3)))
    assert made == ["Network"] and net.calls == 12


def test_of_what_is_more_than_a_wrapper_no_part_is_tried(made):
    class Both(Wrapper):
        def __init__(self, net):
            super().__init__(net)
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return super().forward(x) * self.scale

    both(lambda: Both(Network(0.3)))
    assert not made


def test_nothing_happens_where_it_is_turned_off(made):
    with plain():
        train(Network(), steps=20)
    assert not made and module_caller.value is None


@pytest.mark.parametrize(
    "change",
    [
        lambda net: net.eval(),
        lambda net: net.out.weight.requires_grad_(False),
        lambda net: setattr(net, "hidden", nn.Linear(36, 12).requires_grad_(False)),
        lambda net: setattr(net.drop, "p", 0.9),
        lambda net: net.register_forward_hook(lambda m, args, out: out * 2),
        lambda net: net.conv.register_forward_pre_hook(lambda m, args: (args[0] * 3,)),
        lambda net: net.norm.register_full_backward_hook(lambda m, gi, go: (gi[0] * 0,)),
        lambda net: net.out.weight.register_hook(lambda g: g * 2),
        lambda net: net.load_state_dict(
            {k: v * 0.5 if v.is_floating_point() else v for k, v in net.state_dict().items()}
        ),
        lambda net: setattr(net, "forward", lambda x: net.out(torch.tanh(net.hidden(x[:, 0, 1:7, 1:7].flatten(1))))),
        lambda net: net.conv.weight.data.mul_(2),
        lambda net: setattr(net.conv.weight, "data", net.conv.weight.data * 2),
        lambda net: setattr(
            net, "__class__", type("Other", (Network,), {"forward": lambda s, x: Network.forward(s, x) * 2})
        ),
        lambda net: setattr(Network, "scale", 2),
    ],
)
def test_a_change_amid_the_loop_is_seen(made, change):
    both(lambda: Network(0.2), each=lambda i, net: change(net) if i == 7 else None)
    assert made
    if hasattr(Network, "scale"):
        del Network.scale


def test_batches_of_two_sizes_and_evaluation(made):
    def sizes(seed):
        return batch(3 if seed % 4 == 3 else 5, seed)

    accuracy = []

    def each(i, net):
        if i % 3 == 2:
            net.eval()
            with torch.no_grad():
                accuracy.append((net(sizes(90)[0]).argmax(1) == sizes(90)[1]).float().mean().item())
            net.train()

    both(Network, each=each, batches=sizes, steps=40)
    assert len(made) == 3 and accuracy[:13] == accuracy[13:]


class Talkative(Network):
    def forward(self, x):
        print("shape", tuple(x.shape))
        return super().forward(x)


class Counting(Network):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x) * (1 + self.calls % 3)


class Keeping(Network):
    def forward(self, x):
        self.last = super().forward(x)
        return self.last


SEEN = []


class Remembering(Network):
    def forward(self, x):
        out = super().forward(x)
        SEEN.append(out.sum().item())
        return out


class Spectral(Network):
    """Its results depend on what it changes itself."""

    def __init__(self):
        super().__init__()
        self.register_buffer("u", torch.ones(3))

    def forward(self, x):
        with torch.no_grad():
            self.u.mul_(1.1)
        return super().forward(x) * self.u


@pytest.mark.parametrize("kind", [Talkative, Counting, Keeping, Remembering, Spectral])
def test_what_python_does_is_done_in_each_call(kind, capsys):
    SEEN.clear()
    net = both(kind)
    if kind is Talkative:
        assert capsys.readouterr().out.count("shape (5, 2, 8, 8)") == 24
    if kind is Counting:
        assert net.calls == 12
    if kind is Keeping:
        assert net.last.shape == (5, 3) and net.last.grad_fn.name() == "AddmmBackward0"
    if kind is Remembering:
        assert len(SEEN) == 24
        np.testing.assert_allclose(SEEN[:12], SEEN[12:], rtol=2e-4)
    if kind is Spectral:
        np.testing.assert_allclose(net.u.numpy(), 1.1**12, rtol=1e-5)


def prepared(net, calls=4, x=None):
    """Let a module's call become a program."""
    x = batch()[0] if x is None else x
    with noted():
        for _ in range(calls):
            net(x).sum().backward()
    net.zero_grad()
    assert any(c.program for c in module_programs.value[id(net)].captured)
    return x


def names(edge, depth=3):
    node = None if edge is None else type(edge).__name__
    return node if not depth or edge is None else (node, [names(e, depth - 1) for e, _ in edge.next_functions])


def test_the_graph_is_the_one_of_the_operators(made):
    net = Network()
    x = batch()[0]
    expected = names(net(x).grad_fn, 9)
    prepared(net)
    y = net(x)
    assert type(y._edge.edges[0]).__name__ == "CompiledFunctionBackward"
    assert repr(y).endswith("grad_fn=<AddmmBackward0>)") and names(y.grad_fn, 9) == expected
    z = net(x)
    with torch.no_grad():
        net.out.weight.add_(1)
    assert names(z.grad_fn, 9) == expected  # which cannot be made again


def test_hooks_on_nodes_of_the_graph_are_called(made):
    net, seen = Network(), []
    x = prepared(net)
    y = net(x)
    y.grad_fn.register_hook(lambda gi, go: seen.append(("post", [None if g is None else tuple(g.shape) for g in gi])))
    y.grad_fn.next_functions[1][0].register_prehook(lambda go: seen.append(("pre", tuple(go[0].shape))))
    y.register_hook(lambda g: g * 2)
    y.sum().backward()
    twice = net.conv.weight.grad.clone()
    net.zero_grad()
    net(x).sum().backward()
    np.testing.assert_allclose(twice.numpy(), 2 * net.conv.weight.grad.numpy(), rtol=1e-4, atol=1e-6)
    assert seen == [("post", [(5, 12), (3, 12), (3,)]), ("pre", (5, 12))]


def test_a_second_derivative_and_the_state_of_the_module(made):
    def penalty(net, x):
        torch.manual_seed(5)
        x = x.clone().requires_grad_()
        (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        net.zero_grad()
        g.square().sum().backward()
        return g.detach().numpy(), net.conv.weight.grad.numpy().copy(), net.norm.running_mean.numpy().copy()

    torch.manual_seed(0)
    net = Network(0.4)
    other = copy.deepcopy(net)
    for _ in range(6):  # the statistics of both have to be the same
        prepared_x = batch()[0].requires_grad_()
        other(prepared_x).sum().backward()
    prepared(net, 6, batch()[0].requires_grad_())
    for a, b in zip(penalty(other, batch()[0]), penalty(net, batch()[0]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6)


def test_a_module_whose_eager_history_is_always_made_does_without_programs(made):
    """That runs it twice. What was called before, and its history is asked for later, still has one."""
    net = nn.Sequential(
        nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)
    )
    x = torch.rand(5, 2, requires_grad=True)

    def step():
        inner, edge = net(x), net(x * 0)
        (g,) = torch.autograd.grad(inner.sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(edge.sum(), x, create_graph=True)
        net.zero_grad()
        (g.square().sum() + h.sum() + edge.sum()).backward()
        return net[0].weight.grad.numpy().copy()

    with plain():
        expected = step()
    waiting = []
    with noted():
        for _ in range(20):
            waiting.append(net(x))
            np.testing.assert_allclose(step(), expected, rtol=1e-4, atol=1e-6)
    assert made == ["Sequential"] and net in module_calls._refused and id(net) not in module_calls._kept
    for y in waiting:
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        assert g.grad_fn is not None


def test_a_look_at_the_graph_now_and_then_takes_no_program_away(made):
    net = Network().eval()
    with noted():
        for i in range(60):
            y = net(batch()[0])
            if i % 8 == 0:
                assert y.grad_fn.name() == "AddmmBackward0"
    assert made == ["Network"] and id(net) in module_calls._kept


def test_a_second_derivative_of_what_has_changed_raises(made):
    net = Network()
    x = prepared(net)
    loss = net(x).sum()
    with torch.no_grad():
        net.out.bias.add_(1)
    with pytest.raises(RuntimeError, match="have changed since"):
        torch.autograd.grad(loss, net.conv.weight, create_graph=True)


def test_the_graph_can_be_kept_and_is_freed_otherwise(made):
    net = Network().eval()
    x = prepared(net)
    loss = net(x).sum()
    loss.backward(retain_graph=True)
    once = net.out.weight.grad.numpy().copy()
    loss.backward()
    np.testing.assert_allclose(net.out.weight.grad.numpy(), 2 * once, rtol=1e-5)
    y = net(x)
    y.backward(torch.ones(5, 3))
    with pytest.raises(RuntimeError, match=r"a second time.*saved by AddmmBackward0"):
        y.backward(torch.ones(5, 3))


class Heads(Network):
    def __init__(self):
        super().__init__()
        self.other = nn.Linear(36, 3)

    def forward(self, x):
        h = F.max_pool2d(torch.relu(self.norm(self.conv(x))), 2).flatten(1)
        return self.out(torch.tanh(self.hidden(h))), torch.sigmoid(self.other(h))


def test_parameters_of_unused_results_get_no_gradient(made):
    net = Heads()
    x = batch()[0]
    with noted():
        for _ in range(4):
            net(x)[0].sum().backward()
    net.zero_grad()
    assert made
    net(x)[0].sum().backward()
    assert net.other.weight.grad is None and net.out.weight.grad is not None
    net.zero_grad()
    net(x)[1].sum().backward()
    assert net.other.weight.grad is not None and net.out.weight.grad is None and net.conv.weight.grad is not None


def test_a_result_that_backward_needs_must_not_be_changed(made):
    net = Heads()
    x = batch()[0]
    with noted():
        for _ in range(4):
            net(x)[1].sum().backward()
    assert made
    y = net(x)[1]
    y.mul_(2)
    with pytest.raises(
        RuntimeError, match=r"modified by an inplace operation.*\[5, 3\].*changed by .*test_module_calls"
    ):
        y.sum().backward()


def test_a_mistake_raises_what_it_raised_before(made):
    net = Network()
    x = batch()[0]
    with pytest.raises(RuntimeError) as before:
        net(x[:, :, :7])
    prepared(net)
    with pytest.raises(RuntimeError) as after:
        net(x[:, :, :7])
    assert str(before.value) == str(after.value)
    with pytest.raises(TypeError):
        net()


@pytest.mark.parametrize("calls", [3, 4])  # captured once; a program
def test_a_module_goes_when_nothing_refers_to_it(made, calls):
    net = Network()
    with noted():
        for _ in range(calls):
            net(batch()[0]).sum().backward()
    assert len(module_programs.value[id(net)].captured) == 1 and len(made) == (calls == 4)
    gone = weakref.ref(net)
    weight = weakref.ref(net.conv.weight)
    key = id(net)
    gc.collect()  # what captures leave behind
    gc.disable()
    try:
        del net
        assert gone() is None and weight() is None and key not in module_programs.value
    finally:
        gc.enable()


def test_copies_and_files_know_nothing_of_programs(made):
    net = Network()
    before = set(vars(net))
    x = prepared(net)
    assert set(vars(net)) == before
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert id(other) not in module_programs.value
        np.testing.assert_allclose(
            other.eval()(x).detach().numpy(), net.eval()(x).detach().numpy(), rtol=1e-4, atol=1e-5
        )
    file = io.BytesIO()
    torch.save(net.state_dict(), file)


def test_threads_call_one_module(made):
    net = Network().eval()
    x = prepared(net)
    with torch.no_grad():
        expected = net(x).numpy()
    results = []

    def work():
        with torch.no_grad():
            results.extend(net(x).numpy() for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 80
    for r in results:
        np.testing.assert_allclose(r, expected, rtol=1e-4, atol=1e-5)


def test_anomaly_mode_saved_tensor_hooks_and_vmap_run_the_operators(made):
    net = Network()
    x = prepared(net)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t, lambda t: t):
        net(x)
    assert len(packed) > 5
    with pytest.warns(UserWarning, match="Anomaly"), torch.autograd.detect_anomaly(check_nan=False):
        assert type(net(x)._edge).__name__ == "AddmmBackward0"
    params = dict(net.named_parameters())
    net.eval()
    grads = torch.func.grad(lambda p: torch.func.functional_call(net, p, (x,)).sum())(params)
    assert grads["conv.weight"].shape == net.conv.weight.shape


def test_profiles_debuggers_and_mode_classes_see_the_operators(made):
    net = Network()
    x = prepared(net)
    with torch.profiler.profile() as profile:
        net(x)
    assert {"aten::conv2d", "aten::linear"} <= {e.key for e in profile.key_averages()}
    lines = []

    def trace(frame, event, arg):
        if frame.f_code is Network.forward.__code__:
            lines.append(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        net(x)
    finally:
        sys.settrace(before)
    assert len(lines) > 2

    class Names(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            lines.append(getattr(func, "__name__", ""))
            return func(*args, **(kwargs or {}))

    with Names():
        net(x)
    assert "tanh" in lines


def test_numbers_that_differ_in_each_call_are_given_up_on(made):
    class Scaled(Network):
        def forward(self, x, scale):
            return super().forward(x) * scale

    net, x = Scaled(), batch()[0]
    with noted():
        for i in range(20):
            net.zero_grad()
            y = net(x, float(i))
            y.sum().backward()
    assert not made and id(net) not in module_programs.value
    assert y.abs().sum() > 0


def test_two_modules_of_one_step(made):
    """A generator and a discriminator, which is called three times with other needs of gradients."""

    def loop(on):
        torch.manual_seed(1)
        g = nn.Sequential(
            nn.Linear(4, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 6)
        )
        d = nn.Sequential(
            nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 8), nn.LeakyReLU(0.2), nn.Dropout(0.2), nn.Linear(8, 1)
        )
        of_g, of_d = torch.optim.Adam(g.parameters(), 1e-3), torch.optim.SGD(d.parameters(), 1e-2)
        losses = []
        with noted() if on else plain():
            for _ in range(14):
                real = torch.randn(8, 6)
                fake = g(torch.randn(8, 4))
                of_d.zero_grad()
                loss = F.softplus(-d(real)).mean() + F.softplus(d(fake.detach())).mean()
                loss.backward()
                of_d.step()
                of_g.zero_grad()
                of_generator = F.softplus(-d(fake)).mean()
                of_generator.backward()
                of_g.step()
                losses += [loss.item(), of_generator.item()]
        return losses

    np.testing.assert_allclose(loop(False), loop(True), rtol=1e-3)
    assert len(made) >= 3


def test_a_module_that_evaluates_becomes_a_program_after_many_calls(made, monkeypatch):
    from rushlight.compile import install

    monkeypatch.setattr(install, "_calls_to_wait", lambda module, args: 3)
    net = Network(0.5).eval()
    x = batch()[0]
    with torch.no_grad():
        expected = net(x).numpy()
        assert not made
        for _ in range(8):
            np.testing.assert_allclose(net(x).numpy(), expected, rtol=1e-4, atol=1e-5)
    assert made == ["Network"]
    assert not net(x).requires_grad or net(x).grad_fn.name() == "AddmmBackward0"
    key = id(net)
    del net
    assert key not in module_programs.value


def test_a_lazy_module_that_evaluates(made):
    """Its parameters have no memory at the first call."""
    net = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(2)).eval()
    assert net(torch.ones(4, 3)).shape == (4, 2)
    assert net[0].weight.shape == (8, 3)


def test_a_module_that_trains_is_not_counted(made, monkeypatch):
    from rushlight.compile import install

    monkeypatch.setattr(install, "_calls_to_wait", lambda module, args: 3)
    net = Network(0.5).eval().train()
    for _ in range(8):
        net(batch()[0])
    assert not made


@pytest.mark.skipif(not available(), reason="loops become programs with llvmlite only")
def test_the_backward_of_a_loop_around_a_compiled_module_is_a_program(made):
    torch.compiler.reset()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    other = copy.deepcopy(net)
    xs = torch.randn(20, 4, 3)

    def loop(call, net):
        for i, x in enumerate(xs):
            if i % 3:
                net.zero_grad()
            (call(x).square().mean() + call(x * 2).abs().sum()).backward()

    loop(torch.compile(net, fullgraph=True), net)
    assert any(p.uses for p in backward._state.programs)
    with plain():
        loop(other, other)
    for p, q in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.allclose(p.grad, q.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("order", ["back before backward", "other memory for backward", "written"])
def test_other_memory_between_a_call_and_its_backward(made, order):
    """What backward reads then is a matter of each operator: the module goes on without its program."""

    def loop():
        torch.manual_seed(3)
        net, found = Network(0.3), []
        for i in range(9):
            net.zero_grad()
            exact = [p.data for p in net.parameters()]
            x, y = batch(seed=i)
            if i > 5 and order == "back before backward":
                for p in net.parameters():
                    p.data = (p.data * 8).round() / 8
            loss = F.cross_entropy(net(x), y)
            if i > 5:
                for p, data in zip(net.parameters(), exact, strict=True):
                    p.data = data if order == "back before backward" else data * 1.5
            if i > 5 and order == "written":
                with torch.no_grad():
                    net.hidden.weight.mul_(2)
                with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                    loss.backward()
                break
            loss.backward()
            found += [p.grad.numpy().copy() for p in net.parameters()]
        return [*found, net.norm.running_mean.numpy(), torch.rand(3).numpy()]

    with plain():
        expected = loop()
    with noted():
        found = loop()
    assert made == ["Network"]
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_evaluation_before_training_of_one_norm(made):
    """Backward of the call in evaluation reads the statistics that training has moved, as in torch."""

    def loss(net):
        def call(x):
            net.eval()
            first = net(x)
            net.train()
            return first + net(x * 2)

        return call

    def loop():
        torch.manual_seed(3)
        net = Network()
        losses, left = train(net, forward=loss(net))
        return [np.array(losses), *left, np.array(net.norm.running_mean._version)]

    with plain():
        expected = loop()
    with noted():
        found = loop()
    assert len(made) == 2
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-5)


def test_other_memory_after_the_call_of_a_function_compiled_by_name():
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    call = torch.compile(net)
    for _ in range(4):
        loss = call(torch.ones(2, 3)).sum()
        loss.backward(retain_graph=True)
    net[2].weight.data = net[2].weight.data * 2
    with pytest.raises(RuntimeError, match="given other memory"):
        loss.backward()


class Cached(nn.Module):
    """Attends to what it has seen, which it writes into a cache of its own."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(6, 18), nn.Linear(6, 6)
        self.register_buffer("keys", torch.zeros(1, 1, 16, 6))
        self.register_buffer("values", torch.zeros(1, 1, 16, 6))

    def forward(self, x, place):
        q, k, v = (t.unsqueeze(1) for t in self.qkv(x).chunk(3, -1))
        self.keys[:, :, place], self.values[:, :, place] = k, v
        mask = torch.arange(16) <= place[:, None]
        return self.out(F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask).squeeze(1))


@pytest.mark.parametrize("gradients", [False, True])
def test_a_module_that_writes_into_its_cache(made, gradients):
    torch.manual_seed(0)
    net = Cached().eval()
    other, x = copy.deepcopy(net), torch.randn(1, 1, 6)
    with noted(), torch.set_grad_enabled(gradients):
        for i in range(14):
            y = net(x * i, torch.tensor([i % 16]))
            with plain():
                expected = other(x * i, torch.tensor([i % 16]))
            assert torch.allclose(y, expected, atol=1e-6)
            assert torch.allclose(net.keys, other.keys, atol=1e-6)
            if gradients:  # what is written belongs to the history from then on
                for model in (net, other):
                    model.keys, model.values = model.keys.detach(), model.values.detach()
        net.keys = torch.zeros(1, 1, 16, 6)  # another cache
        other.keys = torch.zeros(1, 1, 16, 6)
        with plain():
            expected = other(x, torch.tensor([3]))
        assert torch.allclose(net(x, torch.tensor([3])), expected, atol=1e-6)
        with pytest.raises(IndexError):
            net(x, torch.tensor([99]))
    assert bool(made) == (not gradients)


def test_shapes_that_come_in_turns_have_a_program_each(made, monkeypatch):
    monkeypatch.setattr(module_calls, "REPAID", 4)
    monkeypatch.setattr(step, "_BETWEEN", 3)
    net = Network().eval()
    inputs = [batch(n, seed=n)[0] for n in range(1, 13)]
    with torch.no_grad():
        with plain():
            expected = [net(x) for x in inputs]
        with noted():
            for _ in range(30):
                found = [net(x) for x in inputs]
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)
    assert len(made) == len(inputs)
    calls = module_programs.value[id(net)]
    before = calls.without
    with torch.no_grad():
        for x in inputs:
            net(x)
    assert calls.without == before  # all of them replay


def test_a_shape_that_comes_no_more_holds_up_no_others(made, monkeypatch):
    monkeypatch.setattr(step, "_PATIENCE", 20)
    net = Network().eval()
    inputs = [batch(n, seed=n)[0] for n in range(1, 5)]
    with torch.no_grad(), noted():
        for n in (1, 2):  # captured once, in the third call
            for _ in range(3):
                net(inputs[n - 1])
        assert len(module_programs.value[id(net)]._waiting()) == 2
        for _ in range(30):
            for x in inputs[2:]:
                net(x)
    assert len(made) == 2
