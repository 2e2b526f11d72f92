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


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (nn.Sequential(nn.BatchNorm1d(3)).train(), r"aten.add_.Tensor has no decomposition"),
        (lambda x: nn.functional.dropout(x), "aten.dropout of a module in training"),
        (lambda x: x.sort()[0], "aten.sort.default has no decomposition"),
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
