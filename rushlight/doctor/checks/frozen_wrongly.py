"""What was to be frozen is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..events import Step
from ..idle import compared_flags, misspelt_flags
from ..ledger import Entry
from ..places import Place
from ..words import many
from . import Check


class FrozenWrongly(Check):
    """`module.requires_grad = False` sets a plain attribute; a frozen tensor with an old gradient still moves."""

    name = "frozen-wrongly"
    severity = "error"
    waits_for = "frozen"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.places: dict[int, Place] = {}
        self.before: list[
            tuple[Entry, np.ndarray]
        ] = []  # frozen tensors that the running step holds, and some of their values

    def on_attribute(self, place: Place | None, module: Any, name: str, value: Any) -> None:
        if any(p.requires_grad is not bool(value) for p in module.parameters()):
            self.doctor.report(
                self,
                place,
                f"requires_grad = {value} on a {type(module).__name__} sets an attribute of the module and changes none of its "
                "parameters",
                f"call the method: module.requires_grad_({bool(value)})",
                after=1,
            )

    def on_frozen(self, place: Place | None, tensor: Any) -> None:
        if place is not None and tensor._grad is not None:
            self.places[id(self.doctor.ledger.entry(tensor))] = place

    def finish(self) -> None:
        """A comparison in place of an assignment: the tensors go on training, so nothing else is to be seen of it."""
        trained = next(
            (o.step_place for o in self.doctor.optimizers if o.steps >= 2 and o.step_place is not None), None
        )
        for place, text in compared_flags(trained) if trained is not None else ():
            self.doctor.report(
                self,
                place,
                f"{text} is compared here, and not set: the tensors require grad as before",
                "set it: p.requires_grad = False (or p.requires_grad_(False))",
            )

        for place, name in misspelt_flags(trained) if trained is not None else ():
            if not any(hasattr(e.tensor, name) for e in self.doctor.ledger.alive()):
                continue  # an attribute of an object of the program's own
            self.doctor.report(
                self,
                place,
                f"{name} is set here, an attribute of which nothing knows: the tensors require grad as before",
                "the name is requires_grad: p.requires_grad = False",
            )

    def on_step(self, event: Step) -> None:
        if event.optimizer is None or not self.places:
            return
        frozen = [
            e for e in event.entries if id(e) in self.places and e.tensor is not None and not e.tensor.requires_grad
        ]
        self.before = [(e, values) for e in frozen if (values := _some_values(e.tensor)) is not None]

    def on_stepped(self, event: Step) -> None:
        if not self.before:
            return
        before, self.before = self.before, []
        moved = [
            e for e, values in before if (now := _some_values(e.tensor)) is not None and not np.array_equal(values, now)
        ]
        if moved:
            self.doctor.report(
                self,
                self.places[id(moved[0])],
                f"{moved[0].label} is frozen here, but keeps its last gradient: the step at line {event.place.line} goes on moving "
                f"it, by that gradient, its momentum or weight decay ({many(len(moved), 'tensor')})",
                "clear its gradient as well (p.grad = None), or leave it out of the optimizer",
                [(event.place, "the step that moves it")],
                after=2,
            )


def _some_values(tensor: Any) -> np.ndarray | None:
    """At most 256 values, spread over a tensor."""
    array = tensor._array
    if not isinstance(array, np.ndarray) or not array.size:
        return None
    return array.flat[:: max(1, array.size // 256)].copy()
