"""`w = w - lr * w.grad`: the name now means a new tensor, which is no leaf and never gets a `.grad`."""

from __future__ import annotations

import weakref
from typing import Any

from ..events import Backward, Call
from ..places import Place, drops_loop_variable, enclosing_loop, names_given, place_of_error, rebinds
from . import Check


class _Rebound:
    """An update that gives a parameter's name to a tensor without requires_grad.

    before: the backward before it; runs: how many backwards had been made at each run of it; made: the tensor, weakly; later: how often that
    backward ran again while the tensor was there and required no grad.
    """

    def __init__(self, before: Place | None) -> None:
        self.before, self.runs, self.later = before, set[int](), 0
        self.made: Any = lambda: None


class LeafRebound(Check):
    """A parameter's name is given to the result of an operator. Under no_grad the check `no-grad-path` sees it."""

    name = "leaf-rebound"
    severity = "error"
    waits_for = "rebound"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.under_no_grad: set[Place] = set()  # updates that rebind, which leave a tensor without requires_grad
        self.rebound: dict[Place, _Rebound] = {}  # the same, as they were seen

    def on_call(self, call: Call, inputs: tuple, results: tuple) -> None:
        """Where the name is a loop's variable, what is computed is dropped at once, under no_grad as elsewhere."""
        if not call.had_history or call.recording and not call.has_history or not is_update(call.place):
            return
        if not call.has_history and rebinds(call.place):
            self.under_no_grad.add(call.place)
            self._note(call.place, results)
        if drops_loop_variable(call.place):
            self.doctor.report(
                self,
                call.place,
                "this line computes new values and gives them the loop variable's name: the parameter itself stays as it was",
                "write into the tensor instead: p -= ... (or p.sub_(...))",
                after=2,
            )

    def _note(self, place: Place, results: tuple) -> None:
        """One run of such an update: the last of its results is what the name then refers to."""
        if not results or not any(f"{name}.grad" in place.text for name in names_given(place)):
            return
        known = self.rebound.setdefault(place, _Rebound(self.doctor.cuts.latest))
        self.doctor.happened("rebound")
        known.runs.add(self.doctor.backwards)
        known.made = weakref.ref(results[0])

    def on_before_backward(self, event: Backward) -> None:
        for known in self.rebound.values():
            made = known.made()
            if made is not None and made._edge is None and event.place is known.before:
                known.later += 1

    def finish(self) -> None:
        """An update that ran once, and no more after the next backward of the same statement: an error was caught, as it seems."""
        for place, known in self.rebound.items():
            if known.later and len(known.runs) == 1 and enclosing_loop(known.before or place) is not None:
                self._tell(place, None)

    def on_uncaught(self, error: BaseException) -> None:
        """Where the new tensor requires no grad, its `.grad` is None: that statement fails the next time, or the one that clears it."""
        if not isinstance(error, (TypeError, AttributeError)) or "NoneType" not in str(error):
            return
        place = place_of_error(error)
        if place is not None and is_update(place) and rebinds(place):
            self._tell(place, place)
            return
        text = "" if place is None else place.text
        for line in sorted(self.under_no_grad, key=lambda line: line.line):
            if any(f"{name}.grad" in text for name in names_given(line)):
                self._tell(line, place)
                return

    def on_non_leaf(self, place: Place | None, tensor: Any) -> None:
        made = self.doctor.lines.witness.maker(tensor)
        line = made.place if made is not None else self.doctor.lines.of(tensor._edge)
        if line is not None and is_update(line):
            self._tell(line, place)

    def _tell(self, line: Place, place: Place | None) -> None:
        self.doctor.report(
            self,
            line,
            "this line makes a new tensor of the parameter and gives it the same name: it is no leaf, so backward() leaves its "
            ".grad None, and what was the parameter is lost",
            "write into the tensor: with torch.no_grad(): w -= ... (or w.sub_(...))",
            [(place, "reads .grad of the new tensor")],
            after=1,
        )


def is_update(line: Place) -> bool:
    """Whether a statement computes new values of parameters from their gradients: `w = w - lr * w.grad`."""
    return ".grad" in line.text
