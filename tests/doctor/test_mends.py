"""What a finding tells to do names what the program at hand has to clear."""

from pathlib import Path

import pytest

from tests.doctor.programs import in_one_process

WRONG = Path(__file__).parent / "wrong"
CLEARED = {
    "stale_grad__one_of_two_cleared": "bias.grad = None",
    "stale_grad__data_add": "p.grad = None",
    "stale_grad__two_optimizers_in_one_line": "b.zero_grad()",
}


@pytest.fixture(scope="module")
def results():
    return in_one_process([(name, (WRONG / f"{name}.py").read_text()) for name in CLEARED])


@pytest.mark.parametrize("name", CLEARED)
def test_the_stale_gradient_is_named(results, name):
    (finding,) = results[name]["findings"]
    before = (WRONG / f"{name}.py").read_text().splitlines()
    new = [line.strip() for line in results[name]["mended"]["stale-grad"].splitlines() if line not in before]
    assert finding["mend"].endswith(f": {CLEARED[name]}") and new == [CLEARED[name]]
