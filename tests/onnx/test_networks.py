"""Whole networks give, under ONNX Runtime, what they give here: at the example's sizes and at others, in both forms of
the exporter, for the oldest and the newest opset.
"""

import copy

import pytest

import rushlight as torch
from rushlight.utils import _pytree as pytree
from tests.onnx import more_networks, networks

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def randomised(model):
    """Weights that make every layer count: the heads of some networks begin as zeros."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.1 * torch.randn(p.shape, generator=generator))
    return model.eval()


def tensors(value):
    return [t for t in pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]


def agree(run, model, *all_inputs):
    for given in all_inputs:
        with torch.no_grad():
            expected = tensors(copy.deepcopy(model)(*given))  # one writes into a buffer
        found = run(*tensors(given))
        assert len(found) == len(expected)
        for theirs, ours in zip(found, expected, strict=True):
            assert (theirs.shape, theirs.dtype) == (ours.shape, ours.dtype)
            torch.testing.assert_close(theirs, ours, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("opset", [18, 23])
@pytest.mark.parametrize("name", networks.NETWORKS)
def test_dynamic_shapes(name, opset):
    model, example, others, shapes = networks.NETWORKS[name]()
    randomised(model)
    program = torch.onnx.export(model, example, dynamic_shapes=shapes, opset_version=opset)
    onnx.checker.check_model(program.model_proto, full_check=True)
    assert program.model_proto.opset_import[0].version == opset
    agree(program, model, example, *others)


@pytest.mark.parametrize("name", more_networks.NETWORKS)
def test_more_dynamic_shapes(name):
    model, example, others, shapes = more_networks.NETWORKS[name]()
    program = torch.onnx.export(randomised(model), example, dynamic_shapes=shapes)
    onnx.checker.check_model(program.model_proto, full_check=True)
    agree(program, model, example, *others)


OLDER = ("GPT-2", "BERT", "BiLSTM tagger", "nn.Transformer", "U-Net", "detector", "GNN", "super-resolution", "Mamba")


@pytest.mark.parametrize("name", OLDER)
def test_the_older_form(name, tmp_path):
    model, example, others, shapes = networks.NETWORKS[name]()
    randomised(model)
    names = [f"x{i}" for i in range(len(example))]
    path = str(tmp_path / "m.onnx")
    axes = {n: s for n, s in zip(names, shapes, strict=True) if s}
    torch.onnx.export(model, example, path, input_names=names, dynamic_axes=axes, dynamo=False)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def run(*given):
        return [
            torch.from_numpy(r) for r in session.run(None, {n: t.numpy() for n, t in zip(names, given, strict=True)})
        ]

    agree(run, model, example, *others)


@pytest.mark.parametrize("name", networks.VISION)
def test_vision_models(name):
    from rushlight import vision

    model = randomised(getattr(vision.models, name)())
    example, other = networks.sample(1, 3, 64, 64), networks.sample(2, 3, 64, 64)
    program = torch.onnx.export(model, (example,), dynamic_shapes=({0: "batch"},))
    onnx.checker.check_model(program.model_proto, full_check=True)
    agree(program, model, (example,), (other,))
