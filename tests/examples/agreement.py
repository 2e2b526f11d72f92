"""Whether two records of observe.py agree: four significant digits of the losses, printed lines to the digit."""

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


def check_numbers(found, expected):
    for key, tolerance in SIGNIFICANT.items():
        assert len(found[key]) == len(expected[key]), key
        assert found[key] == pytest.approx(expected[key], rel=tolerance, abs=1e-6), key
    assert len(found["final"]) == len(expected["final"])
    for mine, torchs in zip(found["final"], expected["final"], strict=True):
        size = max(torchs[1], 1e-3)
        assert mine == pytest.approx(torchs, rel=1e-3, abs=1e-3 * size)


def check_printed(found, expected):
    assert len(found) == len(expected), found
    for mine, torchs in zip(found, expected, strict=True):
        check_line(mine, torchs)


def check_line(mine, torchs):
    if torchs in SERVED:
        assert mine == SERVED[torchs]
    elif ERROR.match(torchs):
        # torch's first sentence; Rushlight goes on with the facts
        assert mine.startswith(re.split(r"\.(?: |$)", torchs)[0].rstrip(".")), f"{mine!r}\n{torchs!r}"
    else:
        assert NUMBER.sub("#", mine) == NUMBER.sub("#", torchs), f"{mine!r}\n{torchs!r}"
        for a, b in zip(NUMBER.findall(mine), NUMBER.findall(torchs), strict=True):
            unit = 10.0 ** -len(b.partition(".")[2]) if "e" not in b else 1e-4 * abs(float(b))
            assert abs(float(a) - float(b)) <= (LAST_DIGIT * unit if "." in b else 0), f"{mine!r}\n{torchs!r}"
