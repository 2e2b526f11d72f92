"""`torch.compile(backend=function)`: the function's calls as graphs, and the results of what the backend makes of them."""

import copy

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.compile import backends
from rushlight.nn import functional as F
from rushlight.torch import _dynamo
from rushlight.torch._dynamo.testing import CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs
from rushlight.utils._pytree import tree_leaves


@pytest.fixture(autouse=True)
def _forget():
    yield
    _dynamo.reset()


def _same(f, make, frames=None, calls=3):
    """Results, arguments, gradients and kinds of history are those of the function run as Python."""
    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter)
    torch.manual_seed(1)
    given = make()
    torch.manual_seed(1)
    other = make()
    for i in range(calls):
        torch.manual_seed(i)
        expected = f(*given)
        torch.manual_seed(i)
        found = compiled(*other)
        for a, b in zip(tree_leaves((expected, given)), tree_leaves((found, other)), strict=True):
            if not isinstance(a, torch.Tensor):
                assert a == b
                continue
            assert type(a) is type(b) and torch.equal(a.detach(), b.detach()) and a.stride() == b.stride()
            assert a.requires_grad == b.requires_grad and type(a.grad_fn) is type(b.grad_fn)
            if a.is_leaf and a.grad is not None:
                assert torch.equal(a.grad, b.grad)
    if frames is not None:
        assert counter.frame_count == frames
    return counter


def _given(*shape):
    return torch.randn(*shape, requires_grad=True)


def test_the_backend_gets_a_graph_and_what_it_returns_runs():
    seen = []

    def backend(gm, inputs):
        seen.append(([(n.op, n.name) for n in gm.graph.nodes], [tuple(t.shape) for t in inputs]))
        return lambda *tensors: [r + 1 for r in gm(*tensors)]

    f = torch.compile(lambda x, y: torch.sin(x) + y * 2, backend=backend)
    x, y = torch.ones(3), torch.ones(3)
    assert torch.equal(f(x, y), torch.sin(x) + 2 + 1) and torch.equal(f(x, y), torch.sin(x) + 2 + 1)
    nodes = [("placeholder", "l_x_"), ("placeholder", "l_y_"), ("call_function", "sin"), ("call_function", "mul")]
    assert seen == [([*nodes, ("call_function", "add"), ("output", "output")], [(3,), (3,)])]


def test_a_module_trains_as_without():
    torch.manual_seed(0)
    layers = (
        nn.Conv2d(1, 2, 3),
        nn.BatchNorm2d(2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2, 3),
    )
    model = nn.Sequential(*layers)
    other = copy.deepcopy(model)
    counter = CompileCounter()
    compiled = torch.compile(model, backend=counter)
    x, t = torch.randn(4, 1, 4, 4), torch.tensor([0, 1, 2, 0])
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, other)]
    for _ in range(3):
        losses = []
        for m, o in zip((compiled, other), optimizers, strict=True):
            loss = F.cross_entropy(m(x), t)
            o.zero_grad()
            loss.backward()
            o.step()
            losses.append(loss.item())
        assert losses[0] == pytest.approx(losses[1], rel=1e-6)  # some backward passes are programs
    assert (counter.frame_count, counter.op_count) == (1, 7)
    for a, b in zip(model.state_dict().values(), other.state_dict().values(), strict=True):
        torch.testing.assert_close(a, b)
    assert all(type(p) is nn.Parameter and not p.__dict__ for p in model.parameters())


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g


def _data_dependent(x):
    y = x * 2
    return y + 1 if y.sum() > 0 else y - 1


def _gradient(x):
    (g,) = torch.autograd.grad((x * x).sum(), x)
    return g * 2


def _hooks(x):
    y = x * 3
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    y.sum().backward()
    return y


def _data(x):
    x.data.add_(1)
    x.data = x * 2 + 1
    return x * 2


def _in_place(x):
    y = x * 2
    z = y.relu_()
    z += 1
    return y, z


def _own_function(x):
    y = Square.apply(x + 1) * 2
    y.sum().backward()
    return y


