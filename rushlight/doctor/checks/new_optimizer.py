"""The same line makes a new optimizer over the same parameters, again and again: its state is lost."""

from __future__ import annotations

from ..events import Epoch
from ..ledger import Watched
from ..places import enclosing_loop
from . import Check

_WITHOUT_STATE = ("SGD",)


class NewOptimizer(Check):
    """Momentum and Adam's averages are lost, and so is a scheduler's learning rate."""

    name = "new-optimizer"
    severity = "warning"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.epochs: dict[
            int, tuple[int, int]
        ] = {}  # by optimizer: loaders that ran out while it trained, its steps then

    def on_epoch_end(self, event: Epoch) -> None:
        for watched in self.doctor.optimizers:
            count, steps = self.epochs.get(watched.number, (0, 0))
            if watched.steps > steps:
                self.epochs[watched.number] = count + 1, watched.steps

    def on_optimizer(self, event: Watched) -> None:
        optimizer = event.optimizer
        if optimizer is None or event.place is None:
            return
        mine = {id(e) for e in event.entries}
        if event.kind in _WITHOUT_STATE and not any(group.get("momentum") for group in optimizer.param_groups):
            return
        for other in self.doctor.optimizers:
            if self.epochs.get(other.number, (0, 0))[0] >= 2:
                continue  # a stage of the training: a task after another, a fold
            same = other is not event and other.steps and other.kind == event.kind and other.place is event.place
            if same and {id(e) for e in other.entries} == mine:
                self.doctor.report(
                    self,
                    event.caller or event.place,
                    f"this makes a new {event.kind} over the same {len(mine)} tensors after the last one made {other.steps} steps: its "
                    "state (averages, momentum) is lost each time",
                    "make the optimizer once, before the loop",
                    [(other.step_place, "the step"), (enclosing_loop(event.caller or event.place), "the loop")],
                    after=2,
                )
                return
