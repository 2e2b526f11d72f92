"""How a capture hears of Python that runs: of frames that begin, of their instructions, of the C functions they call.

By `sys.monitoring` where there is one (Python 3.12 on): code of this package is left alone after its first event, so that
a capture takes a third less time. Before, and where other tools hold all of its numbers, by `sys.settrace` and
`sys.setprofile`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from threading import get_ident
from types import BuiltinFunctionType, CodeType, FrameType, MethodDescriptorType
from typing import Any, Protocol

from ...core.locks import lock


class Hears(Protocol):
    """What is told of events in its thread."""

    def leaves_out(self, code: CodeType) -> bool:
        """Whether nothing that a code object does is to be told."""
        ...

    def begins(self, frame: FrameType) -> set[int] | None:
        """A frame starts or goes on: the set for the offsets of its instructions, None where they are not wanted.

        A set that stays empty says nothing: from Python 3.12 on `sys.settrace` leaves out a code object's first frame.
        """
        ...

    def calls(self, frame: FrameType, function: Any) -> None:
        """A frame calls a C function, bound to its object where it is a method."""
        ...


class Traced:
    """Events by `sys.settrace` and `sys.setprofile`, which hold for the thread."""

    def __init__(self, hearer: Hears):
        self._hearer = hearer
        self._notes: dict[CodeType, Callable] = {}
        self._before = sys.gettrace(), sys.getprofile()
        self.resume()

    def resume(self) -> None:
        """Tell of what runs, again."""
        sys.settrace(self._called)
        sys.setprofile(self._calling)

    def pause(self) -> bool:
        """Tell nothing until `resume`, while code runs that calls none of the user's. Whether it told before.

        Four of five calls in a capture are the recorder's.
        """
        if sys.getprofile() is None:
            return False
        sys.setprofile(None)
        sys.settrace(None)
        return True

    def stop(self) -> None:
        """Tell no more, and give a debugger or profiler its place back."""
        tracing, profiling = self._before
        if profiling is None or callable(profiling):
            sys.setprofile(profiling)
        else:  # cProfile's before Python 3.12, which is C: it sets itself
            sys.setprofile(None)
            profiling.enable()
        sys.settrace(tracing)

    def _called(self, frame: FrameType, event: str, _: Any) -> Callable | None:
        code = frame.f_code
        if self._hearer.leaves_out(code):
            return None
        offsets = self._hearer.begins(frame)
        if offsets is None:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        note = self._notes.get(code)
        if note is None:
            note = self._notes[code] = _noting(offsets)
        return note

    def _calling(self, frame: FrameType, event: str, function: Any) -> None:
        if event == "c_call" and not self._hearer.leaves_out(frame.f_code):
            self._hearer.calls(frame, function)


def _noting(offsets: set[int]) -> Callable:
    add = offsets.add

    def note(frame: FrameType, event: str, _: Any) -> Callable:
        if event == "opcode":
            add(frame.f_lasti)
        return note

    return note


_running: dict[int, Monitored] = {}  # by thread
_lock = lock()
_tool: int | None = None  # the number by which `sys.monitoring` knows this package while something is in `_running`
_after_one: Any = None  # what an instruction's event returns: `DISABLE` while `_running` has one thread


class Monitored:
    """Events by `sys.monitoring`, which tells of all threads. In an unknown thread nothing is told."""

    def __init__(self, hearer: Hears):
        self.hearer = hearer
        self.wanted: dict[CodeType, set[int]] = {}

    @staticmethod
    def begin(hearer: Hears) -> Monitored | None:
        """Monitor the thread; None where other tools hold all numbers."""
        global _tool
        with _lock:
            if _tool is None:
                _tool = _free_number()
                if _tool is None:
                    return None
                _set_up(_tool)
            monitored = _running[get_ident()] = Monitored(hearer)
            _count()
            _monitoring().restart_events()  # those that an earlier capture has turned off
        return monitored

    def pause(self) -> bool:
        """Nothing: code that is left out costs nothing any more. False: `resume` is not needed."""
        return False

    def resume(self) -> None:
        """Nothing."""

    def stop(self) -> None:
        """Tell no more of this thread."""
        with _lock:
            _forget(get_ident())


def _forget(thread: int) -> None:
    global _tool
    monitoring = _monitoring()
    wanted = _running.pop(thread).wanted
    _count()
    others = [m.wanted for m in _running.values()]
    for code in wanted:
        if not any(code in theirs for theirs in others):
            monitoring.set_local_events(_tool, code, 0)
    if not _running:
        number, _tool = _tool, None
        monitoring.set_events(number, 0)
        for event in _CALLBACKS:
            monitoring.register_callback(number, getattr(monitoring.events, event), None)
        monitoring.free_tool_id(number)


def _count() -> None:
    """Whether one event of each instruction is enough: not where another thread wants to hear of it, too.

    Without the GIL a second thread could begin between an event and its `DISABLE`.
    """
    global _after_one
    with_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    _after_one = _monitoring().DISABLE if with_gil and len(_running) == 1 else None


def _in_child() -> None:
    """A forked child has none of the other threads, and no hearer of theirs."""
    for thread in [t for t in _running if t != get_ident()]:
        _forget(thread)


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=_in_child)


def _monitoring() -> Any:
    return vars(sys)["monitoring"]  # absent in Python 3.11, for which types are checked


def _free_number() -> int | None:
    monitoring = _monitoring()
    for number in (monitoring.OPTIMIZER_ID, 4, 3):
        try:
            monitoring.use_tool_id(number, "rushlight")
        except ValueError:
            continue
        return number
    return None


def _set_up(number: int) -> None:
    monitoring = _monitoring()
    for event, callback in _CALLBACKS.items():
        monitoring.register_callback(number, getattr(monitoring.events, event), callback)
    events = monitoring.events
    monitoring.set_events(number, events.PY_START | events.PY_RESUME | events.PY_THROW)


def _starts(code: CodeType, offset: int, error: Any = None) -> Any:
    monitored = _running.get(get_ident())
    if monitored is None:
        return None
    if monitored.hearer.leaves_out(code):
        return None if error is not None else _monitoring().DISABLE
    offsets = monitored.hearer.begins(sys._getframe(1))
    if offsets is not None and code not in monitored.wanted:
        monitored.wanted[code] = offsets
        events = _monitoring().events
        _monitoring().set_local_events(_tool, code, events.INSTRUCTION | events.CALL)
    return None


def _steps(code: CodeType, offset: int) -> Any:
    monitored = _running.get(get_ident())
    offsets = None if monitored is None else monitored.wanted.get(code)
    if offsets is None:
        return None
    offsets.add(offset)
    return _after_one  # no call: another thread could run in it and begin


def _calls(code: CodeType, offset: int, function: Any, first: Any) -> None:
    is_descriptor = type(function) is MethodDescriptorType
    if not is_descriptor and not isinstance(function, BuiltinFunctionType):  # or its subclass "builtin_method"
        return
    monitored = _running.get(get_ident())
    if monitored is None or code not in monitored.wanted:
        return
    if is_descriptor and first is not _monitoring().MISSING:
        function = function.__get__(first, type(first))
    monitored.hearer.calls(sys._getframe(1), function)


_CALLBACKS = {"PY_START": _starts, "PY_RESUME": _starts, "PY_THROW": _starts, "INSTRUCTION": _steps, "CALL": _calls}


def watch(hearer: Hears) -> Traced | Monitored:
    """Tell `hearer` of what this thread runs, until `stop`."""
    if sys.version_info >= (3, 12) and get_ident() not in _running:
        monitored = Monitored.begin(hearer)
        if monitored is not None:
            return monitored
    return Traced(hearer)
