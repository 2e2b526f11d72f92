"""The runner on a tiny program of our own: steps counted and recorded, the end kept, errors reported."""

import sys

import pytest

from acceptance import manifest, runner

SCRIPT = """
import random, sys
import numpy, torch
SIZE = 100
w = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([w], lr=0.1)
print("drawn", random.random(), numpy.random.rand(), torch.rand(1).item(), SIZE)
for i in range(int(sys.argv[1])):
    optimizer.zero_grad()
    loss = (w ** 2).sum()
    loss.backward()
    optimizer.step()
    print("step", i, loss.item())
print("end")
"""


def program(**fields):
    values = {"commands": ("a/run.py 4",), "edits": ({"file": "a/run.py", "old": "SIZE = 100", "new": "SIZE = 3"},)}
    return manifest.Program(
        id="tiny", wave="1", repository="o/tiny", commit="0" * 40, what="", timeout_s=60, **{**values, **fields}
    )


@pytest.fixture
def clones(tmp_path):
    folder = tmp_path / "clones" / "o+tiny" / "a"
    folder.mkdir(parents=True)
    (folder / "run.py").write_text(SCRIPT)
    return tmp_path / "clones"


def run_case(entry, clones, tmp_path, **options):
    (only,) = entry.runs()
    return runner.run(only, "rushlight", sys.executable, clones, tmp_path / "work", **options)


def test_a_program_that_ends_by_itself(clones, tmp_path):
    found = run_case(program(steps=0), clones, tmp_path)
    assert (found["status"], found["steps"], found["error"]) == ("ok", 4, "")
    assert found["out"].startswith("drawn 0.8444218515250481 0.5488135039273248 0.49625658988952637 3\n")
    assert found["out"].endswith("end\n")
    assert [record["losses"] for record in found["records"]] == [[pytest.approx(3 * 0.64**i)] for i in range(4)]
    assert [record["params"] for record in found["records"]] == [pytest.approx(3 * 0.8 ** (i + 1)) for i in range(4)]
    assert [record["grads"] for record in found["records"]] == [pytest.approx(6 * 0.8**i) for i in range(4)]
    assert [found["out"][: record["out"]].count("step") for record in found["records"]] == [0, 1, 2, 3]


DOUBLE = """
import numpy, torch
from torch.nn import Linear
layer = Linear(3, 1)
x = torch.from_numpy(numpy.ones((2, 3), numpy.float32))
kinds = [x, torch.tensor([1], dtype=torch.float32), torch.ones(1).float(), torch.FloatTensor([1]), torch.tensor(1.0),
         torch.as_tensor(numpy.ones(1, numpy.float32)), torch.rand(1), layer.float().weight, torch.ones(1).to(torch.float32)]
print({str(t.dtype) for t in kinds}, torch.tensor([1]).dtype, torch.ones(1).half().dtype)
optimizer = torch.optim.Adam(layer.parameters())
layer(x).sum().backward()
optimizer.step()
"""


def test_the_whole_program_in_double_precision(clones, tmp_path):
    (clones / "o+tiny" / "a" / "run.py").write_text(DOUBLE)
    found = run_case(program(edits=(), steps=0), clones, tmp_path, variation="float64", keep=2)
    assert (found["status"], found["out"]) == ("ok", "{'torch.float64'} torch.int64 torch.float16\n")
    assert [[gradient.tolist() for gradient in gradients] for gradients in found["kept"]] == [
        [[[2.0, 2.0, 2.0]], [2.0]]
    ]


@pytest.mark.parametrize("limit", [{"steps": 2}, {"backwards": 2}])
def test_the_limit_ends_the_run(limit, clones, tmp_path):
    found = run_case(program(**limit), clones, tmp_path)
    assert (found["status"], found["steps"]) == ("ok", 2)
    assert "end" not in found["out"]


def test_commands_run_one_after_another_and_their_output_is_joined(clones, tmp_path):
    found = run_case(program(steps=0, commands=("a/run.py 1", "a/run.py 2")), clones, tmp_path)
    assert found["steps"] == 3
    assert found["out"].count("end") == 2
    assert [found["out"][: record["out"]].count("end") for record in found["records"]] == [0, 1, 1]


def test_a_command_that_fails_is_named_with_the_end_of_its_traceback(clones, tmp_path):
    found = run_case(program(commands=("a/run.py 1", "a/run.py x")), clones, tmp_path)
    assert (found["status"], found["command"]) == ("fails", "a/run.py x")
    assert "ValueError: invalid literal for int() with base 10: 'x'" in found["error"]


def test_code_given_on_the_command_line(clones, tmp_path):
    found = run_case(program(commands=("-c 'print(__name__)'",)), clones, tmp_path)
    assert (found["status"], found["out"]) == ("ok", "__main__\n")


def test_expressions_are_shown_after_the_last_command(clones, tmp_path):
    found = run_case(program(steps=0, commands=("a/run.py 1", "a/run.py 2"), shows=("w", "i + 1")), clones, tmp_path)
    end = "end\nw = Parameter containing:\ntensor([0.6400, 0.6400, 0.6400], requires_grad=True)\ni + 1 = 2\n"
    assert found["out"].endswith(end) and found["out"].count("i + 1") == 1


RANDOM_WEIGHTS = """
import torch, torchvision
made = torchvision.models.squeezenet1_1(weights="DEFAULT")
other = torchvision.models.squeezenet1_1()
print(other.load_state_dict(made.state_dict()), bool(made.features[0].weight.std() > 0))
"""


def test_pretrained_weights_are_the_random_ones(clones, tmp_path):
    (clones / "o+tiny" / "a" / "run.py").write_text(RANDOM_WEIGHTS)
    found = run_case(program(edits=(), steps=0, patches=("random_weights",)), clones, tmp_path)
    assert (found["status"], found["out"]) == ("ok", "<All keys matched successfully> True\n")


def test_empty_tensors_are_zero(clones, tmp_path):
    (clones / "o+tiny" / "a" / "run.py").write_text(
        "import torch; print(torch.empty(2), torch.empty_like(torch.ones(1)))"
    )
    found = run_case(program(edits=(), steps=0, patches=("empty_is_zero",)), clones, tmp_path)
    assert found["out"] == "tensor([0., 0.]) tensor([0.])\n"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"edits": ({"file": "a/run.py", "old": "print", "new": "p"},)}, "occurs 3 times, not 1"),
        ({"repository": "o/other"}, "no clone of o/other"),
    ],
)
def test_what_cannot_be_staged_is_the_harness_s_failure(fields, message, clones, tmp_path):
    entry = program(**{key: value for key, value in fields.items() if key != "repository"})
    if "repository" in fields:
        entry = manifest.Program(**{**vars(entry), **fields})
    found = run_case(entry, clones, tmp_path)
    assert found["status"] == "fails"
    assert "harness: " in found["error"] and message in found["error"]
