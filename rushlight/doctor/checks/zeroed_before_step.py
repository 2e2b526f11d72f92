"""Gradients are cleared between the backward that made them and the step that should use them."""

from __future__ import annotations

from ..events import Step, Zero
from ..places import Place
from ..words import many
from . import Check


class ZeroedBeforeStep(Check):
    """The step then finds no gradient, or zeros, and nothing is learnt."""

    name = "zeroed-before-step"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.cleared: dict[int, tuple[Zero, list]] = {}  # by tensor: the clear, and what it erased
        self.too_early: set[Place] = set()  # steps that came before any backward: `step-without-grad` tells of them

    def on_zero(self, event: Zero) -> None:
        for entry in event.pending:
            self.cleared[id(entry)] = (event, list(entry.contributions))

    def on_backward(self, event) -> None:
        if not self.cleared:
            return
        for entry in event.entries:
            self.cleared.pop(id(entry), None)

    def on_assign(self, event) -> None:
        self.cleared.pop(id(event.entry), None)

    def on_step(self, event: Step) -> None:
        if event.closure:
            self._look_at_closure(event)
        if event.closure or event.manual:
            self.cleared.clear()
            return
        if not self.doctor.backwards:
            self.too_early.add(event.place)
        if not self.cleared:
            return
        entries = event.optimizer.entries if event.optimizer is not None else event.entries
        erased = [self.cleared[id(e)] for e in entries if id(e) in self.cleared and not e.contributions]
        fresh = [e for e in entries if e.pending > 0]
        if erased and not fresh and event.place not in self.too_early:
            self._tell(event, erased)
        self.cleared.clear()

    def _look_at_closure(self, event: Step) -> None:
        """A closure clears after its own backward. What an optimizer clears between two calls of it is its own affair."""
        entries = event.optimizer.entries if event.optimizer is not None else []
        erased = [self.cleared[id(e)] for e in entries if id(e) in self.cleared and not e.contributions]
        if erased and len(erased) == len(self.cleared):
            zero, contributions = erased[0]
            if zero.place is not None and zero.place.code is contributions[-1].place.code:
                self._tell(event, erased)

    def _tell(self, event: Step, erased: list) -> None:
        zero, contributions = erased[0]
        backward = contributions[-1].place
        self.doctor.report(
            self,
            zero.place,
            f"{zero.how} here erased the gradients of the backward at line {backward.line} before the step at line "
            f"{event.place.line} could use them ({many(len(erased), 'tensor')}): the step changed nothing",
            "move it before the backward, or after the step",
            [(backward, "made the gradients"), (event.place, "the step that found none")],
            after=1,
        )
