"""The native step of one group of parameters: made for the third step of a structure, run for all that follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from ...core.locks import lock
from ..lower.llvm.engine import available
from ..lower.pointers import Table, layout
from .cache import Entry, Refused
from .native_update import NativeUpdate, native_update
from .optimizer import Group, clock
from .options import several

__all__ = ["Plan", "make_plan"]


def make_plan(
    update: Callable, lists: Sequence[list | None], options: dict[str, Any], group: Group, quick: bool
) -> Plan:
    """A plan for these lists. Raises Refused where native code cannot do it."""
    if not available():
        raise Refused("llvmlite is not installed")
    arrays = [None if tensors is None else [t._array for t in tensors] for tensors in lists]
    if layout() is None or any(type(a) is not np.ndarray for row in arrays if row is not None for a in row):
        raise Refused("a tensor of the optimizer has no plain memory on the CPU")
    native = native_update(update, arrays, options, quick)
    if native is None:
        raise Refused("the update rule, or the types and strides of its tensors, cannot be compiled")
    return Plan(native, lists, options, group)


class Plan(Entry):
    """Runs the native code for tensors like those that it was made from."""

    __slots__ = (
        *("native", "table", "types", "fixed", "constants", "pick", "absent", "lock", "call", "address"),
        "group",
    )

    def __init__(self, native: NativeUpdate, lists: Sequence[list | None], options: dict[str, Any], group: Group):
        super().__init__(native.size_bytes)
        self.group = ref(group)
        written = native.kernel.update.written()
        roles = [tensors for tensors in lists if tensors is not None]
        self.native = native
        self.table = Table(roles, tuple(i in written for i in range(len(roles))), native.pointers)
        self.types = tuple(map(type, options.values()))
        names = [name for name in options if name not in native.names]
        self.constants = several(names)
        self.fixed = self.constants(options)
        self.pick = several([i for i, tensors in enumerate(lists) if tensors is not None])
        self.absent = [i for i, tensors in enumerate(lists) if tensors is None]
        self.lock = lock()
        self.call, self.address = native.kernel.call, native.block.ctypes.data

    def is_running(self) -> bool:
        return self.lock.locked()

    def evicted(self) -> None:
        group = self.group()
        if group is not None:
            group.forget(self)

    def run(self, lists: Sequence[list | None], options: dict[str, Any]) -> bool:
        """Do the step and return True, or do nothing if something is not as it was."""
        if tuple(map(type, options.values())) != self.types or self.constants(options) != self.fixed:
            return False
        for i in self.absent:
            if lists[i] is not None:
                return False
        for p in lists[0]:  # pyright: ignore[reportOptionalIterable]
            s = p._storage
            if s is not None and s.inference:
                return False
        if not self.lock.acquire(False):
            return False  # another thread is in the middle of a step with these tables
        self.used = clock()
        try:
            return (
                self.table.update(list(self.pick(lists)))
                and self.native.set_options(options)
                and not self.call(self.address)
            )
        finally:
            self.lock.release()
