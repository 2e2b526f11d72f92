"""The optimizer updates tensors that the model no longer has."""

from __future__ import annotations

from typing import Any

from ...nn import Module
from .. import names
from ..events import Step
from ..ledger import Watched
from ..words import many
from . import Check


class OptimizerHoldsOldParams(Check):
    """The model, or a layer of it, was replaced after the optimizer."""

    name = "optimizer-holds-old-params"
    severity = "error"

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.given: set[int] = (
            set()
        )  # tensors that a step found with gradients of which nothing was seen: given by hand

    def on_step(self, event: Step) -> None:
        self.given.update(id(e) for e in event.entries if not e.contributions and id(e) not in self.given)

    def finish(self) -> None:
        alive = [e for e in self.doctor.ledger.alive() if e.is_parameter]
        free = [e for e in alive if not e.owners and e.total >= 2 and not e.steps]
        if not free:
            return
        for optimizer in self.doctor.optimizers:
            self._judge(optimizer, free, self._in_models(optimizer, {id(e.tensor) for e in free}))

    def _in_models(self, optimizer: Watched, free: set[int]) -> set[int]:
        """The parameters of the models that were called lately; of all modules where those do not have the free ones."""
        lately = optimizer.recent[0] if optimizer.recent else 0
        called = [m for m in self.doctor.latest.since(lately) if isinstance(m, Module)]
        found = {id(p) for m in called for p in m.parameters()}
        if found & free:
            return found
        return {id(p) for m in names.modules() for p in m.__dict__["_parameters"].values() if p is not None}

    def _judge(self, optimizer: Watched, free: list, in_models: set[int]) -> None:
        lately = optimizer.recent[0] if len(optimizer.recent) == 3 else 0
        old = [
            e
            for e in optimizer.entries
            if e.tensor is not None
            and id(e.tensor) not in in_models
            and (not e.total or e.latest < lately)
            and id(e) not in self.given
        ]
        if not old or not any(id(e.tensor) in in_models for e in free):
            return
        whole = len(old) == len(optimizer.entries)
        if not whole and not any(e.is_parameter for e in old):
            return
        step = optimizer.step_place
        if whole:
            self.doctor.findings.withdraw("step-without-grad", step)
        self.doctor.report(
            self,
            optimizer.place,
            f"this optimizer holds {many(len(old), 'tensor')} that no module has any more, while {many(len(free), 'parameter')} of "
            "the model get gradients and are in no optimizer: the model, or a part of it, was replaced after this line",
            "make the optimizer after the model is complete",
            [(step, "its step")],
        )
