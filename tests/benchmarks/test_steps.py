"""The training steps of `python -m benchmarks steps`, in small sizes: they run, learn, and are counted rightly."""

import math
import os
import warnings

import pytest

import rushlight as torch
from benchmarks import paired, step_limits, steps
from benchmarks.step_cases import CASES, Case, one_layer
from benchmarks.step_worker import FirstSteps, cases

SMALL = {
    "cifar10-4": {},
    "cifar10-64": {"batch": 8},
    "mlp": {},
    "resnet18": {"batch": 2},
    "gpt": {"batch": 1, "context": 16, "vocabulary": 64},
    "lstm": {"batch": 2, "length": 5, "vocabulary": 100},
    "dcgan": {"batch": 2},
}


def test_libraries_are_limited_alike(monkeypatch):
    for name in paired._SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RUSHLIGHT_ISA", "amx")
    paired.cap_alike()
    assert "ATEN_CPU_CAPABILITY" not in os.environ
    monkeypatch.setenv("RUSHLIGHT_ISA", "avx2")
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "SSE41")
    for name in paired._SETTINGS[1:]:
        monkeypatch.setenv(name, "")  # so that it is put back
        monkeypatch.delenv(name)
    paired.cap_alike()
    assert [os.environ[name] for name in paired._SETTINGS] == ["SSE41", "avx2", "AVX2", "Haswell"]


@pytest.mark.parametrize("name", CASES)
def test_the_loss_falls(name):
    """Two steps on the same batch; DCGAN's two losses work against each other, so theirs only has to change."""
    case = CASES[name](torch, **SMALL[name])
    first, second = (case.step(*case.batches[0]).item() for _ in range(2))
    assert math.isfinite(first)
    assert math.isfinite(second)
    assert second != first if name == "dcgan" else second < first


def test_one_layer():
    case = one_layer(torch)
    assert math.isfinite(case.step(*case.batches[0]).item())


def test_every_case_has_a_target():
    assert steps.TARGETS.keys() == CASES.keys()


def test_worker():
    work = cases(torch, "mlp", "eager")
    figures = work["first"]()
    assert len(figures.losses) == steps.FIRST_STEPS
    assert not figures.notes
    assert math.isfinite(work["step"]().item())


def test_work_of_a_layer():
    """y = x W': forward and the weight's gradient, the input needs none; W, its momentum-free SGD, and y as bytes."""
    layer = torch.nn.Linear(5, 7, bias=False)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def step(x, y):
        loss = layer(x).sum()
        loss.backward()
        optimizer.step()

    work = step_limits.count_work(Case(step, [(torch.ones(3, 5), None)], [layer], [optimizer]))
    assert work == step_limits.Work(operations=2 * 2 * 3 * 5 * 7, bytes=4 * (5 * 7 + 3 * 7))


def test_work_of_convolutions():
    """A convolution and the transposed one that undoes its shape multiply as often; the second needs all three passes."""
    layers = [torch.nn.Conv2d(4, 6, 3, groups=2, bias=False), torch.nn.ConvTranspose2d(6, 4, 3, groups=2, bias=False)]
    network = torch.nn.Sequential(*layers)

    def step(x, y):
        network(x).sum().backward()

    work = step_limits.count_work(Case(step, [(torch.ones(1, 4, 8, 8), None)], [network], []))
    forward = 2 * 6 * 6 * 6 * (2 * 3 * 3)
    assert work.operations == (2 + 3) * forward


def _row(variant, times, losses):
    return steps.Row(variant, times, FirstSteps(losses, 0.0, None, None))


def test_table():
    """The ratio is taken pair by pair against torch's better variant; a dash and the reason are shown where nothing ran."""
    rows = [
        _row("rushlight", [1.0, 2.0, 1.0], [2.0, 2.0, 2.0]),
        steps.Row("rushlight.compile", [], None, "reason"),
        _row("torch", [3.0, 3.0, 3.0], [2.0, 2.0, 2.001]),
        _row("torch.compile", [2.0, 2.0, 2.0], [2.0, 2.1, 2.0]),
    ]
    result = steps.Result("mlp", rows)
    assert result.faster(rows[0]) == 2.0
    text = steps.table(result)
    assert "- rushlight.compile: reason" in text
    assert steps.disagreements(result) == ["loss 2: torch.compile has 2.1 where rushlight has 2"]


def test_picture(tmp_path):
    result = steps.Result("mlp", [_row("rushlight", [1.0], [2.0]), _row("torch", [2.0], [2.0])])
    from benchmarks.step_picture import draw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matplotlib's own, of its dependencies
        assert draw([result], tmp_path / "steps.png").stat().st_size > 0
