"""The norm of all gradients jumps to more than a hundred times its usual value, or the loss grows until the end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..events import Backward, Step
from ..places import Place
from ..words import many
from . import Check

_RISES = 12  # losses in a row that grow before the end of the program


class Jump(NamedTuple):
    """A step whose gradients were far above the usual."""

    step: int
    place: Place
    backward: Place
    norm: float
    usual: float


class Exploding(Check):
    """Without a limit such steps throw the weights far away."""

    name = "exploding"
    severity = "warning"
    is_last = True

    def __init__(self, doctor):
        super().__init__(doctor)
        self.norms: dict[int, list[float]] = {}
        self.clipped = False
        self.jump: Jump | None = None  # the latest
        self.rises = 0  # losses in a row, each above the one before
        self.first = self.loss = np.inf  # of those
        self.rise_before = 0, 0.0, 0.0  # the last rise that ended: how many, the first loss, the last
        self.step: Place | None = None

    def on_backward(self, event: Backward) -> None:
        array = event.roots[0]._array if len(event.roots) == 1 else None
        if not isinstance(array, np.ndarray) or array.size != 1 or array.dtype.kind != "f" or not event.accumulates:
            return
        loss = array.item()
        if not self.loss < loss < np.inf:
            self.rise_before = self.rises, self.first, self.loss
            self.rises, self.first = 0, loss
        else:
            self.rises += 1
        self.loss = loss

    def finish(self) -> None:
        if any(
            f.check in ("stale-grad", "stale-grad-other-net") and f.count >= f.at_end
            for f in self.doctor.findings.suspected.values()
        ):
            self.doctor.findings.withdraw(self.name)  # gradients that add up explain it
            return
        if self.rises >= _RISES and self.loss > 10 * self.first > 0:
            self._tell_of_rise(self.rises, self.first, self.loss)

    def _tell_of_rise(self, rises: int, first: float, last: float) -> None:
        self.doctor.report(
            self,
            self.step,
            f"the loss has grown at each of the last {rises} steps, from {first:.3g} to {last:.3g}: each step goes further beyond the "
            "minimum",
            "a smaller learning rate",
            after=1,
        )

    def on_not_finite(self, event: Backward) -> None:
        """The step just before values are no longer finite was thrown far away: that is the reason."""
        jump = self.jump
        if jump is not None and jump.step == self.doctor.steps and jump.norm > 1e4 * jump.usual:
            event.explained = True
            self._tell_of(jump, after=1)
            return
        rises, first, last = self.rise_before if not np.isfinite(self.loss) else (self.rises, self.first, self.loss)
        if rises >= 3 and last > 1e6 * first > 0 and self.step is not None:
            event.explained = True
            self._tell_of_rise(rises, first, last)

    def on_overflow(self, event: Backward) -> None:
        """Sums and products of finite numbers have become too large, after a step."""
        if self.step is None or not self.doctor.steps:
            return
        event.explained = True
        self.doctor.report(
            self,
            self.step,
            f"after {many(self.doctor.steps, 'step')} the values of the forward are too large for their type: the steps have thrown the "
            "weights far away",
            "a smaller learning rate; or limit the gradients: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0) before the step",
            [(event.place, "the backward")],
            after=1,
        )

    def _tell_of(self, jump: Jump, after: int = 3) -> None:
        self.doctor.report(
            self,
            jump.place,
            f"the norm of the gradients is {jump.norm:.3g}, where {jump.usual:.3g} is usual",
            "limit it: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0) before the step; or a smaller learning rate",
            [(jump.backward, "the backward")],
            after=after,
            at_end=after,
        )

    def on_clip(self, event) -> None:
        self.clipped = True

    def on_step(self, event: Step) -> None:
        optimizer, self.step = event.optimizer, event.place
        if optimizer is None or event.closure or self.clipped or (optimizer.steps > 50 and optimizer.steps % 8):
            return
        norm = sum(n * n for e in event.entries if (n := event.norm(e)) is not None) ** 0.5
        if not np.isfinite(norm):
            return  # `nan-inf-grad` tells where it begins
        known = self.norms.setdefault(optimizer.number, [])
        if len(known) >= 5 and event.window:
            usual = sorted(known)[len(known) // 2]
            if usual > 0 and norm > 100 * usual:
                self.jump = Jump(event.number, event.place, event.window[-1].place, norm, usual)
                self._tell_of(self.jump)
                return
        known.append(norm)
        if len(known) > 100:
            del known[0]
