"""What a timer measured: the times, what was timed, and their statistics."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ...backend.onednn.threads import get_num_threads, set_num_threads

__all__ = [
    "Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig", "unit_to_english",
]  # fmt: skip

_MOST_FIGURES = 4
_LEAST_INTERVAL_S = 25e-9
_SPREAD, _GROSS_SPREAD = 0.1, 0.25  # interquartile range over median, above which a result is doubtful
_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1)}


@dataclass(repr=False, frozen=True)
class TaskSpec:
    """What is timed, and the labels by which tables group it."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement, with the sub-label."""
        if self.label is None and "\n" in self.stmt:
            sub_label = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{sub_label}\n{textwrap.indent(self.stmt, '  ')}"
        title = self.stmt if self.label is None else self.label
        return f"{title}: {self.sub_label}" if self.sub_label else title

    def setup_str(self) -> str:
        """The setup as a line or more of a report; empty if there is none."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, a line each."""
        sections = (self.title, self.description, self.setup_str())
        return "\n".join(f"{text}\n" if "\n" in text else text for text in sections if text)


_SPEC_FIELDS = {field.name for field in fields(TaskSpec)}


@dataclass(repr=False)
class Measurement:
    """Times of one task: `raw_times` in seconds, each of `number_per_run` runs. Statistics are of a single run."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _SPEC_FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        return [t / self.number_per_run for t in self.raw_times]

    def _quantile(self, q: float) -> float:
        return float(np.quantile(self.times, q)) if self.raw_times else -1.0

    @property
    def median(self) -> float:
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        return float(np.mean(self.times)) if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median the spread of the middle half of the times supports: 1 to 4."""
        n = len(self.raw_times)
        middle = np.array(sorted(self.times)[n // 4 : math.ceil(3 * n / 4)], np.float32)
        interval = max(1.645 * float(np.std(middle)) / float(np.sqrt(np.float32(len(middle)))), _LEAST_INTERVAL_S)
        return min(max(math.floor(log10(self.median / interval)), 1), _MOST_FIGURES)

    def meets_confidence(self, threshold: float = _SPREAD) -> bool:
        """Whether the interquartile range is below this share of the median."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        return bool(self._warning())

    def _warning(self) -> str:
        if not self.raw_times or self.meets_confidence(_SPREAD):
            return ""
        gross = not self.meets_confidence(_GROSS_SPREAD)
        meaning = "suggests significant environmental influence" if gross else "could indicate system fluctuation"
        share = self.iqr / self.median * 100
        return f"  WARNING: Interquartile range is {share:.1f}% of the median measurement.\n           This {meaning}."

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        n = len(self.raw_times)
        unit, scale = select_unit(self.median)
        median, low, high = (self._quantile(q) / scale for q in (0.5, 0.25, 0.75))
        several, threads = n > 1, self.task_spec.num_threads
        lines = [
            object.__repr__(self),
            self.task_spec.summarize(),
            f"  {'Median: ' if several else ''}{median:.2f} {unit}",
            f"  IQR:    {high - low:.2f} {unit} ({low:.2f} to {high:.2f})" if n >= 4 else "",
            f"  {n} measurement{'s' if several else ''}, {self.number_per_run} runs "
            f"{'per measurement,' if several else ','} {threads} thread{'s' if threads > 1 else ''}",
            self._warning(),
        ]
        return "\n".join(line for line in lines if line).strip()

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, with the times of all of its measurements, of a single run each."""
        groups: dict[TaskSpec, list[float]] = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).extend(m.times)
        return [Measurement(1, times, spec) for spec, times in groups.items()]


def log10(x: float) -> float:
    """In single precision, as torch's: a microsecond is -6, not a little less."""
    return float(np.float32(math.log10(float(np.float32(x)))))


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time reads best, and its length in seconds."""
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(log10(t) // 3), "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    """The unit's name."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """x rounded to n significant figures.

    >>> trim_sigfig(1234.5, 3)
    1230.0
    """
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    scale = 10.0 ** (math.ceil(log10(abs(x))) - n)
    return float(np.rint(np.float32(x / scale)) * np.float32(scale))


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """The different elements, in the order in which they come."""
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Compute with n threads in the block."""
    before = get_num_threads()
    set_num_threads(n)
    try:
        yield
    finally:
        set_num_threads(before)
