"""The table of digits, step by step."""

import numpy as np

from acceptance import manifest, steps

LOSSES = (2.0, 1.0, 0.5, 0.25)


def result(error=0.0, grows=1.0, why=""):
    """Four steps whose losses and gradients are off by `error`, growing from step to step."""
    off = [error * grows**number for number in range(len(LOSSES))]
    return {
        "error": why,
        "records": [{"losses": [x * (1 + e)], "grads": x * (1 + e)} for x, e in zip(LOSSES, off)],
        "kept": [[np.full((2, 2), 1 + e), np.full(3, 1 + 10 * e)] for e in off[:3]],
    }


class Sides:
    def theirs(self, **options):
        return result()

    def ours(self, **options):
        return result(1e-6, 10)

    def yardsticks(self, **options):
        return [result(1e-7, 10), result()]

    def exact(self, **options):
        return result(1e-8)

    def in_float64(self, **options):
        return result(), result(1e-14)


def entry():
    fields = {"wave": "1", "repository": "o/r", "commit": "0" * 40, "what": "", "commands": ("a.py",)}
    return manifest.Program(id="tiny", **fields).runs()[0]


def test_each_step_has_the_digits_of_loss_and_gradients_of_every_pair():
    lines = list(steps.table(entry(), Sides()))
    assert lines[0] == "tiny: digits of loss, gradients"
    assert lines[1].split() == ["step", "loss", "rushlight", "plain", "nudged", "exact", "exact,", "ours", "float64"]
    assert [line.split() for line in lines[2:6]] == [
        ["1", "2", "6.0", "5.2", "7.0", "6.2", "16.0", "16.0", "8.0", "7.2", "6.0", "5.2", "14.0", "13.2"],
        ["2", "1", "5.0", "4.2", "6.0", "5.2", "16.0", "16.0", "8.0", "7.2", "5.0", "4.2", "14.0", "13.2"],
        ["3", "0.5", "4.0", "3.2", "5.0", "4.2", "16.0", "16.0", "8.0", "7.2", "4.0", "3.2", "14.0", "13.2"],
        ["4", "0.25", "3.0", "3.0", "4.0", "4.0", "16.0", "16.0", "8.0", "8.0", "3.0", "3.0", "14.0", "14.0"],
    ]


def test_the_parameters_with_fewest_digits_are_named():
    *_, worst, other = steps.table(entry(), Sides())
    assert worst.split() == ["0", "(2,", "2)", "rushlight", "6.0", "plain", "7.0", "nudged", "16.0"]
    assert other.split() == ["1", "(3,)", "rushlight", "5.0", "plain", "6.0", "nudged", "16.0"]


def test_a_side_that_fails_says_why():
    class Failing(Sides):
        def in_float64(self, **options):
            return result(), {"error": "Traceback\nTypeError: no", "records": [], "kept": []}

    lines = list(steps.table(entry(), Failing()))
    assert lines[1] == "  float64: TypeError: no"
    assert lines[3].split() == ["1", "2", "6.0", "5.2", "7.0", "6.2", "16.0", "16.0", "8.0", "7.2", "6.0", "5.2"]
