"""What `autograd.grad` returned is a part of the loss, but has no history: the term trains nothing."""

from __future__ import annotations

from ...core.tensor.node import Leaf
from ..events import Backward, Call
from ..places import Place
from ..tape import Tape
from . import Check


class MissingCreateGraph(Check):
    """A gradient penalty without create_graph=True is a constant."""

    name = "missing-create-graph"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.sources: dict[int, Place] = {}  # results of grad() and what was computed of them, by identity
        self.joined: dict[int, Place] = {}  # a node's time -> the grad() whose constant it adds to a loss
        self.updated: dict[int, Place] = {}  # a node's time -> the grad() whose constant it adds to weights

    def on_differentiated(self, place: Place | None, results: tuple) -> None:
        if place is None:
            return
        self.doctor.arm()
        if len(self.sources) > 5000:
            self.sources.clear()
        for t in results:
            if t is not None:
                if t._edge is None:
                    self.sources[id(t)] = place
                else:
                    self.sources.pop(id(t), None)

    def on_call(self, call: Call, inputs: tuple, results: tuple) -> None:
        if not self.sources:
            return
        place = next(
            (self.sources[id(t)] for t in inputs if id(t) in self.sources and getattr(t, "_edge", None) is None), None
        )
        for r in results:
            if place is None or call.has_history:
                self.sources.pop(id(r), None)
            else:
                self.sources[id(r)] = place
        joins = call.has_history and call.name in ("add", "sub") and call.shapes == ((), ())
        if place is not None and joins and call.seq:
            if len(self.joined) > 1000:
                self.joined.clear()
            self.joined[call.seq] = place
        elif place is not None and call.has_history and call.name in ("add", "sub") and call.seq:
            if len(self.updated) > 1000:
                self.updated.clear()
            self.updated[call.seq] = place

    def on_before_backward(self, event: Backward) -> None:
        if event.tape is None:
            return
        if self.updated and event.accumulates:
            self._look_for_updates(event, event.tape)
        if not self.joined:
            return
        for node in event.tape.nodes:
            place = self.joined.pop(node.seq, None)
            if place is not None:
                self.doctor.report(
                    self,
                    place,
                    "what grad() returns here goes into the loss without a history: this term of the loss is a constant, and "
                    "trains nothing",
                    "call grad() with create_graph=True",
                    [(event.place, "the backward of the loss")],
                    after=1,
                )

    def _look_for_updates(self, event: Backward, tape: Tape) -> None:
        """Weights after a step of an inner loop, whose gradient does not know of that step."""
        for node in tape.nodes:
            place = self.updated.pop(node.seq, None)
            if place is None or "create_graph" in place.text:
                continue
            weights = next((e.ref() for e in node.edges if type(e) is Leaf), None)
            entry = None if weights is None else self.doctor.ledger.entry(weights)
            if entry is not None and (entry.is_parameter or entry.owners):
                self.doctor.report(
                    self,
                    place,
                    "the weights are updated by what grad() returns here, and then trained through the update: without a "
                    "history the gradient treats the update as a constant",
                    "call grad() with create_graph=True (or say create_graph=False, where a first-order gradient is meant)",
                    [(event.place, "the backward through the updated weights")],
                    after=1,
                )
