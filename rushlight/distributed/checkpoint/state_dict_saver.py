"""Saving a checkpoint, in every process of a group or in one alone."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from inspect import signature
from typing import Any
from weakref import WeakKeyDictionary

from ..process_group import ProcessGroup
from ..world import get_process_group_ranks, group_of, is_initialized, new_group
from ._storage_utils import _storage_setup
from .default_planner import DefaultSavePlanner
from .metadata import STATE_DICT_TYPE, Metadata
from .planner import SavePlan, SavePlanner
from .staging import AsyncStager, DefaultStager, StagingOptions
from .stateful import Stateful
from .storage import StorageWriter
from .utils import _api_bc_check, _DistWrapper

__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(Enum):
    """Who writes what `async_save` is given: a thread."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """What `async_save` returns where a stager copies in the background: a future of the copy, and one of the save."""

    staging_completion: Future[None]
    upload_completion: Future[Any]


def save_state_dict(
    state_dict: STATE_DICT_TYPE,
    storage_writer: StorageWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    """`save`, as it was called before; deprecated in torch."""
    warnings.warn(
        "`save_state_dict` is deprecated and will be removed in future versions.Please use `save` instead.",
        FutureWarning,
        stacklevel=2,
    )
    storage_writer.reset()
    return _save_state_dict(state_dict, storage_writer, process_group, coordinator_rank, no_dist, planner)


@_api_bc_check
def save(
    state_dict: STATE_DICT_TYPE,
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Save a nested state in the folder `checkpoint_id`: each process of the group calls this and writes its share.

    What several processes have is written once. Objects with `state_dict()` in the outer dict are asked for it. Killed at
    any moment, it leaves the checkpoint before, or this one, whole. no_dist: this process alone; that is so, with a warning,
    without a process group. use_collectives: False lets each process write a checkpoint of its own into the folder.

    Returns: the checkpoint's content.

    Raises: RuntimeError without a place, as in `save({})`. CheckpointException, in every process, for what failed in one:
        a value that cannot be stored (TypeError, naming the key), a tensor that differs in size (ValueError), a full disk.
    """
    no_dist = no_dist or not is_initialized()
    if no_dist:
        warnings.warn(
            "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to save in a single "
            "process.",
            stacklevel=2,
        )
    writer = _storage_setup(storage_writer, checkpoint_id, reader=False)
    state = _stateful_to_state_dict(state_dict)
    return _save_state_dict(state, writer, process_group, 0, no_dist, planner, use_collectives)


def async_save(
    state_dict: STATE_DICT_TYPE,
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: AsyncStager | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future | AsyncSaveResponse:
    """`save` in a thread, of a copy of the state: a future of the checkpoint's content.

    Saves are made one after the other, in the order of the calls, over a group of their own, so that training may call
    collectives meanwhile. async_stager: what copies the state; else the writer, or a `DefaultStager`.

    Raises NotImplementedError for AsyncCheckpointerType.PROCESS; what `save` raises comes from the future.
    """
    if async_checkpointer_type == AsyncCheckpointerType.PROCESS:
        raise NotImplementedError(
            "async_save in a process of its own is not implemented: use AsyncCheckpointerType.THREAD"
        )
    if async_stager is None:
        own = DefaultStager(StagingOptions(False, False, False, False))
        async_stager = storage_writer if isinstance(storage_writer, AsyncStager) else own
    staged = async_stager.stage(_stateful_to_state_dict(state_dict))
    alone = no_dist or not is_initialized()
    group = None if alone else _background_group(process_group)

    def write() -> Metadata:
        state = staged.result() if isinstance(staged, Future) else staged
        writer = _storage_setup(storage_writer, checkpoint_id, reader=False)
        return _save_state_dict(state, writer, group, 0, alone, planner, use_collectives)

    upload = _background().submit(write)
    if isinstance(staged, Future):
        copied: Future[None] = Future()
        staged.add_done_callback(lambda done: _pass_on(done, copied))
        return AsyncSaveResponse(staging_completion=copied, upload_completion=upload)
    if async_stager.should_synchronize_after_execute:
        async_stager.synchronize_staging()
    return upload


def _pass_on(done: Future, copied: Future[None]) -> None:
    error = done.exception()
    if error is None:
        copied.set_result(None)
    else:
        copied.set_exception(error)


_pools: dict[int, ThreadPoolExecutor] = {}  # by process: a forked one has no thread
_groups: WeakKeyDictionary[ProcessGroup, ProcessGroup] = WeakKeyDictionary()  # a group: that of its saves in a thread


def _background() -> ThreadPoolExecutor:
    return _pools.setdefault(os.getpid(), ThreadPoolExecutor(1, "rushlight-save"))


def _background_group(group: Any) -> ProcessGroup:
    """A group of the same processes, made when it is asked for the first time."""
    of = group_of(group)
    if of not in _groups:
        _groups[of] = new_group(get_process_group_ranks(of), use_local_synchronization=True)
    return _groups[of]


def _stateful_to_state_dict(state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
    """The state, with those of its objects that have one."""
    return {key: value.state_dict() if isinstance(value, Stateful) else value for key, value in state_dict.items()}


def _takes(function: Callable, name: str) -> bool:
    return name in signature(function).parameters


def _save_state_dict(
    state_dict: STATE_DICT_TYPE,
    storage_writer: StorageWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
    use_collectives: bool = True,
) -> Metadata:
    dist = _DistWrapper(process_group, not no_dist, coordinator_rank)
    planner = DefaultSavePlanner() if planner is None else planner
    content: list[Metadata] = []  # in the coordinator

    def local_step() -> SavePlan:
        planner.set_up_planner(
            state_dict=state_dict, storage_meta=storage_writer.storage_meta(), is_coordinator=dist.is_coordinator
        )
        more = {"rank": dist.rank, "use_collectives": use_collectives}
        set_up = storage_writer.set_up_storage_writer
        set_up(dist.is_coordinator, **(more if _takes(set_up, "kwargs") else {}))
        return storage_writer.prepare_local_plan(planner.create_local_plan())

    def global_step(plans: list[SavePlan]) -> list[SavePlan]:
        plans, metadata = planner.create_global_plan(plans)
        content[:] = [metadata]
        return storage_writer.prepare_global_plan(plans)

    def write_data(plan: SavePlan) -> Any:
        writes = storage_writer.write_data(planner.finish_plan(plan), planner)
        writes.wait()
        return writes.value()

    def finish_checkpoint(results: list[Any]) -> Metadata:
        storage_writer.finish(metadata=content[0], results=results)
        return content[0]

    try:
        if use_collectives:
            plan = dist.reduce_scatter("plan", local_step, global_step)
            return dist.all_reduce("write", lambda: write_data(plan), finish_checkpoint)
        plan = global_step([local_step()])[0]
        metadata = finish_checkpoint([write_data(plan)])
        dist.barrier()
        return metadata
    finally:
        storage_writer.release()
