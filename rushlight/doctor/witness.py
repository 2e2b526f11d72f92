"""Who takes the lines of operators: a record of each call of the last windows, without any reference to a tensor.

It runs only while it is armed, since every call then takes the slow path: at the start of a program, and for a window after
a check has asked for lines.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.dispatch.mode import thread
from ..core.tensor.node import Leaf, Output
from .events import Call
from .places import Place, here, no_grad_region

if TYPE_CHECKING:
    from ..core.dispatch.op import Op

__all__ = ["Witness"]

_MOST = 50_000  # calls that are remembered


class Witness:
    """Of one thread: the calls since the last step, and the line of each node of the tape."""

    def __init__(self, tell: Callable[[Call, tuple, Any], None], outer: Callable[[], Place | None]) -> None:
        self.tell, self.outer = tell, outer
        self.calls: list[Call] = []
        self.made: dict[int, tuple[int, Any]] = {}  # the identity of a call's result -> (its index, a weak reference)
        self.lines: dict[int, Place] = {}  # the time of a node -> its line
        self.outer_lines: dict[int, Place] = {}  # ... -> the call of the outermost module
        self.switched_off: Place | None = None  # where `set_grad_enabled(False)` was called as a function
        self.total = 0
        self.busy = False

    def arm(self) -> None:
        """Take lines from now on, in this thread."""
        state = thread.state
        if state.witness is not self:
            state.witness = self
            state.refresh()

    def disarm(self) -> bool:
        """Stop; whether it was armed."""
        state = thread.state
        if state.witness is not self:
            return False
        state.witness = None
        state.refresh()
        return True

    def forget(self) -> None:
        """Drop the calls; lines of nodes stay, since a graph may live on."""
        self.calls.clear()
        self.made.clear()
        if len(self.lines) > _MOST:
            self.lines.clear()
            self.outer_lines.clear()

    # ---------------------------------------------------------------------------------------------- what it is told

    def __call__(self, record: Op, tensors: tuple, metadata: tuple, result: Any) -> None:
        if self.busy:
            return
        results = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        self._note(record.name, tensors, results)

    def cut(self, source: Any, result: Any, how: str) -> None:
        """A tensor's alias without history was taken."""
        if not self.busy:
            self._note(how, (source,), (result,))

    def read(self, source: Any, how: str) -> None:
        """A value left for Python."""
        if not self.busy and getattr(source, "_edge", None) is not None:
            self._note(how, (source,), ())

    def _note(self, name: str, inputs: tuple, results: tuple) -> None:
        place = here(3)
        if place is None:
            return
        self.busy = True
        try:
            self.total += 1
            if len(self.calls) >= _MOST:
                self.forget()
            index = len(self.calls)
            seq, has_history = 0, False
            outer = self.outer()
            for r in results:
                edge = getattr(r, "_edge", None)
                if type(edge) is Output:
                    edge = edge.edges[0]
                if edge is not None:
                    has_history = True
                    if type(edge) is not Leaf:
                        seq = edge.seq
                        self.lines[seq] = place
                        if outer is not None:
                            self.outer_lines[seq] = outer
            tensors = [t for t in inputs if hasattr(t, "_edge")]
            call = Call(
                index,
                place,
                name,
                tuple(map(self._index_of, tensors)),
                tuple([t._array.shape for t in tensors]),
                any(t._edge is not None for t in tensors),
                has_history,
                thread.state.grad,
                seq,
            )
            if call.had_history and not has_history and not call.recording:
                call.region = no_grad_region(3) or self.switched_off
            for r in results:
                if r is not None:
                    self.made[id(r)] = index, weakref.ref(r)
            self.calls.append(call)
            self.tell(call, inputs, results)
        finally:
            self.busy = False

    # ---------------------------------------------------------------------------------------------- questions

    def maker(self, tensor: Any) -> Call | None:
        """The call that made a tensor, if it was recorded."""
        index = self._index_of(tensor)
        return self.calls[index] if 0 <= index < len(self.calls) else None

    def _index_of(self, tensor: Any) -> int:
        index, ref = self.made.get(id(tensor), (-1, None))
        return index if ref is not None and ref() is tensor else -1

    def cuts_before(self, tensors: list[Any]) -> list[Call]:
        """The calls on the way to some tensors whose inputs had a history and whose result had none."""
        waiting = [self._index_of(t) for t in tensors]
        seen: set[int] = set()
        found = []
        while waiting:
            index = waiting.pop()
            if index < 0 or index in seen:
                continue
            seen.add(index)
            call = self.calls[index]
            if call.had_history and not call.has_history:
                found.append(call)
            else:
                waiting += call.inputs
        return found

    def cut_before(self, tensor: Any) -> Call | None:
        """The latest call on the way to a tensor whose inputs had a history and whose result had none."""
        start = self.maker(tensor)
        found = max(self.cuts_before([tensor]), key=lambda call: call.index, default=None)
        if found is None:  # the value may have travelled through Python
            reads = [c for c in self.calls if c.had_history and not c.has_history and c.name.endswith(("()", ".data"))]
            before = [c for c in reads if start is None or c.index < start.index]
            found = before[-1] if before else None
        return found
