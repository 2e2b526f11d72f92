"""Backward through a graph whose saved values an earlier backward has freed."""

from __future__ import annotations

from typing import Any

from ...autograd.engine import keeps_tensors
from ...core.tensor.node import Freed, Leaf
from ...core.tensor.storage import tick
from ..carried import crossing, link, node_of
from ..events import Backward
from ..places import Place, place_of
from ..tape import Tape
from . import Check


class DoubleBackward(Check):
    """Two losses share a part of the graph, or a hidden state links an iteration to the one before."""

    name = "double-backward"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.freed: set[int] = set()  # nodes of the running backward's tape that were freed before it
        self.latest_root = 0  # of the backwards so far, by time
        self.latest = 0  # when the last of them was over

    def on_before_backward(self, event: Backward) -> None:
        self.freed = {id(n) for n in event.tape.nodes if type(n.saved) is Freed} if event.tape is not None else set()

    def on_backward(self, event: Backward) -> None:
        if event.tape is not None and event.tape.nodes:
            self.latest_root = max(self.latest_root, event.tape.nodes[0].seq)
            self.latest = tick()

    def on_failed(self, event: Backward, error: BaseException) -> None:
        if not isinstance(error, RuntimeError) or "backward through the graph a second time" not in str(error):
            return
        tape = event.tape
        if tape is None:
            return
        freed = [n for n in tape.nodes if id(n) in self.freed]
        if not freed:
            return
        where = freed[0].saved.where
        first = place_of(*where) if isinstance(where, tuple) else None
        shared, user = _crossing(tape, self.freed, self.latest_root)
        made, used = link(self.doctor.lines, tape, shared, user)
        if user is not None and user.seq < self.latest:  # both losses were there before the first backward
            first = first if first is not event.place else None
        self.doctor.report_if_uncaught(error, lambda: self._tell(event, first, made, used), event.place)

    def _tell(self, event: Backward, first: Place | None, made: Place | None, used: Place | None) -> None:
        related = [(first, "the backward that freed the graph"), (event.place, "the backward that needs it again")]
        at = f" at line {first.line}" if first is not None else ""
        if made is not None and first is event.place:
            link = f", and line {used.line} goes on with it" if used is not None and used is not made else ""
            self.doctor.report(
                self,
                made,
                f"a tensor made here links this backward to the graph that an earlier backward{at} has freed{link}",
                "detach what is carried from one iteration to the next: h = h.detach()",
                related,
                after=1,
            )
            return
        self.doctor.report(
            self,
            event.place,
            f"this backward needs values of the graph that the backward{at or ' before it'} has freed",
            "add the losses and call backward() once; detach what the first loss is not to reach; or retain_graph=True in the first",
            [(first, "the backward that freed the graph"), (made, "made the tensor that both need")],
            after=1,
        )


def _crossing(tape: Tape, freed: set[int], latest_root: int) -> tuple[Any, Any]:
    """(the latest freed node that a node with its values uses, that node): where the old graph enters the new one."""
    old = set(freed)
    for node in reversed(tape.nodes):  # what keeps nothing was freed with all that it was made from
        if node.seq > latest_root:
            break
        inputs = [node_of(e) for e in node.edges if e is not None and type(e) is not Leaf]
        if inputs and all(id(n) in old for n in inputs) and not keeps_tensors(type(node)):
            old.add(id(node))
    return crossing(tape, old)
