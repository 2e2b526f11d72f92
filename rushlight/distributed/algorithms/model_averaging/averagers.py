"""When parameters are averaged."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ....core.dispatch.mode import emit_event
from ...world import group_of
from .utils import average_parameters_or_parameter_groups

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Counts steps, and averages in some of them. process_group: None is the default group."""

    def __init__(self, process_group: Any = None):
        self.process_group = group_of(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step; average the parameters if it is one of those for that."""
        raise NotImplementedError


class PeriodicModelAverager(ModelAverager):
    """Averages in each `period`-th step after the first `warmup_steps` (Lin et al., Don't Use Large Mini-Batches, Use Local
    SGD, 2020).

    Raises ValueError for a period under 1 or negative warmup_steps.
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None):
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost of all-reducing parameters "
                "will be no less than the cost of all-reducing gradients by DistributedDataParallel in the backward pass. "
                "Therefore, only DistributedDataParallel should be used for this case.",
                stacklevel=2,
            )
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step; average the parameters that have gradients if it is one of those for that."""
        emit_event("left", "PeriodicModelAverager counts steps, which the compiled program would not do")
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
