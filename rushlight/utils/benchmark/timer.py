"""`Timer`: how long a statement takes."""

from __future__ import annotations

import enum
import timeit
from collections.abc import Callable
from statistics import median
from textwrap import dedent
from typing import Any, NoReturn

from ...core.dispatch.extension_points import namespace
from .measurement import Measurement, TaskSpec, set_torch_threads

__all__ = ["Language", "Timer", "timer"]


def timer() -> float:
    """The clock: seconds from some moment on. Calls have finished when they return, so nothing is waited for."""
    return timeit.default_timer()


class Language(enum.Enum):
    """What a timed statement is written in."""

    PYTHON = 0
    CPP = 1


class Timer:
    """`timeit.Timer` that warms up, sets the number of threads, and repeats until the result is worth something.

    `globals` is where the statement finds its names (`torch` is there). The labels and `env` go into reports and tables.
    NotImplementedError for statements in C++.
    """

    _timer_cls: type[timeit.Timer] = timeit.Timer

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ):
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        _check_language(language)
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        self._globals = {**_torch(), **(globals or {})}
        stmt, setup = _code(stmt), _code(setup)
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=self._globals)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One measurement of `number` runs, after some that are not counted."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return self._measured(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raises NotImplementedError: see `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], NoReturn] | None = None) -> None:
        """Raises NotImplementedError: see `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(
        self, callback: Callable[[int, float], NoReturn] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measurements of as many runs as make the clock's own time small, until `min_run_time` seconds have passed."""
        number = self._block_size(min_run_time)
        return self._measured(number, self._repeated(number, lambda times: True, min_run_time, None, callback))

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], NoReturn] | None = None,
    ) -> Measurement:
        """As `blocked_autorange`, until the interquartile range is below `threshold` of the median, or time is up."""
        number = self._block_size(0.05)

        def enough(times: list[float]) -> bool:
            return len(times) > 3 and self._measured(number, times).meets_confidence(threshold)

        return self._measured(number, self._repeated(number, enough, min_run_time, max_run_time, callback))

    def collect_callgrind(
        self,
        number: int = 100,
        *,
        repeats: int | None = None,
        collect_baseline: bool = True,
        retain_out_file: bool = False,
    ) -> Any:
        """Raises NotImplementedError: Valgrind counts the instructions of torch's own library."""
        raise NotImplementedError("Timer.collect_callgrind is not implemented")

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def _repeated(
        self,
        number: int,
        enough: Callable[[list[float]], bool],
        least_s: float,
        most_s: float | None,
        callback: Callable[[int, float], Any] | None,
    ) -> list[float]:
        times: list[float] = []
        with set_torch_threads(self._task_spec.num_threads):
            while sum(times) < least_s or not enough(times):
                times.append(self._timeit(number))
                if callback:
                    callback(number, times[-1])
                if most_s and sum(times) > most_s:
                    break
        return times

    def _block_size(self, least_s: float) -> int:
        """How many runs to measure at once: a power of ten that takes 10,000 times as long as the clock."""
        with set_torch_threads(self._task_spec.num_threads):
            clock_s = median(self._timeit(0) for _ in range(5))
            number = 1
            while True:
                taken_s = self._timeit(number)
                settled = clock_s / taken_s <= 1e-4 and taken_s >= least_s / 1000
                if settled or taken_s > least_s or number * 10 > 2147483647:
                    return number
                number *= 10


def _check_language(language: Language | str) -> None:
    known = (Language.PYTHON, "py", "python")
    if language in (Language.CPP, "cpp", "c++"):
        raise NotImplementedError("torch.utils.benchmark.Timer: language='c++' is not implemented")
    if language not in known:
        raise ValueError(f"Invalid language `{language}`.")


def _code(text: str) -> str:
    """A piece of code without its indentation, and without the line break that a block string begins with."""
    return dedent(text).removeprefix("\n").rstrip()


def _torch() -> dict[str, Any]:
    """`torch`, which statements may use without importing it: the alias if the program has it, else Rushlight."""
    import sys

    return {"torch": sys.modules.get("torch") or namespace.value}
