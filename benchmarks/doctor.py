"""`python -m benchmarks doctor`: a step under the gradient doctor next to the same step alone, in turns in one run."""

from __future__ import annotations

import atexit
import statistics
from collections.abc import Callable
from typing import Any

from .paired import Runner, compare, ratio
from .step_cases import CASES

CASES_SHOWN = ("cifar10-4", "cifar10-64", "mlp", "lstm")
FIRST = 60  # steps before the timing: the backward is compiled, and norms are taken with every eighth step
TARGET = 1.5


def main(case: str = "") -> None:
    """Print each case's step, its ratio (to reach: at most 1.5), and whether the losses are equal to the last digit."""
    print(f"{'case':<12}{'alone ms':>10}{'watched ms':>12}{'ratio':>8}   losses")
    for name in CASES_SHOWN:
        if case not in name:
            continue
        runners = [
            Runner("rushlight", "benchmarks.doctor", name=how, case=name, watched=how == "watched")
            for how in ("watched", "alone")
        ]
        losses = [r.call("first") for r in runners]
        times = compare(runners, "step", seconds=0.3, pairs=15)
        alone, watched = (statistics.median(times[how]) * 1e3 for how in ("alone", "watched"))
        said = "equal" if losses[0] == losses[1] else f"differ: {losses[0][-1]} {losses[1][-1]}"
        print(f"{name:<12}{alone:10.3f}{watched:12.3f}{ratio(times, 'watched', 'alone'):8.2f}   {said}", flush=True)
        for r in runners:
            r.close()


def cases(library: Any, case: str, watched: bool) -> dict[str, Callable[[], Any]]:
    """'first' -> the losses of the first steps; 'step' -> one more step, as a loop without `compile` takes it."""
    if watched:
        from rushlight.doctor import watch

        session = watch()
        session.__enter__()
        atexit.register(session.__exit__, None, None, None)
    built = CASES[case](library)
    position = 0

    def step() -> Any:
        nonlocal position
        position = (position + 1) % len(built.batches)
        return built.step(*built.batches[position])

    return {"first": lambda: [step().item() for _ in range(FIRST)], "step": step}
