"""torch.jit.trace: what a run leaves as a program, and what the program does for other inputs."""

import gc
import math
import pickle
import re
import warnings
from copy import deepcopy

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.testing.samples import covered, function_of


def _flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [t for part in parts for t in _flat(part)]


def _same(a, b):
    assert len(_flat(a)) == len(_flat(b)) > 0
    for x, y in zip(_flat(a), _flat(b), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-6, atol=1e-6, equal_nan=True)


SIZES = {
    "view": lambda x: x.view(x.size(1) * 2 // 2, -1),
    "floor": lambda x: x[: x.shape[0] // 2 + 1],
    "minus": lambda x: x[-x.size(0) + 1 :],
    "modulo": lambda x: torch.zeros(x.size(0) % 2 + 1, x.size(1) ** 2),
    "divided": lambda x: x * (x.size(0) / 2) + x.numel() - 1.5 * x.size(-1),
    "arange": lambda x: torch.arange(x.size(0)) * 2,
    "new": lambda x: x.new_full((x.size(1),), 2.5),
    "expand": lambda x: x.unsqueeze(0).expand(x.size(0), *x.shape),
    "full shape": lambda x: torch.ones(x.shape) + x.reshape(x.size()),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "flatten": lambda x: x[None].flatten(1),
    "interpolate": lambda x: F.interpolate(x[None, None], scale_factor=2.0),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "pad": lambda x: F.pad(x, (0, x.size(0))),
    "normalize": lambda x: F.normalize(x),
    "response": lambda x: F.local_response_norm(x[None, :, :, None], 2),
    "eye": lambda x: torch.eye(x.size(1)),
    "linspace": lambda x: torch.linspace(0, 1, x.size(0)),
    "index": lambda x: x[torch.arange(x.size(0) - 1)],
    "roll": lambda x: torch.fft.fftshift(x) + torch.roll(x, x.size(0) // 2, 0),
    "select": lambda x: x[x.size(0) - 1, None, ..., ::2],
    "where": lambda x: torch.where(x > 0, x, float(0)).cumsum(0),
    "reflected": lambda x: 2 // (x.abs() + 1) + 7 % (x.abs() + 1) - 1 / (x + 9) + 2**x + (1 - x),
    "in place": lambda x: x.clone().add_(1).mul_(2).clamp_(max=3).unsqueeze_(0),
    "assignment": lambda x: _assigned(x.clone()),
    "types": lambda x: (x.double().float().long().to(torch.float16), x.to(x.dtype), x.bool() & ~(x > 0), x.type_as(x.int())),
    "norms": lambda x: (x.norm(), torch.linalg.norm(x, dim=1), torch.cdist(x, x), x.std(0), torch.var_mean(x, 1)),
    "einsum": lambda x: (torch.einsum("ij,kj->ik", x, x), torch.tensordot(x, x, ([0], [0])), torch.meshgrid(x[0], x[1])),
    "unique": lambda x: torch.unique(x.round(), return_counts=True),
}  # fmt: skip


def _assigned(y):
    y[:, 0] = y[:, 1] * 2
    y[0] = 1
    y[y > 0.5] = 0.25
    y[0, 1] += 3
    y[[0, 1], 1] = torch.zeros(2)
    y[-1, :2] -= y[0, :2]
    return y


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.filterwarnings("ignore:torch.meshgrid")
def test_sizes_are_computed_again(name):
    f = SIZES[name]
    traced = torch.jit.trace(f, torch.randn(4, 3))
    for shape in ((4, 3), (7, 5), (2, 8)):
        x = torch.randn(shape)
        _same(traced(x), f(x))


def _batches(*shapes):
    return [torch.randn(shape) for shape in shapes]


class Attention(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, **options)

    def forward(self, x):
        return self.attention(x, x, x)


IMAGES, SEQUENCES, ROWS = (
    _batches((2, 3, 8, 8), (3, 3, 9, 12)),
    _batches((3, 2, 4), (6, 5, 4)),
    _batches((2, 4), (5, 4)),
)
MODULES = {
    "linear": (lambda: nn.Linear(4, 5), ROWS),
    "norm": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3, padding="same"), nn.BatchNorm2d(4), nn.ReLU(inplace=True)), IMAGES),
    "circular": (lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular"), IMAGES),
    "transposed": (lambda: nn.ConvTranspose2d(3, 2, 3, 2, 1, 1), IMAGES),
    "pools": (lambda: nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(2, 1), nn.LPPool2d(2, 2)), IMAGES),
    "adaptive": (lambda: nn.Sequential(nn.AdaptiveAvgPool2d((3, None)), nn.AdaptiveMaxPool2d(2)), IMAGES),
    "indices": (lambda: nn.MaxPool2d(2, return_indices=True), IMAGES),
    "groups": (lambda: nn.Sequential(nn.GroupNorm(1, 3), nn.InstanceNorm2d(3, affine=True), nn.PixelUnshuffle(1)), IMAGES),
    "resampled": (lambda: nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"), nn.Upsample((5, 4))), IMAGES),
    "dropped": (lambda: nn.Sequential(nn.Dropout2d(), nn.Dropout(), nn.AlphaDropout()).eval(), IMAGES),
    "lstm": (lambda: nn.LSTM(4, 3, 2, bidirectional=True), SEQUENCES),
    "gru": (lambda: nn.GRU(4, 3, batch_first=True), SEQUENCES),
    "cell": (lambda: nn.LSTMCell(4, 3), ROWS),
    "attention": (lambda: Attention(batch_first=True), SEQUENCES),
    "encoder": (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), SEQUENCES),
    "first": (lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=True, activation="gelu").eval(), SEQUENCES),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(9, 4, padding_idx=-1), nn.RMSNorm(4)), [torch.tensor([[1, 8]]), torch.tensor([[3], [0], [8]])],
    ),
    "activations": (
        lambda: nn.Sequential(nn.PReLU(), nn.GELU("tanh"), nn.ELU(), nn.Hardtanh(-0.5, 0.5), nn.Softplus(), nn.Softsign(), nn.GLU()), ROWS,
    ),
    "weight norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), ROWS),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules_do_the_same_at_other_sizes(name):
    make, (example, other) = MODULES[name]
    torch.manual_seed(0)
    module = make()
    traced = torch.jit.trace(module, example)
    state = {k: v.clone() for k, v in module.state_dict().items()}
    result, after = traced(other), {k: v.clone() for k, v in module.state_dict().items()}
    module.load_state_dict(state)
    _same(result, module(other))
    for key, value in module.state_dict().items():
        assert torch.equal(value, after[key]), key
    assert list(traced.state_dict()) == list(state) and str(traced.graph) and traced.code.startswith("def forward(self")


