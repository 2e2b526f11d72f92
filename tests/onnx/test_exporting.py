"""torch.onnx.export: its options, its files, and what cannot be exported."""

import io
import math
import sys

import pytest

import rushlight as torch
from rushlight import nn


@pytest.fixture
def onnx():
    return pytest.importorskip("onnx")


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install onnx \(or rushlight\[onnx\]\)"):
        torch.onnx.export(nn.Linear(1, 1), (torch.ones(1, 1),))


def test_the_older_form(onnx, tmp_path):
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.BatchNorm1d(3)).train()
    path = tmp_path / "model.onnx"
    done = torch.onnx.export(
        model,
        torch.ones(4, 2),
        path,
        dynamo=False,
        input_names=["x"],
        output_names=["y"],
        dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}},
    )
    assert done is None and model.training and model[1].training
    graph = onnx.load(path).graph
    assert [v.name for v in graph.input] == ["x"] and [v.name for v in graph.output] == ["y"]
    for value in (*graph.input, *graph.output):
        assert value.type.tensor_type.shape.dim[0].dim_param == "batch"
    assert graph.output[0].type.tensor_type.shape.dim[1].dim_value == 3
    assert {w.name for w in graph.initializer} >= {"0.weight", "0.bias", "2.running_mean"}
    assert "Dropout" not in {node.op_type for node in graph.node}


def test_names_and_kinds_of_arguments(onnx):
    class Model(nn.Module):
        def forward(self, first, pair, flag=True, *, other=None):
            return first + pair[0] * pair["1" if False else 1] if flag else first, other + 1

    one = torch.ones(2)
    program = torch.onnx.export(Model(), (one, [one, one]), kwargs={"flag": True, "other": one})
    assert [v.name for v in program.model_proto.graph.input] == ["first", "pair_0", "pair_1", "other"]
    older = io.BytesIO()
    torch.onnx.export(Model(), (one, [one, one], {"other": one}), older, dynamo=False)
    assert [v.name for v in onnx.load_from_string(older.getvalue()).graph.input] == [
        "first",
        "pair_0",
        "pair_1",
        "other",
    ]


def test_weights_beside_the_file(onnx, tmp_path):
    model, path = nn.Linear(40, 30), tmp_path / "m.onnx"
    for _ in range(2):  # a second time replaces the weights, and does not add to them
        torch.onnx.export(model, (torch.ones(1, 40),), path)
        assert (tmp_path / "m.onnx.data").stat().st_size < 6000
    weight = next(w for w in onnx.load(path).graph.initializer if w.name == "weight")
    assert torch.equal(torch.from_numpy(onnx.numpy_helper.to_array(weight).copy()), model.weight)
    torch.onnx.export(model, (torch.ones(1, 40),), tmp_path / "one.onnx", external_data=False)
    assert not (tmp_path / "one.onnx.data").exists() and (tmp_path / "one.onnx").stat().st_size > 4000


def test_weights_as_inputs_or_left_out(onnx, tmp_path):
    options = {"dynamo": False, "input_names": ["x"]}
    torch.onnx.export(nn.Linear(2, 3), (torch.ones(1, 2),), tmp_path / "a", keep_initializers_as_inputs=True, **options)
    graph = onnx.load(tmp_path / "a").graph
    assert {v.name for v in graph.input} == {"x", "weight", "bias"} and len(graph.initializer) == 2
    torch.onnx.export(nn.Linear(2, 3), (torch.ones(1, 2),), tmp_path / "b", export_params=False, **options)
    graph = onnx.load(tmp_path / "b").graph
    assert {v.name for v in graph.input} == {"x", "weight", "bias"} and not graph.initializer


def test_tied_weights_are_written_once(onnx):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    program = torch.onnx.export(Tied(), (torch.tensor([1, 2]),))
    assert [tuple(w.dims) for w in program.model_proto.graph.initializer] == [(5, 3)]


def test_an_exported_program_and_verify(onnx):
    pytest.importorskip("onnxruntime")
    exported = torch.export.export(nn.Linear(2, 3), (torch.ones(4, 2),), dynamic_shapes=({0: torch.export.Dim("n")},))
    program = torch.onnx.export(exported, verify=True)
    assert program.exported_program is exported and program(torch.ones(7, 2))[0].shape == (7, 3)


