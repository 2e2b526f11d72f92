"""Scripts: their text is torch 2.13's, they run as Python, and their files run again."""

import copy
import io
import pickle

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


def gate(x):
    if x.sum() > 0:
        return x
    y = x * 2
    return y


def product(x):
    z = torch.ones([1], dtype=torch.int64)
    for i in range(int(x)):
        z = z * (i + 1)
    return z


def many(x, n: int, flag: bool = True, s: float = 2.0, o: torch.Tensor | None = None) -> tuple[torch.Tensor, int]:
    i = 0
    while i < n and flag:
        if i == 2:
            break
        x = x * s
        i += 1
    if o is not None:
        x = x + o
    xs: list[torch.Tensor] = []
    for j in range(3):
        xs.append(x[j])
    y = torch.stack(xs)
    assert i < 10, "too many"
    return y, i


def containers(x, a: list[int], d: dict[str, torch.Tensor]):
    t = x.shape[0]
    k = len(a)
    if t > 3 or k == 0:
        z = x[1:, None, -1] + d["k"]
    else:
        z = x.view(-1, t)[:, 0:2]
    y = z.float().to(torch.float64)
    y += 1
    t += 2
    q = [1, 2, 3 * 4 - t // 2 + int(t / 2)]
    return y.mean(dim=0, keepdim=True), q, (t, k), not (t > 2), 1.5 if t > 2 else 2.5


def writes(x, y: torch.Tensor | None = None, p: float = 0.1):
    if y is None:
        y = torch.zeros_like(x)
    z = x + y
    unused = z * 3  # noqa: F841
    m, i = torch.max(z, dim=1)
    a, b = x.shape  # noqa: RUF059
    x[0] = 1
    x[:, 1] = z[:, 1]
    if p > 0.2:
        raise ValueError("bad")
    return m @ z, a, i


TEXTS = {
    gate: """def gate(x: Tensor) -> Tensor:
  if bool(torch.gt(torch.sum(x), 0)):
    _0 = x
  else:
    _0 = torch.mul(x, 2)
  return _0
""",
    product: """def product(x: Tensor) -> Tensor:
  z = torch.ones([1], dtype=4)
  z0 = z
  for i in range(int(x)):
    z0 = torch.mul(z0, torch.add(i, 1))
  return z0
""",
    many: """def many(x: Tensor,
    n: int,
    flag: bool=True,
    s: float=2.,
    o: Optional[Tensor]=None) -> Tuple[Tensor, int]:
  if torch.lt(0, n):
    _0 = flag
  else:
    _0 = False
  x0 = x
  i = 0
  _1 = _0
  while _1:
    if torch.eq(i, 2):
      _2, _3, _4 = False, x0, i
    else:
      x1 = torch.mul(x0, s)
      i0 = torch.add(i, 1)
      if torch.lt(i0, n):
        _5 = flag
      else:
        _5 = False
      _2, _3, _4 = _5, x1, i0
    _1, x0, i = _2, _3, _4
  if torch.__isnot__(o, None):
    o0 = unchecked_cast(Tensor, o)
    x2 = torch.add(x0, o0)
  else:
    x2 = x0
  xs = annotate(List[Tensor], [])
  for j in range(3):
    _6 = torch.append(xs, torch.select(x2, 0, j))
  y = torch.stack(xs)
  if torch.lt(i, 10):
    pass
  else:
    ops.prim.RaiseException("AssertionError: too many")
  return (y, i)
""",
    containers: """def containers(x: Tensor,
    a: List[int],
    d: Dict[str, Tensor]) -> Tuple[Tensor, List[int], Tuple[int, int], bool, float]:
  t = (torch.size(x))[0]
  k = torch.len(a)
  if torch.gt(t, 3):
    _0 = True
  else:
    _0 = torch.eq(k, 0)
  if _0:
    _1 = torch.unsqueeze(torch.slice(x, 0, 1), 1)
    z0 = torch.add(torch.select(_1, 2, -1), d["k"])
    z = z0
  else:
    z1 = torch.slice(torch.slice(torch.view(x, [-1, t])), 1, 0, 2)
    z = z1
  y = torch.to(torch.to(z, 6), 7)
  y0 = torch.add_(y, 1)
  t0 = torch.add(t, 2)
  _2 = torch.add(torch.sub(12, torch.floordiv(t0, 2)), int(torch.div(t0, 2)))
  q = [1, 2, _2]
  _3 = torch.mean(y0, [0], True)
  _4 = (t0, k)
  _5 = torch.__not__(torch.gt(t0, 2))
  if torch.gt(t0, 2):
    _6 = 1.5
  else:
    _6 = 2.5
  return (_3, q, _4, _5, _6)
""",
    writes: """def writes(x: Tensor,
    y: Optional[Tensor]=None,
    p: float=0.10000000000000001) -> Tuple[Tensor, int, Tensor]:
  if torch.__is__(y, None):
    y0 = torch.zeros_like(x)
  else:
    y0 = unchecked_cast(Tensor, y)
  z = torch.add(x, y0)
  m, i = torch.max(z, 1)
  a, b, = torch.size(x)
  _0 = torch.select(x, 0, 0)
  _1 = torch.tensor(1, dtype=ops.prim.dtype(_0), device=ops.prim.device(_0))
  _2 = torch.copy_(_0, _1)
  _3 = torch.select(torch.slice(z), 1, 1)
  _4 = torch.copy_(torch.select(torch.slice(x), 1, 1), _3)
  if torch.gt(p, 0.20000000000000001):
    ops.prim.RaiseException("bad", "builtins.ValueError")
  else:
    pass
  return (torch.matmul(m, z), a, i)
""",
}


@pytest.mark.parametrize("f", TEXTS, ids=lambda f: f.__name__)
def test_text_is_torchs(f):
    assert torch.jit.script(f).code == TEXTS[f]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Linear(18, 3)
        self.drop, self.scale = nn.Dropout(0.5), 2.0
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.last = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Tanh())

    def forward(self, x, n: int = 2):
        x = F.max_pool2d(F.relu(self.bn(self.conv(x))), 2)
        x = self.drop(self.fc(x.view(x.size(0), -1)))
        for i in range(n):
            if x.sum() > i:
                x = x * self.scale
            else:
                x = self.less(x, i)
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.1)
        return F.softmax(self.last(x), dim=1)

    def less(self, x, i: int):
        return x - i