# no operators of torch's under these names, or with other results; nn.functional's losses and norms are recorded
NOT_RECORDED = {
    "batch_norm", "binary_cross_entropy", "cross_entropy", "ctc_loss", "embedding_bag", "fractional_max_pool2d",
    "fractional_max_pool3d", "frobenius_norm", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss",
    "lu",
    "lu_unpack", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mse_loss", "multi_dot", "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss", "soft_margin_loss", "unravel_index",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted({name for name, _ in covered()}))
@pytest.mark.filterwarnings("ignore")
def test_operators_replay_or_raise(name):
    """No operator replays another number: its program gives what the call gives, or the trace names the operator."""
    f = function_of(name)
    for sample in [s for n, s in covered() if n == name]:
        args, kwargs = sample.make()
        tensors = [t.detach() for t in _flat([*args, *kwargs.values()])]

        def call(*given, args=args, kwargs=kwargs):
            it = iter(given)
            return f(*_filled(args, it), **{k: _filled(v, it) for k, v in kwargs.items()})

        torch.manual_seed(0)
        expected = call(*[t.clone() for t in tensors])
        if not _flat(expected):
            continue
        try:
            traced = torch.jit.trace(call, tuple(t.clone() for t in tensors), check_trace=False)
        except NotImplementedError as error:
            assert name in NOT_RECORDED and "cannot be recorded" in str(error)
            continue
        torch.manual_seed(0)
        _same(traced(*[t.clone() for t in tensors]), expected)


def _filled(value, tensors):
    if isinstance(value, torch.Tensor):
        return next(tensors)
    if isinstance(value, (tuple, list)):
        return type(value)(_filled(v, tensors) for v in value)
    return value


# ------------------------------------------------------------------------------------------ what Python sees

LOOKS = {
    "Python boolean": lambda x: x if x.sum() > 0 else -x,
    "Python number": lambda x: x * x[0, 0].item(),
    "Python integer": lambda x: x * int(x.size(0)),
    "Python float": lambda x: x * math.sqrt(x.size(1)),
    "Python index": lambda x: x * len(range(x.size(0))),
    "Python list": lambda x: x * x.tolist()[0][0],
    "NumPy array": lambda x: x * float(x.detach().numpy()[0, 0]),
    "Iterating over a tensor": lambda x: sum(row for row in x),
    "Using len to get tensor shape": lambda x: x * len(x),
    "torch.tensor results are registered as constants": lambda x: x + torch.tensor([1.0, 2.0]),
}


@pytest.mark.parametrize("what", LOOKS)
def test_looks_at_values_warn_at_the_users_line(what):
    x = torch.ones(2, 2)
    with pytest.warns(torch.jit.TracerWarning, match=what) as caught:
        traced = torch.jit.trace(LOOKS[what], x)
    assert caught[0].filename == __file__
    _same(traced(x), LOOKS[what](x))


def test_no_warning_without_a_look():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.jit.trace(lambda x: x.view(x.size(0), -1) + x.shape[0], torch.ones(2, 2))


def test_control_flow_is_the_examples():
    with pytest.warns(torch.jit.TracerWarning):
        traced = torch.jit.trace(lambda x: x + 1 if x.sum() > 0 else x - 1, torch.ones(2))
    assert traced(-torch.ones(2)).tolist() == [0, 0]


def test_constants_start_again_in_each_run():
    def add(x):
        t = torch.tensor([0.0, 0.0])
        t += x
        return t

    with pytest.warns(torch.jit.TracerWarning, match="registered as constants"):
        traced = torch.jit.trace(add, torch.ones(2))
    assert [traced(torch.ones(2)).tolist() for _ in range(2)] == [[1, 1], [1, 1]]


# ------------------------------------------------------------------------------------------ programs


def test_text_is_torchs():
    def f(x, y):
        z = torch.relu(x) * y
        return z.view(x.size(0), -1) + 1, z

    traced = torch.jit.trace(f, (torch.ones(2, 3), torch.ones(3)))
    assert traced.code == (
        "def f(x: Tensor,\n    y: Tensor) -> Tuple[Tensor, Tensor]:\n"
        "  z = torch.mul(torch.relu(x), y)\n"
        "  _0 = ops.prim.NumToTensor(torch.size(x, 0))\n"
        "  _1 = torch.add(torch.view(z, [int(_0), -1]), CONSTANTS.c0)\n"
        "  return (_1, z)\n"
    )
    lines = str(torch.jit.trace(lambda x: x * 2 + 1, torch.ones(2)).graph).splitlines()
    assert [line.partition(" #")[0] for line in lines] == [
        "graph(%x : Float(2, strides=[1], requires_grad=0, device=cpu)):",
        "  %1 : Long(requires_grad=0, device=cpu) = prim::Constant[value={2}]()",
        "  %2 : Float(2, strides=[1], requires_grad=0, device=cpu) = aten::mul(%x, %1)",
        "  %3 : Long(requires_grad=0, device=cpu) = prim::Constant[value={1}]()",
        "  %4 : int = prim::Constant[value=1]()",
        "  %5 : Float(2, strides=[1], requires_grad=0, device=cpu) = aten::add(%2, %3, %4)",
        "  return (%5)",
    ]
    assert all(f"# {__file__}:" in line for line in lines[1:-1])


def test_graphs_of_modules():
    traced = torch.jit.trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), torch.ones(1, 2))
    assert traced.code == (
        'def forward(self,\n    input: Tensor) -> Tensor:\n  _1 = getattr(self, "1")\n  _0 = getattr(self, "0")\n'
        "  return (_1).forward((_0).forward(input, ), )\n"
    )
    kinds = [node.kind() for node in traced.inlined_graph.nodes() if node.kind().startswith("aten")]
    assert kinds == ["aten::linear", "aten::relu"]
    assert [n.scopeName() for n in traced.inlined_graph.findAllNodes("aten::relu")] == ["__module.1"]
    inner = getattr(traced, "0")
    assert inner.code.endswith("return torch.linear(input, weight, bias)\n") and inner(torch.ones(4, 2)).shape == (4, 3)
    assert isinstance(
        traced, (torch.jit.ScriptModule, torch.jit.TopLevelTracedModule)
    ) and "original_name=Linear" in repr(traced)


