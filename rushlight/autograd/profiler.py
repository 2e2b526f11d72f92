"""torch.autograd.profiler: how long operators, visits of nodes in backward, and marked blocks take.

While a profile is open, the kernel of every operator is timed under the names of torch's operators (`aten::linear`, in it
`aten::addmm`), functions that consist of operators are events around theirs, and backward visits every node: no program
replays a pass, as it would after some repetitions. Steps of optimizers, batches of loaders and replays of compiled functions
are one event each, without what they consist of; tensors that a program only makes (`torch.zeros`), and what only allocates
(`aten::empty`), have none. What torch does not have is called `rushlight::...`. Times are of the clock, in microseconds;
memory is the size of the results that are neither views nor written in place, less what is freed of them: in the event that
is open then, or in one named `[memory]`.
"""

from __future__ import annotations

import threading
import time
import weakref
from bisect import bisect_right
from collections.abc import Callable
from contextlib import nullcontext
from operator import itemgetter
from typing import Any

import numpy as np

from ..core.dispatch.aten.profile_names import Call, backward_name, composite_name, flops_of, shown
from ..core.dispatch.extension_points import BLOCK, CALL, FUNCTION, profiled_block, profiled_call, profiled_pass
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
_OF_OTHERS, _ALONE = -1, -2  # of a composite that is open, whose calls are shown and are not; then CALL


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
        self.held: dict[int, weakref.ref] = {}  # by their ids: arrays whose memory was counted and is not free yet
        self.with_stack = self.record_shapes = self.with_flops = self.profile_memory = False
        self.calls: dict[
            int, list[tuple[int, FunctionEvent, Op]]
        ] = {}  # of each thread: the time of `tick` when they began, their event, the operator

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
        self.is_open = False
        if self.scope == CALL and _stack.open and _stack.open[-1].scope in (CALL, _ALONE):  # another call's own work
            return _stack.open[-1]
        self.is_open = True
        return _begin(self.name, self.scope)

    def __exit__(self, *error: object) -> None:
        if self.is_open:
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
        around = _stack.open[-1] if _stack.open else None
        if around is not None and around.scope == CALL:  # a kernel calls another one
            return kernel(*args, **kwargs)
        writes = is_written_by(2)
        calls = _calls_of(record, args, writes)
        number = tick()
        scope = CALL if around is None else around.scope
        if around is not None and (scope == _ALONE or scope == _OF_OTHERS and calls[-1].name == around.name):
            opened, around.scope = [around], CALL  # it is this very call, or a part that torch's does not show
            if _recorded.record_shapes and calls[-1].name == around.name:
                around.input_shapes = calls[-1].shapes
        else:
            for call in calls[:-1]:
                _pass_over(call)
            opened = [_open(calls[-1])]
        inner: Call | None = None if scope == _ALONE else calls[-1]
        while inner is not None:
            for call in (*inner.before, *inner.parts[:-1]):
                _pass_over(call)
            inner = inner.parts[-1] if inner.parts else None
            if inner is not None:
                opened.append(_open(inner))
        _recorded.calls.setdefault(_stack.thread, []).append((number, opened[0], record))
        result = None
        try:
            result = kernel(*args, **kwargs)
            return result
        finally:
            for event in opened:
                if event is around:
                    event.scope = _ALONE  # what the composite does besides is not shown
                else:
                    _end()
            _measure(opened, calls[-1], result, writes)

    return run


