"""Timing of the same work in several libraries, turn by turn in one run.

Each library lives in a process of its own, so that their thread pools never spin against each other; the processes take
turns and the idle ones sleep on a pipe. Machines drift, so figures are medians of paired repetitions, and the ratio is the
median of the pairs' ratios.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import sys
from multiprocessing import get_context
from time import perf_counter, process_time, sleep
from typing import Any


def installed(library: str) -> bool:
    """Whether a library can be imported here."""
    return importlib.util.find_spec(library) is not None


# What RUSHLIGHT_ISA is for Rushlight, for the libraries that torch and NumPy bring.
_SETTINGS = ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "OPENBLAS_CORETYPE")
_CAPS = {
    "sse41": ("SSE41", "default", "SSE4_2", "Nehalem"),
    "avx2": ("AVX2", "avx2", "AVX2", "Haswell"),
    "avx512": ("AVX512_CORE", "avx512", "AVX512", "SkylakeX"),
}


def cap_alike() -> None:
    """Limit the instructions of processes to come as RUSHLIGHT_ISA limits Rushlight's, where the user has not said otherwise."""
    for name, value in zip(_SETTINGS, _CAPS.get(os.environ.get("RUSHLIGHT_ISA", ""), ()), strict=False):
        os.environ.setdefault(name, value)


class Runner:
    """A process in which `library` runs the cases of `module`: what its `cases(library, **options)` returns."""

    def __init__(
        self, library: str, module: str, threads: int | None = None, name: str | None = None, **options: object
    ):
        cap_alike()
        context = get_context("spawn")
        self.name = name or library
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, library, module, threads, options)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()  # so that the end of the process is the end of the pipe

    def time(self, case: str, repeats: int) -> float:
        """Seconds per call of a case, over `repeats` calls in a row."""
        return self._ask(case, repeats)

    def call(self, case: str) -> Any:
        """What one call of a case returns; it has to fit through a pipe."""
        return self._ask(case, None)

    def _ask(self, case: str, repeats: int | None) -> Any:
        try:
            self._pipe.send((case, repeats))
            answer, error = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            error = f"its process ended with exit code {self._process.exitcode}"
        if error:
            raise RuntimeError(f"{case} under {self.name}: {error}")
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process.is_alive():
            self._pipe.send(None)
        self._process.join()


def _serve(pipe, library: str, module: str, threads: int | None, options: dict[str, object]) -> None:
    if threads:
        _limit(library, threads)
    loaded = _load(library)
    if threads and hasattr(loaded, "set_num_threads"):
        loaded.set_num_threads(threads)
    cases = importlib.import_module(module).cases(loaded, **options)
    while (request := pipe.recv()) is not None:
        case, repeats = request
        try:
            answer = cases[case]() if repeats is None else _time(cases[case], repeats)
            _settle()
            pipe.send((answer, None))
        except Exception as error:
            pipe.send((None, f"{type(error).__name__}: {error}"))


def _time(run, repeats: int) -> float:
    start = perf_counter()
    for _ in range(repeats):
        run()
    return (perf_counter() - start) / repeats


def _settle() -> None:
    """Wait until this process's threads sleep.

    Those of libgomp look for more work for some 17 ms by themselves, on a core that the other process's turn needs: calls
    on two threads took 650 us for 180 there. The system counts a running thread's time every 4 ms only.
    """
    for _ in range(20):
        before = process_time()
        sleep(0.01)
        if process_time() - before < 0.003:
            return


def _limit(library: str, threads: int) -> None:
    for pool in ("OMP", "OPENBLAS", "MKL"):  # read when the pool is made; NumPy's BLAS knows no other way
        os.environ[f"{pool}_NUM_THREADS"] = str(threads)
    if library == "jax" and hasattr(os, "sched_setaffinity"):  # its pool is as large as the processors it may use
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def _load(library: str):
    if library == "rushlight":
        from rushlight.alias import install

        install()
        return importlib.import_module("torch")
    return importlib.import_module(library)


def compare(
    runners: list[Runner], case: str, seconds: float = 0.05, pairs: int = 7, warm: float = 0.0
) -> dict[str, list[float]]:
    """Seconds per call of `case` for each runner, `pairs` values taken turn by turn after a warm-up of `warm` seconds and more."""
    for r in runners:
        warm_up(r, case, warm)
    once = max(r.time(case, 5) for r in runners)
    repeats = max(1, int(seconds / once))
    times: dict[str, list[float]] = {r.name: [] for r in runners}
    for _ in range(pairs):
        for r in runners:
            times[r.name].append(r.time(case, repeats))
    return times


def warm_up(runner: Runner, case: str, seconds: float) -> None:
    """Two calls and more, until they have taken so long: the first are slow, so that their time tells nothing."""
    repeats, spent = 2, 0.0
    while repeats == 2 or spent < seconds:
        spent += (took := runner.time(case, repeats) * repeats)
        repeats = min(4 * repeats, max(3, int(repeats * (seconds - spent) / max(took, 1e-6))))


def ratio(times: dict[str, list[float]], a: str = "rushlight", b: str = "torch") -> float:
    """The median of a/b over the pairs."""
    return statistics.median(x / y for x, y in zip(times[a], times[b], strict=True))


def need_torch() -> bool:
    """Whether torch is here to compare with; says so where it is not."""
    if installed("torch"):
        return True
    print("torch is not installed: only Rushlight's own figures are shown", file=sys.stderr)
    return False
