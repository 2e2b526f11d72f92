"""The benchmark of evaluation: each case runs, and one is measured in processes of its own."""

import pytest

import rushlight
from benchmarks import inference


@pytest.mark.parametrize("case", inference.CASES)
def test_a_case_runs_as_it_is_written(case):
    module, make = inference.CASES[case](rushlight)
    with rushlight.no_grad():
        result = module.eval()(make(2))
    assert len(result) == 2 and result.isfinite().all()
    inference.cases(rushlight, case, 2, "unmodified")["call"]()


def test_variants_take_turns(capsys):
    inference.main(["MLP"], batch=[1], threads=1, pairs=2, warm_s=0.05)
    row = capsys.readouterr().out.splitlines()[-1].split()
    assert row[:2] == ["MLP", "1"] and float(row[2]) > 0 and float(row[3]) > 0