def _composite(name: str, f: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a function that consists of operators, as an event where torch has an operator of this name.

    In a kernel or the rule of a gradient it has none: torch's rules call what it consists of.
    """
    around = _stack.open[-1].scope if _stack.open else BLOCK
    shown, of_others = ("", True) if around in (CALL, _VISIT, _ALONE) else composite_name(name)
    if not shown:
        return f(*args, **kwargs)
    event = _begin(f"aten::{shown}", _OF_OTHERS if of_others else _ALONE)
    if _recorded.record_shapes:
        event.input_shapes = [list(getattr(a, "shape", ())) for a in (*args, *kwargs.values())]
    try:
        return f(*args, **kwargs)
    finally:
        _end().scope = CALL


def _open(call: Call) -> FunctionEvent:
    event = _begin(call.name, CALL)
    if _recorded.record_shapes:
        event.input_shapes = call.shapes
    return event


def _pass_over(call: Call) -> None:
    """Show a call, with those that it makes, that takes no time of its own here."""
    _open(call)
    for part in (*call.before, *call.parts):
        _pass_over(part)
    _end()


def _measure(events: list[FunctionEvent], call: Call, result: Any, writes: bool) -> None:
    """Note the bytes of a result, and the operations that gave it. events: of the call and its last parts, inwards."""
    arrays = [
        a for a in (result if isinstance(result, tuple) else (result,)) if isinstance(a, (np.ndarray, np.generic))
    ]
    if _recorded.profile_memory and not writes:
        for a in arrays:
            if a.base is None:
                events[-1].self_cpu_memory_usage += a.nbytes
                _watch_memory(a)
    if _recorded.with_flops and arrays:
        for event in events:
            event.flops = flops_of(call, arrays[0])
            call = call.parts[-1] if call.parts else call


def _watch_memory(a: Any) -> None:
    """Subtract an array's bytes from the event in which it is freed; outside of all, `[memory]` is an event of its own, as in torch."""
    if isinstance(a, np.generic):  # numbers in the place of arrays without dimensions cannot be watched
        return
    size, held = a.nbytes, _recorded.held

    def freed(ref: weakref.ref) -> None:
        held.pop(id(ref), None)  # None: the profile is closed
        if not _recorded.profile_memory:
            return
        if _stack.open:
            _stack.open[-1].self_cpu_memory_usage -= size
        else:
            _begin("[memory]", CALL)
            _end().self_cpu_memory_usage -= size

    ref = weakref.ref(a, freed)
    held[id(ref)] = ref


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
        profiled_call.register(_composite)

    def stop(self) -> None:
        profiled_pass.register(None)
        profiled_block.register(None)
        profiled_call.register(None)
        for record, kernel, timed in self.before:
            if record.kernel is timed:
                record.replace(kernel)
        self.before.clear()
        _calls.clear()
        _recorded.calls.clear()
        _recorded.held.clear()


_watch = _Watch()


# ---------------------------------------------------------------------------------------------- backward


_TAKEN = Call("aten::detach", [], (Call("detach", []),))  # of a gradient that becomes a leaf's


class _ProfiledPass(Pass):
    """A backward pass whose nodes are events.

    A leaf's gradient is accumulated after the visit of the node that gave it, as in torch: its event is not inside of it.
    """

    _ready: list[Any] | None = None  # the leaves that the node visited now has given the last of their gradient

    def _visit(self, node: Any, g: Any) -> None:
        if type(node) is Output:
            super()._visit(node, g)
            return
        self._ready = []
        with _Block(f"autograd::engine::evaluate_function: {node.name()}", _VISIT) as event:
            _link(event, _call_that_gave(node), node.seq)
            super()._visit(node, g)
        del g  # the leaves' gradients may be in this memory: they are theirs where nothing else holds it
        ready, self._ready = self._ready, None
        for leaf in ready:
            self._release_leaf(leaf)

    def _gradients(self, node: Any, g: Any) -> Any:
        with _Block(node.name(), FUNCTION if node.op is None else _VISIT) as event:  # the program's code, or a rule
            _link(event, _call_that_gave(node), node.seq)
            if _recorded.record_shapes:
                event.input_shapes = [list(t.shape) for t in (g if isinstance(g, list) else [g]) if t is not None]
            shown = "" if self.create_graph else backward_name(node.name())
            if not shown:
                return super()._gradients(node, g)
            with _Block(f"aten::{shown}", _ALONE) as call:
                call.input_shapes = event.input_shapes
                grads = super()._gradients(node, g)
            call.scope = CALL
            return grads

    def _release_leaf(self, leaf: Any) -> None:
        if self.uses[leaf] > 1 or leaf not in self.grads:
            super()._release_leaf(leaf)
            return
        if self._ready is not None:
            self._ready.append(leaf)
            return
        name = "torch::autograd::AccumulateGrad"
        with _Block(f"autograd::engine::evaluate_function: {name}", _VISIT), _Block(name, _VISIT) as event:
            if _recorded.record_shapes:
                event.input_shapes = [list(leaf.shape)]
            t = leaf.ref()
            is_first = t is None or t.grad is None
            if is_first and not self.create_graph:
                _pass_over(_TAKEN)
            with nullcontext() if is_first else _Block("aten::add" if self.create_graph else "aten::add_", CALL):
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
        if i >= 0 and calls[i][2] is op and calls[i][1].sequence_nr in (-1, seq):
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
