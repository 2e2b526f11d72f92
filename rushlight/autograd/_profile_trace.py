"""Profiles as files for chrome://tracing, Perfetto and TensorBoard, in the layout of torch's own."""

from __future__ import annotations

import gzip
import json
import os
import socket
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from ..core.atomic import replacing
from ..core.dispatch.extension_points import BLOCK

__all__ = ["write_trace"]

_CATEGORIES = {BLOCK: "user_annotation"}  # by scope; the others are operators


def write_trace(
    path: Any, events: Iterable[Any], metadata: dict[str, Any], flags: dict[str, bool] | None = None
) -> None:
    """Write events; compressed where the name ends in .gz. metadata: further entries of the file. flags: what was recorded."""
    path = os.fspath(path)
    base_ns = time.time_ns() - time.perf_counter_ns()
    trace = {
        "schemaVersion": 1,
        "deviceProperties": [],
        "trace_id": uuid.uuid4().hex.upper(),
        **{name: 1 for name, value in (flags or {}).items() if value},
        "host_name": socket.gethostname(),
        **metadata,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base_ns,
        "traceEvents": list(_entries(list(events))),
        "traceName": path,
    }
    data = json.dumps(trace, indent=1).encode()
    with replacing(path) as file:
        file.write(gzip.compress(data) if path.endswith(".gz") else data)


def _entries(events: list[Any]) -> Iterator[dict[str, Any]]:
    """Names of the process and its threads, the events, and arrows from each call to the visit of its node in backward."""
    pid = os.getpid()
    start = min((e.time_range.start for e in events), default=0.0)
    end = max((e.time_range.end for e in events), default=0.0)
    program = os.path.basename(sys.executable) or "python"
    yield _name(pid, 0, "process_name", start, name=program)
    yield _name(pid, 0, "process_labels", start, labels="CPU")
    yield _name(pid, 0, "process_sort_index", start, sort_index=pid)
    for thread in dict.fromkeys(event.thread for event in events):
        yield _name(pid, thread, "thread_name", start, name=f"thread {thread} ({program})")
        yield _name(pid, thread, "thread_sort_index", start, sort_index=thread)
    calls: dict[int, Any] = {}  # by the number of the node that they gave
    for place, event in enumerate(events):
        yield _event(pid, place, event)
        if event.sequence_nr < 0:
            continue
        if event.scope != 1:
            calls[event.sequence_nr] = event
        elif event.name.startswith("autograd::engine") and event.sequence_nr in calls:
            call = calls.pop(event.sequence_nr)
            arrow = {"id": event.sequence_nr, "pid": pid, "cat": "fwdbwd", "name": "fwdbwd"}
            yield {"ph": "s", **arrow, "tid": call.thread, "ts": call.time_range.start}
            yield {"ph": "f", **arrow, "tid": event.thread, "ts": event.time_range.start, "bp": "e"}
    yield {
        "ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": start,
        "dur": end - start, "args": {"Op count": 0},
    }  # fmt: skip
    whole = {"name": "Iteration Start: PyTorch Profiler", "pid": "Traces", "tid": "Trace PyTorch Profiler"}
    yield {"ph": "i", "s": "g", **whole, "ts": start}
    yield {"ph": "i", "s": "g", **whole, "name": "Record Window End", "tid": "", "pid": "", "ts": end}


def _name(pid: int, tid: int, what: str, at: float, **args: Any) -> dict[str, Any]:
    return {"ph": "M", "name": what, "ts": at, "pid": pid, "tid": tid, "args": args}


def _event(pid: int, place: int, event: Any) -> dict[str, Any]:
    args: dict[str, Any] = {"External id": event.id, "Record function id": 0, "Ev Idx": place}
    if event.sequence_nr >= 0:
        args |= {"Sequence number": event.sequence_nr, "Fwd thread id": event.fwd_thread or 0}
    if event.input_shapes:
        args["Input Dims"] = event.input_shapes
    if event.stack:
        args["Call stack"] = ";".join(event.stack)
    if event.flops:
        args["flops"] = event.flops
    return {
        "ph": "X", "cat": _CATEGORIES.get(event.scope, "cpu_op"), "name": event.trace_name, "pid": pid, "tid": event.thread,
        "ts": event.time_range.start, "dur": event.cpu_time_total, "args": args,
    }  # fmt: skip
