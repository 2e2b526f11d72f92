"""torch.onnx.export: its options, its files, and what cannot be exported."""

import io
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

    program = torch.onnx.export(Asks(), (torch.ones(1),))
    assert 1.0 in [onnx.numpy_helper.to_array(w).item() for w in program.model_proto.graph.initializer]
    assert not torch.onnx.is_in_onnx_export()


REFUSED = {
    "fft": (lambda x: torch.fft.fft(x), "fft_fft"),
    "random": (lambda x: x + torch.rand(2), "draws random numbers"),
    "training": (lambda x: nn.functional.dropout(x, 0.5, True), "call model.eval"),
    "another view": (lambda x: (lambda y: (y.view(-1), y.add_(1))[0] + y)(x + 0), "used later"),
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
    with pytest.raises(NotImplementedError, match="report"):
        torch.onnx.export(model, args, report=True)
    with pytest.raises(ValueError, match="Unsupported ONNX opset version: 99"):
        torch.onnx.export(model, args, opset_version=99)
    with pytest.warns(UserWarning, match="written for opset 18"):
        torch.onnx.export(model, args, opset_version=11)
    with pytest.raises(ValueError, match=r"names .*'nothing'"):
        torch.onnx.export(model, args, dynamic_shapes={"nothing": {0: "n"}})
