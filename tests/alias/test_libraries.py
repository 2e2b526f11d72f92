"""Libraries that are used with torch, under the alias, against what they computed under torch (golden/libraries.json).

A library that is not installed is skipped. One process runs all cases of a program.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import libraries

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "libraries.json").read_text())
PROGRAMS = Path(__file__).parent / "library_programs"

# the modules that a program needs, and beside them a case of it
NEEDS = {
    "lightning_trainer": ("lightning", "pytorch_lightning"),
    "metrics": ("torchmetrics",),
    "optimizers": ("pytorch_optimizer",),
    "small_libraries": (),
    "timm_models": ("timm",),
    "transformers_models": ("transformers",),
}
CASE_NEEDS = {
    "accelerate": "accelerate",
    "einops": "einops",
    "geometric": "torch_geometric",
    "peft": "peft",
    "safetensors": "safetensors",
    "torchdiffeq": "torchdiffeq",
    "trainer": "accelerate",
    "vector_quantize": "vector_quantize_pytorch",
    "x_transformers": "x_transformers",
}
# Steps that make rounding grow: torch itself is as far away when weights change by one part in ten million, or (the
# bfloat16 iterations) when one product is rounded the other way.
LOOSE = {
    **dict.fromkeys(("conda", "dash", "lorarite", "soap"), 5e-3),
    **dict.fromkeys(("adago", "adamuon", "muon", "muonclip", "normuon", "scion", "scionlight"), 1e-2),
    "lbfgs": 5e-2,
    "efficientnet_b0": 1e-3,
}
CASES = [(program, case) for program, cases in GOLDEN["cases"].items() for case in cases]
_found = {}


def has(module):
    return importlib.util.find_spec(module) is not None


def results_of(program):
    """What the program prints under `rushlight run`: {case: values}; a message instead of values is an error's."""
    if program not in _found:
        wanted = [case for case in GOLDEN["cases"][program] if case not in CASE_NEEDS or has(CASE_NEEDS[case])]
        command = [sys.executable, "-W", "ignore", "-m", "rushlight", "run", str(PROGRAMS / f"{program}.py"), *wanted]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        _found[program] = json.loads(done.stdout.splitlines()[-1]), done.stderr
    return _found[program]


def compare(found, expected, tolerance, place):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        for key, value in expected.items():
            compare(found[key], value, tolerance, f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for i, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
            compare(mine, theirs, tolerance, f"{place}[{i}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=tolerance, abs=tolerance / 10), place
    else:
        assert found == expected, place


@pytest.mark.parametrize(("program", "case"), CASES, ids=[f"{program}-{case}" for program, case in CASES])
def test_library_computes_what_it_does_under_torch(program, case):
    needed = [*NEEDS[program], *([CASE_NEEDS[case]] if case in CASE_NEEDS else [])]
    for module in needed:
        if not has(module):
            pytest.skip(f"{module} is not installed")
    found, messages = results_of(program)
    assert not isinstance(found[case], str), f"{found[case]}\n{messages[-3000:]}"
    compare(found[case], GOLDEN["cases"][program][case], LOOSE.get(case, 3e-4), case)


def test_document_is_current():
    text = libraries.PAGE.read_text()
    assert text == libraries.page(text), "run `python -m tools.libraries`"
    counts = libraries.checked()
    assert sum(count for _, count in counts.values()) == len(CASES) and counts["timm"][1] == 25
    run, compared = libraries.counts()
    assert f"name {run} libraries that run; the numbers of {compared} were compared" in text
    assert f"torch {GOLDEN['versions']['torch'].partition('+')[0]}" in text
