"""Forward and backward of functions as graphs of `torch.ops.aten`: make_fx, aot_function, the backends made of them."""

import pytest
from rushlight._dynamo.backends.common import aot_autograd
from rushlight._functorch.aot_autograd import aot_function, aot_module, aot_module_simplified, make_boxed_func
from rushlight._functorch.partitioners import default_partition
from rushlight._functorch.proxy_tensor import make_fx

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


def calls(graph):
    """The overloads that a graph calls, without detach, of which torch's graphs have more."""
    names = [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
    return [name for name in names if "detach" not in name]


class Compiler:
    """Runs graphs as they are, and keeps them."""

    def __init__(self):
        self.graphs = []

    def __call__(self, graph, inputs):
        self.graphs.append(graph)
        return make_boxed_func(graph.forward)

    @property
    def counts(self):
        return [len(calls(g)) for g in self.graphs]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        a = (q @ k.transpose(-1, -2) / 8**0.5).softmax(-1)
        return x + self.out(a @ v)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(10, 6), nn.Linear(6, 10)

    def forward(self, i):
        return self.out(F.gelu(self.table(i)))


class Image(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(16, 3)

    def forward(self, x):
        return self.out(F.max_pool2d(F.relu(self.norm(self.conv(x))), 4).flatten(1))


class Written(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(25.0).reshape(5, 5) / 7)

    def forward(self, x):
        y = (self.weight[:, :3] * x).clone()
        y[0] = 1.0
        return torch.where(y > 0, y, y.exp()).cumsum(0).log1p().abs().std()


class Pair(nn.Linear):
    def forward(self, x):
        return super().forward(x), 3


def attended(x):
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


# (module, arguments, torch 2.13's numbers of calls in forward and backward without detach, or None where ours are others)
NETWORKS = {
    "attention": (Attention, lambda: torch.randn(2, 5, 8), [32, 41]),
    "words": (Words, lambda: torch.tensor([[1, 2], [3, 9]]), [6, 12]),
    "image": (Image, lambda: torch.randn(2, 3, 8, 8), None),
    "image, evaluation": (lambda: Image().eval(), lambda: torch.randn(2, 3, 8, 8), None),
    "written": (Written, lambda: torch.randn(5, 3), None),
    "dropout": (lambda: nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)), lambda: torch.randn(3, 4), None),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), lambda: torch.randn(2, 5, 8), None),
    "group norm": (lambda: nn.Sequential(nn.Conv2d(2, 4, 1), nn.GroupNorm(2, 4)), lambda: torch.randn(2, 2, 4, 4), None),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_by_graphs_are_those_of_the_module(name, compiled):
    make, given, counts = NETWORKS[name]
    torch.manual_seed(1)
    plain = make()
    torch.manual_seed(1)
    module = make()
    compiler, x = Compiler(), given()
    graphs = (
        torch.compile(module, backend=aot_autograd(fw_compiler=compiler)) if compiled else aot_module(module, compiler)
    )
    for seed in (2, 3):  # the second call has the graphs
        torch.manual_seed(seed)
        expected = plain(x)
        (expected**2).sum().backward()
        stream = torch.get_rng_state()
        torch.manual_seed(seed)
        found = graphs(x)
        (found**2).sum().backward()
        assert torch.equal(torch.get_rng_state(), stream)
        torch.testing.assert_close(found, expected)
    for mine, theirs in zip(module.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)
    for mine, theirs in zip(module.buffers(), plain.buffers(), strict=True):
        torch.testing.assert_close(mine, theirs)
    assert len(compiler.graphs) == 2 and counts in (None, compiler.counts)


def test_the_text_of_graphs():
    compiler = Compiler()
    f = aot_function(lambda a, b: (a.sin() * b).sum(), compiler)
    a, b = torch.ones(3, requires_grad=True), torch.ones(3)
    f(a, b).backward()
    forward, backward = (g.code.strip() for g in compiler.graphs)
    assert forward == (
        "def forward(self, primals_1, primals_2):\n"
        "    sin = torch.ops.aten.sin.default(primals_1)\n"
        "    mul = torch.ops.aten.mul.Tensor(sin, primals_2);  sin = None\n"
        "    sum_1 = torch.ops.aten.sum.default(mul);  mul = None\n"
        "    return (sum_1, primals_1, primals_2)"
    )
    assert backward.startswith(
        "def forward(self, primals_1, primals_2, tangents_1):\n    expand = torch.ops.aten.expand."
    )
    assert backward.endswith("return (mul_2, None)")
    meta = compiler.graphs[0].graph.find_nodes(op="placeholder")[0].meta
    assert meta["val"].shape == meta["tensor_meta"].shape == (3,)


