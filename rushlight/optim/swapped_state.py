"""An optimizer lent to other parameters and another state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rushlight.core.tensor.tensor import Tensor

from .optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state requires "


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Let ``optimizer`` work on other parameters, with other state and options, inside the ``with`` block.

    ``swapin_parameters`` are in the order of the optimizer's own; ``swapin_optim_state`` has the form of
    ``optimizer.state_dict()``. Tensors in it are written in place; entries that a step adds are not kept. Afterwards
    the optimizer is as it was. Raises RuntimeError if the optimizer has no state yet, or the forms do not match.
    """
    lent = _match(optimizer, swapin_parameters, swapin_optim_state)
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        state: defaultdict[Any, Any] = defaultdict(dict)
        for group, swapped, params in lent:
            for p, index in zip(params, swapped["params"], strict=True):
                state[p] = dict(swapin_optim_state["state"].get(index, {}))
            group.update(swapped, params=params)
        optimizer.state = state
        yield
    finally:
        for group, own in zip(optimizer.param_groups, own_groups, strict=True):
            group.clear()
            group.update(own)
        optimizer.state = own_state


def _match(optimizer: Optimizer, parameters: dict[str, Tensor], saved: Any) -> list[tuple[dict, dict, list[Tensor]]]:
    """Check the forms; return (the optimizer's group, the group to swap in, its parameters) for each group."""
    if not optimizer.state:
        raise RuntimeError(_NAME + "initialized optimizer state.")
    if not isinstance(saved, dict):
        raise RuntimeError(_NAME + "a DCP-style optimizer state_dict.")
    state: Any = saved.get("state")
    groups: Any = saved.get("param_groups")
    _check_state(state)
    if not isinstance(groups, list):
        kind = type(groups).__name__
        raise RuntimeError(_NAME + f"swapin_optim_state['param_groups'] to be a list of param-group dicts, got {kind}.")
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    lent, known, params = [], set(), list(parameters.values())
    for i, (group, swapped) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        _check_group(i, group, swapped)
        n = len(swapped["params"])
        if n > len(params):
            raise RuntimeError(_NAME + "the explicit parameter state to match optimizer.param_groups ordering.")
        known.update(swapped["params"])
        lent.append((group, swapped, params[:n]))
        params = params[n:]
    extra = [key for key in state if key not in known]
    if extra:
        raise RuntimeError(
            _NAME + "swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    return lent


def _check_state(state: Any) -> None:
    if not isinstance(state, dict):
        raise RuntimeError(
            _NAME + "swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param state dicts, "
            f"got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(_NAME + "optimizer.state_dict()-style state keyed by packed parameter ids.")
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in state.items()):
        raise RuntimeError(_NAME + "per-parameter optimizer state entries to be dictionaries.")


def _check_group(i: int, group: dict[str, Any], swapped: Any) -> None:
    if not isinstance(swapped, dict):
        raise RuntimeError(_NAME + "each optimizer param group to be a dictionary.")
    indices = swapped.get("params")
    if not isinstance(indices, list) or not all(isinstance(index, int) for index in indices):
        raise RuntimeError(
            _NAME + "optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed parameter ids."
        )
    if len(group["params"]) != len(indices):
        raise RuntimeError(
            f"swapin_optim_state param group {i} has a different number of params than the live optimizer param group."
        )
    if set(group) != set(swapped):
        raise RuntimeError(
            _NAME + "optimizer.state_dict()-style param group keys to exactly match the live optimizer group keys for "
            f"group {i}. Keys only in swap-in: {[k for k in swapped if k not in group]}. "
            f"Keys only in live: {[k for k in group if k not in swapped]}."
        )
