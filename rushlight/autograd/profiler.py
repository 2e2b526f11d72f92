"""torch.autograd.profiler: how long operators, visits of nodes in backward, and marked blocks take.

While a profile is open, the kernel of every operator is timed under the names of torch's operators (`aten::linear`, in it
`aten::addmm`), and backward visits every node: no program replays a pass, as it would after some repetitions. Steps of
optimizers, batches of loaders and replays of compiled functions are one event each, without what they consist of; tensors
that a program only makes (`torch.zeros`) have none. What torch does not have is called `rushlight::...`. Times are of the
clock, in microseconds; memory is the size of the results that are neither views nor written in place: what is freed is not
subtracted.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from ..core.dispatch.aten.profile_names import Call, flops_of, shown
from ..core.dispatch.extension_points import BLOCK, CALL, FUNCTION, profiled_block, profiled_pass
from ..core.dispatch.inplace import is_written_by
from ..core.dispatch.op import RECORDS, Op
from ..core.tensor.node import Output
from ..core.tensor.storage import tick, user_lines
from ._profile_events import EventList, FunctionEvent, FunctionEventAvg
from ._profile_trace import write_trace
from .engine import Pass

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

_VISIT = 1  # of a node in backward: torch's number, as CALL and BLOCK are


# ---------------------------------------------------------------------------------------------- events


class _Stack(threading.local):
    """The open events of a thread."""

    def __init__(self) -> None:
        self.open: list[FunctionEvent] = []
        self.thread = threading.get_native_id()


_stack = _Stack()


class _Recorded:
    """What is recorded while profiles are open."""

    def __init__(self) -> None:
        self.count = 0
        self.with_stack = self.record_shapes = self.with_flops = self.profile_memory = False
        self.calls: dict[
            int, list[tuple[int, FunctionEvent]]
        ] = {}  # of each thread, with the time of `tick` when they began

    def look(self) -> None:
        """Read what the open profiles ask for."""
        for name in ("with_stack", "record_shapes", "with_flops", "profile_memory"):
            setattr(self, name, any(getattr(p, name) for p in _active))


_recorded = _Recorded()


def _begin(name: str, scope: int) -> FunctionEvent:
    _recorded.count += 1
    around = _stack.open
    now = time.perf_counter() * 1e6
    event = FunctionEvent(_recorded.count, name, _stack.thread, now, now)
    event.scope = scope
    if around:
        event.cpu_parent = around[-1]
        around[-1].cpu_children.append(event)
    if _recorded.with_stack:
        event.stack = user_lines(2)
    around.append(event)
    event.time_range.start = event.time_range.end = time.perf_counter() * 1e6
    for p in _active:
        p._recorded.append(event)
    return event


def _end() -> FunctionEvent:
    now = time.perf_counter() * 1e6
    event = _stack.open.pop()
    event.time_range.end = now
    return event


class _Block:
    """Context manager: an event of this name."""

    def __init__(self, name: str, scope: int = BLOCK):
        self.name, self.scope = name, scope

    def __enter__(self) -> FunctionEvent:
        return _begin(self.name, self.scope)

    def __exit__(self, *error: object) -> None:
        _end()


# ---------------------------------------------------------------------------------------------- operators


_calls: dict[tuple, tuple[Call, ...]] = {}  # what was shown before, by the operator and the shapes


def _calls_of(record: Op, args: tuple, writes: bool) -> tuple[Call, ...]:
    inner = _stack.open != [] and _stack.open[-1].scope == _VISIT
    key = (record.name, writes, inner, *[getattr(a, "shape", None) if a is not None else False for a in args])
    if record.name == "part":
        key += (str(args[1]),)
    elif record.name == "linear.nd":
        key += (args[0].flags.c_contiguous,)
    found = _calls.get(key)
    if found is None:
        found = _calls[key] = shown(record, args, writes, inner)
    return found


def _timed(record: Op, kernel: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        if _stack.open and _stack.open[-1].scope == CALL:  # a kernel calls another one
            return kernel(*args, **kwargs)
        writes = is_written_by(2)
        calls = _calls_of(record, args, writes)
        number = tick()
        for call in calls[:-1]:
            _open(call)
            _end()
        opened = [_open(calls[-1])]
        parts = calls[-1].parts
        while parts:
            for part in parts[:-1]:
                _open(part)
                _end()
            opened.append(_open(parts[-1]))
            parts = parts[-1].parts
        opened[0].record = record
        _recorded.calls.setdefault(_stack.thread, []).append((number, opened[0]))
        result = None
        try:
            result = kernel(*args, **kwargs)
            return result
        finally:
            for _ in opened:
                _end()
            _measure(opened, calls[-1], result, writes)

    return run


def _open(call: Call) -> FunctionEvent:
    event = _begin(call.name, CALL)
    if _recorded.record_shapes:
        event.input_shapes = call.shapes
    return event


def _measure(events: list[FunctionEvent], call: Call, result: Any, writes: bool) -> None:
    """Note the bytes of a result, and the operations that gave it. events: of the call and its last parts, inwards."""
    arrays = [
        a for a in (result if isinstance(result, tuple) else (result,)) if isinstance(a, (np.ndarray, np.generic))
    ]
    if _recorded.profile_memory and not writes:
        events[-1].self_cpu_memory_usage = sum(a.nbytes for a in arrays if a.base is None)
    if _recorded.with_flops and arrays:
        for event in events:
            event.flops = flops_of(call, arrays[0])
            call = call.parts[-1] if call.parts else call


class _Watch:
    """Puts a clock around every operator's kernel while profiles are open."""

    def __init__(self) -> None:
        self.before: list[tuple[Op, Any, Any]] = []

    def start(self) -> None:
        for record in RECORDS:
            timed = _timed(record, record.kernel)
            self.before.append((record, record.kernel, timed))
            record.replace(timed)
        profiled_pass.register(_ProfiledPass)
        profiled_block.register(_Block)

    def stop(self) -> None:
        profiled_pass.register(None)
        profiled_block.register(None)
        for record, kernel, timed in self.before:
            if record.kernel is timed:
                record.replace(kernel)
        self.before.clear()
        _calls.clear()
        _recorded.calls.clear()


