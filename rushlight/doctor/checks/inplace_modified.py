"""A value that backward needs was changed in place after the forward had saved it."""

from __future__ import annotations

from typing import Any

from ..carried import crossing, link
from ..events import Backward
from ..ledger import writer_of
from ..places import Place, place_of
from ..tape import Tape
from . import Check


class InplaceModified(Check):
    """The change is an optimizer's step between two losses of one graph, or an operator with `_`, or `+=`.

    Where a loop carries a tensor with its history on, and retains the graph, the step of the iteration before is such a change.
    """

    name = "inplace-modified"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.roots: dict[Place, int] = {}  # by the line of a backward, when the latest loss of it was made

    def on_backward(self, event: Backward) -> None:
        if event.tape is not None and event.tape.nodes:
            self.roots[event.place] = max(self.roots.get(event.place, 0), event.tape.nodes[0].seq)

    def on_failed(self, event: Backward, error: BaseException) -> None:
        if not isinstance(error, RuntimeError) or "modified by an inplace operation" not in str(error):
            return
        found = None if event.tape is None else _stale(event.tape)
        if found is None:
            return
        node, tensor, writer = found
        forward = self.doctor.lines.of(node, event.tape)
        carried = self._carried(event, node)
        entry = None if tensor is None else self.doctor.ledger.known(tensor)
        by_step = isinstance(writer, str)
        place = entry.used_at if by_step and entry is not None else None
        if isinstance(writer, tuple):
            place = place_of(*writer)
        elif place is None and tensor is not None:
            place = writer_of(tensor)
        what = entry.label if entry is not None else node.name()
        name = node.name()
        del node, tensor, found  # what is kept with the error holds no graph

        def tell() -> None:
            if by_step and carried is not None:
                self._tell_carried(event, carried, place, what)
            else:
                self._tell(event, forward, place, by_step, what, name)

        self.doctor.report_if_uncaught(error, tell, event.place)

    def _carried(self, event: Backward, node: Any) -> tuple[Place, Place | None] | None:
        """The lines that make, and go on with, what links the backward to a graph of an earlier one at the same line."""
        latest, tape = self.roots.get(event.place, 0), event.tape
        if node.seq > latest or tape is None:
            return None
        shared, user = crossing(tape, {id(n) for n in tape.nodes if n.seq <= latest})
        made, used = (None, None) if user is None else link(self.doctor.lines, tape, shared, user)
        return None if made is None else (made, used)

    def _tell_carried(
        self, event: Backward, carried: tuple[Place, Place | None], step: Place | None, what: str
    ) -> None:
        made, used = carried
        on = f", and line {used.line} goes on with it" if used is not None and used is not made else ""
        at = "" if step is None else f" at line {step.line}"
        self.doctor.report(
            self,
            made,
            f"a tensor made here links this backward to the graph of the iteration before{on}; the step{at} has changed {what} since",
            "detach what is carried from one iteration to the next (h = h.detach()), or compute it again in each",
            [(step, "the step in between"), (event.place, "the backward that reaches back")],
            after=1,
        )

    def _tell(
        self, event: Backward, forward: Place | None, place: Place | None, by_step: bool, what: str, node: str
    ) -> None:
        saved = "" if forward is None else f" by line {forward.line}"
        if by_step:
            message = f"this step changes {what}, which was saved{saved} for the backward at line {event.place.line}"
            mend = "take the step after all backwards that need the old values, or compute that loss again after it"
        else:
            message = (
                f"this line changes in place what {node} had saved{saved} for the backward at line {event.place.line}"
            )
            mend = "write the change out of place (x = x + 1 instead of x += 1), or clone() before it"
        self.doctor.report(
            self,
            place or event.place,
            message,
            mend,
            [(forward, "the forward that saved it"), (event.place, "the backward that needs it")],
            after=1,
        )


def _stale(tape: Tape) -> tuple[Any, Any, Any] | None:
    """(node, tensor, writer) of the first saved value that was written since; as the engine looks for it."""
    for node in tape.nodes:
        target = getattr(node, "inner", node)
        if not isinstance(target.saved, tuple):
            continue
        for i in target.tensor_slots:
            t = target.saved[i]
            for one in t if type(t) is tuple else (t,):
                storage = getattr(one, "_storage", None)
                if storage is not None and storage.stamp > target.seq:
                    return target, one, storage.first_write_after(target.seq)
        storage = target.storage
        if storage is not None and storage.stamp > target.seq:
            return target, None, storage.first_write_after(target.seq)
    return None