def _modes(x):
    with torch.no_grad():
        y = x * 2
    with torch.inference_mode():
        w = x * 4 + 1
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = x @ x
    return y, x * 3, w.sum().item(), z, x @ x


def _random(x):
    first = F.dropout(x), torch.randn(3), torch.rand_like(x), torch.bernoulli(x.sigmoid())
    torch.manual_seed(7)
    return first, torch.randn(3)


def _several(x):
    a, b = x.chunk(2)
    order = torch.sort(x)
    return a + b, order, order.values, x.max(0), [r * 2 for r in x], torch.stack([x, x]).mT


def _python(x):
    y = x * 2
    y.mark = 1
    return (
        f"{x.shape} {y.sum():.3f}",
        y.mark,
        y.tolist(),
        copy.deepcopy(y.detach()),
        (y.detach() + 1).numpy().sum().item(),
    )


def _gradients_kept(x):
    x.grad = None
    (x * 2).sum().backward()
    g = x.grad
    assert g is not None
    g.mul_(2)
    x.grad = g * 3 + 1
    return x.grad + 0


def _checkpointed(x):
    return torch.utils.checkpoint.checkpoint(lambda a: torch.sin(a) * 2, x * 1, use_reentrant=False)


FUNCTIONS = [
    _data_dependent, _gradient, _hooks, _data, _in_place, _own_function, _modes, _random, _several, _python,
    _gradients_kept, _checkpointed,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_results_are_those_of_python(f):
    _same(f, lambda: (_given(4, 4),), calls=2)


def _view_written(x):
    y = x.detach()
    y.view(-1).add_(1)
    first = x[0]
    x.mul_(2)
    return y + 1, first, x.numpy().sum().item()


def test_writes_reach_every_alias():
    _same(_view_written, lambda: (torch.randn(2, 3),), frames=1)


def test_a_result_is_a_view_of_another_and_hears_of_later_writes():
    x = _given(2, 2)
    gradients = []
    for f in (_pair, torch.compile(_pair, backend=CompileCounter())):
        y, v = f(x)
        y.mul_(3)
        (v.sum() * 2).backward()
        gradients.append(x.grad)
        x.grad = None
    assert torch.equal(*gradients)


def _pair(x):
    y = x * 1
    return y, y[0]


def test_a_number_that_changes_becomes_an_input():
    weight = torch.ones(3)
    graphs = EagerAndRecordGraphs()

    @torch.compile(backend=graphs)
    def step(x, lr):
        weight.add_(x, alpha=lr)
        return weight.sum()

    expected = 3.0
    for i in range(5):
        expected += 3 * 0.25 * i
        assert step(torch.ones(3), 0.25 * i) == expected
    assert [sum(n.op == "placeholder" for n in gm.graph.nodes) for gm in graphs.graphs] == [2, 3]


def test_other_graphs_up_to_the_limit(monkeypatch):
    monkeypatch.setattr(_dynamo.config, "recompile_limit", 2)
    counter = CompileCounter()
    f = torch.compile(lambda x: x * 2, backend=counter)
    assert [f(torch.ones(n)).sum().item() for n in (1, 2, 1)] == [2, 4, 2]
    with pytest.warns(UserWarning, match=r"compiled 2 graphs \(the limit\)"):
        assert f(torch.ones(3)).sum().item() == 6
    assert f(torch.ones(4)).sum().item() == 8 and counter.frame_count == 2


def test_graphs_break_where_elements_are_needed():
    counter = CompileCounter()
    f = torch.compile(_data_dependent, backend=counter)
    assert f(torch.ones(2)).tolist() == [3, 3] and f(-torch.ones(2)).tolist() == [-3, -3]
    assert (counter.frame_count, counter.op_count) == (3, 5)
    with pytest.raises(RuntimeError, match=r"fullgraph=True\): the graph breaks at __bool__"):
        torch.compile(_data_dependent, backend=counter, fullgraph=True)(torch.ones(2))


def test_errors_are_pythons_and_what_came_before_has_happened():
    def f(x, y):
        x.add_(1)
        return x @ y

    x = torch.zeros(2, 3)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        torch.compile(f, backend=CompileCounter())(x, x)
    assert torch.equal(x, torch.ones(2, 3)) and type(x) is torch.Tensor and not x.__dict__


OPTIMIZERS = {  # name: (options, calls in the graphs of the first step; torch 2.13: 1 graph of 38 for Adam)
    "Adadelta": ({}, [28]), "Adam": ({}, [42]), "AdamW": ({"amsgrad": True, "maximize": True}, [52]), "Muon": ({}, None),
    "RMSprop": ({"centered": True, "momentum": 0.9}, [22]), "Rprop": ({}, [38]), "SGD": ({"momentum": 0.9, "nesterov": True}, [10, 10]),
    "Adagrad": ({}, None), "Adamax": ({}, None), "NAdam": ({}, None), "RAdam": ({}, None), "ASGD": ({}, None), "Adafactor": ({}, None),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*the backend has compiled 8 graphs")  # ASGD and Adafactor break often
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_rushlights_own_optimizers_are_graphs(name):
    options, counts = OPTIMIZERS[name]
    made = []

    def backend(graph, inputs):
        made.append(sum(n.op.startswith("call") for n in graph.graph.nodes))
        return graph

    ends = []
    for compiled in (False, True):
        torch.manual_seed(0)
        layer = nn.Linear(3, 2, bias=name != "Muon")
        optimizer = getattr(torch.optim, name)(layer.parameters(), lr=0.01, **options)
        step = torch.compile(optimizer.step, backend=backend) if compiled else optimizer.step
        for k in range(2):
            optimizer.zero_grad()
            layer(torch.arange(3.0)[None] + k).square().sum().backward()
            step()
        ends.append([p.detach().clone() for p in layer.parameters()])
    torch.testing.assert_close(*ends)
    assert made and counts in (None, made)


def test_rushlights_own_optimizers_run_as_they_are():
    p = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([p], lr=0.5)
    counter = CompileCounter()

    @torch.compile(backend=counter)
    def step():
        p.grad = p.detach() * 2
        optimizer.step()
        return p * 1

    assert torch.allclose(step(), torch.full((2,), 0.5)) and counter.frame_count


def test_backends_by_name():
    counter = CompileCounter()
    _dynamo.register_backend(counter, name="counts")
    try:
        assert "counts" in _dynamo.list_backends() and "eager" not in _dynamo.list_backends()
        assert torch.compile(lambda x: x * 2, backend="counts")(torch.ones(1)) == 2 and counter.op_count == 1
        with pytest.raises(AssertionError, match="duplicate name: counts"):
            _dynamo.register_backend(counter, name="counts")
        with_backend = CompileCounterWithBackend("counts")
        assert torch.compile(lambda x: x * 3, backend=with_backend)(torch.ones(1)) == 3
        assert counter.op_count == 2 and len(with_backend.graphs) == 1
    finally:
        del backends._added["counts"]
    with pytest.raises(RuntimeError, match="Invalid backend: 'counts'"):
        torch.compile(lambda x: x, backend="counts")


def test_options_go_to_the_backend():
    def backend(gm, inputs, options):
        assert options == {"level": 3}
        return gm.forward

    assert torch.compile(lambda x: x * 2, backend=backend, options={"level": 3})(torch.ones(1)) == 2


def test_errors_are_those_that_programs_for_torch_catch():
    exc = torch._dynamo.exc

    def broken(gm, example_inputs):
        raise ValueError("no code for this")

    with pytest.raises(exc.BackendCompilerFailed, match=r"backend='broken' raised:\nValueError: no code for this") as e:
        torch.compile(lambda a: a + 1, backend=broken)(torch.ones(2))
    assert isinstance(e.value.inner_exception, ValueError)
    with pytest.raises(exc.InvalidBackend, match="'nonsense'"):
        torch.compile(lambda a: a + 1, backend="nonsense")
    with pytest.raises(exc.Unsupported, match="the graph breaks at"):
        torch.compile(lambda a: a.sum().item(), backend=lambda gm, _: gm, fullgraph=True)(torch.ones(2))
    assert issubclass(exc.Unsupported, exc.TorchDynamoException)
    assert issubclass(exc.TorchDynamoException, RuntimeError)
