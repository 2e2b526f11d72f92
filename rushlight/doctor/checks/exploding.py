"""The norm of all gradients jumps to more than a hundred times its usual value, again and again."""

from __future__ import annotations

import numpy as np

from ..events import Step
from . import Check


class Exploding(Check):
    """Without a limit such steps throw the weights far away."""

    name = "exploding"
    severity = "warning"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.norms: dict[int, list[float]] = {}
        self.clipped = False

    def on_clip(self, event) -> None:
        self.clipped = True

    def on_step(self, event: Step) -> None:
        optimizer = event.optimizer
        if optimizer is None or event.closure or self.clipped or (optimizer.steps > 50 and optimizer.steps % 8):
            return
        norm = sum(n * n for e in event.entries if (n := event.norm(e)) is not None) ** 0.5
        if not np.isfinite(norm):
            return  # `nan-inf-grad` tells where it begins
        known = self.norms.setdefault(optimizer.number, [])
        if len(known) >= 5 and event.window:
            usual = sorted(known)[len(known) // 2]
            if usual > 0 and norm > 100 * usual:
                self.doctor.report(
                    self,
                    event.window[-1].place,
                    f"the norm of the gradients is {norm:.3g}, where {usual:.3g} is usual",
                    "limit it: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0) before the step; or a smaller learning rate",
                    [(event.place, "the step")],
                    at_end=3,
                )
                return
        known.append(norm)
        if len(known) > 100:
            del known[0]
