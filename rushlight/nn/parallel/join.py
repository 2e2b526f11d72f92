"""Training with unequal numbers of batches: whoever has no more takes part in the others' collectives meanwhile."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from rushlight.core.dispatch.extension_points import distributed

__all__ = ["Join", "JoinHook", "Joinable"]

_MANY = 1000  # batches that a process may have less than others without a warning


class JoinHook:
    """What a process that has joined does for one of its objects."""

    def main_hook(self) -> None:
        """Take part in the collectives of one iteration of those that have not joined."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once, when all have joined. is_last_joiner: whether this process was among the last ones."""


class JoinConfig(NamedTuple):
    """What an object knows of the context that it is in."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """An object whose collectives others can take part in; it calls `Join.notify_join_context` before those of an iteration."""

    _join_config = JoinConfig()

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What to do after joining. kwargs: those of the context."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the context's own collectives."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of the context's own collectives."""


def distributed_package() -> Any:
    """`rushlight.distributed`, which the program has loaded to make a group; it is not imported from this layer."""
    if distributed.value is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return distributed.value


def total(group: Any, value: float, op: str = "SUM", dtype: Any = np.float32) -> float:
    """The sum (or another reduction) of the processes' numbers."""
    kind = getattr(distributed_package().ReduceOp, op)
    key, array = group.key(), np.array([value], dtype)
    return group.run(lambda: group.all_reduce(key, array, kind)).item()


class Join:
    """A context in which processes may have unequal numbers of batches.

    with Join([model, optimizer]):
        for batch in batches: ...

    joinables: objects of one process group. enable=False: nothing is done. throw_on_early_termination: all processes raise
    RuntimeError when the first one has no more batches. kwargs go to each object's `join_hook`.

    Raises ValueError for no objects, or for objects of different process groups.
    """

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ):
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = [each.join_process_group for each in joinables]
        if any(group is not groups[0] for group in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self._joinables, self._group = joinables, groups[0]
        self._enable, self._throws = enable, throw_on_early_termination
        self._hooks = [each.join_hook(**kwargs) for each in joinables]
        for each in joinables:
            each._join_config = JoinConfig(enable, throw_on_early_termination, each is joinables[0])

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            if self._enable and kind is None:
                self._wait_for_others()
        finally:
            for each in self._joinables:
                each._join_config = JoinConfig()

    def _wait_for_others(self) -> None:
        iterations = 0
        while total(self._group, 0.0):
            if self._throws:
                total(self._group, 1.0)
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
            iterations += 1
            if iterations == _MANY + 1:
                warnings.warn(
                    f"Detected uneven input skew of greater than {_MANY}. This means that rank {self._group.rank()} has at "
                    f"least {_MANY} fewer inputs than other currently-active ranks. This level of skew could lead to "
                    "performance degradation during training.",
                    stacklevel=3,
                )
        for hook in self._hooks:
            hook.post_hook(iterations == 0)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> int | None:
        """Say that this process has not joined yet; the number of processes that have not.

        None where the object is not in a context, or is not its first. Raises RuntimeError where a process has joined and
        the context throws then.
        """
        config = joinable._join_config
        if not (config.enable and config.is_first_joinable):
            return None
        group = joinable.join_process_group
        active = total(group, 1.0)
        if config.throw_on_early_termination and total(group, 0.0):
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return int(active)


for _class in (Join, JoinHook, Joinable):
    _class.__module__ = "torch.distributed.algorithms.join"
