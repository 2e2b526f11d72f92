"""Gradients are limited after the step that has used them."""

from __future__ import annotations

from ..events import Clip, Zero
from ..ledger import writer_of
from ..places import Place, limits_gradients
from . import Check


class ClipAfterStep(Check):
    """The update was not limited, and what was limited is cleared next."""

    name = "clip-after-step"
    severity = "error"

    def on_clip(self, event: Clip) -> None:
        held = [e for e in event.entries if e.contributions]
        if held and all(e.used and not e.pending for e in held) and held[0].used_at is not None:
            self._tell(event.place, event.what, held[0].used_at)

    def on_zero(self, event: Zero) -> None:
        """Limited by hand, which has no event: the gradients were written between the step and the clear."""
        for entry in event.entries:
            written = entry.used and not entry.pending and self.doctor.ledger.grad_was_written(entry)
            place = writer_of(entry.tensor._grad) if written else None
            if place is not None and entry.used_at is not None and limits_gradients(place):
                self._tell(place, "this", entry.used_at)
                return

    def _tell(self, place: Place, what: str, step: Place) -> None:
        self.doctor.report(
            self,
            place,
            f"{what} runs after the step at line {step.line}, which has used these gradients already: the update was not limited",
            "the order is: backward(), clip, step()",
            [(step, "the step")],
            after=2,
        )
