"""A value that backward needs was changed in place after the forward had saved it."""

from __future__ import annotations

from typing import Any

from ..events import Backward
from ..ledger import writer_of
from ..places import Place, place_of
from ..tape import Tape
from . import Check


class InplaceModified(Check):
    """The change is an optimizer's step between two losses of one graph, or an operator with `_`, or `+=`."""

    name = "inplace-modified"
    severity = "error"

    def on_failed(self, event: Backward, error: BaseException) -> None:
        if not isinstance(error, RuntimeError) or "modified by an inplace operation" not in str(error):
            return
        found = None if event.tape is None else _stale(event.tape)
        if found is None:
            return
        node, tensor, writer = found
        forward = self.doctor.lines.of(node, event.tape)
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
        self.doctor.report_if_uncaught(
            error, lambda: self._tell(event, forward, place, by_step, what, name), event.place
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
