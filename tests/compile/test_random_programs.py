"""Random training steps, compiled and eager: see `random_programs.py`, which also runs many more of them."""

from __future__ import annotations

import os
import warnings

import pytest
import random_programs

COUNT = int(os.environ.get("RUSHLIGHT_PROGRAMS", "300"))
BLOCK = 10  # programs of one test


@pytest.mark.parametrize("first", range(0, COUNT, BLOCK))
def test_programs(first, monkeypatch):
    """Results, gradients, state and the random stream are those of eager; what fails is printed as a script."""
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    for seed in range(first, min(first + BLOCK, COUNT)):
        report = random_programs.examine(seed)
        if report is not None:
            pytest.fail(report, pytrace=False)


# a flat view writes what a convolution reads; a product of nan with a gradient of 0; a maximum without ties, then with
FAILED_ONCE = [706, 2918, 9497]


@pytest.mark.parametrize("seed", FAILED_ONCE)
def test_programs_that_failed_once(seed, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    assert random_programs.examine(seed) is None


def test_a_program_is_the_same_each_time():
    assert random_programs.make(11) == random_programs.make(11)


def test_wrong_numbers_are_found_and_shrunk(monkeypatch):
    """A compiler that rounds one operator's result is caught, and the report is one statement long."""
    from rushlight.core.record import OPS

    def broken(program, real, compiled=False, noise=0.0, steps=random_programs.STEPS):
        out = plain(program, real, False, noise, steps)
        if compiled and any("dropout" in s.text for s in program.body):
            out[-2][0] = out[-2][0] + 1
        return out

    assert "dropout" in OPS
    plain = random_programs.runs
    monkeypatch.setattr(random_programs, "runs", broken)
    seed = next(s for s in range(200) if any("dropout" in t.text for t in random_programs.make(s).body))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = random_programs.examine(seed)
    assert report is not None and report.count("('v") <= 2
