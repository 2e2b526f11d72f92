"""An optimizer's step that finds no gradient: there was no backward before it, or none since its last step."""

from __future__ import annotations

from ..events import Step
from . import Check
from .no_grad_path import NoGradPath


class StepWithoutGrad(Check):
    """A step without gradients changes nothing; one with gradients used before applies them again."""

    name = "step-without-grad"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.erased = False
        self.is_of_others = False  # the last backward reached parameters of no optimizer: this one has the wrong ones
        self.of_leaf = False  # the last backward began at a leaf: `no-grad-path` tells why

    def on_zero(self, event) -> None:
        self.erased = self.erased or bool(event.pending)

    def on_backward(self, event) -> None:
        if event.entries:
            self.erased = False
        self.is_of_others = any(e.is_parameter and not e.owners for e in event.entries)
        self.of_leaf = event.tape is not None and bool(event.tape.leaves) and not event.tape.nodes

    def _look_at_closure(self, event: Step, erased: bool) -> None:
        """A closure that only computes the loss. An optimizer of the program may want no gradient."""
        watched = event.optimizer
        if watched is None or not watched.keeps_gradients or watched.window or event.entries or erased:
            return
        self.doctor.report(
            self,
            event.place,
            "the closure that this step calls makes no gradient: there is no backward() in it, so the step changes nothing",
            "in the closure: zero_grad(), the loss, backward(), return loss",
            [(watched.place, "the optimizer")],
            after=2,
        )

    def on_step(self, event: Step) -> None:
        erased, self.erased = self.erased, False
        if event.closure:
            self._look_at_closure(event, erased)
        if event.closure or event.manual or event.optimizer is None or erased or self.of_leaf:
            return
        if any(e.pending > 0 for e in event.entries):
            return
        if event.entries and not any(e.contributions for e in event.entries):
            return  # gradients from where nothing was seen
        if any(e.edited for e in event.entries):
            return  # written by hand
        if self.doctor.skipped and self.doctor.here.scaler_step is not None:
            return
        if not event.entries and self.doctor.backwards:
            what = (
                "no tensor of this optimizer has a gradient: no backward since the last clear has reached one of them"
            )
            mend = "call backward() on a loss of these parameters before the step"
        elif not event.entries:
            what = "step() comes before any backward(): no tensor has a gradient, so it changes nothing"
            mend = "step after the backward: zero_grad(), forward, backward(), step()"
        else:
            what = "there was no backward since this optimizer's last step: it applies the same gradients again"
            mend = "one backward for each step: zero_grad(), forward, backward(), step()"
        if any(check == "no-grad-path" for check, *_ in self.doctor.findings.suspected):
            return  # which says why
        is_cut = not event.entries and not self.is_of_others
        cut = self.doctor.cuts.of_latest(event.optimizer.entries) if is_cut else None
        if cut is not None:
            self.doctor.report(
                NoGradPath,
                cut.place,
                f"the last loss before the step at line {event.place.line} is cut here from all tensors of its optimizer: they get no "
                "gradient, and the step changes nothing",
                "do without it on the way to this loss",
                [(event.place, "the step"), (self.doctor.cuts.latest, "backward() of the loss")],
                after=2,
            )
            return
        late = not event.entries and bool(self.doctor.backwards)  # why is known at the end only
        after = 1_000_000 if late else 2
        self.doctor.report(self, event.place, what, mend, [(event.optimizer.place, "the optimizer")], after=after)
