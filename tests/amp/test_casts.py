"""Which type each operator's result has inside autocast regions, case by case as in torch (tests/golden/autocast.json)."""

import importlib.util
import json
import warnings
from pathlib import Path

import pytest

import rushlight

GOLDEN = Path(__file__).parent.parent / "golden"
_spec = importlib.util.spec_from_file_location("make_autocast", GOLDEN / "make_autocast.py")
make = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make)
TABLE = json.loads((GOLDEN / "autocast.json").read_text())


@pytest.mark.parametrize("case", TABLE)
def test_result_types_are_torchs(case):
    for dtype, by_kind in TABLE[case].items():
        for kind, expected in by_kind.items():
            if expected is None:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert make.answer(rushlight, case, kind, dtype) == expected, f"autocast to {dtype}, inputs {kind}"


def test_cat_of_a_narrow_type_that_is_not_the_regions_is_refused():
    half = rushlight.ones(2, dtype=rushlight.float16)
    with rushlight.autocast("cpu"), pytest.raises(RuntimeError, match="Unexpected floating ScalarType"):
        rushlight.cat([half, half])


def test_gradients_come_back_in_each_tensors_own_type():
    weight = rushlight.randn(5, 4, requires_grad=True)
    x = rushlight.randn(3, 4).bfloat16().requires_grad_()
    with rushlight.autocast("cpu"):
        out = rushlight.nn.functional.linear(x, weight)
    out.sum().backward()
    assert (weight.grad.dtype, x.grad.dtype) == (rushlight.float32, rushlight.bfloat16)


def test_a_region_leaves_the_fast_path_as_it_was():
    from rushlight.core.dispatch.mode import thread

    assert thread.state.level == 1
    with rushlight.autocast("cpu"):
        assert thread.state.level == 2
        with rushlight.no_grad(), rushlight.autocast("cpu", enabled=False):
            assert thread.state.level == 0
    assert thread.state.level == 1
