"""ExportedProgram.run_decompositions: the graph in core ATen operators, as torch writes it, and with the same numbers."""

import io

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.torch.export import decompositions


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.o = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x):
        q, k, v = self.q(x).view(2, 5, 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)
        a = (q @ k.transpose(-2, -1) * 0.5).softmax(-1)
        return self.o((a @ v).transpose(1, 2).reshape(2, 5, 16))


class Products(nn.Module):
    def forward(self, x, w):
        a, _, b = (x @ w).contiguous().chunk(3, -1)
        return w @ w.t(), x.transpose(0, 1) @ w, a.flatten().sum(), nn.functional.silu(b).square().squeeze(-1)


def names(program):
    calls = [n for n in program.graph.nodes if n.op == "call_function"]
    return " ".join(str(n.target).removeprefix("aten.").removesuffix(".default") for n in calls)


def convolutions():
    norm = nn.BatchNorm2d(4)
    nn.init.normal_(norm.running_mean)
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), norm, nn.ReLU()).eval(), torch.randn(2, 3, 8, 8)


CASES = {  # what torch 2.13 shows
    "linear": lambda: (nn.Linear(4, 3), torch.randn(2, 4)),
    "rows": lambda: (nn.Linear(4, 3), torch.randn(2, 5, 4)),
    "no bias": lambda: (nn.Linear(4, 3, bias=False), torch.randn(2, 5, 4)),
    "other strides": lambda: (nn.Linear(4, 3), torch.randn(5, 2, 4).transpose(0, 1)),
    "convolution": convolutions,
    "groups": lambda: (nn.Sequential(nn.Conv1d(2, 4, 3, 2, groups=2), nn.Flatten()), torch.randn(2, 2, 9)),
    "layer norm": lambda: (nn.Sequential(nn.LayerNorm(4), nn.GELU(), nn.Dropout()).eval(), torch.randn(2, 4)),
    "attention": lambda: (Attention(), torch.randn(2, 5, 16)),
    "products": lambda: (Products(), torch.randn(3, 3, 3), torch.randn(3, 3)),
}
NAMES = {
    "linear": "permute addmm",
    "rows": "view permute addmm view",
    "no bias": "permute view mm view",
    "other strides": "permute expand view expand view bmm view add.Tensor",
    "convolution": "convolution _native_batch_norm_legit_no_training <built-in function getitem> relu",
    "groups": "convolution view",
    "layer norm": "native_layer_norm <built-in function getitem> gelu clone",
    "attention": (
        "view permute addmm view view permute slice.Tensor slice.Tensor slice.Tensor squeeze.dims squeeze.dims squeeze.dims "
        "permute expand clone view expand clone view bmm view mul.Tensor _softmax expand view expand clone view bmm view "
        "permute clone view view permute addmm view"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_core_operators_compute_the_same(name):
    torch.manual_seed(0)
    model, *args = CASES[name]()
    program = torch.export.export(model, tuple(args))
    core = program.run_decompositions()
    assert name not in NAMES or names(core) == NAMES[name]
    assert core.run_decompositions() is core and core.graph_signature.input_specs == program.graph_signature.input_specs
    found = core.graph_module(*program.state_dict.values(), *args)
    expected = model(*args)
    for out, given, spec in zip(
        found, expected if isinstance(expected, tuple) else [expected], core.graph_signature.output_specs, strict=True
    ):
        torch.testing.assert_close(out, given)
        assert spec.arg.name in {n.name for n in core.graph.nodes}
    for node in core.graph.nodes:
        assert node.op == "output" or isinstance(node.meta["val"], (torch.Tensor, tuple, list)), node
    torch.testing.assert_close(core.module()(*args), expected)


class Function(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


F = nn.functional
FORMULAS = {  # a function of a (4, 4) tensor, and torch 2.13's calls with their arguments
    "max, min": (lambda x: x.max() - x.min(), "max(x,) min(x,) sub.Tensor(max_1, min_1)"),
    "max.dim": (lambda x: x.max(1)[1], "max.dim(x, 1) <built-in function getitem>(max_1, 1)"),
    "sort": (lambda x: x.sort(1)[0], "sort(x, 1) <built-in function getitem>(sort, 0)"),
    "aminmax": (lambda x: x.aminmax(dim=1, keepdim=True)[1], "amax(x, [1], True)"),
    "var": (lambda x: x.var(1), "var.correction(x, [1]){'correction': 1}"),
    "std": (lambda x: x.std(0), "var.correction(x, [0]){'correction': 1.0} sqrt(var,)"),
    "all": (lambda x: (x > 0).all(), "gt.Scalar(x, 0) logical_not(gt,) any.dims(logical_not,) logical_not(any_1,)"),
    "hardswish": (
        F.hardswish,
        "add.Tensor(x, 3) clamp(add, 0) clamp(clamp, None, 6) mul.Tensor(x, clamp_1) div.Tensor(mul, 6)",
    ),
    "softplus": (
        lambda x: F.softplus(x, 2.0, 10.0),
        "mul.Tensor(x, 2.0) exp(mul,) log1p(exp,) div.Tensor(log1p, 2.0) gt.Scalar(mul, 10.0) where.self(gt, x, div)",
    ),
    "glu": (F.glu, "slice.Tensor(x, 1, 0, 2) slice.Tensor(x, 1, 2, 4) sigmoid(slice_2,) mul.Tensor(slice_1, sigmoid)"),
    "mse": (
        lambda x: F.mse_loss(x, x * 2, reduction="sum"),
        "mul.Tensor(x, 2) sub.Tensor(x, mul) pow.Tensor_Scalar(sub, 2) sum.dim_IntList(pow_1, [])",
    ),
    "masked_fill": (
        lambda x: x.masked_fill(x > 0.5, 2.0),
        "gt.Scalar(x, 0.5) scalar_tensor(2.0,){'dtype': torch.float32, 'layout': torch.strided, 'device': "
        "device(type='cpu')} where.self(gt, scalar_tensor, x)",
    ),
    "stack": (lambda x: torch.stack([x, x], 1), "cat([x, x], 1) view(cat, [4, 2, 4])"),
    "stack last": (lambda x: torch.stack([x, x], -1), "unsqueeze(x, 2) unsqueeze(x, 2) cat([unsqueeze, unsqueeze_1], -1)"),
    "split": (lambda x: x.split(3, 1)[1], "split_with_sizes(x, [3, 1], 1) <built-in function getitem>(split_with_sizes, 1)"),
    "repeat": (
        lambda x: x.repeat_interleave(3, 0),
        "unsqueeze(x, 1) expand(unsqueeze, [4, 3, 4]) clone(expand,){'memory_format': torch.contiguous_format} "
        "view(clone, [12, 4])",
    ),
    "rsub": (lambda x: torch.rsub(x, x * 2, alpha=2), "mul.Tensor(x, 2) sub.Tensor(mul, x){'alpha': 2}"),
    **{name: (f, None) for name, f in {
        "logsumexp": lambda x: x.logsumexp(0) + x.logsumexp(1, keepdim=True), "huber": lambda x: F.huber_loss(x, 3 * x),
        "sinc": torch.sinc, "mish": F.mish, "selu": F.selu, "celu": F.celu, "frac": torch.frac, "median": torch.median,
        "dot": lambda x: x[0].dot(x[1]), "outer": lambda x: torch.outer(x[0], x[1]), "l1": lambda x: F.l1_loss(x, 2 * x),
        "baddbmm": lambda x: torch.baddbmm(x[None], x[None], x[None]), "hardsigmoid": F.hardsigmoid,
        "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5), "clamp": lambda x: x.clamp_min(0.2) + x.clamp_max(0.8),
        "threshold": lambda x: F.threshold(x, 0.1, 2.0), "narrow": lambda x: x.narrow(0, 1, 2),
    }.items()},
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_torchs_and_compute_the_same(name):
    f, calls = FORMULAS[name]
    torch.manual_seed(0)
    x = torch.randn(4, 4)
    core = torch.export.export(Function(f), (x,)).run_decompositions()
    shown = " ".join(
        f"{str(n.target).removeprefix('aten.').removesuffix('.default')}{n.args}{n.kwargs or ''}"
        for n in core.graph.nodes
        if n.op == "call_function"
    )
    assert calls is None or shown == calls
    torch.testing.assert_close(core.module()(x), f(x))


def test_floats_that_torch_casts_are_refused():
    program = torch.export.export(Function(F.softplus), (torch.ones(2, dtype=torch.bfloat16),))
    with pytest.raises(NotImplementedError, match=r"aten.softplus of torch.bfloat16"):
        program.run_decompositions()


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (nn.Sequential(nn.BatchNorm1d(3)).train(), r"aten.add_.Tensor has no decomposition"),
        (lambda x: nn.functional.dropout(x), "aten.dropout of a module in training"),
        (lambda x: x.roll(1), "aten.roll.default has no decomposition"),
        (lambda x: nn.functional.celu(x, 2.0), "aten.celu with alpha=2.0"),
        (lambda x: x.softmax(-1, dtype=torch.float64), "aten.softmax with a dtype"),
        (lambda x: x[0] @ x[0], "aten.matmul of 1 and 1 dimensions"),
    ],
)
def test_others_are_refused_by_name(f, said):
    program = torch.export.export(Function(f), (torch.ones(2, 3),))
    with pytest.raises(NotImplementedError, match=said):
        program.run_decompositions()


def test_tables_sizes_and_files_are_refused():
    shapes = {"input": {0: torch.export.Dim("n")}}
    program = torch.export.export(nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes=shapes)
    with pytest.raises(NotImplementedError, match="sizes that may change"):
        program.run_decompositions()
    core = torch.export.export(nn.Linear(3, 2), (torch.ones(4, 3),)).run_decompositions()
    with pytest.raises(NotImplementedError, match="with a table"):
        core.run_decompositions({"a": 1})
    with pytest.raises(NotImplementedError, match="of a decomposed program"):
        torch.export.save(core, io.BytesIO())


def test_no_rule_is_a_core_operator():
    assert not decompositions._CORE & decompositions._RULES.keys()
