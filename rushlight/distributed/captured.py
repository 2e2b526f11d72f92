"""Collectives that a recorder puts into a program: each replay makes them again, as the eager call did.

A program is replayed in one process while another one captures or runs eagerly. So a replay goes through the same group's
methods, with the same words and in the same order, and the others cannot tell the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import numpy as np

from ..core.dispatch.mode import emit_event, thread
from ..core.tensor.storage import storage_of
from ..core.tensor.tensor import Tensor
from .process_group import ProcessGroup
from .work import Future, Work
from .world import is_there

__all__ = ["Collective", "SumInPlace", "is_ready"]


def is_ready(group: ProcessGroup) -> bool:
    """Whether a program may go on to make its collectives of a group: it is there, and makes them at once."""
    return is_there(group) and group.coalescing is None


class Collective:
    """`call(key, array)` of a group, which gives what takes the place of the array's elements; or `call(key, array, out)`.

    writes: whether it does so in this process, not only in others. output: the tensor in whose memory the result is, if it is
    another one. is_alike: whether all processes get the same.
    """

    is_bucket = False

    def __init__(
        self,
        name: str,
        group: ProcessGroup,
        call: Callable[..., Any],
        writes: bool = True,
        output: Tensor | None = None,
        is_alike: bool = True,
    ):
        self.name, self.group, self.call, self.writes, self.is_alike = name, group, call, writes, is_alike
        self.output = None if output is None else (output._array.shape, output._array.dtype)
        self.timeout: timedelta | None = None  # of waiting for a call in two halves
        self._work: Work | None = None
        self._values: Any = None

    @property
    def condition(self) -> tuple[Any, Callable[[], bool]]:
        """What has to hold for a replay."""
        group = self.group
        return ("group", id(group)), lambda: is_ready(group)

    def act(self, *arrays: np.ndarray) -> None:
        """Make the call, in the memory of the last array."""
        key = self.group.key(is_recorded=True)
        self._put(self.group.run(lambda: self.call(key, *arrays)), arrays[-1])

    def _put(self, values: Any, target: np.ndarray) -> None:
        if self.writes and values is not target:
            np.copyto(target, values.reshape(target.shape))

    # ------------------------------------------------------------------------------------------ in two halves

    def start(self, *arrays: np.ndarray) -> None:
        """Let the group's thread make the call, in the memory of the last array where that can be."""
        key = self.group.key(is_recorded=True)

        def task() -> None:
            self._values = self.call(key, *arrays)

        self._work = self.group.start(task)

    def wait(self) -> np.ndarray:
        """What the call that was started has given. Raises what it raised."""
        work = self._work
        assert work is not None  # start() comes first
        work.wait(self.timeout)
        self._work, values, self._values = None, self._values, None
        return values

    def is_under_way(self) -> bool:
        """Whether it was started and not waited for."""
        return self._work is not None

    def give_up(self) -> None:
        """Wait for the end, whatever it is: the memory is needed for something else."""
        try:
            self.wait()
        except Exception:
            self._work = self._values = None  # the error that has ended the program is the one that counts

    # ------------------------------------------------------------------------------------------ while a recorder listens

    def on(self, tensor: Tensor, output: Tensor | None = None, async_op: bool = False) -> Work | None:
        """Make the call on a tensor, into `output` if there is one, if a recorder listens that can repeat it; else None."""
        target = tensor if output is None else output
        values = (tensor,) if output is None else (tensor, output)
        if thread.state.level <= 1 or not is_ready(self.group):
            return None
        if not emit_event("exchanged", "begin" if async_op else "whole", tensor, self, output):
            return None
        if async_op:
            self.start(*[t._array for t in values])
            return Begun(self, tensor, output)
        self.act(*[t._array for t in values])
        if self.writes:
            storage_of(target).wrote(f"torch.distributed.{self.name}")
        return Work(lambda: None, [target], lambda run: run())


class SumInPlace(Collective):
    """A sum of several tensors in their own memory, as one call: each, times `factor`, with its dimensions in the order of `orders`."""

    is_bucket = True

    def __init__(self, group: ProcessGroup, factor: float, orders: Sequence[Sequence[int] | None]):
        super().__init__("all_reduce(SUM)", group, lambda key, *flat: group.sum_in_place(key, list(flat), factor))
        self.orders = orders

    def act(self, *arrays: np.ndarray) -> None:
        """Make the call, in the memory of the arrays."""
        laid = [a if order is None else a.transpose(order) for a, order in zip(arrays, self.orders, strict=True)]
        flat = [array.reshape(-1) for array in laid]
        key = self.group.key(is_recorded=True)
        self.group.run(lambda: self.call(key, *flat))
        for array, values in zip(laid, flat, strict=True):
            if not array.flags.c_contiguous:
                np.copyto(array, values.reshape(array.shape))


class Begun(Work):
    """A collective that a recorder has heard of, and hears of again where it is waited for."""

    def __init__(self, step: Collective, tensor: Tensor, output: Tensor | None):
        self.step, self.tensor, self.output = step, tensor, output
        self._target = tensor if output is None else output
        self._listener = thread.state.listener
        self._is_open, self._error = True, None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the end; in a compiled function each replay waits at this place."""
        if self._is_open:
            self._is_open, self.step.timeout = False, timeout
            if thread.state.listener is self._listener:
                emit_event("exchanged", "end", self.tensor, self.step, self.output)
            try:
                self.step._put(self.step.wait(), self._target._array)
            except BaseException as error:
                self._error = error
                raise
            storage_of(self._target).wrote(f"torch.distributed.{self.step.name}")
        if self._error is not None:
            raise self._error
        return True

    synchronize = wait

    def _end(self, what: str) -> None:
        """Wait, and say that a program would not repeat what depends on how far the call is."""
        emit_event(
            "left",
            f"{what} of a torch.distributed call depends on how far it is, which the compiled program would not ask",
        )
        with suppress(Exception):
            self.wait()

    def is_completed(self) -> bool:
        """True: it has ended then."""
        self._end("is_completed()")
        return True

    def is_success(self) -> bool:
        """Whether it has ended well."""
        self._end("is_success()")
        return self._error is None

    def exception(self) -> BaseException | None:
        """What it raised."""
        self._end("exception()")
        return self._error

    def when_over(self, callback: Callable[[], Any]) -> None:
        """Call a function when it has ended."""
        self._end("a callback")
        callback()

    def get_future(self) -> Future:
        """A future of the tensor that it writes."""
        self._end("get_future()")
        return Future(self)

    def result(self) -> Any:
        """The tensor that it writes."""
        self.wait()
        return [self._target]
