"""Steps of which something of Python changes between calls: random ones, and each kind of mutation by itself."""

import pytest
from mutations import OPTIMIZERS, PIECES, World, check, check_module, kinds, run

from rushlight.compile.jit import step
from rushlight.compile.runtime.interpret import Interpreter
from rushlight.core.jit_switch import jit


@pytest.fixture(autouse=True)
def bit_for_bit(monkeypatch):
    monkeypatch.setattr(jit, "on", False)
    monkeypatch.setattr(step, "build", Interpreter)


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_compiled_steps_see_what_changes(first):
    results = [check(seed) for seed in range(first, first + 25)]
    assert not [wrong for wrong, _ in results if wrong is not None]
    assert sum(gave_up for _, gave_up in results) < 13  # most are programs, or nothing was tested


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_modules_of_ordinary_loops_see_what_changes(first):
    results = [check_module(seed) for seed in range(first, first + 25)]
    assert not [wrong for wrong, _ in results if wrong is not None]
    assert sum(no_program for _, no_program in results) < 10


def test_there_are_enough_kinds():
    assert kinds() > 150 and len(PIECES) > 30 and len(OPTIMIZERS) > 4


def test_mutations_matter():
    """Most of them change what eager steps compute."""
    changed = 0
    for seed in range(40):
        with_it, names, _ = run(seed, compiled=False)
        without, _, _ = run(seed, compiled=False, only="none of them")
        changed += len(with_it) != len(without) or repr(with_it) != repr(without)
        assert names and World(seed).mutations
    assert changed > 25
