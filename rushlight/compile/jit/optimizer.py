"""An optimizer's step as one native call over all parameters of a group.

In eager loops `rushlight.optim.dense.run` calls `step`, which says whether it has done the step. The first two
steps of a structure (update, shapes, types, options that are no numbers) run as before; at the third its update is
traced and compiled, which takes 20 to 50 ms once for all structures that differ in shapes only. Where nothing else has
loaded the compiler, which takes 80 ms more, steps run as before until they have worked for about as long. Results are
the same to the last bit, but for the sign of a nan. `RUSHLIGHT_JIT=0` in the environment, or a missing llvmlite, leaves
every step to `dense`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any
from weakref import ref

from ...core.jit_switch import jit
from .cache import Route
from .options import constants_of, named

if TYPE_CHECKING:
    from .plan import Plan

__all__ = ["Group", "clock", "step"]

_FIRST = 3  # the call of a structure at which its native code is made
# Of steps over arrays, in elements of which a thousand take 1 us: one parameter's calls, and what loading the compiler takes.
_CALL, _LOADING = 10_000, 100_000_000
_VERSIONS = 8  # of one group's plans

# Whether steps of eager loops take the quick variant. The first two steps run over arrays, so a run that resumes from a
# checkpoint would not give the bits of one that was not interrupted.
_quick = False
_groups: dict[tuple[Callable, int], Group] = {}
_serials = count().__next__
_plans: Route[Plan] = Route("optimizer", is_shared=True, is_held=True)  # counts by group and structure
clock = _plans.state.clock


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
        group = _groups.setdefault(key, Group(ref(first, lambda _: _groups.pop(key, None))))
    if group.refused:
        return False
    for plan in group.plans:
        if plan.run(lists, options):
            return True
    return group.try_compiled(update, lists, options)


class Group:
    """What is known about the steps of one group of parameters, as long as `first`, the first of them, lives."""

    __slots__ = ("first", "plans", "serial", "refused", "work", "__weakref__")

    def __init__(self, first: ref) -> None:
        self.first = first
        self.plans: list[Plan] = []
        self.serial = _serials()
        self.refused = False
        self.work = 0  # bytes

    def try_compiled(self, update: Callable, lists: Sequence[list | None], options: dict[str, Any]) -> bool:
        """Count the call; from the third one of a structure on, make a plan for it and run it."""
        structure = _structure(lists, options)
        if structure is None:
            return False
        if not (jit.always or _is_loaded() or self._has_worked(structure)):
            return False
        if not _plans.is_due((self.serial, structure), 1, _FIRST):
            return False
        plan = _plans.make(_serials(), lambda: _make_plan(update, lists, options, self), lambda: named(update))
        if plan is None:
            self.refused = True
            return False
        self.plans = [plan, *self.plans[: _VERSIONS - 1]]
        return plan.run(lists, options)

    def _has_worked(self, structure: tuple) -> bool:
        """Count a step; whether steps over arrays have taken about as long as loading the compiler takes."""
        self.work += sum(_CALL + prod(shape) for shape, _ in structure[0])
        return self.work > _LOADING

    def forget(self, plan: Plan) -> None:
        """Do without a plan that is not in the cache any more."""
        self.plans = [p for p in self.plans if p is not plan]


def _is_loaded() -> bool:
    """Whether the compiler is loaded."""
    return __name__.replace("jit.optimizer", "lower.llvm.engine") in sys.modules


def _structure(lists: Sequence[list | None], options: dict[str, Any]) -> tuple | None:
    """What must be the same for a plan to fit, but for numbers; None if there never is one."""
    if any(t is None for tensors in lists if tensors is not None for t in tensors):
        return None
    arrays = [None if tensors is None else [t._array for t in tensors] for tensors in lists]
    shapes = tuple([(a.shape, a.strides) for a in arrays[0] or ()])
    kinds = tuple([None if row is None else (row[0].dtype, row[0].ndim) for row in arrays])
    return shapes, kinds, tuple(map(type, options.values())), constants_of(options)


def _make_plan(update: Callable, lists: Sequence[list | None], options: dict[str, Any], group: Group) -> Plan:
    from .plan import make_plan  # with what makes native code, which most processes that import an optimizer never need

    return make_plan(update, lists, options, group, _quick)