def test_a_traced_module_shares_and_trains():
    module = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    traced = torch.jit.trace(module, torch.ones(1, 2))
    assert [p.data_ptr() for p in traced.parameters()] == [p.data_ptr() for p in module.parameters()]
    traced(torch.ones(4, 2)).sum().backward()
    plain = [p.grad.clone() for p in module.parameters()]
    module.zero_grad()
    module(torch.ones(4, 2)).sum().backward()
    _same(plain, [p.grad for p in module.parameters()])
    assert not traced.eval().training and traced.state_dict().keys() == module.state_dict().keys()


def test_copies_and_pickles():
    traced = torch.jit.trace(nn.Linear(2, 3), torch.ones(1, 2))
    copy = deepcopy(traced)
    with torch.no_grad():
        copy.weight.zero_()
    x = torch.randn(2, 2)
    assert copy(x).tolist() == [copy.bias.tolist()] * 2 != traced(x).tolist()
    with pytest.raises(pickle.PickleError, match=r"my_script_module\.save"):
        pickle.dumps(traced)


LOSSES = {
    "batchmean": (lambda x, t: F.kl_div(x, x.exp(), reduction="batchmean"), ["exp", "kl_div", "size", "div"]),
    "the older sum": (lambda x, t: F.kl_div(x, x.exp(), size_average=False), ["exp", "kl_div"]),
    "weighted squares": (lambda x, t: F.mse_loss(x, x * 2, weight=x), ["mul", "sub", "pow", "mul", "sum", "sum", "div"]),
    "weighted differences": (lambda x, t: F.l1_loss(x, x * 2, weight=x), ["mul", "sub", "abs", "mul", "sum", "sum", "div"]),
    "weighted huber": (lambda x, t: F.huber_loss(x, x * 3, weight=x), ["mul", "huber_loss", "mul", "mean"]),
    "the older none": (lambda x, t: F.cross_entropy(x, t, reduce=False), ["cross_entropy_loss"]),
    "of logits": (lambda x, t: F.binary_cross_entropy_with_logits(x, x, reduce=False), ["binary_cross_entropy_with_logits"]),
    "lengths in tensors": (lambda x, t: F.ctc_loss(x[:, None].expand(2, 2, 3), t[:, None] // 2 + 1, t[1:].expand(2), t[1:].expand(2) - 1), None),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*size_average and reduce")
@pytest.mark.parametrize("name", LOSSES)
def test_losses_with_weights_and_older_arguments(name):
    """The operators are torch's but for broadcast_tensors, which torch calls on the operands before."""
    loss, operators = LOSSES[name]
    x = torch.tensor([[0.7, 0.3, 0.1], [0.4, 0.5, 0.2]])
    t = torch.tensor([0, 2])
    traced = torch.jit.trace(loss, (x, t))
    _same(traced(x.flip(0) * 0.5, t), loss(x.flip(0) * 0.5, t))
    kinds = [node.kind().removeprefix("aten::") for node in traced.graph.nodes() if "aten" in node.kind()]
    assert operators is None or kinds == operators


def test_methods():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x)

        def twice(self, x):
            return self.layer(self.layer(x))

    module, x = Two(), torch.ones(3, 2)
    traced = torch.jit.trace_module(module, {"forward": torch.ones(1, 2), "twice": torch.ones(1, 2)})
    _same((traced(x), traced.twice(x)), (module(x), module.twice(x)))
    assert not hasattr(torch.jit.trace(module, x), "twice")


def test_arguments_by_name_and_their_errors():
    traced = torch.jit.trace(
        lambda x, y=None, z=2: x + y * z, example_kwarg_inputs={"y": torch.ones(2), "x": torch.zeros(2)}
    )
    assert traced(y=torch.ones(1) * 3, x=torch.ones(1)).tolist() == [7]
    for args, kwargs, words in (
        ((torch.ones(1),), {}, "missing value for argument 'y'"),
        ((torch.ones(1), 2), {}, "Expected a value of type 'Tensor' for argument 'y'"),
        ((torch.ones(1),) * 3, {}, "expected at most 2"),
        ((torch.ones(1),), {"w": torch.ones(1)}, "Unknown keyword argument 'w'"),
    ):
        with pytest.raises(RuntimeError, match=words):
            traced(*args, **kwargs)


def test_containers_and_one_tensor_twice():
    def f(pair, table):
        return {"out": [pair[0] + table["a"], pair[1][0]]}

    x = torch.ones(2)
    traced = torch.jit.trace(f, ((x, [x]), {"a": x}), strict=False)
    result = traced((x * 2, [x * 3]), {"a": x * 4})
    assert [t.tolist() for t in result["out"]] == [[6, 6], [3, 3]]
    with pytest.warns(torch.jit.TracerWarning, match="Encountering a list"):
        torch.jit.trace(lambda x: [x + 1], x)
    with pytest.raises(RuntimeError, match=r"Type 'Tuple\[Tensor, int\]' cannot be traced"):
        torch.jit.trace(lambda x, n: x * n, (x, 2))
    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"):
        w = torch.ones(2, requires_grad=True)
        torch.jit.trace(lambda x: x * w, x)


# ------------------------------------------------------------------------------------------ checks, limits


def test_the_check_compares_programs():
    seen = []

    def f(x):
        seen.append(0)
        return x + 1 if len(seen) % 2 else x - 1

    with pytest.warns(torch.jit.TracerWarning), pytest.raises(torch.jit.TracingCheckError, match="Graphs differed"):
        torch.jit.trace(f, torch.ones(2))


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * 5, None


def test_custom_functions_run_with_their_backward():
    traced = torch.jit.trace(lambda x: Scaled.apply(x, 2) + 1, torch.ones(2, requires_grad=True))
    assert "^Scaled(2)(x)" in traced.code and "^Scaled" in str(traced.graph)
    x = torch.ones(3, requires_grad=True)
    y = traced(x)
    y.sum().backward()
    assert y.tolist() == [3, 3, 3] and x.grad.tolist() == [5, 5, 5]


LIMITS = {
    r"add\(out=...\)": lambda x: torch.add(x, 1, out=torch.empty(2, 2)),
    "generator": lambda x: x + torch.rand(2, generator=torch.Generator()),
    "autocast": lambda x: _autocast(x),
    "a tensor of shape": lambda x: torch.vmap(lambda row: row * 2)(x),
    "gumbel_softmax|a tensor of shape": lambda x: F.gumbel_softmax(x),
    "sparse_coo_tensor": lambda x: torch.sparse_coo_tensor(torch.tensor([[0]]), x[0, :1], (3,)).to_dense(),
    "embedding_bag|bag_rows": lambda x: F.embedding_bag(
        x.long(), torch.ones(3, 2), padding_idx=0, scale_grad_by_freq=True
    ),
    "max_unpool2d": lambda x: F.max_unpool2d(x[None, None], x[None, None].long(), 2),
}


def _autocast(x):
    with torch.autocast("cpu", torch.bfloat16):
        return x @ x


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.filterwarnings("ignore::rushlight.torch.jit.recording.trace_check.TracerWarning")
def test_what_cannot_be_recorded_raises_with_its_name(name):
    with pytest.raises(NotImplementedError, match=name):
        torch.jit.trace(LIMITS[name], torch.zeros(2, 2))
    assert not torch.jit.is_tracing() and torch.ones(2).shape[0].__class__ is int


def test_other_threads_and_errors_leave_no_trace():
    import threading

    results = []

    def f(x):
        other = threading.Thread(target=lambda: results.append(type(torch.ones(3).shape[0])))
        other.start()
        other.join()
        return x * 2

    assert "torch.mul" in torch.jit.trace(f, torch.ones(1)).code and set(results) == {int}
    with pytest.raises(ZeroDivisionError):
        torch.jit.trace(lambda x: 1 / 0, torch.ones(1))
    assert type(torch.ones(2).size(0)) is int and not torch.jit.is_tracing()


def test_reflected_operators_of_modes():
    """A mode that asks again gets the operands in their order: 2 // x is not x // 2."""

    class Again(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = torch.tensor([5, 7])
    plain = 12 // x, 12 % x, 12 & x, 12 | x, 12 ^ x, 1 << (x % 3), 900 >> x, 2**x, 1 - x, 1 + x, 2 * x
    with Again():
        asked = 12 // x, 12 % x, 12 & x, 12 | x, 12 ^ x, 1 << (x % 3), 900 >> x, 2**x, 1 - x, 1 + x, 2 * x
    _same(asked, plain)


def test_scopes_are_paths_of_the_modules_called():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))

        def forward(self, x):
            return self.s(x) * 2

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.b, self.l = Block(), nn.ModuleList([nn.Sigmoid()])

        def forward(self, x):
            return self.l[0](self.b(x)).sum()

    traced = torch.jit.trace(Net(), torch.ones(1, 2))
    scopes = {n.kind(): n.scopeName() for n in traced.inlined_graph.nodes() if n.kind().startswith("aten::")}
    assert scopes["aten::relu"] == "__module.b/__module.b.s/__module.b.s.1/__module.b.s.1.0"
    assert (scopes["aten::sigmoid"], scopes["aten::sum"]) == ("__module.l.0", "")
    assert "NoneType = prim::Constant()\n" in str(traced.graph)


def test_numbers_keep_all_digits_and_decide_no_type(tmp_path):
    traced = torch.jit.trace(lambda x: x / 0.1 + x * 0.3, torch.ones(2))
    assert "Double(requires_grad=0, device=cpu) = prim::Constant[value={0.1}]" in str(traced.graph)
    traced.save(tmp_path / "program.pt")
    for program in (traced, torch.jit.load(tmp_path / "program.pt")):
        x = torch.ones(2, dtype=torch.float64)
        assert torch.equal(program(x), x / 0.1 + x * 0.3)
        assert program(torch.tensor(1.0)).dtype is torch.float32 and program(torch.tensor(1)).dtype is torch.float32
        assert program(torch.ones(2, dtype=torch.float16)).dtype is torch.float16
    made = torch.jit.trace(lambda x: x + 0.1j, torch.ones(2))
    assert made(torch.ones(2)).dtype is torch.complex64


def test_constants_that_the_collector_has_frozen():
    kept = torch.ones(3)
    gc.freeze()
    try:
        program = torch.jit.trace(lambda x: x + kept, (torch.zeros(3),))
        with pytest.raises(NotImplementedError, match="made by a function"):
            torch.jit.trace(lambda x: x + torch.zeros(3).apply_(lambda v: 2.0), (torch.zeros(3),))
    finally:
        gc.unfreeze()
    assert program(torch.zeros(3)).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_with_padding_and_a_last_offset(mode):
    weight, flat = torch.randn(9, 4), torch.tensor([1, 2, 3, 2, 2, 5])
    for last in ([0, 3, 3, 6], [0, 3, 5]), ([0, 3, 3, 5], [0, 2, 4]):  # indices after the last offset belong to no bag
        traced = torch.jit.trace(
            bags := lambda x, at: F.embedding_bag(x, weight, at, mode=mode, include_last_offset=True, padding_idx=-7),
            (flat, torch.tensor(last[0])),
        )
        for at in last:
            assert torch.allclose(traced(flat, torch.tensor(at)), bags(flat, torch.tensor(at)))


def test_places_as_a_tuple():
    traced = torch.jit.trace(lambda x: x.nonzero(as_tuple=True), (torch.ones(2, 2),))
    assert "aten::nonzero_numpy(%x)" in str(traced.graph)
    assert [places.tolist() for places in traced(torch.eye(2))] == [[0, 1], [0, 1]]


def test_short_time_transforms():
    x, window = torch.arange(40.0).reshape(2, 20).sin(), torch.hann_window(8)
    program = torch.jit.trace(
        lambda x: torch.view_as_real(torch.stft(x, 8, 3, window=window, return_complex=True)), (x,)
    )
    assert "torch.stft(torch.view(_3, [_5, int(_6)]), 8, 3, None, CONSTANTS.c0, False, None, True)" in program.code
    y = x.flip(1)
    assert torch.equal(program(y), torch.view_as_real(torch.stft(y, 8, 3, window=window, return_complex=True)))
    back = torch.jit.trace(
        lambda x: torch.istft(torch.stft(x, 8, 2, window=window, return_complex=True), 8, 2, window=window), (x,)
    )
    assert torch.allclose(back(y), y, atol=1e-5)


@pytest.mark.parametrize(
    ("constant", "text"),
    [
        (torch.tensor([[1.5, -2.0], [3.0, 4.25]]), " 1.5000 -2.0000  3.0000  4.2500 [ CPUFloatType{2,2} ]"),
        (torch.tensor([[1, 200], [3, -4]]), "   1  200    3   -4 [ CPULongType{2,2} ]"),
        (torch.tensor([1e-5, 1.0, 1000.0]), " 1.0000e-05  1.0000e+00  1.0000e+03 [ CPUFloatType{3} ]"),
        (torch.tensor([1e-3, 2e-3]), "0.001 *  1.0000  2.0000 [ CPUFloatType{2} ]"),
        (torch.tensor([99.5, 1.0]), " 99.5000   1.0000 [ CPUFloatType{2} ]"),
        (torch.tensor([[0.0]]), "{0}"),
        (torch.arange(11.0), "<Tensor>"),
    ],
)
def test_constants_are_shown_as_torch_shows_them(constant, text):
    traced = torch.jit.trace(lambda x: x + constant, torch.ones(constant.shape))
    assert f"prim::Constant[value={text}]()" in str(traced.graph)


def test_no_line_is_named_for_what_only_collects_values():
    graph = str(torch.jit.trace(lambda x: (x + 1, x.max(0)), torch.ones(4)).graph)
    assert [" # " in line for line in graph.splitlines() if "TupleConstruct" in line] == [False, False]


def _shown(module, *inputs):
    """The graph of a trace, without the places in sources and the types of tensors."""
    text = str(torch.jit.trace(module.eval(), inputs).graph)
    text = re.sub(r" # [^\n]*|Float\([^)]*\)", "", text)
    return [line.strip() for line in text.splitlines()[2:]]


class _Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act, self.last = nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)

    def forward(self, x, y):
        return self.last(self.act(self.first(x)) + y).tanh()


