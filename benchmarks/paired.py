"""Timing of the same work in several libraries, turn by turn in one run.

Each library lives in a process of its own, so that their thread pools never spin against each other; the processes take
turns and the idle ones sleep on a pipe. Machines drift, so figures are medians of paired repetitions, and the ratio is the
median of the pairs' ratios.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
from multiprocessing import get_context
from time import perf_counter


def installed(library: str) -> bool:
    """Whether a library can be imported here."""
    return importlib.util.find_spec(library) is not None


class Runner:
    """A process in which `library` runs the cases of `module`."""

    def __init__(self, library: str, module: str, threads: int | None = None):
        context = get_context("spawn")
        self.library = library
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, library, module, threads), daemon=True)
        self._process.start()

    def time(self, case: str, repeats: int) -> float:
        """Seconds per call of a case, over `repeats` calls in a row."""
        self._pipe.send((case, repeats))
        answer = self._pipe.recv()
        if isinstance(answer, str):
            raise RuntimeError(f"{case} under {self.library}: {answer}")
        return answer

    def close(self) -> None:
        """End the process."""
        self._pipe.send(None)
        self._process.join()


def _serve(pipe, library: str, module: str, threads: int | None) -> None:
    cases = importlib.import_module(module).cases(_load(library))
    if threads:
        _load(library).set_num_threads(threads)
    while (request := pipe.recv()) is not None:
        case, repeats = request
        try:
            run = cases[case]
            start = perf_counter()
            for _ in range(repeats):
                run()
            pipe.send((perf_counter() - start) / repeats)
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {error}")


def _load(library: str):
    if library == "rushlight":
        from rushlight.compat import install

        install()
        return importlib.import_module("torch")
    return importlib.import_module(library)


def compare(runners: list[Runner], case: str, seconds: float = 0.05, pairs: int = 7) -> dict[str, list[float]]:
    """Seconds per call of `case` for each runner, `pairs` values taken turn by turn after a warm-up."""
    for r in runners:
        r.time(case, 2)
    once = max(r.time(case, 5) for r in runners)
    repeats = max(1, int(seconds / once))
    times: dict[str, list[float]] = {r.library: [] for r in runners}
    for _ in range(pairs):
        for r in runners:
            times[r.library].append(r.time(case, repeats))
    return times


def ratio(times: dict[str, list[float]], a: str = "rushlight", b: str = "torch") -> float:
    """The median of a/b over the pairs."""
    return statistics.median(x / y for x, y in zip(times[a], times[b], strict=True))


def need_torch() -> bool:
    """Whether torch is here to compare with; says so where it is not."""
    if installed("torch"):
        return True
    print("torch is not installed: only Rushlight's own figures are shown", file=sys.stderr)
    return False
