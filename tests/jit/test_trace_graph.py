"""`torch.jit._get_trace_graph`, and the objects by which libraries that count operations look at a graph."""

import pytest

import rushlight as torch
from rushlight.torch import _C

NETWORK = torch.nn.Sequential(
    torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten(), torch.nn.Linear(144, 5)
)


class Scoped(torch.nn.Module):
    """Pushes scopes as the hooks of such libraries do."""

    def __init__(self):
        super().__init__()
        self.inner = NETWORK

    def forward(self, x):
        state = _C._get_tracing_state()
        state.push_scope("one")
        state.push_scope("two")
        y = self.inner(x)
        state.pop_scope()
        y = y.relu()
        state.pop_scope()
        return y, torch.cat([y, y]) * 2


def test_one_graph_with_the_parameters_as_inputs():
    graph, (y, both) = torch.jit._get_trace_graph(Scoped(), torch.randn(2, 3, 8, 8))
    shapes = [v.type().sizes() for v in graph.inputs()]
    assert shapes == [[2, 3, 8, 8], [4, 3, 3, 3], [4], [4], [4], [4], [4], [], [5, 144], [5]]  # torch's
    assert [v.requires_grad() for v in graph.inputs()] == [False, *[True] * 4, *[False] * 3, True, True]
    steps = [(n.kind(), n.scopeName()) for n in graph.nodes() if n.kind().startswith("aten")]
    within = [(f"aten::{name}", "one/two") for name in ("_convolution", "add_", "batch_norm", "flatten", "linear")]
    assert steps == [*within, ("aten::relu", "one"), ("aten::cat", ""), ("aten::mul", "")]
    assert (y.shape, both.shape) == ((2, 5), (4, 5))
    assert _C._get_tracing_state() is None


def test_values_tell_what_the_trace_has_seen():
    graph, _ = torch.jit._get_trace_graph(NETWORK, torch.randn(2, 3, 8, 8))
    convolution = graph.findNode("aten::_convolution")
    x, weight, _, stride, *rest = convolution.inputs()
    assert x.isCompleteTensor() and x.node().kind() == "prim::Param"
    assert (weight.type().kind(), weight.type().scalarType(), weight.type().dim()) == ("TensorType", "Float", 4)
    assert weight.type().strides() == [27, 9, 3, 1]
    assert (str(weight.type()), str(stride.type()), stride.type().kind()) == ("Tensor", "List[int]", "ListType")
    assert not stride.isCompleteTensor() and stride.type().sizes() is None and stride.toIValue() is None
    assert [v.toIValue() for v in stride.node().inputs()] == [1, 1]
    assert [v.toIValue() for v in rest[2:]] == [False, None, 1, False, False, True, True]
    scalar = graph.findNode("aten::add_")
    assert [v.toIValue() for v in scalar.inputs()] == [None, 1, 1]


def test_containers_are_their_tensors():
    a, b = torch.ones(2), torch.full((2,), 3.0)
    graph, result, inputs = torch.jit._get_trace_graph(
        lambda pair, c: [pair["x"] + c], ({"x": a}, b), strict=False, return_inputs=True
    )
    assert [v.type().sizes() for v in graph.inputs()] == [[2], [2]]
    assert result[0].tolist() == [4.0, 4.0] and inputs[1] is b
    (out,) = graph.outputs()
    assert out.node().kind() == "aten::add"


def test_constants_are_attributes():
    def run(a):
        return (a.sum(0) * 2.5).to(torch.float64)

    graph, _ = torch.jit._get_trace_graph(run, torch.ones(2, 2))
    constants = graph.findAllNodes("prim::Constant")
    found = [(n.kindOf(name), getattr(n, n.kindOf(name))(name)) for n in constants for name in n.attributeNames()]
    assert ("i", 0) in found and 2.5 in [v.item() for way, v in found if way == "t" and v.numel() == 1]
    assert any(not n.hasAttribute("value") for n in constants)  # None
    (out,) = graph.outputs()
    assert {out: 1}[next(iter(graph.outputs()))] == 1 and out.node() == list(graph.nodes())[-1]


def test_what_is_refused():
    with pytest.raises(NotImplementedError, match="_force_outplace"):
        torch.jit._get_trace_graph(NETWORK, torch.ones(1, 3, 8, 8), _force_outplace=True)
