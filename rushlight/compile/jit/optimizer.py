"""An optimizer's step as one native call over all parameters of a group.

In eager loops `rushlight.optim.dense.run` calls `step`, which says whether it has done the step. The first two
steps of a structure (update, shapes, types, options that are no numbers) run as before; at the third its update is
traced and compiled, which takes 20 to 50 ms once for all structures that differ in shapes only. Results are the same to
the last bit, but for the sign of a nan. `RUSHLIGHT_JIT=0` in the environment, or a missing llvmlite, leaves every step
to `dense`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any
from weakref import ref

import numpy as np

from ...core.jit_switch import jit
from ...core.locks import lock
from .cache import Entry, Refused, Route
from .native_update import NativeUpdate, constants_of, named, native_update, several

__all__ = ["step"]

_FIRST = 3  # the call of a structure at which its native code is made
_VERSIONS = 8  # of one group's plans

# Whether steps of eager loops take the quick variant. The first two steps run over arrays, so a run that resumes from a
# checkpoint would not give the bits of one that was not interrupted.
_quick = False
_groups: dict[tuple[Callable, int], _Group] = {}
_serials = count().__next__
_plans: Route[_Plan] = Route("optimizer", is_shared=True, is_held=True)  # counts by group and structure
_clock = _plans.state.clock


def step(update: Callable, lists: Sequence[list | None], options: dict[str, Any]) -> bool:
    """Do ``update(*lists, **options)`` natively, if that can be done with the same results. False: nothing was done.

    The lists hold tensors, the parameters first; no option is a tensor, and nothing records.
    """
    if not jit.on:
        return False
    first: Any = lists[0][0]  # pyright: ignore[reportOptionalSubscript]: the parameters are always there
    key = update, id(first)
    group = _groups.get(key)
    if group is None:
        group = _groups.setdefault(key, _Group(ref(first, lambda _: _groups.pop(key, None))))
    if group.refused:
        return False
    for plan in group.plans:
        if plan.run(lists, options):
            return True
    return group.try_compiled(update, lists, options)


class _Group:
    """What is known about the steps of one group of parameters, as long as `first`, the first of them, lives."""

    __slots__ = ("first", "plans", "serial", "refused", "__weakref__")

    def __init__(self, first: ref) -> None:
        self.first = first
        self.plans: list[_Plan] = []
        self.serial = _serials()
        self.refused = False

    def try_compiled(self, update: Callable, lists: Sequence[list | None], options: dict[str, Any]) -> bool:
        """Count the call; from the third one of a structure on, make a plan for it and run it."""
        structure = _structure(lists, options)
        if structure is None:
            return False
        if not _plans.is_due((self.serial, structure), 1, _FIRST):
            return False
        plan = _plans.make(_serials(), lambda: _make_plan(update, lists, options, self), lambda: named(update))
        if plan is None:
            self.refused = True
            return False
        self.plans = [plan, *self.plans[: _VERSIONS - 1]]
        return plan.run(lists, options)

    def forget(self, plan: _Plan) -> None:
        """Do without a plan that is not in the cache any more."""
        self.plans = [p for p in self.plans if p is not plan]


def _structure(lists: Sequence[list | None], options: dict[str, Any]) -> tuple | None:
    """What must be the same for a plan to fit, but for numbers; None if there never is one."""
    if any(t is None for tensors in lists if tensors is not None for t in tensors):
        return None
    arrays = [None if tensors is None else [t._array for t in tensors] for tensors in lists]
    shapes = tuple([(a.shape, a.strides) for a in arrays[0] or ()])
    kinds = tuple([None if row is None else (row[0].dtype, row[0].ndim) for row in arrays])
    return shapes, kinds, tuple(map(type, options.values())), constants_of(options)


def _make_plan(update: Callable, lists: Sequence[list | None], options: dict[str, Any], group: _Group) -> _Plan:
    """A plan for these lists. Raises Refused where native code cannot do it."""
    from ..lower.llvm.engine import available

    if not available():
        raise Refused("llvmlite is not installed")
    from ..lower.pointers import layout

    arrays = [None if tensors is None else [t._array for t in tensors] for tensors in lists]
    if layout() is None or any(type(a) is not np.ndarray for row in arrays if row is not None for a in row):
        raise Refused("a tensor of the optimizer has no plain memory on the CPU")
    native = native_update(update, arrays, options, _quick)
    if native is None:
        raise Refused("the update rule, or the types and strides of its tensors, cannot be compiled")
    return _Plan(native, lists, options, group)


class _Plan(Entry):
    """Runs the native code for tensors like those that it was made from."""

    __slots__ = (
        *("native", "table", "types", "fixed", "constants", "pick", "absent", "lock", "call", "address"),
        "group",
    )

    def __init__(self, native: NativeUpdate, lists: Sequence[list | None], options: dict[str, Any], group: _Group):
        from ..lower.pointers import Table

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
        self.used = _clock()
        try:
            return (
                self.table.update(list(self.pick(lists)))
                and self.native.set_options(options)
                and not self.call(self.address)
            )
        finally:
            self.lock.release()
