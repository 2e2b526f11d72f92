"""Learning-rate schedulers: their order, their rate, their optimizer, and whether they are stepped at all."""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

from ..events import Epoch, Schedule, Step
from ..ledger import Watched
from ..places import Place, loops_around, place_of_error
from ..words import many, words_shared
from . import Check

_LOW = 1e-4  # of the first learning rate: next to nothing is learnt with it


class _Followed:
    """One scheduler, held weakly."""

    def __init__(self, event: Schedule) -> None:
        self.ref = weakref.ref(event.scheduler)
        self.kind = type(event.scheduler).__name__
        self.made = event.place
        self.optimizer = event.optimizer
        self.first_lrs = _rates(event.scheduler)
        self.steps = 0
        self.place: Place | None = None
        self.in_window = 0  # steps since the optimizer's last
        self.fast_windows = 0
        self.most = 0
        self.horizon = _horizon(event.scheduler)
        self.parts = [id(s) for s in getattr(event.scheduler, "_schedulers", ())]
        self.before_first = 0
        self.seen = self.seen_all = 0  # steps of its optimizer, and of all, when it was stepped last
        self.low_at = (
            0  # after how many of its steps the rate was a ten-thousandth of the first, and stayed so; 0 for never
        )
        self.loops = 0  # loops around its step, in all running functions
        self.epochs = 0  # of loaders in which its optimizer made steps
        self.seen_epoch = 0  # steps of its optimizer at the end of the last of them
        self.idle = 0  # its steps between which its optimizer made none, and another did

    def note_rate(self, scheduler: Any) -> None:
        """Before a step of it: how far the rate has fallen."""
        if self.steps == 2:
            self.loops = loops_around()
        pairs = [(now, first) for now, first in zip(_rates(scheduler), self.first_lrs, strict=False) if first]
        if not pairs or any(now > _LOW * first for now, first in pairs):
            self.low_at = 0
        elif not self.low_at:
            self.low_at = self.steps


