"""Names of values in printed graphs: torch 2.13's."""

import re

import rushlight as torch
from rushlight import nn
from rushlight.torch.jit.ir.names import Names

F = "requires_grad=0, device=cpu"


def _text(graph):
    """Without the lines of this file, and without the numbers of values and of classes."""
    text = re.sub(r" # .*|___torch_mangle_\d+\.", "", str(graph))
    return re.sub(r"%\d+\b", "%", text)


def test_the_last_value_of_a_name_keeps_it():
    def f(x):
        y = x.view(2, -1)
        y = torch.relu(y)
        z = y.sum()
        return z * y

    text = re.sub(r" # .*", "", str(torch.jit.trace(f, torch.ones(4)).graph))
    assert text == (
        f"graph(%x : Float(4, strides=[1], {F})):\n"
        "  %1 : int = prim::Constant[value=2]()\n"
        "  %2 : int = prim::Constant[value=-1]()\n"
        "  %3 : int[] = prim::ListConstruct(%1, %2)\n"
        f"  %y.1 : Float(2, 2, strides=[2, 1], {F}) = aten::view(%x, %3)\n"
        f"  %y : Float(2, 2, strides=[2, 1], {F}) = aten::relu(%y.1)\n"
        "  %6 : NoneType = prim::Constant()\n"
        f"  %z : Float({F}) = aten::sum(%y, %6)\n"
        f"  %8 : Float(2, 2, strides=[2, 1], {F}) = aten::mul(%z, %y)\n"
        "  return (%8)\n"
    )


def test_all_modules_of_a_trace_share_their_names():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.l, self.d = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 2), nn.ReLU())

        def forward(self, x, h):
            y = torch.tanh(self.l(x) + h)
            return self.d(y)

    traced = torch.jit.trace(Net(), (torch.ones(2, 3), torch.ones(2, 4)))
    top, first, second = _text(traced.graph), _text(traced.l.graph), _text(traced.d.graph)
    assert "graph(%self.1 : " in top and "%input.1 : Float(2, 4" in top
    assert '% : Tensor = prim::CallMethod[name="forward"](%l, %x)' in top
    assert "graph(%self.3 : " in first and "%x : Float(2, 3" in first and "%weight.1 : Tensor" in first
    assert "graph(%self.5 : " in second and "%input.1 : Float(2, 4" in second
    assert "%weight : Tensor" in _text(getattr(traced.d, "0").graph)


def test_scripts_name_values_and_what_reads_them():
    def f(x, y):
        a = x + y
        b = a * 2
        a = b - x
        return a

    text = _text(torch.jit.script(f).graph)
    assert text.startswith("graph(%x.1 : Tensor,\n      %y.1 : Tensor):\n")
    assert "%a.1 : Tensor = aten::add(%x.1, %y.1" in text and "%b.1 : Tensor = aten::mul(%a.1" in text
    assert "%a.5 : Tensor = aten::sub(%b.1, %x.1" in text and "return (%a.5)" in text


def test_suffixes_count_as_torchs():
    names = Names()
    for i in range(4):
        names.take(i, "x")
    assert names.of == {0: "x.1", 1: "x.3", 2: "x.5", 3: "x"}
    names.take("a", "y.2")
    names.take("b", "y.2")
    assert names.of["a"] == "y.3" and names.of["b"] == "y.2"
