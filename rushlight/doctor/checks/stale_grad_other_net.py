"""A step uses gradients that another optimizer's loss left in these parameters."""

from __future__ import annotations

from ..events import Step
from . import Check


class StaleGradOtherNet(Check):
    """In a GAN or an actor-critic, each loss also writes gradients into the other network."""

    name = "stale-grad-other-net"
    severity = "error"
    waits_for = "second_optimizer"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.consumers: dict[int, int] = {}  # backward -> the optimizer that stepped on it first

    def on_step(self, event: Step) -> None:
        mine = event.optimizer
        if mine is None or len(self.doctor.optimizers) < 2:
            return
        foreign = [
            (entry, c)
            for entry in event.entries
            if not entry.used and not entry.edited
            for c in entry.contributions
            if self.consumers.get(c.number, mine.number) != mine.number
        ]
        own = [
            c
            for e in event.entries
            for c in e.contributions
            if self.consumers.get(c.number, mine.number) == mine.number
        ]
        if foreign and own and len(foreign) >= len(event.entries) / 2:
            left = foreign[0][1]
            later = min((c for c in own if c.number > left.number), key=lambda c: c.number, default=left)
            if later is not left and (later.place is not left.place or later.kinds != left.kinds):
                self.doctor.report(
                    self,
                    later.place,
                    f"the step at line {event.place.line} also uses gradients that the backward at line {left.place.line} left "
                    f"in {len(foreign)} of its {len(event.entries)} tensors, for another optimizer's loss",
                    "clear this optimizer's gradients right before this backward",
                    [(left.place, "the other loss's backward"), (event.place, "the step that uses both")],
                )

    def on_stepped(self, event: Step) -> None:
        if event.optimizer is not None:
            for backward in event.window:
                self.consumers.setdefault(backward.number, event.optimizer.number)
            if len(self.consumers) > 10_000:
                for number in sorted(self.consumers)[:5_000]:
                    del self.consumers[number]
