"""Calling a function while a recorder hears what it does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from ...core.dispatch.extension_points import watch_modules
from ...core.dispatch.mode import thread
from ..guards.python_trace import Trace
from .listener import Listener
from .printing import Output


def listen(listener: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a function; what it does is told to `listener`."""
    state = thread.state
    watch = watch_modules.value
    state.listener = listener
    state.refresh()
    trace: Any = nullcontext()
    if isinstance(listener, Listener):
        trace = listener.trace = Trace(listener)
    try:
        with Output(listener), nullcontext() if watch is None else watch(), trace:
            return function(*args, **kwargs)
    finally:
        if isinstance(trace, Trace):
            listener.trace = None
            listener.read_names(trace.reads())
        state.listener = None
        if state.autocast is not None:
            state.autocast.forget()  # casts that only the program knows
        state.refresh()
