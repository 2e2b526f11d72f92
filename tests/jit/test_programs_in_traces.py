"""Traces of modules that hold other traces: their graphs stay what they are, and are called. Graphs are torch 2.13's."""

import re

import rushlight as torch
from rushlight import nn


class Inner(nn.Module):
    def forward(self, x):
        return torch.floor(torch.sqrt(x.type(torch.float32)) / 5.0)


class Scripted(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x):
        return -x


class Several(nn.Module):
    def forward(self, x):
        return x * 2, [x + 1, x], {"a": x}


def product(x):
    return x * 2


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.traced = torch.jit.trace(Inner(), torch.ones(()))
        self.script = Scripted()

    def forward(self, x):
        x = traced_product(x)
        x = traced_product(x)
        x = self.traced(x)
        x = self.script(x)
        return x


traced_product = torch.jit.trace(product, torch.ones(()))


def without_classes(graph):
    text = re.sub(r" # \S*", "", str(graph))
    return re.sub(r"__torch__\.[\w.]*?(?=\w+(?: |,))", "", text)


def test_a_trace_inside_is_called_and_names_are_looked_for_at_calls_of_functions_only():
    graph = torch.jit.trace(Outer(), torch.tensor([190.0])).graph
    assert without_classes(graph) == (
        "graph(%self : Outer,\n"
        "      %x.1 : Float(1, strides=[1], requires_grad=0, device=cpu)):\n"
        '  %script : Scripted = prim::GetAttr[name="script"](%self)\n'
        '  %traced : Inner = prim::GetAttr[name="traced"](%self)\n'
        '  %10 : Function = prim::Constant[name="product"]()\n'
        "  %x : Float(1, strides=[1], requires_grad=0, device=cpu) = prim::CallFunction(%10, %x.1)\n"
        '  %12 : Function = prim::Constant[name="product"]()\n'
        "  %13 : Float(1, strides=[1], requires_grad=0, device=cpu) = prim::CallFunction(%12, %x)\n"
        "  %14 : Float(1, strides=[1], requires_grad=0, device=cpu)"
        ' = prim::CallMethod[name="forward"](%traced, %13)\n'
        "  %15 : Float(1, strides=[1], requires_grad=0, device=cpu)"
        ' = prim::CallMethod[name="forward"](%script, %14)\n'
        "  return (%15)\n"
    )


def test_what_a_trace_inside_gives_may_be_nested():
    class Uses(nn.Module):
        def __init__(self):
            super().__init__()
            self.several = torch.jit.trace(Several(), torch.ones(2), strict=False)

        def forward(self, x):
            a, (b, c), d = self.several(x)
            return a + b * c + d["a"]

    traced = torch.jit.trace(Uses(), torch.ones(2))
    assert traced(torch.tensor([3.0, 5.0])).tolist() == [21.0, 45.0]
    kinds = [n.kind() for n in traced.graph.nodes()]
    assert kinds.count("prim::CallMethod") == 1 and "prim::ListUnpack" in kinds
    assert traced.several.inlined_graph.findNode("aten::mul") is not None


def test_the_trace_inside_shares_its_parameters_and_is_saved(tmp_path):
    class Holds(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2))

        def forward(self, x):
            return self.part(x) + self.part(x * 2)

    torch.manual_seed(0)
    module = Holds()
    traced = torch.jit.trace(module, torch.ones(1, 2))
    assert traced.part is module.part
    traced.save(tmp_path / "holds.pt")
    x = torch.tensor([[0.5, -1.0]])
    assert torch.equal(torch.jit.load(tmp_path / "holds.pt")(x), module(x))


def test_types_in_scripts_have_their_lines():
    @torch.jit.script
    def f(x):
        z = torch.ones([2], dtype=torch.float64)
        return z, x.type(torch.float32)

    lines = [line for line in str(f.graph).splitlines() if re.search(r"value=[67]\]", line)]
    assert [bool(re.search(r"# \S+:\d+:\d+$", line)) for line in lines] == [True, True]
    assert f.graph.findNode("aten::to") is not None
