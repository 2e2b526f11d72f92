"""A step uses gradients that an earlier step has used already: nothing cleared them in between."""

from __future__ import annotations

from collections import Counter

from ..events import Step
from ..places import assigned_name, gradient_read
from ..words import many
from . import Check


class StaleGrad(Check):
    """`backward()` adds to `.grad`; the step after it applies the sum of this batch and of all batches before."""

    name = "stale-grad"
    severity = "error"

    def on_step(self, event: Step) -> None:
        stale = [e for e in event.entries if e.used and e.pending > 0 and not e.edited]
        if not stale:
            return
        worst = max(stale, key=lambda e: e.used)
        latest = max(e.contributions[-1].steps for e in stale)  # not those of another optimizer's loss, before its step
        added = Counter(c.place for e in stale for c in e.contributions[e.used :] if c.steps == latest).most_common(1)[
            0
        ][0]
        optimizer = event.optimizer
        clear = f"{gradient_read(event.place) or worst.name or 'p'}.grad = None"
        if optimizer is not None:
            clear = f"{assigned_name(optimizer.place) or 'optimizer'}.zero_grad()"
        self.doctor.report(
            self,
            added,
            f"this backward() added to gradients that a step had already used: the step at line {event.place.line} used those of "
            f"{many(len(worst.contributions), 'backward call')}, {worst.used} of them for the second time "
            f"({many(len(stale), 'tensor')}); nothing cleared them",
            f"clear the gradients once for each step, before this backward: {clear}",
            [(event.place, "the step that used them again"), (worst.used_at, "the step that used them first")],
            after=2,
        )
