"""Several calls of one collective that are made together, at the end of a context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import collectives
from .work import Work
from .world import group_of

__all__: list[str] = []


class _CoalescingManager:
    """The `Work`s of a context that was entered with async_ops=True."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None) -> None:
        """One more to wait for."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Wait for all calls of the context."""
        for work in self.works:
            work.wait()


@contextmanager
def _coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> Iterator[_CoalescingManager]:
    """Make the calls of `all_reduce`, `all_gather_into_tensor` or `reduce_scatter_tensor` within the context at its end.

    Calls of `all_reduce` become one for each type of elements. Other collectives are made at once.

    Raises RuntimeError for calls of different collectives or with different reductions, ValueError for a context inside
    another one of the same group.
    """
    pg = group_of(group)
    if pg.coalescing is not None:
        raise ValueError("ProcessGroup has non-empty op list at the start of coalescing")
    manager, pg.coalescing = _CoalescingManager(), []
    try:
        yield manager
        calls = pg.coalescing
    finally:
        pg.coalescing = None
    kinds = {function for function, *_ in calls}
    if len(kinds) > 1:
        names = {function.__name__ for function in kinds}
        raise RuntimeError(
            f"Coalescing manager requires all collectives to be the same type, but got mixed types: {names}"
        )
    ops = {op for _, op, *_ in calls}
    if len(ops) > 1:
        raise RuntimeError(f"Coalescing manager requires one reduction for all calls, but got {sorted(ops)}")
    if kinds == {collectives.all_reduce}:
        manager.append(collectives.reduce_several([t for *_, t in calls], ops.pop(), pg, async_ops))
        return
    for function, op, *tensors in calls:
        manager.append(function(*tensors, *([] if op is None else [op]), group=pg, async_op=async_ops))