def test_while_an_export_runs(onnx):
    class Asks(nn.Module):
        def forward(self, x):
            return x + 1 if torch.onnx.is_in_onnx_export() else x + 2

    class Exports(Asks):
        def forward(self, x):
            torch.onnx.export(nn.ReLU(), (torch.ones(1),))
            return super().forward(x)

    torch.onnx.export(nn.ReLU(), (torch.ones(1),))
    program = torch.onnx.export(Exports(), (torch.ones(1),))
    assert 1.0 in [onnx.numpy_helper.to_array(w).item() for w in program.model_proto.graph.initializer]
    assert not torch.onnx.is_in_onnx_export()


def test_names_of_axes(onnx):
    def sizes(**options):
        file = io.BytesIO()
        torch.onnx.export(
            nn.ReLU(), torch.ones(2, 3), file, dynamo=False, input_names=["x"], output_names=["y"], **options
        )
        graph = onnx.load_from_string(file.getvalue()).graph
        return [
            [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in (*graph.input, *graph.output)
        ]

    assert sizes(dynamic_axes={"x": {-1: "n"}, "y": {-1: "m"}}) == [[2, "n"], [2, "m"]]
    assert sizes(dynamic_axes={"x": [0, 1], "y": [0]}) == [
        ["x_dynamic_axes_1", "x_dynamic_axes_2"],
        ["y_dynamic_axes_1", "x_dynamic_axes_2"],
    ]
    with pytest.warns(UserWarning, match="Provided key z for dynamic axes is not a valid input/output name"):
        assert sizes(dynamic_axes={"z": {0: "n"}}) == [[2, 3], [2, 3]]
    with pytest.raises(ValueError, match="x has 2 dimensions, of which 2 is to change"):
        sizes(dynamic_axes={"x": {2: "n"}})


OF_THE_EXAMPLE = {
    "a number": lambda x: x * int(x.size(0)),
    "a root": lambda x: x / math.sqrt(x.size(0)),
    "a branch": lambda x: x * 2 if x.size(0) > 2 else x,
    "a loop": lambda x: torch.stack([row * 2 for row in x]),
    "parts": lambda x: torch.cat(x.split(2)),
    "a tensor of sizes": lambda x: x * torch.tensor([x.size(0), 1]),
    "a length": lambda x: x * len(x),
}


@pytest.mark.parametrize("name", OF_THE_EXAMPLE)
@pytest.mark.parametrize("dynamo", [True, False])
def test_what_holds_for_the_size_of_the_example_alone(onnx, name, dynamo):
    class Model(nn.Module):
        def forward(self, x):
            return OF_THE_EXAMPLE[name](x)

    changes = {"dynamic_shapes": ({0: "n"},)} if dynamo else {"dynamic_axes": {"x": {0: "n"}}}
    with pytest.raises(torch.onnx.OnnxExporterError, match="does not give what the module gives"):
        torch.onnx.export(Model(), torch.ones(4, 2), io.BytesIO() if not dynamo else None, dynamo=dynamo, **changes)
    with pytest.raises(RuntimeError, match=r"sizes that may change \(n\)"):
        torch.export.export(Model(), (torch.ones(4, 2),), dynamic_shapes=({0: torch.export.Dim("n")},))
    torch.onnx.export(Model(), torch.ones(4, 2))


def test_sizes_that_the_module_does_not_take(onnx):
    with pytest.warns(UserWarning, match=r"may change \(n\) are not checked"):
        torch.onnx.export(nn.Linear(3, 2), torch.ones(2, 3), dynamic_shapes=({1: "n"},))


OF_THE_DATA = {
    "item": lambda x: x * x.sum().item(),
    "branch": lambda x: x * 2 if x.sum() > 0 else x,
    "list": lambda x: x * torch.tensor(x[0].tolist()),
    "array": lambda x: x * torch.from_numpy(x.numpy()),
    "in a part": lambda x: x * float(nn.functional.relu(x).max()),
}


@pytest.mark.parametrize("name", OF_THE_DATA)
def test_values_that_python_reads(onnx, name):
    class Model(nn.Module):
        def forward(self, x):
            return OF_THE_DATA[name](x)

    with pytest.raises(torch.onnx.OnnxExporterError, match=r"test_exporting.py:\d+: the program reads values"):
        torch.onnx.export(Model(), torch.ones(4, 2))
    with pytest.raises(RuntimeError, match="Could not guard on data-dependent expression"):
        torch.export.export(Model(), (torch.ones(4, 2),))
    with pytest.warns(torch.jit.TracerWarning):
        torch.onnx.export(Model(), torch.ones(4, 2), io.BytesIO(), dynamo=False)


def test_values_of_parameters_may_be_read(onnx):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(3.0))

        def forward(self, x):
            return x * self.scale.item() if self.scale > 1 else x

    assert torch.export.export(Model(), (torch.ones(2),)).module()(torch.ones(2)).tolist() == [3.0, 3.0]
    torch.onnx.export(Model(), torch.ones(2))


