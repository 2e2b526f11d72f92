"""`retain_graph=True` at a backward whose graph nothing uses again."""

from __future__ import annotations

import weakref
from typing import Any

from ..events import Backward, Step
from ..places import Place
from . import Check


class RetainGraphNeedless(Check):
    """The graph's values live on until it is dropped: twice the memory, and a leak where a tensor links iterations."""

    name = "retain-graph-needless"
    severity = "warning"
    waits_for = "retained"
    is_last = True

    def __init__(self, doctor):
        super().__init__(doctor)
        self.waiting: list[tuple[Place, frozenset[int], int, Any]] = []  # (line, times of the nodes, step, root)
        self.used: set[Place] = set()
        self.needless: dict[Place, int] = {}

    def on_before_backward(self, event: Backward) -> None:
        if not self.waiting or event.tape is None:
            return
        seqs = {node.seq for node in event.tape.nodes}
        for place, retained, _, _ in self.waiting:
            if not retained.isdisjoint(seqs):
                self.used.add(place)

    def on_backward(self, event: Backward) -> None:
        if not event.retain or event.create or event.tape is None or event.place in self.used or not event.tape.nodes:
            return
        seqs = frozenset(node.seq for node in event.tape.nodes[:2000])
        self.waiting.append((event.place, seqs, self.doctor.steps, weakref.ref(event.tape.nodes[0])))
        self._settle(keep=16)

    def on_stepped(self, event: Step) -> None:
        self._settle(keep=16)

    def _settle(self, keep: int) -> None:
        """Judge the graphs that are gone, or older than two steps."""
        left = []
        for item in self.waiting:
            place, _, step, root = item
            if place in self.used:
                continue
            if root() is None or self.doctor.steps > step + 2:
                self.needless[place] = self.needless.get(place, 0) + 1
            else:
                left.append(item)
        self.waiting = left[-keep:]

    def finish(self) -> None:
        for place, _, _, _ in self.waiting:
            self.needless[place] = self.needless.get(place, 0) + 1
        for place, count in self.needless.items():
            if place not in self.used and count >= 2 and not self.doctor.findings.has("missing-create-graph", place):
                self.doctor.report(
                    self,
                    place,
                    f"retain_graph=True was never needed: in {count} calls nothing used the graph again, and its values stayed in "
                    "memory",
                    "leave retain_graph out",
                )
