"""Gradients are limited while they are still multiplied by GradScaler's scale."""

from __future__ import annotations

from typing import Any

from ..events import Backward, Clip, Step
from ..ledger import Entry, Watched, writer_of
from ..places import Place, limits_gradients
from . import Check


class ScaledState(Check):
    """Which tensors hold gradients that are still scaled; shared by the two checks of loss scaling."""

    waits_for = "scaled"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.scaled: dict[int, Backward] = {}  # by entry

    def on_backward(self, event: Backward) -> None:
        if event.scaled:
            self.scaled.update((id(entry), event) for entry in event.entries)
        else:
            self._forget(event.entries)

    def on_unscale(self, event: Watched) -> None:
        self._forget(event.entries)

    def on_cleared(self, event: Any) -> None:
        self._forget(event.entries)

    def _forget(self, entries: list[Entry]) -> None:
        if self.scaled:
            for entry in entries:
                self.scaled.pop(id(entry), None)


class ClipScaled(ScaledState):
    """With a scale of 65536 every gradient is above the limit: the update is 65536 times too small."""

    name = "clip-scaled"
    severity = "error"

    def on_clip(self, event: Clip) -> None:
        backward = next((self.scaled[id(e)] for e in event.entries if id(e) in self.scaled), None)
        if backward is not None:
            self._tell(event.place, event.what, backward.place)

    def on_unscale(self, event: Watched) -> None:
        for entry in event.entries:
            backward = self.scaled.get(id(entry)) if self.doctor.ledger.grad_was_written(entry) else None
            place = None if backward is None else writer_of(entry.tensor._grad)
            if backward is not None and place is not None and limits_gradients(place):
                self._tell(place, "this", backward.place)
                break
        super().on_unscale(event)

    def _tell(self, place: Place, what: str, backward: Place) -> None:
        self.doctor.report(
            self,
            place,
            f"{what} limits gradients that are still multiplied by the scale of GradScaler",
            "call scaler.unscale_(optimizer) before it",
            [(backward, "the backward of the scaled loss")],
            after=2,
        )


class StepScaled(ScaledState):
    """`optimizer.step()` where `scaler.step(optimizer)` was meant: the update is 65536 times too large."""

    name = "step-scaled"
    severity = "error"

    def on_step(self, event: Step) -> None:
        if not self.scaled or event.manual or event.closure or self.doctor.here.scaler_step is not None:
            return
        backward = next((self.scaled[id(e)] for e in event.entries if id(e) in self.scaled), None)
        if backward is not None:
            self.doctor.report(
                self,
                event.place,
                "this step uses gradients that are still multiplied by the scale of GradScaler",
                "step by scaler.step(optimizer) and scaler.update(), or call scaler.unscale_(optimizer) before it",
                [(backward.place, "the backward of the scaled loss")],
                after=2,
            )
