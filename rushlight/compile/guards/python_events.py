"""How a capture hears of Python that runs: of frames that begin, of their instructions, of the C functions they call.

By `sys.monitoring` where there is one (Python 3.12 on): code of this package is left alone after its first event, so that
a capture takes a third less time. Before, and where other tools hold all of its numbers or another thread captures, by
`sys.settrace` and `sys.setprofile`.
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
        """A frame starts or goes on: the code object's set for offsets of instructions, None where they are not wanted.

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
        self._notes: dict[int, Callable] = {}
        self._before = sys.gettrace(), sys.getprofile()
        self.resume()

    def resume(self) -> None:
        """Tell of what runs, again."""
        sys.settrace(self._called)
        sys.setprofile(self._calling)

    def pause(self) -> bool:
        """Tell nothing until `resume`, while code runs that calls none of the user's. Whether `resume` is needed.

        Four of five calls in a capture are the recorder's. From Python 3.12 on it goes on: each change there makes all code be
        instrumented again.
        """
        if sys.version_info >= (3, 12) or sys.getprofile() is None:
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
        if self._hearer.leaves_out(frame.f_code):
            return None
        offsets = self._hearer.begins(frame)
        if offsets is None:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        note = self._notes.get(id(offsets))
        if note is None:
            note = self._notes[id(offsets)] = _noting(offsets)
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


_lock = lock()
_monitored: Monitored | None = None


class Monitored:
    """Events by `sys.monitoring`. One thread at a time has them, as what it turns off is off for all."""

    def __init__(self, hearer: Hears, number: int):
        self.hearer, self.number, self.thread = hearer, number, get_ident()
        # by the identity of code, since that of a text that was run twice is equal
        self.wanted: dict[int, tuple[CodeType, set[int]]] = {}

    @staticmethod
    def begin(hearer: Hears) -> Monitored | None:
        """Monitor the thread; None where one is monitored already, or other tools hold all numbers."""
        global _monitored
        monitoring = _monitoring()
        with _lock:
            number = _free_number() if _monitored is None else None
            if number is None:
                return None
            monitored = _monitored = Monitored(hearer, number)
            events = monitoring.events
            for event, callback in _CALLBACKS.items():
                monitoring.register_callback(number, getattr(events, event), callback)
            monitoring.restart_events()  # those that an earlier capture has turned off
            monitoring.set_events(number, events.PY_START | events.PY_RESUME | events.PY_THROW)
        return monitored

    def pause(self) -> bool:
        """Nothing: code that is left out costs nothing any more. False: `resume` is not needed."""
        return False

    def resume(self) -> None:
        """Nothing."""

    def stop(self) -> None:
        """Tell no more, and give the number back."""
        global _monitored
        monitoring = _monitoring()
        with _lock:
            monitoring.set_events(self.number, 0)
            for code, _ in self.wanted.values():
                monitoring.set_local_events(self.number, code, 0)
            for event in _CALLBACKS:
                monitoring.register_callback(self.number, getattr(monitoring.events, event), None)
            monitoring.free_tool_id(self.number)
            _monitored = None


def _stop_in_child() -> None:
    """In a forked child: the thread that was monitored is not there."""
    if _monitored is not None and _monitored.thread != get_ident():
        _monitored.stop()


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=_stop_in_child)


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


def _of_this_thread() -> Monitored | None:
    monitored = _monitored
    return monitored if monitored is not None and monitored.thread == get_ident() else None


def _starts(code: CodeType, offset: int, error: Any = None) -> Any:
    monitored = _of_this_thread()
    if monitored is None:
        return None
    if monitored.hearer.leaves_out(code):
        return None if error is not None else _monitoring().DISABLE
    offsets = monitored.hearer.begins(sys._getframe(1))
    if offsets is not None and id(code) not in monitored.wanted:
        monitored.wanted[id(code)] = code, offsets
        events = _monitoring().events
        _monitoring().set_local_events(monitored.number, code, events.INSTRUCTION | events.CALL)
    return None


def _steps(code: CodeType, offset: int) -> Any:
    monitored = _of_this_thread()
    if monitored is None:
        return None
    monitored.wanted[id(code)][1].add(offset)
    return _monitoring().DISABLE


def _calls(code: CodeType, offset: int, function: Any, first: Any) -> None:
    kind = type(function)
    if kind is not MethodDescriptorType and not issubclass(kind, BuiltinFunctionType):
        return
    monitored = _of_this_thread()
    if monitored is None:
        return
    if kind is MethodDescriptorType and first is not _monitoring().MISSING:
        function = function.__get__(first, type(first))
    monitored.hearer.calls(sys._getframe(1), function)


_CALLBACKS = {"PY_START": _starts, "PY_RESUME": _starts, "PY_THROW": _starts, "INSTRUCTION": _steps, "CALL": _calls}


def watch(hearer: Hears) -> Traced | Monitored:
    """Tell `hearer` of what this thread runs, until `stop`."""
    return (Monitored.begin(hearer) if sys.version_info >= (3, 12) else None) or Traced(hearer)