_watch = _Watch()


# ---------------------------------------------------------------------------------------------- backward


class _ProfiledPass(Pass):
    """A backward pass whose nodes are events."""

    def _visit(self, node: Any, g: Any) -> None:
        if type(node) is Output:
            super()._visit(node, g)
            return
        with _Block(f"autograd::engine::evaluate_function: {node.name()}", _VISIT) as event:
            _link(event, _call_that_gave(node), node.seq)
            super()._visit(node, g)

    def _gradients(self, node: Any, g: Any) -> Any:
        with _Block(node.name(), FUNCTION if node.op is None else _VISIT) as event:  # the program's code, or a rule
            _link(event, _call_that_gave(node), node.seq)
            if _recorded.record_shapes:
                event.input_shapes = [list(t.shape) for t in (g if isinstance(g, list) else [g]) if t is not None]
            return super()._gradients(node, g)

    def _release_leaf(self, leaf: Any) -> None:
        if self.uses[leaf] > 1 or leaf not in self.grads:
            super()._release_leaf(leaf)
            return
        name = "torch::autograd::AccumulateGrad"
        with _Block(f"autograd::engine::evaluate_function: {name}", _VISIT), _Block(name, _VISIT) as event:
            if _recorded.record_shapes:
                event.input_shapes = [list(leaf.shape)]
            super()._release_leaf(leaf)


def _call_that_gave(node: Any) -> FunctionEvent | None:
    """The call of an operator that gave a node, if it was profiled.

    Nodes do not know their thread: it is the latest of the threads' last calls before the node was made, of its operator and
    not known to have given another node.
    """
    op, seq = getattr(getattr(node, "inner", node), "op", None), int(node.seq)
    found = []
    for calls in list(_recorded.calls.values()) if op is not None else ():
        i = bisect_right(calls, seq, key=itemgetter(0)) - 1
        if i >= 0 and calls[i][1].record is op and calls[i][1].sequence_nr in (-1, seq):
            found.append(calls[i])
    return max(found, key=itemgetter(0))[1] if found else None


def _link(event: FunctionEvent, call: FunctionEvent | None, seq: Any) -> None:
    if call is not None:
        event.sequence_nr = call.sequence_nr = int(seq)
        event.fwd_thread = call.thread


# ---------------------------------------------------------------------------------------------- what users open


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
            _begin(self.name, BLOCK)
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

    enabled=False: does nothing. record_shapes, profile_memory, with_stack, with_flops: what to record besides. with_modules
    only concerns scripted modules, in torch too, and changes nothing. What only other devices have raises NotImplementedError.
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
        self.record_shapes, self.profile_memory, self.with_stack = (
            record_shapes or with_flops,
            profile_memory,
            with_stack,
        )
        self.with_flops, self.with_modules = with_flops, with_modules
        for name, value in rare.items():
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
        _recorded.look()
        return self

    def __exit__(self, *error: object) -> None:
        if not self.enabled:
            return
        _active.remove(self)
        _recorded.look()
        if not _active:
            _watch.stop()
        events = sorted(self._recorded, key=lambda event: event.time_range.start)
        self.function_events = EventList(events, with_flops=self.with_flops, profile_memory=self.profile_memory)

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events of each name as one."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The events as text."""
        return self._events().table(sort_by, row_limit, **options)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        return self._events().total_average()

    def export_chrome_trace(self, path: Any, metadata: dict[str, Any] | None = None) -> None:
        """Write the events as JSON for chrome://tracing or Perfetto; compressed where the name ends in .gz."""
        names = ("with_stack", "profile_memory", "record_shapes", "with_flops", "with_modules")
        write_trace(path, self._events(), metadata or {}, {name: getattr(self, name) for name in names})

    def export_stacks(self, path: Any, metric: str = "self_cpu_time_total") -> None:
        """Write the program's lines and times for flame graphs. Raises AssertionError unless the profile was made with_stack."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self._events().export_stacks(path, metric)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, none counted twice."""
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
