"""Loading a checkpoint, in every process of a group or in one alone; their number may be another one than when it was saved."""

from __future__ import annotations

import os
import warnings
from typing import Any

from ..world import is_initialized
from ._storage_utils import _storage_setup
from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from .metadata import Metadata
from .planner import LoadPlan, LoadPlanner
from .state_dict_saver import _takes
from .stateful import Stateful
from .storage import StorageReader
from .utils import _api_bc_check, _DistWrapper

__all__ = ["load", "load_state_dict"]


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """`load`, as it was called before; deprecated in torch."""
    warnings.warn(
        "`load_state_dict` is deprecated and will be removed in future versions. Please use `load` instead.",
        FutureWarning,
        stacklevel=2,
    )
    storage_reader.reset()
    _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)


@_api_bc_check
def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill a nested state from the folder `checkpoint_id`: each process of the group calls this and reads what it needs.

    Tensors are filled in place, converted to their type; other values are replaced in the dicts. Objects with
    `load_state_dict` in the outer dict are asked for their state and given it back. no_dist: this process alone; that is so,
    with a warning, without a process group.

    Raises: RuntimeError without a place, as in `load({})`. CheckpointException, in every process, for what failed in one:
        a key that the checkpoint does not have (RuntimeError, unless `DefaultLoadPlanner(allow_partial_load=True)`), a tensor
        of another size (ValueError), a file that is missing, truncated, altered or foreign (naming it).
    """
    no_dist = no_dist or not is_initialized()
    if no_dist:
        warnings.warn(
            "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to load in a single "
            "process.",
            stacklevel=2,
        )
    reader = _storage_setup(storage_reader, checkpoint_id, reader=True)
    keys = sorted(state_dict)
    states = {key: v.state_dict() if isinstance(v := state_dict[key], Stateful) else v for key in keys}
    _load_state_dict(states, reader, process_group, 0, no_dist, planner)
    for key in keys:
        value = state_dict.get(key)
        if isinstance(value, Stateful):
            value.load_state_dict(states[key])
        elif key in state_dict:
            state_dict[key] = states[key]


def _read_metadata(reader: StorageReader, rank: int) -> tuple[Metadata, bool]:
    """(content, whether it is that of all processes). Raises AssertionError where there is neither, from the first error."""
    try:
        return reader.read_metadata(), True
    except FileNotFoundError as error:
        missing: Exception = error
    message = f"metadata is None; global metadata read failed: {missing}"
    if _takes(reader.read_metadata, "kwargs"):
        try:
            return reader.read_metadata(rank=rank), False
        except FileNotFoundError as error:
            message += f"; rank local metadata read failed: {error}"
    raise AssertionError(message) from missing


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    dist = _DistWrapper(process_group, not no_dist, coordinator_rank)
    planner = DefaultLoadPlanner() if planner is None else planner

    def local_step() -> LoadPlan:
        metadata, common = _read_metadata(storage_reader, dist.rank)
        planner.set_up_planner(state_dict, metadata, dist.is_coordinator)
        more = {"rank": dist.rank, "use_collectives": common}
        set_up = storage_reader.set_up_storage_reader
        set_up(metadata, dist.is_coordinator, **(more if _takes(set_up, "kwargs") else {}))
        return storage_reader.prepare_local_plan(planner.create_local_plan())

    def global_step(plans: list[LoadPlan]) -> list[LoadPlan]:
        return storage_reader.prepare_global_plan(planner.create_global_plan(plans))

    plan = dist.reduce_scatter("plan", local_step, global_step)
    dist.all_gather("read", lambda: storage_reader.read_data(planner.finish_plan(plan), planner).wait())


def _load_state_dict_from_keys(
    keys: set[str] | str | None = None,
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_reader: StorageReader | None = None,
    process_group: Any = None,
) -> dict[str, Any]:
    """A new dict of the checkpoint's values, or of those under `keys`; each process has all of them."""
    no_dist = not is_initialized()
    if no_dist:
        warnings.warn(
            "torch.distributed is unavailable or uninitialized, assuming the intent is to load in a single process.",
            stacklevel=2,
        )
    reader = _storage_setup(storage_reader, checkpoint_id, reader=True)
    state_dict: dict[str, Any] = {}
    planner = _EmptyStateDictLoadPlanner({keys} if isinstance(keys, str) else keys)
    _load_state_dict(state_dict, reader, process_group, 0, no_dist, planner)
    return state_dict
