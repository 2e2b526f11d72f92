"""Graphs of scripts as they are printed: numbers and names of values, the order of constants, places. Beside torch 2.13's."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import rushlight as torch

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED = dict(
    re.findall(r"^([fg]\d\d)\n(graph.*?^  return .*?\n)", (GOLDEN / "jit" / "graphs.txt").read_text(), re.M | re.S)
)


@pytest.fixture(scope="module")
def functions():
    """The functions, with ours as `torch`."""
    before = sys.modules.get("torch")
    sys.modules["torch"] = torch
    try:
        spec = importlib.util.spec_from_file_location("scripted_functions", GOLDEN / "scripted_functions.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        del sys.modules["torch"]
        if before is not None:
            sys.modules["torch"] = before
    return module


@pytest.mark.parametrize("name", EXPECTED)
def test_graphs_are_printed_as_torchs(functions, name):
    graph = str(torch.jit.script(getattr(functions, name)).graph)
    assert re.sub(r" # (/\S*/)", " # ", graph) == EXPECTED[name]


def test_all_are_there():
    assert len(EXPECTED) == 69


def test_a_loop_left_by_break_calls_operators_of_torch():
    def f(x):
        while True:
            x = torch.relu(x - 1)
            if bool(x.sum() == 0):
                break
        return torch.selu(x), torch.celu(x), torch.threshold(x, 0.5, 1.0)

    script = torch.jit.script(f)
    assert [r.tolist() for r in script(torch.tensor([2.5, -1.0]))] == [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    kinds = [n.kind() for n in script.graph.findAllNodes("aten::relu")]
    assert kinds == ["aten::relu"]
    assert str(script.graph).count("prim::Constant[value=1]") == 2  # an int and a bool, each once


def test_functions_are_written_in_the_order_of_their_calls():
    def f(x):
        y = torch.nn.functional.leaky_relu(x)
        return torch.nn.functional.elu(y) + 1

    code = torch.jit.script(f).code
    assert code.index("leaky_relu") < code.index("functional.elu")
