"""The last small batches of an epoch fill no window: they are lost, or leak into the next epoch's first step."""

from __future__ import annotations

from collections import Counter

from ..events import Epoch
from ..places import Place, enclosing_if
from ..words import many
from . import Check


class PartialWindow(Check):
    """The number of batches is no multiple of the number that a step accumulates."""

    name = "partial-window"
    severity = "warning"

    def on_epoch_end(self, event: Epoch) -> None:
        for watched in self.doctor.optimizers:
            sizes = Counter(n for n in watched.windows if n)
            if not sizes or not watched.window or watched.step_place is None:
                continue
            usual = sizes.most_common(1)[0][0]
            left = sum(b.place is watched.usual_place for b in watched.window)
            if usual > 1 and 0 < left < usual and event.batches >= usual:
                self._tell(watched.step_place, left, usual, event.batches, watched.window[-1].place)

    def _tell(self, step: Place, left: int, usual: int, batches: int, backward: Place) -> None:
        self.doctor.report(
            self,
            enclosing_if(step) or step,
            f"a step takes {usual} backwards, and an epoch has {batches}: the last {many(left, 'backward')} of each epoch "
            "are followed by no step: they are lost, or go into the next epoch's first step",
            "step after the last batch too: if (i + 1) % n == 0 or i + 1 == len(loader), and divide that window's losses by "
            "their own number",
            [(step, "the step"), (backward, "the backward")],
            at_end=1,
        )
