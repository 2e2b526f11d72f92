"""torch.autograd.profiler: how long operators and marked blocks take.

While a profile is open, the kernel of every operator is timed, in forward and backward, under torch's names
('aten::mm'). Programs that replay without calling kernels (compiled steps, backward passes that repeat) show no
operators. Times are of the clock, in microseconds; memory is the size of the results that are not views. FLOPs are not
measured.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dispatch.op import RECORDS, Op
from ..core.tensor.storage import describe, user_line
from ._profile_table import table_of

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "KinetoStepTracker",
    "emit_itt",
    "emit_nvtx",
    "profile",
    "record_function",
]

_active: list[Any] = []  # the open profiles, the innermost last


class FunctionEvent:
    """One call or block: its name, thread, start and length in microseconds, and its part outside of inner ones.

    input_shapes: of the arrays that an operator's kernel was given. cpu_memory_usage: bytes of the results that are not
    views, with those of inner calls; self_cpu_memory_usage: without. stack: the program's line, 'file.py:12'.
    Each is only recorded where the profile asks for it.
    """

    def __init__(self, name: str, thread: int, start_us: float):
        self.name = self.key = name
        self.thread, self.start_us = thread, start_us
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.count = 1
        self.input_shapes: list[list[int]] = []
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.stack: list[str] = []
        self.cpu_parent: FunctionEvent | None = None  # the one around it

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total

    def __repr__(self) -> str:
        return f"<FunctionEvent name={self.name} cpu_time={self.cpu_time_total:.3f}us>"


class FunctionEventAvg:
    """All calls of one name."""

    def __init__(self, key: str, like: Any = None):
        self.key = key
        self.count, self.cpu_time_total, self.self_cpu_time_total = 0, 0.0, 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: list[list[int]] = [] if like is None else like.input_shapes
        self.stack: list[str] = [] if like is None else like.stack
        self.cpu_parent = None if like is None else like.cpu_parent

    def add(self, event: Any) -> FunctionEventAvg:
        """Count one more."""
        self.count += event.count
        self.cpu_memory_usage += event.cpu_memory_usage
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        return self

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return f"<FunctionEventAvg key={self.key} cpu_time={self.cpu_time:.3f}us count={self.count}>"


_SORTS = ("cpu_time", "cpu_time_total", "self_cpu_time_total", "count", "cpu_memory_usage", "self_cpu_memory_usage")


class EventList(list):
    """Events, or their averages."""

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The events of each name (and input shapes, and lines of the program) as one."""
        found: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            key: tuple = (event.key, str(event.input_shapes) if group_by_input_shape else "")
            key += tuple(event.stack[:group_by_stack_n])
            found.setdefault(key, FunctionEventAvg(event.key, event)).add(event)
        for (_, shapes, *stack), average in found.items():
            average.input_shapes = average.input_shapes if shapes else []
            average.stack = stack
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    @property
    def self_cpu_time_total(self) -> float:
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, the largest `sort_by` first.

        top_level_events_only: without those inside of another. time_unit: 's', 'ms' or 'us' for all times.
        """
        rows = list(self)
        if sort_by is not None:
            name = sort_by.replace("device_", "cpu_").replace("cuda_", "cpu_")
            if name not in _SORTS:
                raise AttributeError(f"events cannot be sorted by {sort_by!r}; choose from {', '.join(_SORTS)}")
            rows.sort(key=lambda event: getattr(event, name), reverse=True)
        limits = (max_name_column_width, max_shapes_column_width, max_src_column_width)
        return table_of(rows, row_limit, limits, header, top_level_events_only, time_unit)

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as JSON for chrome://tracing or Perfetto."""
        import json
        import os

        events = [
            {"ph": "X", "cat": "cpu_op", "name": e.name, "pid": os.getpid(), "tid": e.thread, "ts": e.start_us,
             "dur": e.cpu_time_total, "args": {"Input Dims": e.input_shapes} if e.input_shapes else {}}
            for e in self
        ]  # fmt: skip
        with open(path, "w") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)

    def __str__(self) -> str:
        return self.table()


# ---------------------------------------------------------------------------------------------- measuring


class _Stack(threading.local):
    """The open events of a thread, and how much of each went to inner ones."""

    def __init__(self) -> None:
        self.open: list[list[Any]] = []


_stack = _Stack()


