"""What was to be frozen is not."""

from __future__ import annotations

from typing import Any

from ..events import Step
from ..places import Place
from . import Check


class FrozenWrongly(Check):
    """`module.requires_grad = False` sets a plain attribute; a frozen tensor with an old gradient still moves."""

    name = "frozen-wrongly"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.places: dict[int, Place] = {}

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

    def on_step(self, event: Step) -> None:
        if event.optimizer is None:
            return
        moved = [
            e for e in event.entries if e.tensor is not None and not e.tensor.requires_grad and id(e) in self.places
        ]
        moved = [e for e in moved if e.tensor._grad._array.any()]
        if moved:
            self.doctor.report(
                self,
                self.places[id(moved[0])],
                f"{moved[0].label} is frozen here, but keeps its last gradient: the step at line {event.place.line} goes on moving "
                f"it ({len(moved)} tensors)",
                "clear its gradient as well (p.grad = None), or leave it out of the optimizer",
                [(event.place, "the step that moves it")],
                after=2,
            )
