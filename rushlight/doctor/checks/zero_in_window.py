"""Gradients are cleared for each small batch, so that a step uses only the last of them."""

from __future__ import annotations

from ..events import Backward, Step, Zero
from ..ledger import Contribution
from . import Check


class ZeroInWindow(Check):
    """Where small batches are accumulated, the clear belongs to the step and not to the backward."""

    name = "zero-in-window"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.erased: list[tuple[Zero, Contribution]] = []  # (clear, what it erased last)

    def on_zero(self, event: Zero) -> None:
        if not event.pending or self.doctor.here.step is not None or event.place is None:
            return
        whole = [e for e in event.pending if not e.edited and len(e.contributions) == e.pending and e.owners]
        if not whole or len(whole) < len(event.pending):
            return
        if any(self.doctor.ledger.was_written(e) for e in whole):
            return  # the program has used them itself
        last = whole[0].contributions[-1]
        if not last.assigned:
            self.erased.append((event, last))

    def on_step(self, event: Step) -> None:
        erased, self.erased = self.erased, []
        if event.closure or event.manual or not erased or not event.window:
            return
        if any(e.edited or any(c.assigned for c in e.contributions) for e in event.entries):
            return
        used: Backward = event.window[-1]
        lost = {
            c.number  # of the same loss: one line may be the backward of several
            for _, c in erased
            if c.place is used.place and c.kinds == used.kinds and c.number < used.number
        }
        if not lost or len(event.window) > 1 or used.in_step:
            return
        mine = {id(e) for e in event.entries}
        zero = next(z for z, c in erased if c.number in lost)
        if not any(id(e) in mine for e in zero.entries):
            return
        self.doctor.report(
            self,
            zero.place,
            f"{zero.how} here clears the gradients of each small batch: of the {len(lost) + 1} backward calls before the step "
            f"at line {event.place.line} it uses only the last",
            "clear once for each step: move it into the branch of the step, after step()",
            [(used.place, "the backward"), (event.place, "the step")],
            after=2,
        )
