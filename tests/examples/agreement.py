"""Whether two records of observe.py agree: four significant digits of the losses, printed lines to the digit.

As far as rounding carries: a run of training magnifies differences of a few units in the last place, which other vector
instructions make (zero_grad.py, step 20: of two neighbours in a pooling window one is the larger by 2e-9 of it). A golden
record says under "rounding" how far torch's runs are apart that differ by these alone. As for `acceptance/compare.py`, a run may part from torch's at 0.7 of the step at which torch's part, and be five times as far
off where they are.
"""

import re

import pytest

NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
ERROR = re.compile(r"\w+(Error|Warning): ")
SIGNIFICANT = {
    "losses": 5e-5,
    "parameters": 5e-5,
    # zero_grad.py, seed 0, step 76: parameters that differ by 1.5e-8 (rounding) let another element of a pooling window
    # be the largest, which moves the gradient's norm by 9e-5; from the same parameters the gradients agree to 2e-8
    "gradients": 1e-3,
}
LAST_DIGIT = 1.01  # rounding may move the last digit that a program prints by one

# what torch says and what Rushlight says where it serves what torch no longer does
SERVED = {
    "TypeError: Tensor.backward() got an unexpected keyword argument 'retain_variables'": (
        "retain_variables=True: tensor([12.]) DeprecationWarning: retain_variables is deprecated and will be removed. "
        "Use retain_graph instead."
    )
}


EARLIER, FURTHER = 0.7, 5


def rounding_of(record, runs):
    """How far `runs`, which rounding alone sets apart, keep to `record`.

    steps: for each series, how many of its numbers agree in all runs; final: the largest error of the last parameters,
    relative to their size; printed: for each line whose numbers differ, the largest error of each number.
    """
    steps = {key: min(_agreeing(run[key], record[key], t) for run in runs) for key, t in SIGNIFICANT.items()}
    final = max((_final_error(run["final"], record["final"]) for run in runs), default=0.0)
    printed = {}
    for i, line in enumerate(record["printed"]):
        errors = [_printed_errors(run["printed"][i], line) for run in runs]
        if any(map(any, errors)):
            printed[str(i)] = [max(each) for each in zip(*errors, strict=True)]
    return {"steps": steps, "final": final, "printed": printed}


def _agreeing(found, expected, tolerance):
    """How many numbers agree before the first that does not."""
    pairs = enumerate(zip(found, expected, strict=True))
    return next((i for i, (a, b) in pairs if a != pytest.approx(b, rel=tolerance, abs=1e-6)), len(expected))


def _final_error(found, expected):
    return max((abs(a - b) / _size(row) for mine, row in zip(found, expected) for a, b in zip(mine, row)), default=0.0)


def _size(row):
    return max(row[1], 1e-3)


def _printed_errors(line, other):
    mine, others = NUMBER.findall(line), NUMBER.findall(other)
    return [abs(float(a) - float(b)) for a, b in zip(mine, others, strict=True)] if line != other else [0.0] * len(mine)


def check_numbers(found, expected):
    rounding = expected.get("rounding")
    for key, tolerance in SIGNIFICANT.items():
        assert len(found[key]) == len(expected[key]), key
        steps = len(expected[key])
        if rounding and rounding["steps"][key] < steps:
            steps = int(EARLIER * rounding["steps"][key])
        assert found[key][:steps] == pytest.approx(expected[key][:steps], rel=tolerance, abs=1e-6), key
    assert len(found["final"]) == len(expected["final"])
    error = max(1e-3, FURTHER * rounding["final"] if rounding else 0.0)
    for mine, torchs in zip(found["final"], expected["final"], strict=True):
        assert mine == pytest.approx(torchs, rel=error, abs=error * _size(torchs))


def check_printed(found, expected, rounding=None):
    assert len(found) == len(expected), found
    errors = rounding["printed"] if rounding else {}
    for i, (mine, torchs) in enumerate(zip(found, expected, strict=True)):
        check_line(mine, torchs, errors.get(str(i)))


def check_line(mine, torchs, errors=None):
    """errors: of each number in torch's line, how far torch's own runs are apart."""
    if torchs in SERVED:
        assert mine == SERVED[torchs]
    elif ERROR.match(torchs):
        # torch's first sentence; Rushlight goes on with the facts
        assert mine.startswith(re.split(r"\.(?: |$)", torchs)[0].rstrip(".")), f"{mine!r}\n{torchs!r}"
    else:
        assert NUMBER.sub("#", mine) == NUMBER.sub("#", torchs), f"{mine!r}\n{torchs!r}"
        numbers = NUMBER.findall(torchs)
        for a, b, error in zip(NUMBER.findall(mine), numbers, errors or [0.0] * len(numbers), strict=True):
            unit = 10.0 ** -len(b.partition(".")[2]) if "e" not in b else 1e-4 * abs(float(b))
            allowed = max(LAST_DIGIT * unit if "." in b else 0, FURTHER * error)
            assert abs(float(a) - float(b)) <= allowed, f"{mine!r}\n{torchs!r}"
