"""Streams and events of the CPU, for code that is written for every device: calls have finished when they return."""

from __future__ import annotations

from typing import Any

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "stream"]


class Stream:
    """A queue of work; nothing ever waits in it."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Returns at once."""

    def record_event(self) -> None:
        """Returns at once."""

    def wait_event(self, event: Any) -> None:
        """Returns at once."""


class Event:
    """A place in a queue of work, always reached."""

    def query(self) -> bool:
        """Whether the work before it has finished: True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Returns at once."""

    def synchronize(self) -> None:
        """Returns at once."""

    def wait(self, stream: Any = None) -> None:
        """Returns at once."""


_streams = [Stream()]


def current_stream(device: Any = None) -> Stream:
    """The stream of the innermost `stream` block."""
    return _streams[-1]


class StreamContext:
    """A block in which a stream is the current one; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            _streams.append(self.stream)

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            _streams.pop()


def stream(stream: Stream | None) -> StreamContext:
    """`StreamContext(stream)`."""
    return StreamContext(stream)
