"""Whether two records of observe.py agree: four significant digits over the first steps, printed lines to the digit."""

import re

import pytest

NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
ERROR = re.compile(r"\w+(Error|Warning): ")
# a rounding difference (which kernels sum in which order) may move the last digit that a program prints
SIGNIFICANT, LAST_DIGIT = 5e-5, 1.01

# what torch says and what Rushlight says where it serves what torch no longer does
SERVED = {
    "TypeError: Tensor.backward() got an unexpected keyword argument 'retain_variables'": (
        "retain_variables=True: tensor([12.]) DeprecationWarning: retain_variables is deprecated and will be removed. "
        "Use retain_graph instead."
    )
}


def check_numbers(found, expected):
    for key in ("losses", "gradients", "parameters"):
        assert len(found[key]) == len(expected[key])
        assert found[key] == pytest.approx(expected[key], rel=SIGNIFICANT, abs=1e-6), key
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
