"""Waiting for channels and for processes together: by poll(), or, as on Windows, by select() in short turns."""

import select
import time
from typing import Any

__all__ = ["GONE", "READABLE", "WRITABLE", "SelectPoll", "open_poll"]

READABLE, WRITABLE = getattr(select, "POLLIN", 1), getattr(select, "POLLOUT", 4)
GONE = getattr(select, "POLLHUP", 16) | getattr(select, "POLLERR", 8)

# How soon the end of a process is seen, and a Ctrl-C, which does not end select() on Windows.
_TURN_S = 0.1


class SelectPoll:
    """`select.poll()` for sockets, by select(), and for sentinels of processes (integers), which select() does not know.

    A socket whose other end is gone counts as readable: reading it tells.
    """

    def __init__(self) -> None:
        self._events: dict[int, int] = {}
        self._sentinels: set[int] = set()

    def register(self, source: Any, events: int) -> None:
        if isinstance(source, int):
            self._sentinels.add(source)
        else:
            self._events[source.fileno()] = events

    modify = register

    def unregister(self, source: int) -> None:
        self._events.pop(source, None)
        self._sentinels.discard(source)

    def poll(self, timeout_ms: float | None = None) -> list[tuple[int, int]]:
        """(source, events) of what is ready, at least one unless the time runs out."""
        deadline = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
        while True:
            left_s = _TURN_S if deadline is None else max(0.0, deadline - time.monotonic())
            ready = self._ready_sockets(min(left_s, _TURN_S)) + self._ended_processes()
            if ready or left_s == 0.0:
                return ready

    def _ready_sockets(self, timeout_s: float) -> list[tuple[int, int]]:
        if not self._events:  # Windows' select() refuses three empty lists
            time.sleep(timeout_s)
            return []
        to_read, to_write = (
            [fd for fd, events in self._events.items() if events & event] for event in (READABLE, WRITABLE)
        )
        readable, writable, _ = map(set, select.select(to_read, to_write, [], timeout_s))
        return [
            (fd, READABLE * (fd in readable) | WRITABLE * (fd in writable))
            for fd in self._events
            if fd in readable or fd in writable
        ]

    def _ended_processes(self) -> list[tuple[int, int]]:
        from multiprocessing.connection import wait

        # one at a time: Windows waits for 63 together at most
        return [(sentinel, READABLE) for sentinel in self._sentinels if wait([sentinel], 0)]


def open_poll() -> Any:
    """An empty `select.poll()`, or what takes its place."""
    return select.poll() if hasattr(select, "poll") else SelectPoll()
