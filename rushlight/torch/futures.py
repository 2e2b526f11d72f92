"""`torch.futures`: values that come later."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from ._C import Future as Base

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Base[T]):
    """A value that some thread sets once; others wait for it.

    >>> future = Future()
    >>> later = future.then(lambda f: f.value() + 1)
    >>> future.set_result(1)
    >>> later.wait()
    2
    """

    def __init__(self, *, devices: Any = None):
        super().__init__(devices)

    def set_exception(self, result: BaseException) -> None:
        """Set an error in the place of the value."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)


def collect_all(futures: list[Future]) -> Base[list[Future]]:
    """A future of the list, when all of them have come."""
    everything: Base[list[Future]] = Base()
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
