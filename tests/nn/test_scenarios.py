"""Modules do, say and print what torch's do: each scenario's answer equals the recorded one."""

import importlib.util
import json
import math
import pathlib

import pytest
import rushlight

here = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("nn_scenarios", here / "scenarios.py")
scenarios = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scenarios)
GOLDEN = json.loads((here.parent / "golden" / "nn.json").read_text())


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


def compare(name, run, tolerance):
    answer = json.loads(json.dumps(run(rushlight)))
    assert_same(answer, GOLDEN[name], name, tolerance)


@pytest.mark.parametrize("name", scenarios.SCENARIOS)
def test_scenario(name):
    exact = name in ("layers", "init")
    compare(name, scenarios.SCENARIOS[name], 0.0 if exact else 1e-6)


@pytest.mark.parametrize("name", scenarios.TO_ROUNDING)
def test_scenario_to_rounding(name):
    compare(name, scenarios.TO_ROUNDING[name], 1e-5)
