"""Schedules that are stepped after every batch and move the momentum against the learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ..optimizer import Optimizer
from .base import (
    LRScheduler,
    _warn_get_lr_called_within_step,
    callable_state,
    check_optimizer,
    per_group,
    set_group_value,
)

__all__ = ["CyclicLR", "OneCycleLR"]


class _WithMomentum(LRScheduler):
    """A schedule that also moves each group's momentum, which is ``momentum`` or the first of ``betas``."""

    def _init_momentum(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> tuple[list, list]:
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        lowest = per_group("base_momentum", optimizer, base_momentum)
        highest = per_group("max_momentum", optimizer, max_momentum)
        if last_epoch == -1:
            for low, high, group in zip(lowest, highest, optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return lowest, highest

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """The rate goes from ``base_lr`` to ``max_lr`` in ``step_size_up`` batches and back in ``step_size_down``.

    ``mode``: "triangular"; "triangular2", whose amplitude halves each cycle; "exp_range", scaled by gamma ** batches.
    ``scale_fn`` takes the mode's place; it gets the number of the cycle or of the batch, as ``scale_mode`` says
    ("cycle" or "iterations"). With ``cycle_momentum`` the momentum goes from ``max_momentum`` to ``base_momentum`` and
    back. Rates and momenta may be lists with one for each group.

    Raises ValueError for an unknown mode without scale_fn, and where the optimizer has no momentum to cycle.

    Source: Smith, Cyclical Learning Rates for Training Neural Networks, 2015.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_group_value(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (float(step_size_down) if step_size_down is not None else up)
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._init_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        if self.mode == "triangular":
            self._scale_fn_ref = _constant
        elif self.mode == "triangular2":
            self._scale_fn_ref = _halved
        elif self.mode == "exp_range":
            self._scale_fn_ref = partial(_power, self.gamma)
        self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def scale_fn(self, x: float) -> float:
        """The factor on the amplitude in cycle ``x``, or after ``x`` batches."""
        return (self._scale_fn_ref if self._scale_fn_custom is None else self._scale_fn_custom)(x)

    def get_lr(self):
        """The rates at this point of the cycle; sets the momenta as well."""
        _warn_get_lr_called_within_step(self)
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        at = cycle if self.scale_mode == "cycle" else self.last_epoch
        if self.cycle_momentum:
            momenta = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for low, high, group in momenta:
                self._set_momentum(group, high - (high - low) * height * self.scale_fn(at))
        return [
            low + (high - low) * height * self.scale_fn(at)
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Return every attribute but the optimizer; of a custom ``scale_fn``, only what a callable object holds."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        custom = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if custom is None else callable_state(custom)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a dict from :meth:`state_dict`."""
        custom = state_dict.pop("_scale_fn_custom")
        super().load_state_dict(state_dict)
        if custom is not None:
            self._scale_fn_custom.__dict__.update(custom)
        self._init_scale_fn()


def _constant(x: float) -> float:
    return 1.0


def _halved(x: float) -> float:
    return 1 / (2.0 ** (x - 1))


def _power(gamma: float, x: float) -> float:
    return gamma**x


class OneCycleLR(_WithMomentum):
    """One rise from max_lr / div_factor to ``max_lr`` and one fall to max_lr / div_factor / final_div_factor.

    The schedule has ``total_steps`` batches, or ``epochs`` * ``steps_per_epoch``; the rise takes the part ``pct_start``
    of them. With ``three_phase`` the fall goes back to the first rate in as many batches as the rise took, and from
    there to the last rate. ``anneal_strategy`` is "cos" or "linear". With ``cycle_momentum`` the momentum goes from
    ``max_momentum`` to ``base_momentum`` and back. Rates and momenta may be lists with one for each group.

    Raises ValueError for bad options, and for a step after the last.

    Source: Smith and Topin, Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates, 2017.

    >>> import rushlight as rl
    >>> optimizer = rl.optim.SGD([rl.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = OneCycleLR(optimizer, max_lr=1.0, steps_per_epoch=100, epochs=10, cycle_momentum=False)
    >>> f"{scheduler.get_last_lr()[0]:.2f}"
    '0.04'
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for highest, group in zip(max_lrs, optimizer.param_groups, strict=True):
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._init_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates at this point of the cycle; sets the momenta as well."""
        _warn_get_lr_called_within_step(self)
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start, phase = 0.0, self._schedule_phases[0]
        for following in self._schedule_phases[1:]:
            if step <= phase["end_step"]:
                break
            start, phase = phase["end_step"], following
        pct = (step - start) / (phase["end_step"] - start)
        anneal = _cosine if self._anneal_func_type == "cos" else _line
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], pct))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, anneal(*ends, pct))
        return lrs


def _total_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        _check_count("total_steps", total_steps)
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    _check_count("epochs", epochs)
    _check_count("steps_per_epoch", steps_per_epoch)
    return epochs * steps_per_epoch


def _check_count(name: str, value: Any) -> None:
    if value <= 0 or not isinstance(value, int):
        raise ValueError(f"Expected positive integer {name}, but got {value}")


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """The monotone parts of the cycle: where each ends, and the group entries between which it moves."""
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    rise_end = float(pct_start * total_steps) - 1
    rows = [(rise_end, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
    if three_phase:
        fall_end = float(2 * pct_start * total_steps) - 2
        rows.append((fall_end, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
        rows.append((total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
    else:
        rows.append((total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
    return [dict(zip(names, row, strict=True)) for row in rows]


def _cosine(start, end, pct):
    return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)


def _line(start, end, pct):
    return (end - start) * pct + start