def loaded(program):
    return torch.jit.load(io.BytesIO(program.save_to_buffer()))


@pytest.mark.parametrize("training", [False, True])
def test_files_run_again(training):
    torch.manual_seed(0)
    net = Net().train(training)
    script = torch.jit.script(net)
    again = loaded(script)
    assert again.code == script.code and again.conv.code == script.conv.code
    assert list(again.state_dict()) == list(net.state_dict())
    x = torch.randn(4, 1, 8, 8)
    for n in (0, 2, 5):
        results = []
        for program in (net, script, again, loaded(again)):
            for key, value in program.state_dict().items():
                value.copy_(again.state_dict()[key]) if "running" in key or "tracked" in key else None
            torch.manual_seed(n)
            results.append(program(x, n))
        assert all(torch.allclose(r, results[0], atol=1e-6) for r in results)


@pytest.mark.parametrize(
    ("f", "arguments"),
    [
        (gate, (torch.ones(2),)), (gate, (-torch.ones(2),)), (product, (torch.tensor(5),)), (many, (torch.ones(3), 5)),
        (many, (torch.ones(3), 1, True, 3.0, torch.ones(3))), (many, (torch.ones(3), 4, False)),
        (containers, (torch.arange(8.0).view(4, 2), [1], {"k": torch.ones(1)})),
        (containers, (torch.arange(6.0).view(2, 3), [1], {"k": torch.ones(1)})),
        (writes, (torch.arange(6.0).view(2, 3),)), (writes, (torch.arange(6.0).view(2, 3), torch.ones(3))),
    ],
)  # fmt: skip
def test_graphs_compute_what_python_does(f, arguments):
    expected = f(*copy.deepcopy(arguments))
    found = loaded(torch.jit.script(f))(*copy.deepcopy(arguments))
    assert str(found) == str(expected)


def test_what_a_program_raises():
    script = loaded(torch.jit.script(writes))
    with pytest.raises(ValueError, match="bad"):
        script(torch.ones(2, 2), None, 0.5)


def test_a_script_shares_its_modules_parameters():
    net = Net().eval()
    script = torch.jit.script(net)
    assert script.conv.weight is net.conv.weight and type(script).__name__ == "RecursiveScriptModule"
    assert isinstance(script, torch.jit.ScriptModule) and script.original_name == "Net" and script.scale == 2.0
    assert "(conv): RecursiveScriptModule(original_name=Conv2d)" in repr(script)
    x = torch.randn(2, 1, 8, 8)
    torch.optim.SGD(script.parameters(), lr=0.1)
    copied = copy.deepcopy(script)
    script(x).sum().backward()
    with torch.no_grad():
        net.fc.weight.add_(1)
    assert torch.equal(script(x), net(x)) and not torch.equal(copied(x), net(x))
    assert torch.jit.script(script) is script and copied.code == script.code
    with pytest.raises(pickle.PickleError, match=r"my_script_module\.save"):
        pickle.dumps(script)


class Marked(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x):
        r = -x
        if torch.fmod(x, 2.0) == 0.0:
            r = x / 2.0
        return r


def test_script_methods_have_graphs():
    module = Marked()
    assert module(torch.tensor(4.0)) == 2 and module(torch.tensor(3.0)) == -3
    assert "prim::If" in str(module.__getattr__("forward").graph)
    assert "torch.fmod(x, 2.)" in module.code and loaded_of(module)(torch.tensor(4.0)) == 2


