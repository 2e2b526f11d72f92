"""An optimizer's group lists a tensor more than once: each step updates it as often."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..ledger import Watched
from ..words import many
from . import Check


class DuplicateParameter(Check):
    """Lists of parameters that were put together by hand, and weights that two layers share."""

    name = "duplicate-parameter"
    severity = "warning"

    def on_optimizer(self, event: Watched) -> None:
        optimizer: Any = event.optimizer
        if optimizer is None or event.place is None:
            return
        for group in optimizer.param_groups:
            times = Counter(id(p) for p in group["params"])
            twice = {i for i, count in times.items() if count > 1}
            if twice:
                first = next(p for p in group["params"] if id(p) in twice)
                label = next((e.label for e in event.entries if e.tensor is first), f"shape {list(first.shape)}")
                self.doctor.report(
                    self,
                    event.caller or event.place,
                    f"a group of this {event.kind} lists {many(len(twice), 'tensor')} more than once ({label}: {times[id(first)]} "
                    "times): each step updates them as often, with a learning rate so many times larger",
                    "list each parameter once: model.parameters() does, also where layers share a weight",
                )
                return
