"""`torch.profiler`: how long operators and marked blocks take, over chosen steps of a training loop.

What is measured is told in `autograd/profiler.py`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from ..autograd import profiler as _clock
from ..autograd._profile_trace import write_trace
from ..autograd.profiler import EventList, record_function
from ._stand_ins import stand_in

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """What to measure. Only CPU can be."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What a schedule says about a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """Whether torch's library Kineto measures: False."""
    return False


def supported_activities() -> set[ProfilerActivity]:
    """What can be measured: the CPU."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Skip some steps, then in turns wait, warm up and record; `repeat` turns (0: without end)."""
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule arguments")

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        length = wait + warmup + active
        if repeat and step // length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable:
    """For `on_trace_ready`: write the trace into a folder, as `<worker>.<time>.pt.trace.json`."""

    def handle(p: profile) -> None:
        import socket

        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        p.export_chrome_trace(os.path.join(dir_name, name))

    return handle


class profile:
    """Context manager that measures the steps that `schedule(step)` chooses; call `step()` after each.

    on_trace_ready: called with the profile when a turn of the schedule has been recorded. activities: what to measure;
    devices that are absent are left out with a warning, as in torch. record_shapes, profile_memory, with_stack, with_flops:
    what to record of each operator besides its time. with_modules only concerns scripted modules, as in torch.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
    ):
        self._wanted: dict[str, Any] = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_flops": with_flops,
            "with_modules": with_modules,
        }
        _clock.profile(  # raises for what is not implemented
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            custom_trace_id_callback=custom_trace_id_callback,
        )
        self.activities = set(activities) if activities else supported_activities()
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        absent = self.activities - supported_activities() or use_cuda
        if absent:
            import warnings

            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        self._marks_steps = schedule is not None
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready, self.acc_events = on_trace_ready, acc_events
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._clock: Any = None
        self._block: Any = None
        self._metadata: dict[str, Any] = {}
        self._events = EventList(with_flops=with_flops, profile_memory=profile_memory)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin."""
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._open()
        self._open_step()

    def stop(self) -> None:
        """End, and hand over what was recorded last."""
        self._close_step()
        if self._clock is not None:
            self._close()
            if self.on_trace_ready:
                self.on_trace_ready(self)

    def step(self) -> None:
        """The next step begins."""
        self._close_step()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        records = self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if self._clock is not None and (before is ProfilerAction.RECORD_AND_SAVE or not records):
            self._close()
            if self.on_trace_ready:
                self.on_trace_ready(self)
        if records and self._clock is None:
            self._open()
        self._open_step()

    def _open(self) -> None:
        self._clock = _clock.profile(**self._wanted).__enter__()

    def _close(self) -> None:
        clock, self._clock = self._clock, None
        clock.__exit__(None, None, None)
        found = clock.function_events
        self._events = self._events.like([*self._events, *found]) if self.acc_events else found

    def _open_step(self) -> None:
        if self._clock is not None and self._marks_steps:
            self._block = record_function(f"ProfilerStep#{self.step_num}").__enter__()

    def _close_step(self) -> None:
        if self._block is not None:
            self._block.__exit__(None, None, None)
            self._block = None

    def events(self) -> EventList:
        """What was recorded last."""
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events of each name as one."""
        return self._events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the trace files that are written from now on."""
        self._metadata[key] = str(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put a value, given as JSON, into the trace files that are written from now on. Raises ValueError for other text."""
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as JSON for chrome://tracing or Perfetto; compressed where the name ends in .gz."""
        write_trace(path, self._events, self._metadata, self._wanted)

    def export_stacks(self, path: Any, metric: str = "self_cpu_time_total") -> None:
        """Write the program's lines and times for flame graphs (flamegraph.pl, speedscope).

        Raises AssertionError unless the profile was made with_stack=True, and ValueError for an unknown metric.
        """
        if not self._wanted["with_stack"]:
            raise AssertionError("export_stacks() requires with_stack=True")
        self._events.export_stacks(path, metric)

    export_memory_timeline = stand_in("profiler.profile.export_memory_timeline")
