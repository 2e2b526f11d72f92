"""Gradients are limited after the step that has used them."""

from __future__ import annotations

from ..events import Clip
from . import Check


class ClipAfterStep(Check):
    """The update was not limited, and what was limited is cleared next."""

    name = "clip-after-step"
    severity = "error"

    def on_clip(self, event: Clip) -> None:
        held = [e for e in event.entries if e.contributions]
        if not held or any(e.pending > 0 or not e.used for e in held) or held[0].used_at is None:
            return
        self.doctor.report(
            self,
            event.place,
            f"{event.what} runs after the step at line {held[0].used_at.line}, which has used these gradients already: the "
            "update was not limited",
            "the order is: backward(), clip, step()",
            [(held[0].used_at, "the step")],
            after=2,
        )
