"""`torch.futures`: values that come later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ._C import Future as Beneath

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Beneath, Generic[T]):
    """A value that some thread sets once; others wait for it.

    >>> future = Future()
    >>> later = future.then(lambda f: f.value() + 1)
    >>> future.set_result(1)
    >>> later.wait()
    2
    """

    def __init__(self, *, devices: Any = None):
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], Any]] = []

    def done(self) -> bool:
        """Whether the value, or an error in its place, has come."""
        return self._done.is_set()

    def wait(self) -> T:
        """The value, when it has come. Raises the error that was set in its place."""
        self._done.wait()
        return self.value()

    def value(self) -> T:
        """The value. Raises RuntimeError where it has not come yet."""
        if not self.done():
            raise RuntimeError("value() can only be called after the future has completed; call wait() first")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: T) -> None:
        """Set the value. Raises RuntimeError where one is set already."""
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error in the place of the value."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError("Future can only be marked completed once")
            self._value, self._error = value, error
            self._done.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        """Call `callback(self)` when the value comes, or now."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Any], Any]) -> Future:
        """A future of what `callback(self)` returns; what it raises comes as RuntimeError, with the error as its cause."""
        following: Future = Future()

        def run(_: Any) -> None:
            try:
                following.set_result(callback(self))
            except Exception as error:
                text = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                failure = RuntimeError(text)
                failure.__cause__ = error
                following.set_exception(failure)

        self.add_done_callback(run)
        return following


def collect_all(futures: list[Future]) -> Future[list[Future]]:
    """A future of the list, when all of them have come."""
    everything: Future[list[Future]] = Future()
    left = len(futures)
    lock = threading.Lock()
    if not futures:
        everything.set_result([])

    def one_more(_: Any) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = not left
        if last:
            everything.set_result(futures)

    for future in futures:
        future.add_done_callback(one_more)
    return everything


def wait_all(futures: list[Future]) -> list[Any]:
    """The values of all. Raises the first error."""
    return [future.wait() for future in collect_all(futures).wait()]
