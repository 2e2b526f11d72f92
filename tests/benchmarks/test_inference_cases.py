"""The benchmark of evaluation: each case runs, and one is measured in processes of its own."""

import pytest

import rushlight
from benchmarks import inference


@pytest.mark.parametrize("case", inference.CASES)
def test_a_case_runs_as_it_is_written(case):
    module, make = inference.CASES[case](rushlight)
    inputs = make(2)
    with rushlight.no_grad():
        result = module.eval()(*inputs if isinstance(inputs, tuple) else [inputs])
    first, *cache = result if isinstance(result, tuple) else [result]
    assert len(first) == 2 and first.isfinite().all()
    for kept, given in zip(cache, inputs[2:], strict=True) if cache else ():
        assert kept[..., :1, :].count_nonzero() and not (kept - given)[..., 1:, :].count_nonzero()
    inference.cases(rushlight, case, 2, "unmodified")["call"]()


def test_variants_take_turns(capsys):
    inference.main(["MLP"], batch=[1], threads=1, pairs=2, warm_s=0.05)
    row = capsys.readouterr().out.splitlines()[-1].split()
    assert row[:2] == ["MLP", "1"] and float(row[2]) > 0 and float(row[3]) > 0
