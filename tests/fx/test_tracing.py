"""Graphs of modules and functions: what tracing sees, the code, changing and running it. Expected texts are torch's."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

# tracing makes every operator of its process ask for `__torch_function__`: programs in processes of their own
ROOT = Path(__file__).parents[2]
HEAD = "import rushlight as torch\nimport rushlight.fx as fx\nfrom rushlight import nn\nfrom rushlight.nn import functional as F\n"
ALIAS = """
from rushlight import alias
alias.install()
import torch, torchvision
from torch import fx, nn
"""
NETWORK = """
class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.p = nn.Linear(4, 5), nn.Parameter(torch.ones(5))
        self.seq = nn.Sequential(nn.ReLU(), nn.Linear(5, 2))
        self.register_buffer("b", torch.arange(2.0))

    def forward(self, x, scale=2.0, *, flag=None):
        y = torch.relu(self.lin(x) + self.p) * scale
        z = self.seq(y).view(x.shape[0], -1)
        z = torch.cat([z, z], dim=1)[:, 1:3]
        a, c = z.chunk(2, 1)
        return {"a": a + self.b[0], "t": (c, -z)}

torch.manual_seed(0)
net, x = Network(), torch.randn(3, 4)
"""
CODE = """def forward(self, x, scale = 2.0, flag = None):
    lin = self.lin(x)
    p = self.p
    add = lin + p;  lin = p = None
    relu = torch.relu(add);  add = None
    mul = relu * scale;  relu = scale = None
    seq_0 = getattr(self.seq, "0")(mul);  mul = None
    seq_1 = getattr(self.seq, "1")(seq_0);  seq_0 = None
    getattr_1 = x.shape;  x = None
    getitem = getattr_1[0];  getattr_1 = None
    view = seq_1.view(getitem, -1);  seq_1 = getitem = None
    cat = torch.cat([view, view], dim = 1);  view = None
    getitem_1 = cat[(slice(None, None, None), slice(1, 3, None))];  cat = None
    chunk = getitem_1.chunk(2, 1)
    getitem_2 = chunk[0]
    getitem_3 = chunk[1];  chunk = None
    _tensor_constant0 = self._tensor_constant0
    add_1 = getitem_2 + _tensor_constant0;  getitem_2 = _tensor_constant0 = None
    neg = -getitem_1;  getitem_1 = None
    return {'a': add_1, 't': (getitem_3, neg)}"""

STARS = """def forward(self, x : torch.Tensor, k = 1, *args, **kw):
    _args = args
    _kw = kw
    getitem = _args[1];  _args = None
    mul = getitem * k;  getitem = k = None
    add = x + mul;  x = mul = None
    getitem_1 = _kw['z'];  _kw = None
    add_1 = add + getitem_1;  add = getitem_1 = None
    return add_1"""

PROGRAMS = {
    "annotations": ALIAS
    + """
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple, Union

class Pair(NamedTuple):
    a: int

def old(x: Optional[torch.Tensor], n: List[int], t: Dict[str, torch.Tensor], p: Pair = None) -> Tuple[torch.Tensor, int]:
    return x + n[0], 1

def new(x: torch.Tensor | None, n: list[int], t: dict[str, list[float]], e: tuple[int, ...]) -> dict[str, torch.Tensor]:
    return {"a": x}

def odd(x: "torch.Tensor", f: Callable, u: Union[int, float, None], d: torch.dtype = torch.float32) -> None:
    return x

for function, head in (
    (old, "(self, x : typing_Union[torch.Tensor,NoneType], n : typing_List[int], t : typing_Dict[str,torch.Tensor], "
          "p : __main___Pair = None) -> typing_Tuple[torch.Tensor,int]:"),
    (new, "(self, x : torch.Tensor|NoneType, n : list[int], t : dict[str,list[float]], e : tuple[int,_]) "
          "-> dict[str,torch.Tensor]:"),
    (odd, "(self, x : _torch_Tensor_, f : collections_abc_Callable, u : typing_Union[int,float,NoneType], "
          "d : torch.dtype = torch.float32):"),
):
    traced = fx.symbolic_trace(function)
    assert traced.code.strip().startswith("def forward" + head), traced.code
    types = {n.target: n.type for n in traced.graph.nodes if n.op == "placeholder"}
    assert types == {k: v for k, v in function.__annotations__.items() if k != "return"}
graph = str(fx.symbolic_trace(old).graph)
assert "%x : typing.Optional[torch.Tensor] [num_users=1] = placeholder[target=x]" in graph, graph
assert "%n : typing.List[int] [num_users=1] = placeholder[target=n]" in graph, graph
for layer, head in ((nn.Linear(2, 2), "(self, input : torch.Tensor) -> torch.Tensor:"), (nn.Sequential(), "(self, input):"),
                    (torchvision.models.squeezenet1_0(), "(self, x : torch.Tensor) -> torch.Tensor:")):
    assert fx.symbolic_trace(layer).code.strip().startswith("def forward" + head)
""",
    "any number of arguments": ALIAS
    + """
