"""Broken inputs for every reader. `python tests/fuzz/fuzz.py --count 1000000` runs more of them, with other seeds."""

import pytest
from fuzz import PARSERS, run

COUNT = 10_000
FEWER = {"pt": 5_000, "image": 4_000, "tar": 6_000}  # slow ones, so that all together take a minute


@pytest.mark.parametrize("name", PARSERS)
def test_broken_inputs(name):
    count = FEWER.get(name, COUNT)
    sound, wrong = run(name, count, seed=0)
    assert not wrong, f"python tests/fuzz/fuzz.py --parser {name} --seed 0 --count 1 --first {wrong[0][0]}: {wrong[:5]}"
    assert sound > 0  # not all are refused at once
    assert sound < count or name == "store"  # which hangs up, without an error, on whoever sends nonsense
