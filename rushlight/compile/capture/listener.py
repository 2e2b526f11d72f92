"""What a thread tells while a call is captured, passed on to a recorder."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ...core.dispatch.mode import thread
from ...core.interrupts import raise_if_interrupted
from ...core.tensor.storage import describe, user_line
from ..guards.python_trace import Reads, Trace
from .recorder import Recorder
from .scalars_read import plain
from .sources import CaptureError


class Listener:
    """Passes events on to a recorder until one cannot be captured; `error` is why.

    raises: of an error, whether it is raised where the user's code is. Else the call goes on as if it were not captured.
    """

    def __init__(self, recorder: Recorder, raises: Callable[[Exception], bool]):
        self._recorder, self.raises = recorder, raises
        self.error: CaptureError | None = None
        self.trace: Trace | None = None  # notes the user's Python meanwhile

    @property
    def recorder(self) -> Recorder | None:
        """The recorder, None once it has given up."""
        return self._recorder if self.error is None else None

    def __call__(self, *event: Any) -> None:
        self._pass_on(self._recorder, event)

    def _pass_on(self, method: Callable, values: tuple) -> Any:
        if self.error is None:
            trace = self.trace
            paused = trace is not None and trace.pause()
            try:
                return method(*values)
            except Exception as error:
                self.refuse(error)
            finally:
                if trace is not None and paused:
                    trace.resume()
        elif self.raises(self.error):
            raise self.error  # what the user's code has caught
        return None

    def refuse(self, error: Exception) -> None:
        """Give up: what cannot be captured, or a mistake in the recorder, ends no one's program."""
        raise_if_interrupted(error)
        if not isinstance(error, CaptureError):
            if self.raises(error) or os.environ.get("RUSHLIGHT_CHECK") == "1":
                raise error
            error = CaptureError(f"{describe(user_line(1))}: {type(error).__name__}: {error}")
        self.error = error
        if self.raises(error):
            raise error

    def read_names(self, reads: Reads) -> None:
        """The call has ended; this is what its Python read."""
        self._recorder.reads.include(reads)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._recorder, name)
        return lambda *values: self._pass_on(method, values)

    def scheduled(self, step: Callable, scheduler: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A scheduler steps: its Python side runs now, and again in each replay."""
        if self.error is not None:
            return step(scheduler, *args, **kwargs)
        self._recorder.schedules.append((step, scheduler, args, kwargs))
        state = thread.state
        state.listener = None
        state.refresh()
        try:
            return step(scheduler, *map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
        finally:
            state.listener = self
            state.refresh()
