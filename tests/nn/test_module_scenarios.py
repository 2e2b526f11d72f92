"""Modules do, say and print what torch's do: each scenario's answer equals the recorded one."""

import json
import math
import pathlib
import re

import pytest
from nn_scenarios import SCENARIOS

import rushlight

GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "nn.json").read_text())


def assert_same(got, want, place, tolerance):
    assert type(got) is type(want), f"{place}: {got!r}, expected {want!r}"
    if isinstance(want, list):
        assert len(got) == len(want), f"{place}: {got!r}, expected {want!r}"
        for n, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_same(g, w, f"{place}[{n}]", tolerance)
    elif isinstance(want, float):
        close = (
            got == want
            or (math.isnan(got) and math.isnan(want))
            or math.isclose(got, want, rel_tol=tolerance, abs_tol=tolerance)
        )
        assert close, f"{place}: {got!r}, expected {want!r}"
    else:
        assert got == want, f"{place}:\n{got}\nexpected\n{want}"


TOLERANCE = {"layers": 0.0, "init": 0.0, "orthogonal": 1e-5}  # parameters after a seed agree bit for bit


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name):
    answer = json.loads(json.dumps(SCENARIOS[name](rushlight)))
    assert_same(answer, GOLDEN[name], name, TOLERANCE.get(name, 1e-6))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (rushlight.nn.Linear, "rushlight.nn.modules.linear.Linear"),
        (len, "len"),
        (3, "int"),
        (rushlight.ones(1), "torch.FloatTensor"),
    ],
)
def test_a_wrong_value_is_named_as_torch_names_it(value, name):
    with pytest.raises(TypeError, match=re.escape(f"cannot assign '{name}' as parameter 'weight'")):
        rushlight.nn.Linear(1, 1).weight = value


@pytest.mark.parametrize(
    ("layer", "function"),
    [
        (rushlight.nn.MaxPool2d(2), "max_pool2d"),
        (rushlight.nn.AvgPool2d(2), "avg_pool2d"),
        (rushlight.nn.LPPool2d(2, 2), "lp_pool2d"),
        (rushlight.nn.Conv2d(1, 1, 1), "conv2d"),
    ],
)
def test_a_layer_calls_the_function_that_functional_holds(monkeypatch, layer, function):
    monkeypatch.setattr(rushlight.nn.functional, function, lambda *args, **options: "replaced")
    assert layer(rushlight.ones(1, 1, 4, 4)) == "replaced"


def test_operators_of_a_class_are_not_bound():
    """Those of torch are no Python functions, as kornia's `conv = torch.conv2d` expects; its own functions are methods."""

    class Layer(rushlight.nn.Module):
        activation, convolve = rushlight.tanh, rushlight.conv2d
        forward = lambda self, x: self.activation(x)  # noqa: E731

    class Derived(Layer):
        activation = rushlight.nn.functional.relu

    x = rushlight.ones(1, 1, 3, 3)
    assert Layer()(-x).allclose(-x.tanh()) and Derived()(-x).eq(0).all() and Layer.activation is rushlight.tanh
    assert Layer().convolve(x, weight=x).item() == 9
