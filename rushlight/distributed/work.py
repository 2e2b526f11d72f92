"""Results of collectives that are under way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

__all__ = ["Future", "Work"]


class Work:
    """A collective that runs in a thread of its own: `wait()` ends when it is done, and raises what it raised."""

    def __init__(self, task: Callable[[], Any], result: Any = None):
        self._error: BaseException | None = None
        self._value = result
        self._thread: threading.Thread | None = threading.Thread(target=self._run, args=(task,), daemon=True)
        self._thread.start()

    def _run(self, task: Callable[[], Any]) -> None:
        try:
            task()
        except BaseException as error:
            self._error = error

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the end. Raises what the collective raised, or RuntimeError when the time is up."""
        thread = self._thread
        if thread is not None:
            thread.join(None if timeout is None or not timeout else timeout.total_seconds())
            if thread.is_alive():
                raise RuntimeError("Wait timeout: the collective is still under way")
        if self._error is not None:
            raise self._error
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        """Whether it has ended."""
        return self._thread is None or not self._thread.is_alive()

    def is_success(self) -> bool:
        """Whether it has ended well."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """What it raised."""
        return self._error

    def result(self) -> Any:
        """The tensors that it wrote."""
        self.wait()
        return self._value

    def get_future(self) -> Future:
        """A future of the tensors that it writes."""
        return Future(self)


class Future:
    """The result of a `Work`, which functions can be attached to."""

    def __init__(self, work: Any = None, value: Callable[[], Any] | None = None):
        self._value = value or work.result
        self._done = work.is_completed if work is not None else (lambda: True)

    def wait(self) -> Any:
        """The value, when it is there."""
        return self._value()

    value = wait

    def done(self) -> bool:
        """Whether it is there."""
        return self._done()

    def then(self, callback: Callable[[Any], Any]) -> Future:
        """A future of what `callback(this future)` returns."""
        return Future(value=lambda: callback(self))


class Receipt(Work):
    """A message that `irecv` waits for; it is taken from the inbox by `wait`."""

    def __init__(self, is_there: Callable[[], bool], take: Callable[[timedelta | None], int]):
        self._is_there, self._take = is_there, take
        self._source: int | None = None
        self._error, self._thread = None, None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the message (None: as long as the group's calls wait) and write it into the tensor."""
        if self._source is None:
            self._source = self._take(timeout)
        return True

    def is_completed(self) -> bool:
        """Whether the message has come."""
        if self._source is None and self._is_there():
            self.wait()
        return self._source is not None

    def source_rank(self) -> int:
        """Who sent it."""
        self.wait()
        return self._source  # type: ignore[return-value]
