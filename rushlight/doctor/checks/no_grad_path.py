"""The loss has no way back to the parameters: it was cut from the graph."""

from __future__ import annotations

from typing import Any

from ...core.dispatch.mode import thread
from ...core.tensor.node import Leaf
from ...nn import Module
from ..events import Backward, Call, Forward, Step
from ..places import Place, here, no_grad_region, place_of_error, rebinds
from . import Check
from .leaf_rebound import LeafRebound, is_update

_MOST_TRIES = 3  # of windows in which the line of the cut is looked for


class NoGradPath(Check):
    """backward() raises, or, if the program has set requires_grad on the loss, trains nothing."""

    name = "no-grad-path"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.cuts: dict[Place, Call | None] = {}
        self.freezes: dict[int, Place] = {}
        self.unrecorded: tuple[int, Forward, Place | None] | None = (
            None  # (steps then, the last such call of a model, its region)
        )
        self.recorded = -1  # how many steps had been made at the last call of a model that was recorded
        self.of_leaf: tuple[Backward, Call | None] | None = None
        self.waiting: dict[
            Place, tuple[Backward, int]
        ] = {}  # until lines are known: by a backward's, how often it was seen

    def on_frozen(self, place: Place | None, tensor: Any) -> None:
        if place is not None:
            self.freezes[id(self.doctor.ledger.entry(tensor))] = place

    def on_forward(self, event: Forward) -> None:
        """Remember what is not recorded, where the lines of operators will not tell it."""
        if event.recording:
            self.recorded = self.doctor.steps
        elif not self.doctor.lines.windows:
            self.unrecorded = self.doctor.steps, event, no_grad_region(2)

    def _region(self) -> tuple[Place, Place] | None:
        """(where the recording of the loss that fails was turned off, a line that was not recorded); None where it was not."""
        if not thread.state.grad:
            off = no_grad_region(2) or self.doctor.lines.witness.switched_off
            return None if off is None or (place := here(2)) is None else (off, place)
        if self.unrecorded is not None and self.recorded < self.unrecorded[0] == self.doctor.steps:
            _, forward, region = self.unrecorded
            return None if region is None else (region, forward.place)
        return None

    def _freeze(self) -> tuple[Place, bool] | None:
        """(where the last parameter was frozen, whether the model had been trained): of all models that were called lately, or of one
        that was trained before and is all frozen now."""
        models = [m for m in self.doctor.latest.since(self.doctor.steps) if isinstance(m, Module)]
        parameters = [list(m.parameters()) for m in models]
        frozen = [ps for ps in parameters if ps and not any(p.requires_grad for p in ps)]
        trained = [ps for ps in frozen if any(self.doctor.ledger.entry(p).total for p in ps)]
        for wanted in (trained, frozen if len(frozen) == len([ps for ps in parameters if ps]) else []):
            entries = [id(self.doctor.ledger.entry(p)) for ps in wanted for p in ps]
            places = [place for e in entries if (place := self.freezes.get(e)) is not None]
            if places:
                return places[-1], wanted is trained
        return None

    def on_failed(self, event: Backward, error: BaseException) -> None:
        if not isinstance(error, RuntimeError) or event.explained:
            return
        if "appears to not have been used in the graph" in str(error):
            self._look_at_roots(event, error)
        if "does not require grad" not in str(error):
            return
        root = next((t for t in event.roots if t._edge is None), None)
        if root is None:
            return
        region = self._region()
        if region is None and (freeze := self._freeze()) is not None:
            self.doctor.report_if_uncaught(error, lambda: self._tell_of_freeze(event, *freeze), event.place)
            return
        cut = self._cut_before(root)
        if region is not None and (cut is None or not thread.state.grad):
            self.doctor.report_if_uncaught(error, lambda: self._tell_of_region(event, *region), event.place)
            return
        self.doctor.report_if_uncaught(error, lambda: self._tell(event, cut, at_error=True), event.place)

    def on_uncaught(self, error: BaseException) -> None:
        """A number has no `backward`: the loss was read from its tensor."""
        place = place_of_error(error)
        if place is not None and "Inference tensors cannot be saved for backward" in str(error):
            calls = self.doctor.lines.witness.calls
            made = [c.region for c in calls if c.region is not None and "inference_mode" in c.region.text]
            self.doctor.report(
                self,
                made[-1] if made else place,
                f"what is computed here can never enter a graph, and line {place.line} trains with it",
                "compute what is trained outside of inference_mode(); torch.no_grad() makes constants that a graph may use",
                [(place, "uses it for a loss")],
                after=1,
            )
            return
        if (
            place is None
            or not isinstance(error, AttributeError)
            or "object has no attribute 'backward'" not in str(error)
        ):
            return
        reads = [
            c for c in self.doctor.lines.witness.calls if c.had_history and not c.has_history and c.name.endswith("()")
        ]
        if reads:
            self.doctor.report(
                self,
                reads[-1].place,
                f"{reads[-1].name} makes a number of the loss here, without a history, and line {place.line} calls "
                "its backward()",
                f"keep the tensor: call backward() on it, and {reads[-1].name} only where the value is shown",
                [(place, "backward() of a number")],
                after=1,
            )

    def _cut_before(self, root: Any) -> Call | None:
        """The cut on the way to a loss: of several that of tensors which an optimizer has, and not that of a teacher."""
        witness = self.doctor.lines.witness
        cuts = [c for c in witness.cuts_before([root]) if self.doctor.cuts.is_of_optimizer(c)]
        return max(cuts, key=lambda call: call.index) if cuts else witness.cut_before(root)

    def _look_at_roots(self, event: Backward, error: BaseException) -> None:
        """A tensor that was cut off and then requires grad leads to nothing that a derivative may be taken by."""
        made = [t for t in event.roots if type(t._edge) is Leaf]
        cut = next(iter(self.doctor.lines.witness.cuts_before(made)), None)
        if cut is not None:
            self.doctor.report_if_uncaught(error, lambda: self._tell(event, cut, at_error=False), event.place)

    def on_before_backward(self, event: Backward) -> None:
        self.of_leaf = None
        tape = event.tape
        if not event.accumulates or tape is None or not tape.roots:
            return
        if type(tape.roots[0]) is Leaf and all(type(edge) is Leaf for edge in tape.roots):
            self.of_leaf = event, self._cut_before(event.roots[0])
        elif tape.leaves and self._is_new(tape.leaves[0]) and all(map(self._is_new, tape.leaves)):
            made = next((t for leaf in tape.leaves if (t := leaf.ref()) is not None), None)
            self.of_leaf = event, self._cut_before(made)

    def _is_new(self, leaf: Leaf) -> bool:
        """Whether a leaf is no parameter, and has never had a gradient: what the program has made of numbers, as it seems."""
        tensor = leaf.ref()
        if tensor is None:
            return True
        entry = self.doctor.ledger.entry(tensor)
        return not entry.is_parameter and not entry.owners and not entry.total

    def on_step(self, event: Step) -> None:
        of_leaf, self.of_leaf = self.of_leaf, None
        if of_leaf is None or event.manual or any(e.pending > 0 for e in event.entries):
            return
        backward, cut = of_leaf
        tries = self.waiting.get(backward.place, (backward, 0))[1]
        if cut is None and tries < _MOST_TRIES and not self.cuts.get(backward.place):
            self.waiting[backward.place] = backward, tries + 1
            self.doctor.lines.ask(len(self.doctor.optimizers) + 1)  # it may come once in a round of several optimizers
            return
        self.waiting.pop(backward.place, None)
        cut = self.cuts.setdefault(backward.place, cut)
        self._tell(backward, cut, at_error=False)

    def finish(self) -> None:
        for backward, _ in self.waiting.values():
            self._tell(backward, None, at_error=False)

    def _tell_of_region(self, event: Backward, region: Place, line: Place) -> None:
        at = "" if line is region else f", and so not at line {line.line}"
        self.doctor.report(
            self,
            region,
            f"the loss is cut from the graph here: from this line on nothing is recorded{at}",
            "compute what is trained outside of this region; around an evaluation, `with torch.no_grad():` turns the recording off and on "
            "again",
            [(event.place, "backward() of the loss")],
            after=1,
        )

    def _tell_of_freeze(self, event: Backward, freeze: Place, was_trained: bool) -> None:
        if was_trained:
            message = "the parameters of a model that was trained before are frozen here and stay so: this loss has no history"
            mend = "set requires_grad_(True) again before the model is trained"
        else:
            message = "every parameter of the model is frozen here: the loss has no history, and nothing can be trained"
            mend = "freeze only what is to stay as it is, and before the new layers are made"
        self.doctor.report(self, freeze, message, mend, [(event.place, "backward() of the loss")], after=1)

    def _tell(self, event: Backward, cut: Call | None, at_error: bool) -> None:
        related: list[Any] = [(event.place, "backward() of it")]
        is_update_by_hand = cut is not None and (is_update(cut.place) or not self.doctor.optimizers)
        if (
            cut is not None
            and is_update_by_hand
            and rebinds(cut.place)
            and not cut.recording
            and cut.region is not None
        ):
            self.doctor.report(
                LeafRebound,
                cut.place,
                "this line makes a new tensor, under no_grad, and gives it the parameter's name: the new one does not require "
                "grad, so the next backward() has nothing to reach",
                "write into the tensor instead: w -= ... (or w.sub_(...)), under torch.no_grad()",
                related,
                after=1,
            )
            return
        if cut is None:
            where, message = event.place, "the loss has no history: nothing that it was computed from requires grad"
            mend = "compute the loss from the model's output, and do not wrap or convert it on the way"
        elif cut.region is not None:
            where = cut.region
            message = f"the loss is cut from the graph here: line {cut.place.line} computes it without recording"
            mend = "compute what is trained outside of this region"
            related.append((cut.place, f"{cut.name} was not recorded"))
        else:
            where = cut.place
            message = f"the loss is cut from the graph here, by {_shown(cut.name)}"
            mend = f"do without {_shown(cut.name)} on the way to the loss"
        if not at_error:
            message += "; setting requires_grad on what is left trains nothing"
        self.doctor.report(self, where, message, mend, related, after=1)


def _shown(name: str) -> str:
    return name if name.endswith(("()", ".data")) else f"{name}(), which has no gradient"
