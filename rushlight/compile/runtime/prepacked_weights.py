"""Packed weights from run to run: which of a program's packs still hold when it runs again.

A pack of memory outside holds while it is the same memory of the same tensor and nothing has written there since. Every
write through a tensor leaves its time in the storage record (`core/tensor/storage.py`). Memory that something else may write (an
ndarray, an address, another process) is packed again in every run.

A pack begins in the arena, where others use its room when the run is over. It gets room of its own once a run finds that
it would have held: a step that changes its weights never pays for that.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any
from weakref import ref

import numpy as np

from ...core.tensor.storage import is_own, state_of
from ...core.tensor.tensor import Tensor
from ..ir.graph import Value
from ..lower.onednn import Binder, Pack

__all__ = ["Packs"]

_gone: Callable[[], Any] = lambda: None  # noqa: E731


class _Source:
    """An input, and its packs: what was known of its memory when they were made."""

    def __init__(self, index: int, packs: list[int]):
        self.index, self.packs = index, packs
        self.array: Callable[[], Any] = _gone
        self.storage: Callable[[], Any] = _gone
        self.stamp = -1
        self.holds = False
        self.kept = False  # whether the packs have room of their own

    def is_as_known(self, t: Any, array: np.ndarray) -> bool:
        """Whether the memory is what it was the last time that this was asked. It is known from now on.

        array: what the program reads, which the tensor must show.
        """
        state = state_of(t) if isinstance(t, Tensor) else None
        if state is None or state[0] is not array:
            self.array, self.stamp = _gone, -1
            return False
        a, storage, stamp = state
        if self.array() is not a:
            if not is_own(a):
                self.array, self.stamp = _gone, -1
                return False
            self.array = ref(a)
            self.stamp = -1
        same = self.stamp == stamp and self.storage() is storage
        self.stamp = stamp
        if not same:
            self.storage = ref(storage)
        return same


class Packs:
    """The packs of one executable that may hold from run to run.

    inputs: the graph's input values, in order; written: those that the program writes, whose packs never hold.
    """

    def __init__(self, packs: Iterable[Pack], inputs: Iterable[Value], written: Container[Value]):
        index = {v: i for i, v in enumerate(inputs)}
        self.packs = [p for p in packs if p.ref.value in index and p.ref.value not in written]
        self.flags = np.ones(max(1, len(self.packs)), np.int64)
        for i, pack in enumerate(self.packs):
            pack.flag = self.flags.ctypes.data + 8 * i
        of: dict[int, list[int]] = {}
        for i, pack in enumerate(self.packs):
            of.setdefault(index[pack.ref.value], []).append(i)
        self.sources = [_Source(*row) for row in of.items()]

    def begin(self, inputs: list[np.ndarray], owner: Callable[[int], Any] | None, binder: Binder) -> None:
        """Before a run: say which packs are made. owner: gives an input's tensor; without owners all are made."""
        flags = self.flags
        for s in self.sources:
            held = s.holds
            s.holds = False
            tensor = None if owner is None else owner(s.index)
            if not s.is_as_known(tensor, inputs[s.index]) or not held:
                flags[s.packs] = 1
            elif s.kept:
                flags[s.packs] = 0
            else:
                self._keep(s, binder)

    def _keep(self, s: _Source, binder: Binder) -> None:
        s.kept = True
        for i in s.packs:
            binder.move_pack(self.packs[i])
        self.flags[s.packs] = 1

    def done(self) -> None:
        """After a run: what was packed holds for the memory as it was."""
        for s in self.sources:
            s.holds = True
