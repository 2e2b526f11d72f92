"""What a profile consists of: events, their averages, and lists of them."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ..core.atomic import replacing
from ..core.dispatch.extension_points import BLOCK
from ._profile_table import shown_time, table_of
from ._profile_trace import write_trace

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


class DeviceType(Enum):
    """Where an event took place. Only the CPU is measured."""

    CPU = 0
    CUDA = 1


class Interval:
    """From `start` to `end`, in microseconds."""

    def __init__(self, start: float, end: float):
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """The length in microseconds."""
        return self.end - self.start


class _Times:
    """Times as text, and those of the devices that are not measured."""

    cpu_time_total: float
    self_cpu_time_total: float
    count: int
    use_device = None
    device_type = DeviceType.CPU
    device_time = device_time_total = self_device_time_total = cuda_time = 0
    device_memory_usage = self_device_memory_usage = 0
    overload_name = ""
    is_async = is_remote = is_legacy = False
    node_id = -1

    @property
    def cpu_time(self) -> float:
        """Microseconds of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    cpu_time_str = property(lambda self: shown_time(self.cpu_time))
    cpu_time_total_str = property(lambda self: shown_time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: shown_time(self.self_cpu_time_total))
    device_time_str = device_time_total_str = self_device_time_total_str = property(lambda self: shown_time(0))


class FunctionEvent(_Times):
    """One call or block: its name, thread, start and length in microseconds, and its part outside of inner ones.

    input_shapes: of the arguments of an operator, [] for those that are no tensors. flops: what torch counts for it.
    cpu_memory_usage: bytes of the results that are neither views nor written in place, less those freed meanwhile, with inner calls';
    self_cpu_memory_usage: without.
    stack: the program's lines, 'file.py(12): function', the innermost first. Each is only recorded where the profile asks for
    it. sequence_nr: in forward, the number of the node that the call gave, if that was visited in a backward pass of the same
    profile; in backward, of the node that is visited; else -1.
    """

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float):
        self.id = self.external_id = id
        self.name = "ProfilerStep*" if name.startswith("ProfilerStep#") else name  # steps are averaged as one
        self.trace_name = name
        self.time_range = Interval(start_us, end_us)
        self.thread = self.device_resource_id = thread
        self.fwd_thread: int | None = None
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None  # the one around it
        self.input_shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.scope = 0  # 1: a visit of a node in backward; 7: a block of the program
        self.sequence_nr = -1
        self.flops = 0
        self.self_cpu_memory_usage = 0

    cuda_time_total = self_cuda_time_total = self_cuda_memory_usage = 0
    key = property(lambda self: self.name)
    is_user_annotation = property(lambda self: self.scope == BLOCK)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds from the start to the end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds outside of inner events."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes of the results that are neither views nor written in place, less what was freed, with inner events'."""
        return self.self_cpu_memory_usage + sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        children = str([child.id for child in self.cpu_children])
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name= device_type={self.device_type} node_id={self.node_id} "
            f"cpu_time={self.cpu_time_str} start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={children} None_time={self.device_time_str} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} None_memory_usage=0 "
            f"is_async=False is_remote=False seq_nr={self.sequence_nr} is_legacy=False>"
        )


class FunctionEventAvg(_Times):
    """All calls of one name, added up."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count, self.cpu_time_total, self.self_cpu_time_total = 0, 0.0, 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.flops = 0
        self.input_shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.scope = 0
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] | None = None
        self.is_user_annotation = False

    def add(self, other: Any) -> FunctionEventAvg:
        """Count one more. Raises AssertionError for one of another name."""
        if self.key is None:
            self.key = other.key
            for name in ("input_shapes", "stack", "scope", "cpu_parent", "cpu_children", "is_user_annotation"):
                setattr(self, name, getattr(other, name))
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
            f" self_cuda_time={self.self_device_time_total_str} cuda_time={self.device_time_str} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} cuda_memory_usage=0>"
        )


_SUMS = (
    "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "count", "flops",
)  # fmt: skip
_SORTS = ("cpu_time", *_SUMS)
_STACK_METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]


class EventList(list):
    """Events, or their averages.

    with_flops, profile_memory: whether a table shows these columns.
    """

    def __init__(self, *args: Any, with_flops: bool = False, profile_memory: bool = False):
        super().__init__(*args)
        self.with_flops, self.profile_memory = with_flops, profile_memory

    def like(self, events: Any) -> EventList:
        """A list of other events that shows the same columns."""
        return EventList(events, with_flops=self.with_flops, profile_memory=self.profile_memory)

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events of each name (and input shapes, and so many lines of the program) as one.

        group_by_overload_name changes nothing: overloads are not recorded, as in torch unless an experiment asks for them.
        """
        found: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            key: tuple = (event.key, str(event.input_shapes) if group_by_input_shapes else "", event.is_user_annotation)
            key += tuple(event.stack[:group_by_stack_n])
            found.setdefault(key, FunctionEventAvg()).add(event)
        for average in found.values():
            average.stack = average.stack[:group_by_stack_n]
            average.input_shapes = average.input_shapes if group_by_input_shapes else []
        return self.like(found.values())

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        total = FunctionEventAvg()
        for event in self:
            total.key = event.key
            total.add(event)
        total.key = "Total"
        return total

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, none counted twice."""
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
        Raises AttributeError for a `sort_by` that events do not have.
        """
        rows = list(self)
        if sort_by is not None:
            name = sort_by.replace("cuda", "device").replace("xpu", "device").replace("privateuse1", "device")
            if name not in _SORTS and "device_" not in name:
                raise AttributeError(f"events cannot be sorted by {sort_by!r}; choose from {', '.join(_SORTS)}")
            rows.sort(key=lambda event: getattr(event, name), reverse=True)
        limits = (max_name_column_width, max_shapes_column_width, max_src_column_width)
        return table_of(
            rows, row_limit, limits, header, top_level_events_only, time_unit, self.with_flops, self.profile_memory
        )

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as JSON for chrome://tracing or Perfetto."""
        write_trace(path, self, {})

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` takes."""
        return list(_STACK_METRICS)

    def export_stacks(self, path: Any, metric: str) -> None:
        """Write a line for each event that has the program's lines: these, outermost first, and `metric` in whole microseconds.

        The format of flamegraph.pl and speedscope. Raises ValueError for a metric that is none.
        """
        if metric not in _STACK_METRICS:
            raise ValueError("metric should be one of: " + str(_STACK_METRICS))
        name = metric if metric.startswith("self_cpu") else "self_device_time_total"
        translate = str.maketrans(" ;\t\n", "____")
        with replacing(path) as file:
            for event in self:
                value = int(getattr(event, name))
                if event.stack and value > 0:
                    lines = ";".join(entry.translate(translate) for entry in reversed(event.stack))
                    file.write(f"{lines} {value}\n".encode())

    def __str__(self) -> str:
        return self.table()
