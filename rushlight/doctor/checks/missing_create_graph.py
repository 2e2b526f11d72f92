"""What `autograd.grad` returned is a part of the loss, but has no history: the term trains nothing."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from ...core.tensor.node import Leaf
from ..events import Backward, Call
from ..ledger import Entry
from ..places import Place
from ..tape import Tape
from . import Check


@dataclass(frozen=True)
class _Source:
    """One grad() without a history, or a backward() that left a `.grad` (accumulated). through: the weights between what it differentiates and its inputs, by identity."""

    place: Place
    through: frozenset[int]
    accumulated: bool = False


class MissingCreateGraph(Check):
    """A gradient penalty without create_graph=True is a constant."""

    name = "missing-create-graph"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.through: set[int] = set()  # the weights that the latest grad() went through
        self.sources: dict[
            int, tuple[Any, _Source]
        ] = {}  # weak references: results of grad() and what was computed of them, by identity
        self.scaled: dict[int, tuple[Any, _Source]] = {}  # the same of what has a history by another factor
        self.joined: dict[int, Place] = {}  # a node's time -> the grad() whose constant it adds to a loss
        self.updated: dict[int, _Source] = {}  # a node's time -> the grad() whose constant it adds to a tensor

    def on_backward(self, event: Backward) -> None:
        if event.tape is None or (event.accumulates and (event.create or all(map(_is_known_weight, event.entries)))):
            return
        through = {id(t) for leaf in event.tape.leaves if (t := leaf.ref()) is not None and self._is_weight(t)}
        if not event.accumulates:
            self.through = through
        else:
            for entry in event.entries:  # a gradient of the data, which may become a term of a loss
                tensor = entry.tensor
                if tensor is not None and not _is_known_weight(entry) and tensor._grad is not None:
                    self._note(tensor._grad, _Source(event.place, frozenset(through), accumulated=True))

    def _is_weight(self, tensor: Any) -> bool:
        return _is_known_weight(self.doctor.ledger.entry(tensor))

    def on_differentiated(self, place: Place | None, results: tuple) -> None:
        if place is None:
            return
        self.doctor.lines.ask()
        if len(self.sources) > 5000:
            self.sources.clear()
        self.scaled.clear()
        source = _Source(place, frozenset(self.through))
        for t in results:
            if t is not None:
                if t._edge is None:
                    self._note(t, source)
                else:
                    self.sources.pop(id(t), None)

    def _note(self, tensor: Any, source: _Source) -> None:
        self.sources[id(tensor)] = weakref.ref(tensor), source

    def _source_of(self, tensor: Any) -> _Source | None:
        ref, source = self.sources.get(id(tensor), (None, None))
        return source if ref is not None and ref() is tensor and getattr(tensor, "_edge", None) is None else None

    def _scaled_of(self, tensor: Any) -> _Source | None:
        ref, source = self.scaled.get(id(tensor), (None, None))
        return source if ref is not None and ref() is tensor else None

    def on_call(self, call: Call, inputs: tuple, results: tuple) -> None:
        if not self.sources:
            return
        source = next((s for t in inputs if (s := self._source_of(t)) is not None), None)
        if source is None and call.name in ("add", "sub"):
            source = next((s for t in inputs if (s := self._scaled_of(t)) is not None), None)
        elif source is not None and call.has_history and call.name in ("mul", "neg"):
            for r in results:  # by a learning rate that is learned
                self.scaled[id(r)] = weakref.ref(r), source
        for r in results:
            if source is None or call.has_history:
                self.sources.pop(id(r), None)
            else:
                self._note(r, source)
        joins = call.has_history and call.name in ("add", "sub") and call.shapes == ((), ())
        if source is not None and joins and call.seq:
            if len(self.joined) > 1000:
                self.joined.clear()
            self.joined[call.seq] = source.place
        elif source is not None and call.has_history and call.name in ("add", "sub") and call.seq:
            if len(self.updated) > 1000:
                self.updated.clear()
            self.updated[call.seq] = source

    def on_failed(self, event: Backward, error: BaseException) -> None:
        """A second derivative of what has no history raises."""
        source = next((s for t in event.roots if (s := self._source_of(t)) is not None), None)
        if source is not None and not source.accumulated and "does not require grad" in str(error):
            event.explained = True
            self.doctor.report_if_uncaught(error, lambda: self._tell(source.place, event), event.place)

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
                self._tell(place, event)

    def _tell(self, place: Place, event: Backward) -> None:
        self.doctor.report(
            self,
            place,
            "the gradient that is computed here goes into the loss without a history: this term of the loss is a constant, and "
            "trains nothing",
            "compute it with create_graph=True",
            [(event.place, "the backward of the loss")],
            after=1,
        )

    def _is_at_the_end(self, tape: Tape, node: Any) -> bool:
        """Whether no weight enters between a node and the loss: what it makes is no input of a model."""
        waiting, seen = [node], {node}
        while waiting:
            for user, _ in tape.users(waiting.pop()):
                if any(type(e) is Leaf and (t := e.ref()) is not None and self._is_weight(t) for e in user.edges):
                    return False
                if user not in seen:
                    seen.add(user)
                    waiting.append(user)
        return True

    def _goes_through(self, tape: Tape, weights: frozenset[int]) -> bool:
        return any(id(leaf.ref()) in weights for leaf in tape.leaves)

    def _look_for_updates(self, event: Backward, tape: Tape) -> None:
        """Weights after a step of an inner loop, whose gradient does not know of that step."""
        for node in tape.nodes:
            source = self.updated.pop(node.seq, None)
            if source is None or "create_graph" in source.place.text:
                continue
            weights = next((e.ref() for e in node.edges if type(e) is Leaf), None)
            if weights is None and self._is_at_the_end(tape, node) and self._goes_through(tape, source.through):
                self._tell(source.place, event)
            elif weights is not None and self._is_weight(weights):
                self.doctor.report(
                    self,
                    source.place,
                    "the weights are updated by what grad() returns here, and then trained through the update: without a "
                    "history the gradient treats the update as a constant",
                    "call grad() with create_graph=True (or say create_graph=False, where a first-order gradient is meant)",
                    [(event.place, "the backward through the updated weights")],
                    after=1,
                )


def _is_known_weight(entry: Entry) -> bool:
    return entry.is_parameter or bool(entry.owners)