import functools

def f(x: torch.Tensor, *args: int, k=1, **kw) -> torch.Tensor:
    return x + args[1] * k + kw["z"]

traced = fx.symbolic_trace(f)
assert traced.code.strip() == STARS, traced.code
x = torch.ones(2)
assert torch.equal(traced(x, 2, 5.0, 7.0, z=1.0), torch.tensor([16.0, 16.0]))

class Sums(nn.Module):
    def forward(self, *xs):
        return xs[0] + xs[1]

assert torch.equal(fx.symbolic_trace(Sums())(x, x), x + x)

@functools.wraps(lambda x, y=2: None)
def wrapped(*args):
    return args[0] * args[1]

assert torch.equal(fx.symbolic_trace(wrapped)(x), x * 2)
""",
    "the code, and that it computes the same": NETWORK
    + """
traced = fx.symbolic_trace(net)
assert traced.code.strip() == CODE, traced.code
old, new = net(x), traced(x)
assert torch.equal(old["a"], new["a"]) and torch.equal(old["t"][1], new["t"][1])
assert torch.equal(traced(x, 3.0)["a"], net(x, 3.0)["a"])
traced(x)["a"].sum().backward()
assert net.lin.weight.grad is not None
""",
    "copies and pickles": NETWORK
    + """
import copy, pickle
traced = fx.symbolic_trace(net)
for again in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
    assert torch.equal(again(x)["a"], net(x)["a"])
    assert again.lin.weight is not net.lin.weight
""",
    "changing a graph": NETWORK
    + """
traced = fx.symbolic_trace(net)
for node in traced.graph.nodes:
    if node.target is torch.relu:
        with traced.graph.inserting_after(node):
            new = traced.graph.call_function(torch.tanh, node.args)
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
traced.recompile()
traced.graph.lint()
assert "torch.tanh(add)" in traced.code and "relu = " not in traced.code
node = next(n for n in traced.graph.nodes if n.name == "lin")
try:
    traced.graph.erase_node(node)
except RuntimeError as error:
    assert "still had 1 users" in str(error)
else:
    raise AssertionError
""",
    "dead code goes, writes stay": """
def f(x):
    y = x + 1
    x.add_(1)
    return x * 2

traced = fx.symbolic_trace(f)
assert traced.graph.eliminate_dead_code()
traced.recompile()
assert "x + 1" not in traced.code and "add_" in traced.code
""",
    "functions of torch.nn.functional by that name, with all options": """
code = fx.symbolic_trace(lambda x: F.elu(F.layer_norm(x, (4,)), inplace=True)).code
assert "torch.nn.functional.layer_norm(x, (4,), weight = None, bias = None, eps = 1e-05)" in code
assert "torch.nn.functional.elu(layer_norm, alpha = 1.0, inplace = True)" in code
""",
    "a pattern is replaced": """
def f(x, w):
    return torch.relu(x) + w + torch.relu(w)

traced = fx.symbolic_trace(f)
found = fx.replace_pattern(traced, lambda a: torch.relu(a), lambda a: torch.clamp(a, min=0.5))
assert len(found) == 2 and traced.code.count("clamp") >= 2 and "relu" not in traced.code
x = torch.randn(4)
assert torch.equal(traced(x, x), x.clamp(min=0.5) + x + x.clamp(min=0.5))
""",
    "node by node, with shapes": NETWORK
    + """
from rushlight.fx.passes.shape_prop import ShapeProp

class Counting(fx.Interpreter):
    seen = []

    def run_node(self, n):
        self.seen.append(n.op)
        return super().run_node(n)

traced = fx.symbolic_trace(net)
assert torch.equal(Counting(traced).run(x)["a"], net(x)["a"]) and Counting.seen.count("call_module") == 3
ShapeProp(traced).propagate(x)
assert [n.meta["tensor_meta"].shape for n in traced.graph.nodes if n.name == "cat"] == [torch.Size([3, 4])]

class Swapped(fx.Transformer):
    def call_function(self, target, args, kwargs):
        return super().call_function(torch.sigmoid if target is torch.relu else target, args, kwargs)

assert "sigmoid" in Swapped(traced).transform().code
""",
    "modules of one's own are traced through, leaves can be chosen": """
class Inner(nn.Module):
    def forward(self, x):
        return x + 1

class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x)

class Whole(fx.Tracer):
    def is_leaf_module(self, m, name):
        return isinstance(m, Inner) or super().is_leaf_module(m, name)

assert "x + 1" in fx.symbolic_trace(Outer()).code
graph = Whole().trace(Outer())
assert [n.op for n in graph.nodes] == ["placeholder", "call_module", "output"]
""",
    "wrapped functions stay whole": """
def helper(x, n):
    return x * n if x.sum() > 0 else x

fx.wrap("helper")
fx.wrap("len")

def f(x):
    return helper(x, 3) + len(x)

traced = fx.symbolic_trace(f)
assert traced(torch.ones(2)).tolist() == [5.0, 5.0]
assert helper(torch.ones(1), 2).item() == 2
""",
    "what cannot be traced": """