class Schedulers(Check):
    """Follows all schedulers; the four checks below are what it says."""

    name = "scheduler-rate"
    severity = "error"
    waits_for = "schedule"
    others: ClassVar[tuple[str, ...]] = ("scheduler-order", "scheduler-never-stepped", "scheduler-other-optimizer")

    def __init__(self, doctor):
        super().__init__(doctor)
        self.followed: dict[int, _Followed] = {}
        self.parts: set[int] = set()

    def on_schedule(self, event: Schedule) -> None:
        key = id(event.scheduler)
        known = self.followed.get(key)
        if known is None or known.ref() is not event.scheduler:
            known = self.followed[key] = _Followed(event)
            self.parts.update(known.parts)
        if event.made:
            return
        self.doctor.latest.note(event.scheduler, self.doctor.steps)
        known.steps += 1
        known.in_window += 1
        known.place = event.place
        known.note_rate(event.scheduler)
        if event.optimizer is not None:
            if known.seen == event.optimizer.steps and known.seen_all < self.doctor.steps:
                known.idle += 1
            known.seen, known.seen_all = event.optimizer.steps, self.doctor.steps
        if event.optimizer is not None and not event.optimizer.steps and not self.doctor.skipped:
            known.before_first += 1

    def on_epoch_end(self, event: Epoch) -> None:
        for known in self.followed.values():
            if known.optimizer is not None and known.optimizer.steps > known.seen_epoch:
                known.epochs += 1
                known.seen_epoch = known.optimizer.steps

    def on_stepped(self, event: Step) -> None:
        for known in self.followed.values():
            if known.optimizer is None or known.optimizer is not event.optimizer or known.place is None:
                continue
            if known.in_window > 1:
                known.fast_windows += 1
                known.most = max(known.most, known.in_window)
                if known.before_first != 1:
                    self.doctor.report(
                        self,
                        known.place,
                        f"{many(known.in_window, 'scheduler step')} for one step of the optimizer: the learning rate changes "
                        f"{known.in_window} times as fast as meant",
                        "step the scheduler in the branch of the optimizer's step",
                        [(event.place, "the optimizer's step")],
                        after=3,
                        at_end=2,
                    )
            known.in_window = 0
            if known.before_first == 1 and known.optimizer.steps <= 1:
                self.doctor.report(
                    SchedulerOrder,
                    known.place,
                    "the scheduler is stepped before its optimizer's first step: the first learning rate is never used",
                    "step the optimizer first: optimizer.step(), then scheduler.step()",
                    [(event.place, "the optimizer's step")],
                    after=1,
                )

    def finish(self) -> None:
        taken_over = {
            id(other)
            for k in self.followed.values()
            if k.optimizer is not None and k.idle >= 2 and (other := self._successor(k.optimizer)) is not None
        }
        for key, known in self.followed.items():
            if key in self.parts or known.optimizer is None:
                continue
            steps = known.optimizer.steps
            if not known.steps and id(known.optimizer) in taken_over:
                continue  # told where the scheduler of the optimizer before it goes on
            if not known.steps and steps >= 5 and (known.epochs or not self.doctor.is_cut_short):
                self.doctor.report(
                    SchedulerNeverStepped,
                    known.made,
                    f"this {known.kind} is never stepped: its optimizer made {many(steps, 'step')} at one learning rate",
                    "call scheduler.step() after each epoch, or after each step if its horizon counts steps",
                    [(known.optimizer.step_place, "the optimizer's step")],
                )
            elif known.steps >= 2 and not steps and self._is_other_stepping(known.optimizer):
                self.doctor.report(
                    SchedulerOtherOptimizer,
                    known.made,
                    f"this {known.kind} is stepped {known.steps} times, but belongs to an optimizer that is never stepped "
                    f"(made at line {known.optimizer.place.line})",
                    "give it the optimizer that trains",
                    [(known.optimizer.place, "its optimizer"), (known.place, "its step")],
                )
            elif (
                known.place is not None and known.idle >= 2 and (other := self._successor(known.optimizer)) is not None
            ):
                self.doctor.report(
                    SchedulerOtherOptimizer,
                    known.place if self._has_own(other) else other.place,
                    f"the {known.kind} that goes on being stepped at line {known.place.line} belongs to the optimizer made at line "
                    f"{known.optimizer.place.line}, but the one made at line {other.place.line} has taken over: its learning rate does "
                    "not follow",
                    "step the scheduler of the optimizer that trains",
                    [
                        (known.place, "the scheduler's step"),
                        (known.made, "the scheduler"),
                        (other.place, "what trains"),
                    ],
                )
            elif known.steps >= 2 and (twin := self._twin_of(known)) is not None:
                self.doctor.report(
                    SchedulerOtherOptimizer,
                    known.made,
                    f"this {known.kind} and the one at line {twin.made.line} both drive the optimizer made at line "
                    f"{known.optimizer.place.line}, while another optimizer trains without a scheduler",
                    "give each scheduler the optimizer that it is meant for",
                    [(twin.made, "the other scheduler"), (known.optimizer.place, "their optimizer")],
                )
            elif self._is_through_early(known, steps):
                self._tell_of_end(known)
            elif known.kind == "CosineAnnealingLR" and not known.epochs and known.steps > 3 * known.horizon > 0:
                self._tell_of_waves(known, steps)
            elif known.place is not None and known.horizon and known.epochs >= 2:
                self._judge_horizon(known, steps)

    def _is_through_early(self, known: _Followed, steps: int) -> bool:
        """Stepped with each optimizer step of an inner loop, and through with its decay in less than half of them."""
        if known.loops < 2 or known.steps < 16 or abs(known.steps - steps) > 0.1 * steps:
            return False
        return 0 < 2 * known.low_at < known.steps or (known.kind == "MultiStepLR" and known.steps > 4 * known.horizon)

    def _tell_of_end(self, known: _Followed) -> None:
        done = known.low_at or known.horizon
        self.doctor.report(
            self,
            known.place,
            f"this {known.kind} is stepped with each batch ({known.steps} times), and its decay is over after {done} of them: the rest "
            "trains at a learning rate of next to nothing",
            "step it once for each epoch, or give its horizon in steps",
            [(known.made, "the scheduler")],
        )

    def on_uncaught(self, error: BaseException) -> None:
        """OneCycleLR raises beyond its total number of steps: where that counts epochs, in the first of them."""
        place = place_of_error(error)
        if (
            place is not None
            and isinstance(error, ValueError)
            and "The specified number of total steps is" in str(error)
        ):
            self.doctor.report(
                self,
                place,
                "this scheduler is stepped more often than the total number of steps that it was made for",
                "step it once for each epoch if total_steps counts epochs, or give total_steps=epochs * batches",
                [(next((k.made for k in self.followed.values() if k.place is place), None), "the scheduler")],
                after=1,
            )

    def _tell_of_waves(self, known: _Followed, steps: int) -> None:
        """Stepped with each optimizer step, far beyond its one descent."""
        if abs(known.steps - steps) > 0.1 * steps:
            return
        self.doctor.report(
            self,
            known.place,
            f"this {known.kind} is stepped {known.steps} times, while one descent takes T_max = {known.horizon}: the learning rate "
            "goes up and down again",
            "step it once for each epoch if T_max counts epochs, or give T_max in steps",
            [(known.made, "the scheduler")],
        )

    def _judge_horizon(self, known: _Followed, steps: int) -> None:
        """Stepped with each batch, while its horizon is the number of epochs."""
        per_epoch = known.steps / known.epochs
        epochs = known.horizon
        scheduler = known.ref()
        if per_epoch < 2 or abs(known.steps - steps) > 0.1 * steps or scheduler is None:
            return
        if epochs > known.epochs or known.steps < 2 * epochs:
            return
        if known.kind.startswith("CosineAnnealing") and epochs != known.epochs:
            return
        fallen = [now / first for now, first in zip(_rates(scheduler), known.first_lrs, strict=False) if first]
        enough = 0.02 if known.kind == "StepLR" and 2 * epochs <= per_epoch else _LOW
        if known.kind in ("StepLR", "ExponentialLR") and (not fallen or min(fallen) > enough):
            return
        self.doctor.report(
            self,
            known.place,
            f"this {known.kind} is stepped with each batch ({known.steps} times in {many(known.epochs, 'epoch')}), while its "
            f"horizon of {epochs} counts epochs",
            "step it once for each epoch, or give the horizon in steps",
            [(known.made, "the scheduler")],
        )

    def _twin_of(self, known: _Followed) -> _Followed | None:
        """Another scheduler of the same kind on the same optimizer, where this one, by its name, belongs to another optimizer."""
        twin = next(
            (
                k
                for k in self.followed.values()
                if k is not known and k.optimizer is known.optimizer and k.kind == known.kind and k.steps == known.steps
            ),
            None,
        )
        if twin is None or known.optimizer is None or not self._is_other_stepping(known.optimizer):
            return None
        order = list(self.followed.values())  # two may be made by one statement
        own, other = ((len(words_shared(k.made.text)), -k.made.line, -order.index(k)) for k in (known, twin))
        return twin if own < other else None

    def _has_own(self, optimizer: Watched) -> bool:
        return any(k.optimizer is optimizer for k in self.followed.values())

    def _successor(self, optimizer: Watched) -> Watched | None:
        """The optimizer that has some of the same tensors, was made later, and has no scheduler that is stepped."""
        with_scheduler = {id(k.optimizer) for k in self.followed.values() if k.steps}
        mine = {id(e) for e in optimizer.entries}
        for o in self.doctor.optimizers:
            later = o.number > optimizer.number and o.steps > 1 and id(o) not in with_scheduler
            if later and any(id(e) in mine for e in o.entries):
                return o
        return None

    def _is_other_stepping(self, optimizer: Watched) -> bool:
        with_scheduler = {id(k.optimizer) for k in self.followed.values()}
        return any(o.steps > 1 and id(o) not in with_scheduler for o in self.doctor.optimizers if o is not optimizer)


class SchedulerOrder(Check):
    """The scheduler's step comes before the optimizer's. Told by `Schedulers`."""

    name = "scheduler-order"
    severity = "error"


class SchedulerNeverStepped(Check):
    """A scheduler is made and forgotten. Told by `Schedulers`."""

    name = "scheduler-never-stepped"
    severity = "warning"


class SchedulerOtherOptimizer(Check):
    """A scheduler of an optimizer that does not train. Told by `Schedulers`."""

    name = "scheduler-other-optimizer"
    severity = "error"


def _rates(scheduler: Any) -> list[float]:
    return [float(group["lr"]) for group in scheduler.optimizer.param_groups]


def _horizon(scheduler: Any) -> int:
    """After how many steps a scheduler has done most of what it does; 0 where that is not known."""
    for name in ("T_max", "step_size", "total_iters"):
        value = getattr(scheduler, name, None)
        if isinstance(value, int):
            return value
    milestones = getattr(scheduler, "milestones", None)
    return max(milestones) if milestones else 0
