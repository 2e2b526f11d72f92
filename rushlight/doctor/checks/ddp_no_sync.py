"""DistributedDataParallel averages gradients in backwards whose step is not due yet, or not in the one before the step."""

from __future__ import annotations

import weakref
from typing import Any

from ..events import Backward, Forward, Step
from . import Check


class DdpNoSync(Check):
    """Accumulation under DDP: all backwards of a window but the last belong inside `no_sync()`."""

    name = "ddp-no-sync"
    severity = "warning"
    waits_for = "distributed"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.pending: list[tuple[Any, bool]] = []  # (weak node of a result, whether its backward averages)
        self.averages: dict[int, bool] = {}  # by backward

    def on_forward(self, event: Forward) -> None:
        averages = event.module.__dict__.get(
            "require_backward_grad_sync"
        )  # a lookup that fails through __getattr__ is slow
        node = getattr(event.result, "_edge", None)
        if averages is not None and event.recording and node is not None:
            self.pending = [*self.pending[-31:], (weakref.ref(node), bool(averages))]

    def on_before_backward(self, event: Backward) -> None:
        if not self.pending or event.tape is None:
            return
        nodes = set(event.tape.nodes)
        for ref, averages in self.pending:
            if (node := ref()) is not None and node in nodes:
                self.averages[event.number] = averages
        self.pending = [p for p in self.pending if p[0]() is not None]

    def on_stepped(self, event: Step) -> None:
        if not self.averages:
            return
        averages, self.averages = self.averages, {}
        window = [b for b in event.window if b.number in averages]
        if len(window) < 2 or event.closure:
            return
        done = [averages[b.number] for b in window]
        if not done[-1]:
            self.doctor.report(
                self,
                window[-1].place,
                "the last backward before the step is inside no_sync(): each rank steps with its own gradients, and the models "
                "diverge",
                "leave no_sync() for the last small batch of a step",
                [(event.place, "the step")],
                severity="error",
                after=2,
            )
        elif sum(done) > 1 and len({b.place for b in window}) == 1:
            self.doctor.report(
                self,
                window[0].place,
                f"{sum(done) - 1} of the {sum(done)} all-reduces of a step are wasted: gradients are averaged in each backward, and "
                "only the last has to",
                "run all small batches but the last of a step inside model.no_sync()",
                [(event.place, "the step")],
            )
