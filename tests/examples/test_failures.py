"""What goes wrong in the classic programs: torch's exception with torch's message, and the way out."""

import json
import re
import subprocess
import sys
import warnings

import pytest
from failures import CASES, fail
from program_runs import ROOT

import rushlight

GOLDEN = json.loads((ROOT / "tests" / "golden" / "failures.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_words(name):
    code, way_out = CASES[name]
    kind, text = fail(rushlight, code)
    torch_kind, torch_text = GOLDEN[name]
    assert kind == torch_kind, text
    assert first_sentence(torch_text) in text
    assert way_out in text


def first_sentence(text):
    """Up to the first full stop, without the list of torch's own device types or tensor options."""
    sentence = re.split(r"\.\s|\.$|, requires_grad=", text)[0]
    return sentence.removesuffix(" (default)")


def test_second_backward_names_operator_and_line():
    kind, text = fail(rushlight, CASES["backward twice"][0])
    assert kind == "RuntimeError"
    assert "The values saved by MulBackward0 were freed by the backward called at <failure>:3" in text
    assert "Specify retain_graph=True" in text


def test_retain_variables_is_served_with_a_warning():
    x = rushlight.tensor([3.0], requires_grad=True)
    y = x * x
    with pytest.warns(DeprecationWarning, match="retain_variables is deprecated.*Use retain_graph instead"):
        y.backward(retain_variables=True)
    y.backward()
    assert x.grad.item() == 12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with pytest.raises(TypeError, match="both retain_graph and its old name retain_variables"):
            (x * x).backward(retain_graph=True, retain_variables=True)


ADVICE = "if {0} is not None: {0}.zero_()"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("w.grad.zero_()", "w.grad"),
        ("w.grad.data.zero_()", "w.grad"),
        ("w.data -= 0.1 * w.grad", "w.grad"),
        ("w.data.sub_(0.1 * w.grad.data)", "w.grad"),
        ("[w][0].grad.zero_()", "[w][0].grad"),
        ("v = torch.ones(3, requires_grad=True); (2 * v).sum().backward(); v.grad.zero_(); w.grad.zero_()", "w.grad"),
    ],
)
def test_advice_on_a_gradient_that_is_none(tmp_path, line, named):
    script = tmp_path / "script.py"
    script.write_text(f"import torch\nw = torch.ones(3, requires_grad=True)\n{line}\n")
    done = subprocess.run([sys.executable, "-m", "rushlight", "run", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search("(Attribute|Type)Error: .*NoneType", done.stderr)
    assert done.stderr.endswith(f"{ADVICE.format(named)}\n")


@pytest.mark.parametrize("line", ["None.zero_()", "x = None\nx.grad", "w.grad.nothing()", "w.grad()", "1 / 0"])
def test_no_advice_on_other_errors(tmp_path, line):
    script = tmp_path / "script.py"
    script.write_text(f"import torch\nw = torch.ones(3, requires_grad=True)\nw.sum().backward()\n{line}\n")
    done = subprocess.run([sys.executable, "-m", "rushlight", "run", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "is None: no backward()" not in done.stderr
