"""Broken inputs for every reader. `python tests/fuzz/fuzz.py --count 1000000` runs more of them, with other seeds."""

import pytest
from fuzz import PARSERS, run

COUNT = 4_000


@pytest.mark.parametrize("name", PARSERS)
def test_broken_inputs(name):
    sound, wrong = run(name, COUNT, seed=0, traced=5)
    assert not wrong, f"python tests/fuzz/fuzz.py --parser {name} --seed 0 --count 1 --first {wrong[0][0]}: {wrong[:5]}"
    assert sound > 0  # not all are refused at once
    assert sound < COUNT or name == "store"  # which hangs up, without an error, on whoever sends nonsense