def test_what_requires_no_grad_has_one_graph():
    forward, inference = Compiler(), Compiler()
    f = aot_function(lambda x: {"y": x * 2, "n": 3}, forward, inference_compiler=inference)
    assert f(torch.ones(2))["n"] == 3 and f(torch.ones(2))["y"].tolist() == [2, 2]
    with torch.no_grad():
        f(torch.ones(2, requires_grad=True))
    assert inference.counts == [1, 1] and not forward.graphs


def test_numbers_and_shapes_have_graphs_of_their_own():
    compiler = Compiler()
    f = aot_function(lambda x, n: x * n, compiler)
    found = [f(torch.ones(2), 2).tolist(), f(torch.ones(2), 3).tolist(), f(torch.ones(1), 3).tolist()]
    assert found == [[2, 2], [3, 3], [3]] and len(compiler.graphs) == 3


def test_writes_to_inputs_and_buffers_happen():
    def count(x):
        x.mul_(2)
        return x + 1

    x = torch.ones(3)
    assert aot_function(count, Compiler())(x).tolist() == [3, 3, 3] and x.tolist() == [2, 2, 2]


def test_decompositions_and_partitions():
    aten, compiler, split = torch.ops.aten, Compiler(), []

    def partition(joint, inputs, *, num_fwd_outputs, static_lifetime_input_indices):
        split.append((len(calls(joint)), num_fwd_outputs))
        return default_partition(joint, inputs, num_fwd_outputs=num_fwd_outputs)

    table = {aten.addmm.default: lambda bias, a, b: bias + a @ b}
    layer = Pair(3, 2)
    f = aot_module_simplified(layer, [torch.ones(1, 3)], compiler, decompositions=table, partition_fn=partition)
    f(torch.ones(1, 3))[0].sum().backward()
    assert calls(compiler.graphs[0]) == ["aten.t.default", "aten.mm.default", "aten.add.Tensor"]
    assert split == [(sum(compiler.counts), 1)]
    assert layer.bias.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Graph output must be"):
        aot_module_simplified(nn.Linear(3, 2), [torch.ones(1, 3)], compiler)(torch.ones(1, 3))


def test_second_derivatives_raise():
    x = torch.ones(2, requires_grad=True)
    y = aot_function(lambda x: (x**3).sum(), Compiler())(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        g.sum().backward()


def test_a_graph_that_would_compute_something_else_is_refused():
    for f in (lambda x: x * x.mean().item(), lambda x: x * torch.from_numpy(x.numpy() * 2)):
        with pytest.raises(NotImplementedError, match="numbers read from tensors"):
            make_fx(f)(torch.ones(2))
    outside = torch.zeros(2)
    with pytest.raises(NotImplementedError, match="neither an input"):
        make_fx(lambda x: outside.add_(x))(torch.ones(2))
    assert outside.tolist() == [0, 0]


def test_make_fx_sees_the_backward_and_keeps_constants():
    table = torch.tensor([1.0, 2.0])

    def f(x):
        (g,) = torch.autograd.grad((x * x * table).sum(), x)
        return g

    graph = make_fx(f)(torch.ones(2, requires_grad=True))
    assert graph(torch.tensor([3.0, 4.0], requires_grad=True)).tolist() == [6, 16]
    assert graph._tensor_constant0.tolist() == [1, 2] and "aten.mul.Tensor" in calls(graph)
    with pytest.raises(NotImplementedError, match="pre_dispatch"):
        make_fx(f, pre_dispatch=True)


def test_kept_statistics_come_from_the_graph():
    x = torch.randn(1, 2, 5, 4, requires_grad=True)
    compiler = Compiler()
    f = aot_function(attended, compiler)
    for scale in (1.0, 3.0):
        (found,) = torch.autograd.grad(f(x * scale).sin().sum(), x)
        (expected,) = torch.autograd.grad(attended(x * scale).sin().sum(), x)
        torch.testing.assert_close(found, expected)
    assert len(compiler.graphs) == 2
