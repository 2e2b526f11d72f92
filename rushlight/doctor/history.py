"""What the page draws: the latest and first events of the loop, norms of gradients, live graphs. Bounded in memory."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .places import Place, assigned_name

if TYPE_CHECKING:
    from .events import Step
    from .observer import Observer

__all__ = ["History"]

_EVENTS = 600  # first and latest events that are kept, each
_STEPS = 400  # looks at gradients that are kept; beyond, every second one is dropped
_PARAMETERS = 24  # of an optimizer, which are followed: the largest
_SERIES = 96  # tensors that are followed in all
_CONTRIBUTIONS = 32  # latest ones of a gradient that are counted by line

_Mix = tuple[tuple[Place, int], ...]  # where a gradient came from: backward statements, each with how often


class History:
    """Collects while the program runs; `as_dict` is what the page is given."""

    def __init__(self, doctor: Observer) -> None:
        self.doctor = doctor
        self.start = time.perf_counter()
        self.first: list[tuple] = []  # (number, time, kind, lane, place, step, more)
        self.latest: list[tuple] = []
        # by optimizer, position and entry: (its step, the gradient's norm, where it came from)
        self.series: dict[tuple[int, int, int], list[tuple[int, float, _Mix]]] = {}
        self.graphs: list[tuple[int, int, int]] = []  # (step, graphs alive after it, bytes of its backward's graph)
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

    def note_step(self, event: Step) -> None:
        """An optimizer's step: before it, or after one that had a closure."""
        assert event.optimizer is not None
        self._look(event)
        held = event.entries[0].contributions if event.entries else []
        numbers = [c.number for c in held[-_CONTRIBUTIONS:]]
        self.note(
            "step", event.place, event.optimizer.number, nth=event.optimizer.steps + 1, sources=numbers, held=len(held)
        )

    def _look(self, event: Step) -> None:
        """Take the norms of an optimizer's gradients, and where they came from."""
        optimizer = event.optimizer
        assert optimizer is not None
        steps = optimizer.steps
        if steps >= 50 and steps % (8 * self.every):
            return
        largest = sorted((e for e in optimizer.entries if e.tensor is not None), key=lambda e: -e.tensor._array.size)[
            :_PARAMETERS
        ]
        mixes: dict[tuple[int, int], _Mix] = {}
        for i, entry in enumerate(largest):
            norm = event.norm(entry)
            key = optimizer.number, i, id(entry)
            if norm is None or (key not in self.series and len(self.series) >= _SERIES):
                continue
            held = entry.contributions
            same = len(held), id(held[-1]) if held else 0  # tensors of one optimizer mostly share their contributions
            mix = mixes.get(same)
            if mix is None:
                mix = mixes[same] = tuple(Counter(c.place for c in held[-_CONTRIBUTIONS:]).items())
            values = self.series.setdefault(key, [])
            values.append((steps + 1, norm, mix))
            if len(values) > _STEPS:
                self.series[key] = values[::2]
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
        """{"events", "dropped", "series", "mixes", "places", "optimizers", "steps", "backwards", "graphs"}, as JSON has it.

        A series is one tensor: {"optimizer", "name", "values": [[step, norm, number of a mix], ...]}; a mix is
        [[number of a place, how many backward calls], ...].
        """
        events = self.first + self.latest
        names = {id(e): e.label for e in self.doctor.ledger.entries.values()}
        mixes: dict[_Mix, int] = {}
        places: dict[Place, int] = {}
        for values in self.series.values():
            for _, _, mix in values:
                mixes.setdefault(mix, len(mixes))
                for place, _ in mix:
                    places.setdefault(place, len(places))
        return {
            "events": [self._shown(*e) for e in events],
            "dropped": self.count - len(events),
            "series": [
                {
                    "optimizer": number,
                    "name": names.get(identity, "a tensor"),
                    "values": [[step, norm if np.isfinite(norm) else None, mixes[mix]] for step, norm, mix in values],
                }
                for (number, _, identity), values in self.series.items()
            ],
            "mixes": [[[places[place], n] for place, n in mix] for mix in mixes],
            "places": [_where(place) for place in places],
            "optimizers": [
                {
                    "number": o.number,
                    "kind": o.kind,
                    "name": assigned_name(o.place),
                    "line": o.place.line,
                    "steps": o.steps,
                }
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
        return {
            "i": i,
            "t": round(at - self.start, 6),
            "kind": kind,
            "lane": lane,
            "step": step,
            "place": None if place is None else _where(place),
            **more,
        }


def _where(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": place.line, "text": place.text}
