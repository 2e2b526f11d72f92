"""Collectives that a recorder puts into a program: each replay makes them again, as the eager call did.

A program is replayed in one process while another one captures or runs eagerly. So a replay goes through the same group's
methods, with the same words and in the same order, and the others cannot tell the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dispatch.mode import emit_event, thread
from ..core.tensor.storage import storage_of
from ..core.tensor.tensor import Tensor
from .process_group import ProcessGroup
from .work import Work
from .world import is_there

__all__ = ["Collective", "Sum", "is_ready"]


def is_ready(group: ProcessGroup) -> bool:
    """Whether a program may go on to make its collectives of a group: it is there, and makes them at once."""
    return is_there(group) and group.coalescing is None


class Collective:
    """`call(key, array)` of a group, which gives what takes the place of the array's elements.

    writes: whether it does so in this process, not only in others.
    """

    def __init__(self, name: str, group: ProcessGroup, call: Callable[[bytes, np.ndarray], Any], writes: bool = True):
        self.name, self.group, self.call, self.writes = name, group, call, writes

    @property
    def condition(self) -> tuple[Any, Callable[[], bool]]:
        """What has to hold for a replay."""
        group = self.group
        return ("group", id(group)), lambda: is_ready(group)

    def act(self, array: np.ndarray) -> None:
        """Make the call, in the array's memory."""
        key = self.group.key(is_recorded=True)
        values = self.group.run(lambda: self.call(key, array))
        if self.writes and values is not array:
            np.copyto(array, values.reshape(array.shape))

    def on(self, tensor: Tensor) -> bool:
        """Make the call on a tensor if a recorder listens that can repeat it; whether it was made."""
        if thread.state.level <= 1 or not is_ready(self.group) or not emit_event("exchanged", "whole", tensor, self):
            return False
        self.act(tensor._array)
        if self.writes:
            storage_of(tensor).wrote(f"torch.distributed.{self.name}")
        return True


class Sum:
    """A sum over the processes in two halves, between which something else is computed."""

    name, writes = "all_reduce(SUM)", True

    def __init__(self, group: ProcessGroup, op: Any):
        self.group, self.op = group, op
        self._work: Work | None = None
        self._total: Any = None

    condition = Collective.condition

    def start(self, array: np.ndarray) -> None:
        """Let the group's thread sum up the arrays, in this array's memory where that can be."""
        key = self.group.key(is_recorded=True)

        def task() -> None:
            self._total = self.group.all_reduce(key, array, self.op)

        self._work = self.group.start(task)

    def wait(self) -> np.ndarray:
        """The sum. Raises what the collective raised."""
        work, self._work = self._work, None
        assert work is not None  # start() comes first
        work.wait()
        total, self._total = self._total, None
        return total

    def act(self, array: np.ndarray) -> None:
        """Both halves at once, in this thread."""
        key = self.group.key(is_recorded=True)
        total = self.group.run(lambda: self.group.all_reduce(key, array, self.op))
        if total is not array:
            np.copyto(array, total.reshape(array.shape))

    def is_under_way(self) -> bool:
        """Whether it was started and not waited for."""
        return self._work is not None

    def give_up(self) -> None:
        """Wait for the end, whatever it is: the memory is needed for something else."""
        try:
            self.wait()
        except Exception:
            self._total = None  # the error that has ended the program is the one that counts
