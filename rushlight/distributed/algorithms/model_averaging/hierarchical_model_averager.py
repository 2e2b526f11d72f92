"""Averages over small groups often, and over large ones seldom."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from ....core.dispatch.mode import emit_event
from ...world import new_subgroups
from .averagers import ModelAverager
from .utils import average_parameters_or_parameter_groups

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(ModelAverager):
    """Averages in each step, after the first `warmup_steps`, over the group whose period is the largest that divides the
    step's number (Lin et al., Don't Use Large Mini-Batches, Use Local SGD, 2020, section 5).

    period_group_size_dict: period in steps: number of consecutive processes, from small to large; the last are all processes.

    Raises ValueError for an empty dict, a period under 1, a last size that is not the group's, negative warmup_steps.
    """

    def __init__(
        self, period_group_size_dict: Mapping[int, int] | None = None, warmup_steps: int = 0, process_group: Any = None
    ):
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        self._periods, sizes = list(period_group_size_dict), list(period_group_size_dict.values())
        everyone = self.process_group.size()
        if self._periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        if sizes[-1] != everyone:
            raise ValueError(
                f"The last value in arg ``period_group_size_dict`` {sizes[-1]} must be equal to the size of arg "
                f"``process_group`` {everyone}."
            )
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if self._periods[-1] == 1:
            warnings.warn(
                "When the maximum period in arg ``period_group_size_dict`` is 1, no need to use model averaging because the "
                "communication cost of all-reducing parameters will be no less than the cost of all-reducing gradients "
                "by DistributedDataParallel in the backward pass. Therefore, only DistributedDataParallel should be used "
                "for this case.",
                stacklevel=2,
            )
        self.period_process_group_dict = OrderedDict(
            (period, self.process_group if size == everyone else new_subgroups(size, self.process_group)[0])
            for period, size in period_group_size_dict.items()
        )
        self.warmup_steps = warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step; average the parameters that have gradients if it is one of those for that."""
        emit_event("left", "HierarchicalModelAverager counts steps, which the compiled program would not do")
        period = next((period for period in reversed(self._periods) if self.step % period == 0), None)
        if self.step >= self.warmup_steps and period is not None:
            average_parameters_or_parameter_groups(params, self.period_process_group_dict[period])
        self.step += 1
