"""Averages of parameters over processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....core.dispatch.mode import no_grad
from ....ops import cat
from ...collectives import all_reduce
from ...world import GroupMember, group_of

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[Any], process_group: Any) -> None:
    """Give each parameter the average of all processes' values. They travel as one flat tensor."""
    if process_group is GroupMember.NON_GROUP_MEMBER:
        return
    members = list(params)
    with no_grad():
        flat = cat([p.detach().reshape(-1) for p in members])
        flat /= group_of(process_group).size()
        all_reduce(flat, group=process_group)
        at = 0
        for p in members:
            p.data = flat[at : at + p.numel()].view(p.shape).to(p.dtype)
            at += p.numel()


def get_params_to_average(params: Iterable[Any]) -> list[Any]:
    """The parameters that have gradients, of a module's parameters or of an optimizer's groups."""
    members = [p for each in params for p in (each["params"] if isinstance(each, dict) else [each])]
    return [p for p in members if p.grad is not None]


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """`average_parameters` of those that have gradients."""
    average_parameters(get_params_to_average(params), process_group)
