"""The averages of a unit's gradients in one backward pass, of which each process gets those of its part.

Where several processes have the same part (a mesh of two dimensions), they add up what each has of it afterwards.

Small gradients travel together, when backward has left the unit. Each large one travels by itself: between processes of one host
as soon as it is there, so that its memory is gone before the next one takes its own. The processes then have to agree on
the order: they exchange which gradients the pass will bring in each of them, and those that it brings in all are averaged in the
order of the parameters, from the last one on; what is missing when backward leaves the unit counts as zero. The last one waits
for that: the whole parameters' memory is free then, and MPI takes some of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.pass_hooks import current_pass, will_accumulate
from ...core.dispatch.mode import no_grad
from ...core.tensor.dtype import dtype as DType
from ...core.tensor.tensor import Tensor, wrap
from ...ops import zeros
from ..reduce_op import RedOpType

__all__ = ["Averages"]

_LARGE = 1 << 16  # bytes of a part from which on a gradient travels by itself
# Bytes of a unit from which on its memory counts for more than the time of an agreement and of single messages.
_UNIT = 8 << 20


class Averages:
    """Those of one pass over a unit's module."""

    def __init__(self, unit: Any):
        self.unit, self.group = unit, unit.group
        self.parts: dict[Any, np.ndarray] = {}  # member: this process's part of its average
        self._order: list[Any] = []  # the members whose gradients travel as soon as they are there
        self._ready: set[Any] = set()
        self._had: list[bool] = []  # of those that have travelled, whether this process had a gradient
        self._pass = current_pass()
        self._handles: list[Any] = []
        self._works: list[Any] = []
        self._trained: list[Any] = []
        self._early: list[Any] = []
        self._small: list[Any] = []
        self._packed: Any = None  # what the small ones' message gave

    # ------------------------------------------------------------------------------------------ while backward is in the unit

    def expect(self) -> None:
        """Agree on the gradients that travel as soon as they are there."""
        large = [member for member in reversed(self.unit.members) if self._is_large(member)]
        if not large or not self._is_worthwhile():
            return
        here = np.array([will_accumulate(member.whole) for member in large], np.int32)
        everywhere = here
        for group in (self.group, self.unit.replicas):
            if group is not None:
                everywhere = _least(group, everywhere)
        self._order = [member for member, is_expected in zip(large, everywhere, strict=True) if is_expected][:-1]
        for member in self._order:
            hook = lambda _, member=member: self._arrived(member)  # noqa: E731
            self._handles.append(member.whole.register_post_accumulate_grad_hook(hook))

    def _is_worthwhile(self) -> bool:
        return sum(member.size_bytes for member in self.unit.members) >= _UNIT

    def _is_large(self, member: Any) -> bool:
        if member.size_bytes < _LARGE * self.unit.pieces:
            return False
        return self.unit.has_rows or self._is_worthwhile()  # else it is all one process's, which then adds alone

    def _arrived(self, member: Any) -> None:
        if current_pass() is not self._pass:  # a pass within the pass: its order is another one
            return
        self._ready.add(member)
        while len(self.parts) < len(self._order) and self._order[len(self.parts)] in self._ready:
            self._send_next()

    def _send_next(self) -> None:
        member = self._order[len(self.parts)]
        self._had.append(member.whole._grad is not None)
        self.parts[member] = self._average(member)

    def have_begun(self) -> bool:
        """Whether gradients have travelled."""
        return bool(self.parts)

    def close(self) -> None:
        """Expect no more."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    # ------------------------------------------------------------------------------------------ when it has left it

    def begin(self) -> bool:
        """Let all gradients travel that have not; whether there are any parameters that learn."""
        self.close()
        while len(self.parts) < len(self._order):
            self._send_next()
        self._early = list(self.parts)
        self._trained = [member for member in self.unit.members if member.whole.requires_grad]
        if not self._trained and not self._early:
            return False
        left = [member for member in self._trained if member not in self.parts]
        self._small = [member for member in left if not self._is_large(member)]
        dtype = self.unit.reduced_as(self._trained or self._early)
        flags = [member.whole._grad is not None for member in self._trained] + self._had
        self._works.append(self._start(self._small, flags, None, dtype))
        for member in left:
            if self._is_large(member):
                self._works.append(self._start([member], [], member, dtype))
        return True

    def _start(self, members: list[Any], flags: list[bool], member: Any, dtype: DType) -> Any:
        """Begin to average what travels together; what waits for it."""
        rows, key, received = self._rows(members, flags, dtype), self.group.key(), []
        into = None if member is None else self.unit.place(member, dtype)

        def task() -> None:
            received.append(self._reduce(key, rows, into))
            rows.clear()

        work = None
        if self.unit.is_local():  # one host's processes share its processors: there is nothing to overlap
            self.group.run(task)
        else:
            work = self.group.start(task)

        def finish() -> None:
            if work is not None:
                work.wait()
            if member is not None:
                self.parts[member] = received.pop()
            else:
                self._packed = received.pop()

        return finish

    def finish(self) -> None:
        """Wait for all averages, and put them where optimizers find them."""
        for finish in self._works:
            finish()
        count = len(self._trained) + len(self._early)
        flags = (self._packed[self._packed.size - count :] > 0).tolist()
        used = {member for member, n in zip([*self._trained, *self._early], flags, strict=True) if n}
        at = 0
        for member in self._small:
            n = self.unit.cut(member, self.unit.rank)[1]
            part = self._packed[at : at + n]
            self.parts[member] = part.copy() if self.unit.has_rows else part
            at += n
        for member, n in zip(self._trained, flags, strict=False):
            if n and member in self._early:  # passes within the pass have brought more since it travelled
                self.parts[member] += self._average(member, is_more=True)
        with no_grad():
            self.unit.put(self._trained, used, self.parts)

    # ------------------------------------------------------------------------------------------ what travels

    def _average(self, member: Any, is_more: bool = False) -> np.ndarray:
        dtype = self.unit.reduced_as([member])
        rows, key = self._rows([member], [], dtype), self.group.key()
        into = None if is_more else self.unit.place(member, dtype)
        return self.group.run(lambda: self._reduce(key, rows, into))

    def _rows(self, members: list[Any], flags: list[bool], dtype: DType) -> list[np.ndarray]:
        """For each process its part of the gradients times the unit's share, and the flags."""
        with no_grad():
            grads = [_flat_gradient(member, dtype) for member in members]
            if not flags:
                return self._cut(members[0], grads.pop().mul_(self.unit.share))  # type: ignore[attr-defined]
            cuts = [self._cut(member, g) for member, g in zip(members, grads, strict=True)]
            ordered = [[cut[rank] for cut in cuts] for rank in range(self.unit.pieces)]
            ends = np.cumsum([sum(part.size for part in parts) + len(flags) for parts in ordered]).tolist()
            flat = np.zeros(ends[-1], dtype.numpy)  # one after the other, so that MPI takes them as they are
            rows = [flat[start:end] for start, end in zip([0, *ends], ends, strict=False)]
            for row, parts in zip(rows, ordered, strict=True):
                if parts:
                    np.concatenate(parts, out=row[: row.size - len(flags)])
            wrap(flat).mul_(self.unit.share)  # type: ignore[attr-defined]
            for row in rows:
                row[row.size - len(flags) :] = flags
            return rows

    def _cut(self, member: Any, g: Tensor) -> list[np.ndarray]:
        cuts = [self.unit.cut(member, rank) for rank in range(self.unit.pieces)]
        return [g._array[first : first + n] for first, n in cuts]

    def _reduce(self, key: bytes, rows: list[np.ndarray], into: np.ndarray | None) -> np.ndarray:
        if self.unit.pieces == 1:
            part = self.group.all_reduce(key, rows[0], RedOpType.SUM)
        else:
            part = self.group.reduce_scatter_arrays(key, rows, RedOpType.SUM, into, may_overwrite=True)
        if self.unit.replicas is not None:
            part = _sum(self.unit.replicas, part)
        if into is None or part is into:
            return part
        np.copyto(into, part)
        return into


def _least(group: Any, flags: np.ndarray) -> np.ndarray:
    key = group.key()
    return group.run(lambda: group.all_reduce(key, flags, RedOpType.MIN))


def _sum(group: Any, part: np.ndarray) -> np.ndarray:
    """The sum over the processes that have the same parts."""
    key = group.key()
    return group.run(lambda: group.all_reduce(key, part, RedOpType.SUM))


def _flat_gradient(member: Any, dtype: DType) -> Tensor:
    """The gradient of a whole parameter, which it has no more then. Raises NotImplementedError for a sparse one."""
    g, member.whole.grad = member.whole.grad, None
    if g is None:
        return zeros(member.numel, dtype=dtype)
    if g.is_sparse:
        raise NotImplementedError("sparse gradients of sharded parameters are not implemented: use sparse=False")
    return g.to(dtype).contiguous().view(-1)
