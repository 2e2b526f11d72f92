"""`python -m benchmarks busy`: the training steps next to programs that spin, and on half the cores, against torch."""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import sleep

from .paired import Runner, compare, installed, need_torch, ratio
from .step_cases import CASES
from .steps import VARIANTS, add_common_options, busy_share, check_cases

SPINNING = (1, 2)  # spinning processes
DEFAULT = ("rushlight", "rushlight.compile", "torch")
MOST_OF_FREE = 1.3  # times the same variant's time on as many cores as the spinning processes leave free


@dataclass(frozen=True)
class Load:
    """What a step shares the machine with: it may run on `cores` cores, and `spinning` processes run anywhere."""

    cores: int
    spinning: int = 0


@dataclass
class Result:
    """One case: seconds per step of each variant under each load, one of each repetition."""

    case: str
    cores: int
    times: dict[Load, dict[str, list[float]]]
    missing: dict[str, str]

    def against_torch(self, load: Load, variant: str) -> float | None:
        """This variant's time as a multiple of the better of torch's two under the same load."""
        times = self.times[load]
        torch = [name for name in times if name.startswith("torch")]
        if not torch or variant not in times:
            return None
        better = min(torch, key=lambda name: statistics.median(times[name]))
        return ratio(times, variant, better)

    def against_free(self, load: Load, variant: str) -> float | None:
        """This variant's time as a multiple of its own on the cores that are free; None where none is."""
        alone = self.times.get(Load(self.cores - load.spinning), {})
        if not load.spinning or variant not in alone or variant not in self.times[load]:
            return None
        return statistics.median(self.times[load][variant]) / statistics.median(alone[variant])


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command line."""
    add_common_options(parser, DEFAULT)


def main(cases: list[str], variants: list[str], pairs: int, seconds: float, json: Path | None) -> None:
    """Print a table per case as it is measured."""
    check_cases(cases)
    refuse_real_time()
    need_torch()
    cores = len(own_cores())
    print(f"{cores} cores; ms a step, x torch: time over the better of torch's under the same load,")
    print(f"x free: over its own on the cores that are left (asked: at most 1 and {MOST_OF_FREE})")
    results = []
    for case in cases or CASES:
        if (others := busy_share()) > 0.1:
            print(f"\nWARNING: other programs keep the processors {others:.0%} busy, besides the loads that are meant")
        results.append(run_case(case, variants, pairs, seconds))
        print(table(results[-1]), flush=True)
        if json:
            save(json, results)


def refuse_real_time() -> None:
    """Stop under `chrt`: a spinning process of the same class would never give a core back, one of another never take it."""
    if hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
        raise SystemExit("a real-time priority does not share its cores; run this benchmark at an ordinary one")


def own_cores() -> list[int]:
    """The cores that this process may run on."""
    if not hasattr(os, "sched_setaffinity"):
        raise SystemExit("this benchmark gives cores to processes, which needs Linux's sched_setaffinity")
    return sorted(os.sched_getaffinity(0))


def loads(cores: int) -> list[Load]:
    """All cores with nothing else, then with each number of spinning processes; half the cores; those that are left free."""
    fewer = {max(1, cores // 2), *(cores - n for n in SPINNING if n < cores)} - {cores}
    return [Load(cores), *(Load(cores, n) for n in SPINNING), *(Load(n) for n in sorted(fewer, reverse=True))]


def run_case(case: str, variants: list[str], pairs: int, seconds: float) -> Result:
    """Under each load in turn; the processes of a case are started again where the cores change, as pools keep theirs."""
    every = own_cores()
    result = Result(case, len(every), {}, {})
    planned = loads(len(every))
    for cores in dict.fromkeys(load.cores for load in planned):
        with confined(every[:cores]):
            runners = start(result, variants)
        try:
            for load in (load for load in planned if load.cores == cores):
                with spinning(load.spinning):
                    result.times[load] = compare(runners, "step", seconds, pairs) if runners else {}
        finally:
            for runner in runners:
                runner.close()
    return result


def start(result: Result, variants: list[str]) -> list[Runner]:
    """A process per variant, past its first steps; why there is none goes into `result`."""
    runners = []
    for variant in variants:
        library, how, _ = VARIANTS[variant]
        if not installed(library):
            result.missing[variant] = f"{library} is not installed"
            continue
        runner = Runner(library, "benchmarks.step_worker", None, variant, case=result.case, how=how)
        try:
            runner.call("first")
            runners.append(runner)
        except RuntimeError as error:
            result.missing[variant] = str(error)
            runner.close()
    return runners


@contextmanager
def confined(cores: list[int]) -> Iterator[None]:
    """Processes started inside may run on these cores only, from their first instruction on."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def spinning(number: int) -> Iterator[list[BaseProcess]]:
    """So many processes that count for ever, each on whichever core the system gives it."""
    context = get_context("spawn")
    ready = context.Semaphore(0)
    processes: list[BaseProcess] = []
    try:
        for _ in range(number):
            process = context.Process(target=_spin, args=(ready,), daemon=True)
            process.start()
            processes.append(process)
        for _ in range(number):
            ready.acquire()
        if number:
            sleep(0.1)  # the system has seen that they do not sleep
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.join()


def _spin(ready) -> None:
    ready.release()
    while True:
        pass


def table(result: Result) -> str:
    """A line per load and variant; `<` marks what is above its bound."""
    lines = [f"\n{result.case:<34}{'ms':>10}{'x torch':>10}{'x free':>10}"]
    for load, times in result.times.items():
        lines.append(f"  {load.cores} cores, {load.spinning} spinning")
        for variant, seconds in times.items():
            torch, free = result.against_torch(load, variant), result.against_free(load, variant)
            ours = not variant.startswith("torch")
            late = ours and ((torch or 0) > 1 or (free or 0) > MOST_OF_FREE)
            cells = "".join(f"{'-' if x is None else format(x, '.2f'):>10}" for x in (torch, free))
            lines.append(f"    {variant:<30}{statistics.median(seconds) * 1e3:>10.3f}{cells}{'  <' if late else ''}")
    return "\n".join(lines + [f"  - {variant}: {why}" for variant, why in result.missing.items()])


def save(path: Path, results: list[Result]) -> None:
    """Write every figure, times in seconds, as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = [
        {
            "case": result.case,
            "missing": result.missing,
            "loads": [{**asdict(load), "times": times} for load, times in result.times.items()],
        }
        for result in results
    ]
    path.write_text(json.dumps(content, indent=1))
