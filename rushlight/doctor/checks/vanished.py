"""A layer that receives only zeros."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...core.tensor.node import Leaf
from .. import names
from ..events import Backward, Step
from ..gates import closed_gates
from ..ledger import Entry
from ..places import Place
from ..tape import Tape, name_of
from ..words import many
from . import Check

_FLAT = ("normal", "round", "floor", "ceil", "trunc", "sign", "sgn", "bernoulli", "poisson", "heaviside")
_EVERY = 8  # windows between two looks, after the first 50
_SUSPICIOUS = 5  # looks at which a tensor had only zeros, before its gradient is followed
_MOST_TRIES = 4  # to get the line at which it becomes zero


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
        self.gates: dict[int, tuple[Place, str]] = {}  # the operator at which a tensor's gradient becomes zero
        self.wanted: dict[int, int] = {}  # tensors of which it is looked for: how often that was tried
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

    def on_before_backward(self, event: Backward) -> None:
        tape = event.tape
        if not self.wanted or tape is None or not event.accumulates:
            return
        for leaf in tape.leaves:
            tensor = leaf.ref()
            entry = None if tensor is None else self.doctor.ledger.known(tensor)
            if entry is not None and id(entry) in self.wanted:
                self._follow(entry, leaf, tape)

    def _follow(self, entry: Entry, leaf: Any, tape: Tape) -> None:
        """Find the operator that stops a tensor's gradient, and its line."""
        gates = [gate for gate in closed_gates(tape, leaf)[:1] if self._is_in_the_loss(gate, tape)]
        place = self.doctor.lines.of(gates[0], tape) if gates else None
        self.wanted[id(entry)] += 1
        if place is not None:
            self.gates[id(entry)] = place, name_of(gates[0])
        if place is not None or self.wanted[id(entry)] >= _MOST_TRIES:
            del self.wanted[id(entry)]
        elif gates:
            self.doctor.lines.ask(2)

    def _is_in_the_loss(self, gate: Any, tape: Tape) -> bool:
        """Whether no parameter enters after an operator: it is no part of the model."""
        waiting, seen = [gate], {gate}
        while waiting:
            for user, _ in tape.users(waiting.pop()):
                leaves = [t for e in user.edges if type(e) is Leaf and (t := e.ref()) is not None]
                if any(self.doctor.ledger.entry(t).owners for t in leaves):
                    return False
                if user not in seen:
                    seen.add(user)
                    waiting.append(user)
        return True

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
                if self.zeros[id(entry)] == self.looks[id(entry)] == _SUSPICIOUS and len(entry.shape) > 1:
                    self.wanted[id(entry)] = 0

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
        gate, name = self.gates.get(id(first), (None, ""))
        if gate is not None and gate.line != (place.line if place is not None else 0):
            self.doctor.report(
                self,
                gate,
                f"{first.label} has received only zeros, in {self.zeros[id(first)]} of {many(self.looks[id(first)], 'step')}: all elements "
                f"are on the flat side of {name}() here, so no gradient comes through",
                "look at the sign and the size of what is compared with its limit: the loss finds nothing to do in any sample",
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
