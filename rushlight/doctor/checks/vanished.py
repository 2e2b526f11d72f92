"""A layer that receives only zeros."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .. import names
from ..events import Backward, Step
from ..places import Place
from ..tape import Tape, name_of
from ..words import many
from . import Check

_FLAT = ("normal", "round", "floor", "ceil", "trunc", "sign", "sgn", "bernoulli", "poisson", "heaviside")
_EVERY = 8  # windows between two looks, after the first 50


class Vanished(Check):
    """All elements of a weight's gradient are exactly 0: dead ReLUs, a saturated activation, weights of zeros."""

    name = "vanished"
    severity = "warning"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.zeros: Counter[int] = Counter()
        self.looks: Counter[int] = Counter()
        self.places: dict[int, Place] = {}
        self.flat: dict[
            int, tuple[Place, str]
        ] = {}  # tensors that reach the loss through an operator whose gradient is zero
        self.order: dict[int, float] = {}  # when a tensor was used in the first forward that had it

    def on_tape(self, event: Backward) -> None:
        tape = event.tape
        assert tape is not None
        for leaf in tape.leaves:
            tensor = leaf.ref()
            entry = None if tensor is None else self.doctor.ledger.known(tensor)
            if entry is not None and id(entry) not in self.places:
                for node, _ in tape.users(leaf):
                    place = self.doctor.lines.of(node, tape)
                    if place is not None:
                        self.places[id(entry)] = place
                        self.order[id(entry)] = node.seq

        for node in tape.nodes:
            place = self.doctor.lines.of(node, tape) if name_of(node).partition(".")[0] in _FLAT else None
            if place is not None:
                for leaf in Tape([node]).leaves:
                    tensor = leaf.ref()
                    entry = None if tensor is None else self.doctor.ledger.entry(tensor)
                    if entry is not None:
                        self.flat.setdefault(id(entry), (place, name_of(node)))

    def on_step(self, event: Step) -> None:
        if event.optimizer is None or (event.optimizer.steps > 50 and event.optimizer.steps % _EVERY):
            return
        for entry in event.entries:
            if not entry.pending:
                continue
            norm = event.norm(entry)
            if norm is None:
                continue
            self.looks[id(entry)] += 1
            if norm == 0 and not entry.tensor._grad._array.any():  # squares of small numbers may be 0
                self.zeros[id(entry)] += 1

    def finish(self) -> None:
        looked = [e for e in self.doctor.ledger.alive() if self.zeros[id(e)] >= 10]
        zero = {id(e.tensor) for e in looked if self.zeros[id(e)] >= 0.95 * self.looks[id(e)]}
        dead = [e for e in looked if id(e.tensor) in zero and len(e.shape) > 1 and _whole_layer(e.tensor, zero)]
        if not dead:
            return
        first = max(dead, key=lambda e: self.order.get(id(e), 0))  # nearest to the loss: there the zeros begin
        optimizer = next((o for ref in first.owners if (o := ref()) is not None), None)
        place = self.places.get(id(first)) or (None if optimizer is None else optimizer.step_place)
        flat, name = self.flat.get(id(first), (None, ""))
        if flat is not None:
            self.doctor.report(
                self,
                flat,
                f"{first.label} has received only zeros, in {self.zeros[id(first)]} of {many(self.looks[id(first)], 'step')}: the gradient "
                f"of {name} is zero everywhere, and here it is between the tensor and the loss",
                "do without it on the way to the loss: mean + std * torch.randn_like(std) for a sample, x + (x.round() - x).detach() "
                "for a rounded value",
            )
            return
        others = f", as {many(len(dead) - 1, 'other tensor')}" if len(dead) > 1 else ""
        self.doctor.report(
            self,
            place,
            f"{first.label} has received only zeros, in {self.zeros[id(first)]} of {many(self.looks[id(first)], 'step')}{others}",
            "look at the activation after it (dead ReLUs: a smaller learning rate, another initialization), and at weights "
            "that start as zeros",
        )


def _whole_layer(tensor: Any, zero: set[int]) -> bool:
    """Whether all of a layer's own parameters get zeros: a weight alone may rightly be multiplied by zeros only."""
    for module in names.modules():
        own = [p for p in module.__dict__["_parameters"].values() if p is not None]
        if any(p is tensor for p in own):
            return all(id(p) in zero for p in own)
    return True