def test_running_averages_stay_what_they_were(onnx):
    model = nn.BatchNorm1d(2).train()
    torch.export.export(model, (torch.ones(3, 2),), dynamic_shapes=({0: torch.export.Dim("n")},))
    assert model.running_mean.tolist() == [0.0, 0.0] and model.num_batches_tracked == 0


def test_a_program_starts_from_the_buffers_of_its_module():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x):
            self.count.add_(1)
            return self.count * x

    model = Counts()
    program = torch.export.export(model, (torch.ones(2),)).module()
    assert model.count.tolist() == [0.0, 0.0]
    assert [program(torch.ones(2)).tolist() for _ in range(2)] == [[1.0, 1.0], [2.0, 2.0]]


def with_autocast(x):
    with torch.autocast("cpu"):
        return x.outer(x)


REFUSED = {
    "a solver": (lambda x: torch.linalg.solve(torch.outer(x, x) + torch.eye(2), x), "linalg_solve"),
    "complex numbers": (lambda x: torch.complex(x, x).tanh().abs(), r"tanh\(\).*complex numbers"),
    "draws without replacement": (lambda x: torch.multinomial(x[None], 2), "without replacement"),
    "draws in place": (lambda x: (x + 0).bernoulli_() + x, "bernoulli_"),
    "training": (lambda x: nn.functional.alpha_dropout(x, 0.5, True), "call model.eval"),
    "what a trace lacks": (lambda x: with_autocast(x), "autocast"),
    "an option": (lambda x: torch.tril(x[:, None], x.long()[0]), "depends on the inputs|cannot be"),
    "the places of maxima": (
        lambda x: nn.functional.adaptive_max_pool1d(x[None, None], 1, return_indices=True)[1] + 0,
        "places",
    ),
    "another view": (lambda x: (lambda y: (y.unfold(0, 1, 1), y.add_(1))[0] + y)(x + 0), "used later"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_exported_names_the_line(onnx, name):
    function, message = REFUSED[name]

    class Model(nn.Module):
        def forward(self, x):
            return function(x)

    with pytest.raises((torch.onnx.OnnxExporterError, NotImplementedError), match=message) as found:
        torch.onnx.export(Model(), (torch.ones(2),))
    if isinstance(found.value, torch.onnx.OnnxExporterError):
        assert "test_exporting.py:" in str(found.value)


def test_options_that_are_refused(onnx):
    model, args = nn.Linear(1, 1), (torch.ones(1, 1),)
    assert torch.onnx.export(model, args).model_proto.opset_import[0].version == 20
    with pytest.raises(NotImplementedError, match="report"):
        torch.onnx.export(model, args, report=True)
    with pytest.raises(ValueError, match="Unsupported ONNX opset version: 99"):
        torch.onnx.export(model, args, opset_version=99)
    with pytest.warns(UserWarning, match="written for opset 18"):
        torch.onnx.export(model, args, opset_version=11)
    with pytest.raises(ValueError, match="is no Dim, name, int or None"):
        torch.onnx.export(model, args, dynamic_shapes=({0: 1.5},))
    with pytest.raises(ValueError, match="has 2 entries, for the arguments"):
        torch.onnx.export(model, args, dynamic_shapes=({0: "n"}, None))
    with pytest.raises(ValueError, match=r"names .*'nothing'"):
        torch.onnx.export(model, args, dynamic_shapes={"nothing": {0: "n"}})
