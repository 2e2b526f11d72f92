"""Parameters one after the other in a flat one, of which each process has an equal part."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ...core.dispatch.mode import no_grad
from ...core.tensor.dtype import dtype as DType
from ...core.tensor.tensor import Tensor, wrap
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...ops import empty
from ._pages import Pages
from ._unit import MANAGED, Member, Message, Unit, bytes_of, call_hooks, own_memory, pages_of

__all__ = ["FLAT", "FlatUnit"]

FLAT = "_flat_param"
_ALIGNED = 16  # bytes: where parameters with names of their own begin, as in torch


class FlatUnit(Unit):
    """The unit of `FullyShardedDataParallel`.

    uses_originals: whether the modules keep parameters, pieces of the part, under their names. is_spread: whether each
    process has a part, not all of it.
    """

    has_rows = False

    def __init__(
        self,
        module: Module,
        members: list[Member],
        group: Any,
        reduce_dtype: DType | None,
        uses_originals: bool,
        is_spread: bool,
        replicas: Any = None,
        everyone: Collection[int] = (),
    ):
        super().__init__(members, group, reduce_dtype, replicas, everyone)
        self.module, self.uses_originals = module, uses_originals
        self.pieces = group.size() if is_spread else 1
        self.rank = group.rank() if is_spread else 0
        self.dtype, self.whole_dtype = members[0].dtype, members[0].whole_dtype
        step = max(_ALIGNED // self.dtype.itemsize, 1) if uses_originals else 1
        self.starts, end = [], 0
        for member in members:
            self.starts.append(-(-end // step) * step)
            end = self.starts[-1] + member.numel
        self._start_of = dict(zip(members, self.starts, strict=True))
        self.length = -(-end // self.pieces)
        self._trains = {id(m): _given(m).requires_grad for m in members}
        whole = np.zeros(self.length * self.pieces, self.dtype.numpy)
        for member, start in zip(members, self.starts, strict=True):
            whole[start : start + member.numel] = _given(member).detach().contiguous()._array.reshape(-1)
        local = own_memory(wrap(whole[self.rank * self.length : (self.rank + 1) * self.length]))
        self._gradient: np.ndarray | None = None  # of `flat`, as far as it has been averaged
        self.flat = Parameter(local, any(self._trains.values()))
        self._make_wholes()
        self._outlines = {m.name: empty(m.shape, dtype=self.whole_dtype, device="meta") for m in members}
        self.flat.__dict__[MANAGED] = True
        if uses_originals:
            for member in members:
                member.shard = self._piece(member)
                member.shard.__dict__[MANAGED] = True
        self.is_shown = True
        self.show_shards()

    def _make_wholes(self) -> None:
        self.pages: Pages | None = None
        if self.pieces == 1 and self.whole_dtype is self.dtype:
            memory = bytes_of(self.flat)
        else:
            self.pages = Pages(self.length * self.pieces * self.whole_dtype.itemsize)
            memory = self.pages.array
        self.memory = memory
        for member, start in zip(self.members, self.starts, strict=True):
            member.make_whole(memory[start * self.whole_dtype.itemsize :], self._trains[id(member)])

    def local_range(self, member: Member) -> tuple[int, int, int]:
        """(first element of the parameter that is in this process's part, how many, where the first one is in the part)"""
        first, n = self.cut(member, self.rank)
        return first, n, self._start_of[member] + first - self.rank * self.length if n else 0

    def _piece(self, member: Member) -> Any:
        _, n, at = self.local_range(member)
        return Parameter(wrap(self.flat._array[at : at + n]), self._trains[id(member)])

    # ------------------------------------------------------------------------------------------ what the modules have

    def show_whole(self) -> None:
        if not self.is_shown and not self.uses_originals:
            self.module._parameters.pop(FLAT, None)
            for member in self.members:
                for owner, name in member.places:
                    owner.__dict__.pop(name, None)
        super().show_whole()

    def show_shards(self) -> None:
        if self.uses_originals:
            super().show_shards()
        elif self.is_shown:
            for member in self.members:
                for owner, name in member.places:
                    owner._parameters.pop(name, None)
                    owner.__dict__[name] = self._outlines[member.name]  # without elements, so that nothing reads them
            self.module._parameters[FLAT] = self.flat
            self.is_shown = False

    def _follow_flags(self) -> None:
        if self.uses_originals:
            super()._follow_flags()

    def optimized(self) -> list[Parameter]:
        """What an optimizer gets."""
        return [member.shard for member in self.members] if self.uses_originals else [self.flat]

    # ------------------------------------------------------------------------------------------ what travels

    def parts(self) -> list[Tensor]:
        return list(self.optimized())

    def _messages(self) -> list[Message]:
        with no_grad():
            sent = bytes_of(self.flat.detach().to(self.whole_dtype))
        if self.pieces == 1:
            if self.pages is not None:
                np.copyto(self.memory, sent)
            return []
        return [Message(sent, self.memory.reshape(self.pieces, -1), None)]

    def _free(self) -> None:
        if self.pages is not None:
            self.pages.give_back()

    def shares_memory(self, array: Any) -> bool:
        return isinstance(array, np.ndarray) and np.may_share_memory(array, self.memory)

    # ------------------------------------------------------------------------------------------ gradients

    def cut(self, member: Member, rank: int) -> tuple[int, int]:
        start, low = self._start_of[member], rank * self.length
        first, end = max(start, low), min(start + member.numel, low + self.length)
        return (first - start, end - first) if end > first else (0, 0)

    def place(self, member: Member, dtype: DType) -> np.ndarray:
        if self._gradient is None:
            self._gradient = pages_of(self.length, dtype.numpy)
        _, n, at = self.local_range(member)
        return self._gradient[at : at + n]

    def put(self, trained: list[Member], used: set[Member], parts: dict[Member, np.ndarray]) -> None:
        for member, part in parts.items():
            place = self.place(member, self.reduced_as([member]))
            if not np.may_share_memory(part, place):  # it has travelled with others
                np.copyto(place, part)
        parts.clear()
        flat, self._gradient = self._gradient, None
        if flat is None or not used:
            return
        g = wrap(flat).to(self.dtype)
        if not self.uses_originals:
            _add(self.flat, g)
            call_hooks(self.flat)
            return
        for member in self.members:
            _, n, at = self.local_range(member)
            if n and member in used:
                _add(member.shard, g[at : at + n])


def _add(p: Parameter, g: Tensor) -> None:
    if p.grad is None:
        p.grad = g
    else:
        p.grad.add_(g)


def _given(member: Member) -> Any:
    module, name = member.places[0]
    return module._parameters[name]
