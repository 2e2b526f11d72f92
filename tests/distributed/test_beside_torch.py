"""Programs of two and three processes, against the numbers of torch's gloo."""

import json
from pathlib import Path

import pytest
from gloo_cases import CASES
from several import results_of

import rushlight as torch

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "distributed.json").read_text())


def beside(rank, size):
    torch.set_num_threads(1)
    return {case.__name__: case(torch) for case in CASES}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return {size: results_of([beside], size, tmp_path_factory.mktemp(f"of{size}")) for size in (2, 3)}


def assert_close(found, expected, where):
    if isinstance(expected, list):
        assert len(found) == len(expected), where
        for i, (f, e) in enumerate(zip(found, expected, strict=True)):
            assert_close(f, e, f"{where}[{i}]")
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for name, e in expected.items():
            assert_close(found[name], e, f"{where}[{name!r}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=2e-5, abs=1e-6), where
    else:
        assert found == expected, where


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("case", [case.__name__ for case in CASES])
def test_numbers_of_torch(found, case, size):
    for rank, expected in enumerate(GOLDEN[case][str(size)]):
        assert_close(found[size][rank]["beside"][case], expected, f"rank {rank}: {case}")
