"""What the page draws: the latest and first events of the loop, norms of gradients, live graphs. Bounded in memory."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .places import Place

if TYPE_CHECKING:
    from .doctor import Doctor
    from .events import Step

__all__ = ["History"]

_EVENTS = 600  # first and latest events that are kept, each
_STEPS = 400  # looks at norms that are kept; beyond, every second one is dropped
_PARAMETERS = 24  # whose norms are followed: the largest


class History:
    """Collects while the program runs; `as_dict` is what the page is given."""

    def __init__(self, doctor: Doctor) -> None:
        self.doctor = doctor
        self.start = time.perf_counter()
        self.first: list[tuple] = []  # (number, time, kind, lane, place, step, more)
        self.latest: list[tuple] = []
        self.norms: dict[str, list[tuple[int, float]]] = {}
        self.graphs: list[
            tuple[int, int, int]
        ] = []  # (step, graphs alive after it, bytes that its backward's graph held)
        self.graphs_every = 1
        self.every = 1
        self.count = 0

    def note(self, kind: str, place: Place | None, lane: int = 0, **more: Any) -> None:
        """One event of the timeline. lane: the number of an optimizer, 0 for what belongs to none."""
        event = self.count, time.perf_counter(), kind, lane, place, self.doctor.steps, more
        self.count += 1
        if len(self.first) < _EVENTS:
            self.first.append(event)
        else:
            self.latest.append(event)
            if len(self.latest) > 2 * _EVENTS:
                del self.latest[:_EVENTS]

    def look(self, event: Step) -> None:
        """Take the norms of an optimizer's gradients, before its step."""
        optimizer = event.optimizer
        assert optimizer is not None
        steps = optimizer.steps
        if steps >= 50 and steps % (8 * self.every):
            return
        largest = sorted((e for e in optimizer.entries if e.tensor is not None), key=lambda e: -e.tensor._array.size)[
            :_PARAMETERS
        ]
        for i, entry in enumerate(largest):
            norm = event.norm(entry)
            if norm is None:
                continue
            key = f"{optimizer.number}/{i}/{id(entry)}"
            values = self.norms.setdefault(key, [])
            values.append((steps + 1, norm))
            if len(values) > _STEPS:
                self.norms[key] = values[::2]
                self.every = min(self.every * 2, 64)

    def note_graphs(self, step: int, alive: int, held: int) -> None:
        """How many graphs that were backwarded are alive after a step, and the memory that its own held."""
        if step % self.graphs_every:
            return
        self.graphs.append((step, alive, held))
        if len(self.graphs) > _STEPS:
            self.graphs = self.graphs[::2]
            self.graphs_every *= 2

    def as_dict(self) -> dict[str, Any]:
        """{"events", "dropped", "norms", "optimizers", "graphs"}, as JSON has it."""
        events = self.first + self.latest
        names = {id(e): e.label for e in self.doctor.ledger.entries.values()}
        return {
            "events": [self._shown(*e) for e in events],
            "dropped": self.count - len(events),
            "norms": [
                {
                    "optimizer": int(key.split("/")[0]),
                    "name": names.get(int(key.split("/")[2]), "a tensor"),
                    "values": _finite(v),
                }
                for key, v in self.norms.items()
            ],
            "optimizers": [
                {"number": o.number, "kind": o.kind, "steps": o.steps, "line": o.place.line, "tensors": len(o.entries)}
                for o in self.doctor.optimizers
                if o.place is not None
            ],
            "steps": self.doctor.steps,
            "backwards": self.doctor.backwards,
            "graphs": self.graphs,
        }

    def _shown(
        self, i: int, at: float, kind: str, lane: int, place: Place | None, step: int, more: dict[str, Any]
    ) -> dict:
        where = None if place is None else {"file": place.file, "line": place.line, "text": place.text}
        return {
            "i": i,
            "t": round(at - self.start, 6),
            "kind": kind,
            "lane": lane,
            "step": step,
            "place": where,
            **more,
        }


def _finite(values: list[tuple[int, float]]) -> list[list[float | None]]:
    return [[step, norm if np.isfinite(norm) else None] for step, norm in values]