def _begin(name: str) -> FunctionEvent:
    now = time.perf_counter()
    event = FunctionEvent(name, threading.get_ident(), now * 1e6)
    if any(p.with_stack for p in _active):
        event.stack = [describe(user_line(2))]
    event.cpu_parent = _stack.open[-1][0] if _stack.open else None
    _stack.open.append([event, now, 0.0, 0])
    return event


def _end(result: Any = None) -> None:
    event, start, inner, inner_bytes = _stack.open.pop()
    seconds = time.perf_counter() - start
    event.cpu_time_total, event.self_cpu_time_total = seconds * 1e6, (seconds - inner) * 1e6
    if any(p.profile_memory for p in _active):
        event.self_cpu_memory_usage = sum(a.nbytes for a in _arrays(result) if a.base is None)
        event.cpu_memory_usage = event.self_cpu_memory_usage + inner_bytes
    if _stack.open:
        _stack.open[-1][2] += seconds
        _stack.open[-1][3] += event.cpu_memory_usage
    for p in _active:
        p._recorded.append(event)


def _timed(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        event, result = _begin(name), None
        if any(p.record_shapes for p in _active):
            event.input_shapes = [list(a.shape) for a in _arrays(args)]
        try:
            result = kernel(*args, **kwargs)
            return result
        finally:
            _end(result)

    return run


def _arrays(values: Any) -> list[np.ndarray]:
    return [a for a in (values if isinstance(values, tuple) else (values,)) if isinstance(a, np.ndarray)]


class _Watch:
    """Puts a clock around every operator's kernel while profiles are open."""

    def __init__(self) -> None:
        self.before: list[tuple[Op, Any, Any]] = []

    def start(self) -> None:
        for record in RECORDS:
            timed = _timed(f"aten::{record.name.replace('.', '_')}", record.kernel)
            self.before.append((record, record.kernel, timed))
            record.override(timed)

    def stop(self) -> None:
        for record, kernel, timed in self.before:
            if record.kernel is timed:
                record.override(kernel)
        self.before.clear()


_watch = _Watch()


class record_function:
    """Context manager or decorator: a block of this name in the profile.

    >>> with record_function("forward"):
    ...     pass
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self._is_timed = bool(_active)
        if self._is_timed:
            _begin(self.name)
        return self

    def __exit__(self, *error: object) -> None:
        if self._is_timed:
            _end()

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        from functools import wraps

        @wraps(f)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return f(*args, **kwargs)

        return wrapped


class profile:
    """Context manager that times operators and blocks; afterwards `table()`, `key_averages()`, `export_chrome_trace()`.

    enabled=False: does nothing. What only other devices have (use_cuda, ...) and shapes, memory, FLOPs and stacks raise
    NotImplementedError when asked for.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        **rare: Any,
    ):
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        asked = dict(with_flops=with_flops, with_modules=with_modules, **rare)
        for name, value in asked.items():
            if value:
                raise NotImplementedError(f"torch.autograd.profiler.profile({name}={value}) is not implemented")
        if use_cuda or use_device not in (None, "cpu"):
            import warnings

            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        self.enabled, self.entered = enabled, False
        self._recorded: list[FunctionEvent] = []
        self.function_events: EventList | None = None

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        if not _active:
            _watch.start()
        _active.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        if not self.enabled:
            return
        _active.remove(self)
        if not _active:
            _watch.stop()
        self.function_events = EventList(sorted(self._recorded, key=lambda event: event.start_us))

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The events of each name as one."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n)

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The events as text."""
        return self._events().table(sort_by, row_limit, **options)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        return self._events().total_average()

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as JSON for chrome://tracing or Perfetto."""
        self._events().export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        return self._events().self_cpu_time_total

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)


class KinetoStepTracker:
    """Counts steps for torch's profiler; nothing needs it here."""

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Raises NotImplementedError."""
        raise NotImplementedError("torch.autograd.profiler.KinetoStepTracker is not implemented")


class emit_nvtx:
    """Marks for NVIDIA's profiler. Entering raises RuntimeError: there is no CUDA device."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        self.enabled = enabled

    def __enter__(self) -> Any:
        if self.enabled:
            raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
        return self

    def __exit__(self, *error: object) -> None:
        pass


class emit_itt(emit_nvtx):
    """Marks for Intel's profiler. Entering raises RuntimeError: it is not supported."""

    def __enter__(self) -> Any:
        if self.enabled:
            raise RuntimeError("ITT functions not installed. Are you sure you have a build with ITT?")
        return self