def branch(x):
    return x if x.sum() > 0 else -x

def loop(x):
    for row in x:
        x = x + row
    return x

def length(x):
    return x * len(x)

for f, kind, words in (
    (branch, fx.proxy.TraceError, "cannot be used as inputs to control flow"),
    (loop, fx.proxy.TraceError, "Proxy object cannot be iterated"),
    (length, RuntimeError, "'len' is not supported in symbolic tracing by default"),
):
    try:
        fx.symbolic_trace(f)
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f)
""",
    "concrete arguments": """
import warnings

def several(x, y, n=3, flag=True, extra=None, kind=None):
    return x * y + n if flag else x - y

ONES = torch.ones(2)
module = fx.symbolic_trace(several, concrete_args={"n": 5, "flag": True, "extra": None, "kind": torch.float32})
assert "    eq = n_1 == 5;  n_1 = None" in module.code and "torch._assert(eq" in module.code, module.code
assert "torch.fx._symbolic_trace._assert_is_none(extra_1, 'extra has been" in module.code, module.code
module.graph.eliminate_dead_code()
module.recompile()
assert module(ONES, ONES, 5, True, None, torch.float32).tolist() == [6, 6]
for wrong in ((4, True, None, torch.float32), (5, False, None, torch.float32), (5, True, 1, torch.float32), (5, True, None, torch.int8)):
    try:
        module(ONES, ONES, *wrong)
    except AssertionError as error:
        assert "has been specialized to have value" in str(error)
    else:
        raise AssertionError(wrong)

def signed(x, y):
    return -y if x.sum() < 0 else y * x

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    module = fx.symbolic_trace(signed, concrete_args={"x": ONES * 2})
assert len(seen) == 1 and "guarantee correct input x to specialized function" in str(seen[0].message)
assert module(-ONES, ONES).tolist() == [2, 2] and [n.name for n in module.graph.nodes][:2] == ["x_1", "y"]
""",
    "a graph by hand": """
graph = fx.Graph()
a, b = graph.placeholder("a"), graph.placeholder("b", default_value=2)
graph.output(graph.call_function(torch.add, (a, b), {"alpha": 3}))
module = fx.GraphModule({}, graph)
assert module(torch.ones(1)).item() == 7
assert str(graph).splitlines()[1:] == [
    "    %a : [num_users=1] = placeholder[target=a]",
    "    %b : [num_users=1] = placeholder[target=b](default=2)",
    "    %add : [num_users=1] = call_function[target=torch.add](args = (%a, %b), kwargs = {alpha: 3})",
    "    return add",
]
""",
    "options that functions tell": """
def f(x, w):
    x = F.max_pool2d(F.relu(F.dropout(F.conv2d(x, w, padding=1), 0.2, False)), 2)
    x = torch.einsum("nchw->nc", F.gelu(x))
    return F.logsigmoid(F.linear(x, x)), F.rms_norm(x, (2,)), torch.relu(x), torch.split(x, 1)

lines = [line.partition(";")[0].strip() for line in fx.symbolic_trace(f).code.splitlines() if " = " in line]
assert lines == [
    "conv2d = torch.conv2d(x, w, padding = 1)",
    "dropout = torch.nn.functional.dropout(conv2d, p = 0.2, training = False, inplace = False)",
    "relu = torch.nn.functional.relu(dropout, inplace = False)",
    "max_pool2d = torch.nn.functional.max_pool2d(relu, 2, stride = None, padding = 0, dilation = 1, "
    "ceil_mode = False, return_indices = False)",
    "gelu = torch._C._nn.gelu(max_pool2d)",
    "einsum = torch.functional.einsum('nchw->nc', gelu)",
    "linear = torch._C._nn.linear(einsum, einsum)",
    "logsigmoid = torch._C._nn.log_sigmoid(linear)",
    "rms_norm = torch.nn.functional.rms_norm(einsum, (2,), weight = None, eps = None)",
    "relu_1 = torch.relu(einsum)",
    "split = torch.functional.split(einsum, 1, dim = 0)",
]
given = torch.ones(2, 3, 4, 4), torch.ones(2, 3, 3, 3)
for found, expected in zip(fx.symbolic_trace(f)(*given), f(*given), strict=True):
    assert all(map(torch.equal, found, expected))
""",
    "operators that a program registers": """
@torch.library.custom_op("fxtest::times", mutates_args=())
def times(x: torch.Tensor, k: int = 2) -> torch.Tensor:
    return torch.from_numpy(x.numpy() * k)

graph = fx.symbolic_trace(lambda x: torch.ops.fxtest.times(x, 3) + times(x))
assert "times = torch.ops.fxtest.times(x, 3)" in graph.code
assert graph(torch.ones(2)).tolist() == [5.0, 5.0]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, tmp_path):
    text = HEAD + f"CODE = {CODE!r}\nSTARS = {STARS!r}\n" + textwrap.dedent(PROGRAMS[name])
    file = tmp_path / "program.py"
    file.write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-W", "error", str(file)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