def loaded_of(module):
    buffer = io.BytesIO()
    module.save(buffer)
    buffer.seek(0)
    return torch.jit.load(buffer)


def filters(x: list[int]):
    return [i for i in x if i > 2]


def takes_more(*x):
    return x[0]


@pytest.mark.parametrize("f", [filters, takes_more])
def test_what_has_no_graph_runs_and_says_so(f):
    script = torch.jit.script(f)
    given = [1, 3] if f is filters else torch.ones(2)
    assert str(script(given)) == str(f(given))
    for ask in (lambda: script.graph, lambda: script.code, lambda: script.save(io.BytesIO())):
        with pytest.raises(NotImplementedError, match=r"no graph here"):
            ask()


def over_lists(xs: list[torch.Tensor], d: dict[str, int]):
    s = torch.zeros(3)
    for i, t in enumerate(xs):
        s = s + t.sum(0) * i
    for a, b in zip(xs, xs):
        s = s + (a * b).sum()
    d["k"] = len(xs)
    t = 0
    for _, v in d.items():
        t += v
    return s, xs[-1], xs[0:1], t, list(d.keys()), max([1, t])


def with_comment(x, n):
    # type: (Tensor, int) -> Tensor
    if n == 0:
        raise ValueError(f"n is {n}")
    m = x > 0
    return x[m] * n + x[[0, 1], [1, 2]].sum()


@pytest.mark.parametrize(
    ("f", "arguments"),
    [(over_lists, ([torch.ones(2, 3), torch.arange(6.0).view(2, 3)], {"a": 2})), (with_comment, (torch.ones(2, 3), 2))],
)
def test_lists_dictionaries_and_comments(f, arguments):
    script = torch.jit.script(f)
    expected = str(f(*copy.deepcopy(arguments)))
    kept = str(arguments)
    assert str(script(*arguments)) == expected and str(arguments) == kept  # lists are copied, as in torch
    assert str(loaded(script)(*copy.deepcopy(arguments))) == expected


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.embedding, self.act = nn.GRUCell(3, 3), nn.Embedding(5, 3), F.relu

    def forward(self, index, h: torch.Tensor | None = None):
        e = self.embedding(index)
        outs = []
        if h is None:
            h = torch.zeros(e.size(1), 3)
        for t in range(e.size(0)):
            h = self.cell(e[t], h)
            outs.append(self.act(h))
        return torch.stack(outs), h

    @torch.jit.export
    def extra(self, x: int) -> int:
        return x + 1


def test_cells_in_loops_and_exported_methods():
    torch.manual_seed(0)
    script = torch.jit.script(Recurrent())
    again = loaded(script)
    index = torch.tensor([[1, 2], [0, 3]])
    assert all(torch.allclose(a, b) for a, b in zip(script(index), again(index), strict=True))
    assert "outs = annotate" in again.code or "_0 = annotate(List[Tensor], [])" in script.code
    assert again.extra(2) == script.extra(2) == 3


class Chooses(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x, x * 2
        else:
            return -x, x


@torch.jit.script
def adds(x):
    for i in range(3):
        if x.sum() > i:
            x = x + i
    return x


class Wraps(nn.Module):
    def __init__(self):
        super().__init__()
        self.choose, self.linear, self.halve = torch.jit.script(Chooses()), nn.Linear(2, 2), Marked()

    def forward(self, x):
        a, b = self.choose(self.linear(x) * 0 + x)
        return adds(a) + b + self.halve(x.sum())


def test_traces_call_scripts_and_keep_their_branches():
    net = Wraps()
    traced = torch.jit.trace(net, torch.ones(2))
    again = loaded(traced)
    for x in (torch.ones(2), -torch.ones(2), torch.tensor([1.0, -4.0])):
        assert torch.allclose(traced(x), net(x)) and torch.allclose(again(x), net(x))
    assert "(choose).forward" in traced.code and "__torch__.tests.jit.test_script.adds" in traced.code.replace(
        "__torch__.test_script", "__torch__.tests.jit.test_script"
    )
    assert "prim::CallFunction" in str(traced.graph) and "Function = prim::Constant[name=" in str(traced.graph)
    function = torch.jit.trace(lambda x: adds(x) * 2, torch.ones(2))
    assert function(-torch.ones(2)).tolist() == [-2.0, -2.0] and function(torch.ones(2)).tolist() == [8.0, 8.0]


def test_what_has_no_source_is_refused_at_once():
    scope = {"torch": torch}
    exec("def f(x):\n    return x + 1\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x", scope)
    for made in (scope["f"], scope["M"](), torch.nn.Sequential(scope["M"]())):
        with pytest.raises(OSError, match=r"Can't get source for <function .*TorchScript requires source access"):
            torch.jit.script(made)
    with pytest.raises(RuntimeError, match=r"Expected a single top-level function: .*test_script\.py:"):
        torch.jit.script(lambda x: x)