def test_values_and_classes_of_a_modules_graph_have_torchs_numbers():
    def mlp():
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))

    assert _shown(mlp(), torch.ones(1, 3)) == [
        '%_2 : __torch__.torch.nn.modules.linear.___torch_mangle_0.Linear = prim::GetAttr[name="2"](%self.1)',
        '%_1 : __torch__.torch.nn.modules.activation.ReLU = prim::GetAttr[name="1"](%self.1)',
        '%_0 : __torch__.torch.nn.modules.linear.Linear = prim::GetAttr[name="0"](%self.1)',
        '%33 : Tensor = prim::CallMethod[name="forward"](%_0, %input.1)',
        '%34 : Tensor = prim::CallMethod[name="forward"](%_1, %33)',
        '%35 : Tensor = prim::CallMethod[name="forward"](%_2, %34)',
        "return (%35)",
    ]
    again = _shown(mlp(), torch.ones(1, 3))  # the first trace and its check have taken names
    assert "linear.___torch_mangle_5.Linear" in again[2] and "activation.___torch_mangle_6.ReLU" in again[1]
    norm = nn.Sequential(nn.BatchNorm1d(4), nn.Sequential(nn.ReLU()))
    assert [line[:3] for line in _shown(norm, torch.ones(2, 4))[2:]] == ["%37", "%38", "ret"]
    assert _shown(_Mixed(), torch.ones(1, 4), torch.ones(1, 4))[4:] == [
        '%37 : Tensor = prim::CallMethod[name="forward"](%first, %x)',
        '%38 : Tensor = prim::CallMethod[name="forward"](%act, %37)',
        "%20 : int = prim::Constant[value=1]()",
        "%input :  = aten::add(%38, %y, %20)",
        '%39 : Tensor = prim::CallMethod[name="forward"](%last, %input)',
        "%23 :  = aten::tanh(%39)",
        "return (%23)",
    ]


def test_methods_of_the_modules_inside_are_numbered_by_themselves():
    traced = torch.jit.trace(nn.Sequential(nn.ReLU(), nn.Linear(4, 4)).eval(), torch.ones(1, 4))
    inner = str(dict(traced.named_modules())["1"].graph)
    assert re.search(r"%(\d+) : Float\([^)]*\) = aten::linear", inner).group(1) == "3"
