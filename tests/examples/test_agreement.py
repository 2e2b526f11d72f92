"""What the golden runs are compared by: as strict as before where torch's runs agree, and no further than they are apart."""

import pytest
from agreement import check_numbers, check_printed, rounding_of


def record(**changed):
    one = {
        "losses": [2.0] * 10,
        "gradients": [1.0] * 10,
        "parameters": [3.0] * 10,
        "final": [[0.5, 2.0]],
        "printed": ["loss 1.25 at 7"],
    }
    return one | changed


def off(number, start, error):
    """Ten numbers, wrong from the one at `start` on."""
    return [number * (1 + error * (i >= start)) for i in range(10)]


def check(found, *runs):
    expected = record()
    if runs:
        expected["rounding"] = rounding_of(expected, runs)
    check_numbers(found, expected)
    check_printed(found["printed"], expected["printed"], expected.get("rounding"))


WRONG = {
    "a loss": record(losses=off(2.0, 9, 1e-4)),
    "a gradient": record(gradients=off(1.0, 9, 2e-3)),
    "a parameter": record(parameters=off(3.0, 9, 1e-4)),
    "the last parameters": record(final=[[0.5, 2.01]]),
    "what is printed": record(printed=["loss 1.27 at 7"]),
    "a whole number": record(printed=["loss 1.25 at 8"]),
    "words": record(printed=["lost 1.25 at 7"]),
    "a loss too few": record(losses=[2.0] * 9),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("runs", [(), (record(),)], ids=["no yardstick", "yardsticks that agree"])
def test_what_differs_is_found(name, runs):
    check(record(), *runs)
    with pytest.raises(AssertionError):
        check(WRONG[name], *runs)


def test_as_far_as_rounding_carries():
    apart = record(losses=off(2.0, 8, 1e-3), final=[[0.5, 2.004]], printed=["loss 1.28 at 7"])
    assert rounding_of(record(), [record(), apart]) == {
        "steps": {"losses": 8, "parameters": 10, "gradients": 10},
        "final": pytest.approx(0.002),
        "printed": {"0": [pytest.approx(0.03), 0.0]},
    }
    check(record(losses=off(2.0, 5, 0.1), final=[[0.5, 2.018]], printed=["loss 1.39 at 7"]), apart)
    wrong = (
        record(losses=off(2.0, 4, 1e-3)),  # before 0.7 of step 8
        record(parameters=off(3.0, 9, 1e-4)),  # which torch's runs agree in
        record(final=[[0.5, 2.021]]),  # more than five times as far
        record(printed=["loss 1.41 at 7"]),
        record(printed=["loss 1.25 at 8"]),
    )
    for other in wrong:
        with pytest.raises(AssertionError):
            check(other, apart)
