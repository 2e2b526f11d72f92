"""ExportedProgram, its graph, its signature and its module print what torch's do."""

import io
import json
import sys
from pathlib import Path

import pytest

import rushlight as torch
from rushlight.torch.export.symbols import formula
from rushlight.utils import _pytree as pytree

GOLDEN = Path(__file__).parent.parent / "golden"
sys.path.insert(0, str(GOLDEN))
from export_programs import programs, text  # noqa: E402

TEXTS = json.loads((GOLDEN / "export.json").read_text())
PROGRAMS = programs(torch)


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_torchs(name):
    assert text(torch, PROGRAMS[name]) == TEXTS[name]


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in ("training", "nested")])
def test_graphs_give_the_modules_results(name):
    """`graph_module` takes parameters, buffers, constants and inputs in the order of the signature."""
    module, args, kwargs, shapes = PROGRAMS[name]
    exported = torch.export.export(module, args, kwargs, dynamic_shapes=shapes)
    constants = {"constants": [module.t, torch.tensor([1.0, 2.0, 3.0])]} if name == "constants" else {}
    state = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers())
    found = [state[s.target].clone() for s in exported.graph_signature.input_specs if s.target in state]
    with torch.no_grad():
        results = exported.graph_module(*found, *constants.get(name, []), *pytree.tree_leaves((args, kwargs)))
        expected = pytree.tree_leaves(exported.module()(*args, **kwargs))
    for ours, theirs in zip(results, expected, strict=True):
        assert torch.allclose(ours, theirs, equal_nan=True)


def test_signature_names_everything():
    module, args, kwargs, _ = PROGRAMS["counting"]
    signature = torch.export.export(module, args, kwargs).graph_signature
    assert (signature.buffers, signature.non_persistent_buffers, signature.parameters) == (("n", "m"), {"m"}, ())
    assert signature.inputs_to_buffers == {"b_n": "n", "b_m": "m"}
    assert (signature.user_inputs, signature.user_outputs) == (("x",), ("mul_1",))
    module, args, kwargs, _ = PROGRAMS["nested"]
    signature = torch.export.export(module, args, kwargs).graph_signature
    assert signature.user_inputs == ("d_a", "pair_0", "pair_1", 2, "k") and signature.user_outputs[2] == 3


def test_a_file_prints_the_same():
    module, args, kwargs, shapes = PROGRAMS["any_length"]
    program, file = torch.export.export(module, args, kwargs, dynamic_shapes=shapes), io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    assert str(torch.export.load(file).graph) == str(program.graph)


def test_modules_have_the_parameters_of_the_exported():
    module, args, kwargs, _ = PROGRAMS["network"]
    running = torch.export.export(module, args, kwargs).module()
    assert list(running.state_dict()) == list(module.state_dict())
    with torch.no_grad():
        running.fc.bias.add_(1)
    assert torch.allclose(running(*args)[0] - module(*args)[0], torch.zeros(2, 2))  # the same tensors


def test_formulas_of_sizes():
    rows = [{"a": a, "b": b} for a in (8, 9, 16) for b in (3, 5)]
    for text_, size in (
        ("a", lambda a, b: a), ("4*a + 1", lambda a, b: 4 * a + 1), ("2*a*b", lambda a, b: 2 * a * b),
        ("(a//2)", lambda a, b: a // 2), ("(((a - 1)//2)) + 1", lambda a, b: (a - 1) // 2 + 1), ("7", lambda a, b: 7),
        (None, lambda a, b: a // 4), (None, lambda a, b: a + b),
    ):  # fmt: skip
        assert formula(rows, [size(**row) for row in rows]) == text_, text_
