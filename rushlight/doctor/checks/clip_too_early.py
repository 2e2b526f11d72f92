"""Gradients are limited before all of them are there."""

from __future__ import annotations

from ..events import Backward, Clip, Step, Zero
from . import Check


class ClipTooEarly(Check):
    """A backward after the clip adds to gradients that are taken for limited."""

    name = "clip-too-early"
    severity = "warning"
    waits_for = "clip"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.clip: Clip | None = None
        self.later: Backward | None = None

    def on_clip(self, event: Clip) -> None:
        if self.later is None:
            self.clip = event

    def on_cleared(self, event: Zero) -> None:
        if self.clip is not None and any(e.contributions for e in self.clip.entries):
            return
        if event.how != "= None" and self.later is None and self.clip is not None and self.clip.entries:
            self.clip = None

    def on_backward(self, event: Backward) -> None:
        if self.clip is not None and event.accumulates:
            mine = {id(e) for e in self.clip.entries}
            if any(id(e) in mine for e in event.entries) and not event.in_step:
                self.later = event

    def on_step(self, event: Step) -> None:
        clip, later, self.clip, self.later = self.clip, self.later, None, None
        if clip is None or later is None or event.manual or event.closure:
            return
        mine = {id(e) for e in clip.entries}
        stepped = [e for e in event.entries if id(e) in mine]
        if not stepped or any(c.assigned for e in stepped for c in e.contributions):
            return
        if ("clip-after-step", clip.place.file, clip.place.line) in self.doctor.findings.suspected:
            return
        self.doctor.report(
            self,
            clip.place,
            f"{clip.what} runs before the backward at line {later.place.line} has added to the same gradients: it limits a part of "
            f"what the step at line {event.place.line} uses",
            "limit once, after the last backward and before the step",
            [(later.place, "the backward that adds to them"), (event.place, "the step")],
            after=2,
        )
