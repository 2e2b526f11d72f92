"""Results of collectives that are under way."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from .control.guard import notice
from .errors import DistError
from .reduce_op import silence

__all__ = ["Future", "Line", "Work", "all_of", "completed"]


class Work:
    """A collective that runs in another thread: `wait()` ends when it is done, and raises what it raised.

    start: called with a function without arguments, which it lets a thread carry out; by default a new thread.
    """

    def __init__(self, task: Callable[[], Any], result: Any = None, start: Callable[[Any], Any] | None = None):
        self._error: BaseException | None = None
        self._value = result
        self._over = threading.Event()
        self._changing = threading.Lock()
        self._callbacks: list[Callable[[], Any]] = []
        self.limit: timedelta | None = None  # of waiting, where the call gives none
        (start or _in_a_thread)(lambda: self._run(task))

    def _run(self, task: Callable[[], Any]) -> None:
        try:
            with silence():
                task()
        except BaseException as error:
            self._error = error
        with self._changing:
            self._over.set()
        for callback in self._callbacks:
            callback()

    def when_over(self, callback: Callable[[], Any]) -> None:
        """Call a function when it has ended, in the thread that ends it; at once if it has."""
        with self._changing:
            if not self._over.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the end. Raises what the collective raised, or RuntimeError when the time is up."""
        timeout = timeout or self.limit
        if not self._over.wait(None if timeout is None or not timeout else timeout.total_seconds()):
            raise RuntimeError("Wait timeout: the collective is still under way")
        if self._error is not None:
            notice()
            raise self._error
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        """Whether it has ended."""
        return self._over.is_set()

    def is_success(self) -> bool:
        """Whether it has ended well."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """What it raised."""
        return self._error

    def get_future_result(self) -> Future:
        """A future of how the call has ended, of NCCL's calls. Raises RuntimeError, as for gloo's."""
        raise RuntimeError("Work::getFutureResult not implemented.")

    def source_rank(self) -> int:
        """Who sent what `recv` has taken. Raises RuntimeError for other calls."""
        raise RuntimeError(
            "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call."
        )

    def result(self) -> Any:
        """The tensors that it wrote."""
        self.wait()
        return self._value

    def get_future(self) -> Future:
        """A future of the tensors that it writes."""
        return Future(self)


def _in_a_thread(run: Callable[[], Any]) -> None:
    threading.Thread(target=run, daemon=True, name="rushlight-call").start()


class Line:
    """The calls of one group, one after the other: those that are waited for in the thread that waits, if it can be."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Callable[[], Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._waiting = self.wanted = 0
        self._thread: threading.Thread | None = None

    def start(self, task: Callable[[], Any], result: Any = None) -> Work:
        """Let the line's thread carry out a task."""
        with self._counting:
            self._waiting += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, daemon=True, name="rushlight-calls")
                self._thread.start()

        def in_turn() -> Any:
            try:
                with self._lock:
                    return task()
            finally:
                with self._counting:
                    self._waiting -= 1

        return Queued(self, in_turn, result)

    def run(self, task: Callable[[], Any]) -> Any:
        """What a task returns, which is carried out here, or after those that wait."""
        if self._thread is not None and self._is_here():  # a callback of a call
            return task()
        if not self._waiting:
            with self._lock:
                return task()
        returned: list[Any] = []
        self.start(lambda: returned.append(task())).wait()
        return returned[0]

    def if_idle(self, function: Callable[[], Any]) -> None:
        """Call a function, unless a call is under way."""
        if not self._waiting and self._lock.acquire(blocking=False):
            try:
                function()
            finally:
                self._lock.release()

    def in_background(self) -> bool:
        """Whether this is the line's thread, and no other one waits for a call: there is no hurry."""
        return self._thread is not None and not self.wanted and self._is_here()

    def _is_here(self) -> bool:
        return threading.get_ident() == self._thread.ident  # type: ignore[union-attr]

    def put(self, task: Callable[[], Any]) -> None:
        """Let the line's thread call a function."""
        self._tasks.put(task)

    def want(self, change: int) -> None:
        """One more, or one less, waits for a call."""
        with self._counting:
            self.wanted += change

    def _serve(self) -> None:
        while True:
            self._tasks.get()()


class Queued(Work):
    """A call of a `Line`."""

    def __init__(self, line: Line, task: Callable[[], Any], result: Any):
        self._line = line
        super().__init__(task, result, line.put)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the end, as `Work.wait` does; the call hurries meanwhile."""
        self._line.want(1)
        try:
            return super().wait(timeout)
        finally:
            self._line.want(-1)

    synchronize = wait


class Future:
    """The result of a `Work`, which functions can be attached to."""

    def __init__(self, work: Work, value: Callable[[], Any] | None = None):
        self._work = work
        self._value = work.result if value is None else value

    def wait(self) -> Any:
        """The value, when it is there. Raises what the collective, or a function on which it depends, has raised."""
        return self._value()

    value = wait

    def done(self) -> bool:
        """Whether it is there."""
        return self._work.is_completed()

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call `callback(this future)` when the value is there; at once if it is."""
        self._work.when_over(lambda: callback(self))

    def then(self, callback: Callable[[Any], Any]) -> Future:
        """A future of what `callback(this future)` returns, which is called once, when the value is there.

        What the callback raises comes from that future as RuntimeError, with the error as its cause.
        """
        returned: list[Any] = []

        def call() -> None:
            try:
                returned.append(callback(self))
            except DistError:  # of the collective itself
                raise
            except Exception as error:
                text = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                raise RuntimeError(text) from error

        following = Work(call, None, self._work.when_over)

        def value() -> Any:
            following.wait()
            return returned[0]

        return Future(following, value)


def completed(value: Any) -> Future:
    """A future whose value is there."""
    return Future(Work(lambda: None, value, lambda run: run()))


def all_of(works: list[Work], value: Any) -> Work:
    """A call that has ended when several have, and whose result is `value`."""

    def wait_for_all() -> None:
        for work in works:
            work.wait()

    return Work(wait_for_all, value)


class Receipt(Work):
    """A message that `irecv` waits for; it is taken from the inbox by `wait`."""

    def __init__(self, is_there: Callable[[], bool], take: Callable[[timedelta | None], int]):
        self._is_there, self._take = is_there, take
        self._source: int | None = None
        self._error = None

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
