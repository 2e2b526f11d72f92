"""What runs in the process of one variant: a case is built, taken through its first steps, then timed."""

from __future__ import annotations

import atexit
import os
import shutil
import statistics
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter

from .step_cases import CASES, Case, one_layer

FIRST_STEPS = 5  # an unmodified loop, too, is compiled within them


def cases(library, case: str, how: str) -> dict[str, Callable[[], object]]:
    """'first' -> the FirstSteps of a case (call it once, before the others), 'step' -> one more step, 'work' -> Work."""
    built: Case
    position = 0

    def first() -> FirstSteps:
        nonlocal built
        make = _BUILDERS[how]
        with warnings.catch_warnings(record=True):
            start = perf_counter()
            one = make(library, "one layer", one_layer)
            for batch in one.batches:
                one.step(*batch)
            start_s = perf_counter() - start
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            built = make(library, case, CASES[case])
            frames = _compiled_frames(how)
            figures = first_steps(built)
            if how == "torch.compile" and _compiled_frames(how) == frames:
                warnings.warn("it compiled nothing here, and the step ran as eager does", stacklevel=1)
        figures.start_s, figures.notes = start_s, list(dict.fromkeys(str(w.message) for w in caught))
        return figures

    def step():
        nonlocal position
        position = (position + 1) % len(built.batches)
        return built.step(*built.batches[position])

    def work():
        from .step_limits import count_work

        return count_work(CASES[case](library))

    return {"first": first, "step": step, "work": work}


def _compiled_frames(how: str) -> int:
    if how != "torch.compile":
        return 0
    from torch._dynamo.utils import counters

    return counters["frames"]["ok"]


def eager_step(torch, name: str, make: Callable[..., Case]) -> Case:
    """The step as it is written."""
    return make(torch)


def compiled_step(rushlight, name: str, make: Callable[..., Case]) -> Case:
    """The whole step as one program."""
    case = make(rushlight)
    case.step = rushlight.compile(case.step)
    return case


def compiled_networks(torch, name: str, make: Callable[..., Case]) -> Case:
    """Each network through torch.compile, with nothing taken from its caches and eager's random numbers."""
    if "TORCHINDUCTOR_CACHE_DIR" not in os.environ:
        folder = os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="benchmarks-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    import torch._inductor.config as config

    config.force_disable_caches = True
    config.fallback_random = True  # else its dropout draws other numbers, and the losses could not be compared
    return make(torch, wrap=torch.compile)


def jitted_step(jax, name: str, make: Callable[..., Case]) -> Case:
    """The whole step under jax.jit."""
    from .step_jax import build

    return build(jax, name, make)


_BUILDERS = {
    "eager": eager_step,
    "rushlight.compile": compiled_step,
    "torch.compile": compiled_networks,
    "jax.jit": jitted_step,
}


@dataclass
class FirstSteps:
    """Figures of the first steps; megabytes are resident memory above what there was before the first of them.

    Before them, a step of one layer has loaded the libraries and started the compiler: `start_s`, which counts in none
    of the others.
    """

    losses: list[float]
    compile_s: float  # what the first steps took beyond as many usual ones
    first_mb: float | None  # the highest until the last of them
    step_mb: float | None  # the highest during two more steps: a step's own, without the compiler's
    start_s: float = 0.0
    notes: list[str] = field(default_factory=list)  # warnings


def first_steps(case: Case) -> FirstSteps:
    """Take the first steps, each with a batch of its own."""
    before = _resident("VmRSS")
    losses, times = [], []
    for x, y in case.batches[:FIRST_STEPS]:
        start = perf_counter()
        loss = case.step(x, y)
        losses.append(float(loss.item()))
        times.append(perf_counter() - start)
    compile_s = max(0.0, sum(times) - len(times) * statistics.median(times))
    first = _resident("VmHWM")
    _forget_peak()
    for x, y in case.batches[FIRST_STEPS : FIRST_STEPS + 2]:
        case.step(x, y).item()
    above = partial(_above, before)
    return FirstSteps(losses, compile_s, above(first), above(_resident("VmHWM")))


def _above(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _resident(name: str) -> float | None:
    """Megabytes of this process, of Linux's VmRSS (now) or VmHWM (the highest so far, getrusage's ru_maxrss)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


def _forget_peak() -> None:
    """Let VmHWM start again from what is resident now, which ru_maxrss could not."""
    if (switch := Path("/proc/self/clear_refs")).exists():
        switch.write_text("5")
