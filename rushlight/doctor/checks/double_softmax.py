"""A softmax or sigmoid in front of a loss that applies a softmax itself."""

from __future__ import annotations

from ..events import Backward
from ..places import layer_made_within
from ..tape import inputs_of, kind_of
from . import Check


class DoubleSoftmax(Check):
    """The loss cannot fall below about 1 for ten classes, and gradients are small everywhere."""

    name = "double-softmax"
    severity = "error"

    def on_tape(self, event: Backward) -> None:
        tape = event.tape
        assert tape is not None
        for node in tape.named("log_softmax"):
            for source in inputs_of(node):
                if kind_of(source) not in ("softmax", "sigmoid"):
                    continue
                loss = self.doctor.lines.of(node, tape)
                made = self.doctor.lines.of(source, tape) or loss or event.place
                at = f" at line {loss.line}" if loss is not None else ""
                self.doctor.report(
                    self,
                    layer_made_within(made, "softmax", "sigmoid") or made,
                    f"this {kind_of(source)} feeds a loss{at} that applies log_softmax itself: the classes' probabilities are "
                    "taken for scores",
                    "give cross_entropy the scores as they are; take the softmax only where probabilities are shown",
                    [(made, "the call"), (loss, "applies log_softmax")],
                    after=1,
                )
