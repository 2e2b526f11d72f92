"""What a function prints while it is captured: its program would not print it."""

from __future__ import annotations

import sys
from typing import Any

from ...core.dispatch.mode import thread


class Output:
    """A context in which the listener is told when this thread writes to `sys.stdout`."""

    def __init__(self, listener: Any):
        self._listener, self._stream = listener, sys.stdout
        self._done = False

    def __enter__(self) -> None:
        if self._stream is not None:
            sys.stdout = self

    def __exit__(self, *error: object) -> None:
        self._done = True
        while isinstance(stream := sys.stdout, Output) and stream._done:  # threads may leave in another order
            sys.stdout = stream._stream

    def write(self, text: str) -> int:
        """Pass on what is printed."""
        if thread.state.listener is self._listener:
            self._listener.left("print(), which the compiled program would not repeat")
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
