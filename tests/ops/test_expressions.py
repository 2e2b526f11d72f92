"""Sparse tensors, Fourier transforms, function transforms and rarer operators: expressions against torch's numbers.

The expressions and what torch gives for them are made by tests/golden/make_expressions.py.
"""

import importlib.util
import json
import math
import warnings
from pathlib import Path

import pytest

import rushlight
import rushlight.func  # the setups import torch.func

GOLDEN = Path(__file__).parent.parent / "golden"
SECTIONS = json.loads((GOLDEN / "expressions.json").read_text())
CASES = [(section, e) for section, content in SECTIONS.items() for e in content["cases"]]


def _maker():
    spec = importlib.util.spec_from_file_location("make_expressions", GOLDEN / "make_expressions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKER = _maker()


def _scope(section):
    scope = {"torch": rushlight}
    setup = SECTIONS[section]["setup"].replace("from torch.func", "from rushlight.func")
    exec(setup.replace("import torch.autograd.forward_ad as fwad", "fwad = torch.autograd.forward_ad"), scope)
    return scope


@pytest.mark.parametrize(("section", "expression"), CASES, ids=[f"{s}-{i}" for i, (s, _) in enumerate(CASES)])
def test_numbers_are_torchs(section, expression):
    expected = SECTIONS[section]["cases"][expression]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = MAKER.outcome(expression, _scope(section))
    assert _close(json.loads(json.dumps(got)), expected), f"{expression}\ngot {got}\nexpected {expected}"


def _close(a, b):
    if isinstance(b, dict):
        return isinstance(a, dict) and a.keys() == b.keys() and all(_close(a[k], b[k]) for k in b)
    if isinstance(b, list):
        return isinstance(a, list) and len(a) == len(b) and all(map(_close, a, b))
    if isinstance(b, float):
        return isinstance(a, (int, float)) and (math.isclose(a, b, rel_tol=2e-5, abs_tol=2e-6) or (a != a and b != b))
    return a == b


def test_the_file_holds_every_expression():
    for section, content in SECTIONS.items():
        assert list(content["cases"]) == list(dict.fromkeys(MAKER.expressions(section)))
