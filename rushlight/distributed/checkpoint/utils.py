"""The steps of a save or a load: each process does its part, and when one fails all raise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from ...core.tensor.size import Size
from ...core.tensor.tensor import Tensor
from ..collectives import barrier
from ..objects import all_gather_object, broadcast_object_list, gather_object, scatter_object_list
from ..world import get_global_rank, get_rank, get_world_size, group_of
from .api import CheckpointException, _is_wrapped_exception, _wrap_exception
from .metadata import MetadataIndex

__all__ = ["find_state_dict_object", "find_tensor_shard"]


def find_tensor_shard(tensor: Tensor, index: MetadataIndex) -> Tensor:
    """The part of a tensor that this process has at `index.offset`, or the whole one where it begins there.

    Raises ValueError where there is none, as in `find_tensor_shard(ones(4), MetadataIndex("w", [2]))`.
    """
    if hasattr(tensor, "__get_tensor_shard__"):
        return tensor.__get_tensor_shard__(index)  # type: ignore[attr-defined]
    if index.offset is not None and index.offset != Size([0] * tensor.dim()):
        raise ValueError(f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'")
    return tensor


def find_state_dict_object(state_dict: dict[str, Any], index: MetadataIndex) -> Any:
    """A value of a flat state, or the part of a tensor.

    Raises ValueError for a name that is not there, as in `find_state_dict_object({}, MetadataIndex("w"))`.
    """
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    value = state_dict[index.fqn]
    if isinstance(value, Tensor):
        return find_tensor_shard(value, index)
    if index.offset is not None:
        raise ValueError(f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'")
    return value


def _attempt(function: Callable[[], Any]) -> Any:
    """What a function returns, or its error, wrapped."""
    try:
        return function()
    except BaseException as error:
        return _wrap_exception(error)


class _DistWrapper:
    """Collectives on objects in a group, or in this process alone. Every error comes to all, as CheckpointException."""

    def __init__(self, group: Any, use_dist: bool, coordinator_rank: int):
        self.group, self.use_dist, self.coordinator_rank = group, use_dist, coordinator_rank
        self.rank = get_rank(group) if use_dist else 0
        self.global_coordinator_rank = get_global_rank(group_of(group), coordinator_rank) if use_dist else 0
        self.is_coordinator = not use_dist or self.rank == coordinator_rank

    def get_rank(self) -> int:
        """This process's rank."""
        return self.rank

    def get_world_size(self) -> int:
        """The number of processes."""
        return get_world_size(self.group) if self.use_dist else 1

    def broadcast_object(self, value: Any) -> Any:
        """The coordinator's object."""
        box = [value]
        if self.use_dist:
            broadcast_object_list(box, self.global_coordinator_rank, self.group)
        return box[0]

    def gather_object(self, value: Any) -> list[Any] | None:
        """All objects, in the coordinator."""
        if not self.use_dist:
            return [value]
        gathered = [None] * self.get_world_size() if self.is_coordinator else None
        gather_object(value, gathered, self.global_coordinator_rank, self.group)
        return gathered

    def all_gather_object(self, value: Any) -> list[Any]:
        """All objects."""
        if not self.use_dist:
            return [value]
        gathered: list[Any] = [None] * self.get_world_size()
        all_gather_object(gathered, value, self.group)
        return gathered

    def scatter_object(self, values: list[Any] | None) -> Any:
        """The object that the coordinator has for this process."""
        if not self.use_dist:
            return values[0] if values else None
        box = [None]
        scatter_object_list(box, values if self.is_coordinator else None, self.global_coordinator_rank, self.group)
        return box[0]

    def _reduced(self, step: str, map_fun: Callable[[], Any], reduce_fun: Callable[[list[Any]], Any]) -> Any:
        """In the coordinator: what `reduce_fun` makes of all results, or the CheckpointException."""
        gathered = self.gather_object(_attempt(map_fun))
        if gathered is None:
            return None
        failures = {rank: value for rank, value in enumerate(gathered) if _is_wrapped_exception(value)}
        if not failures:
            result = _attempt(lambda: reduce_fun(gathered))
            if not _is_wrapped_exception(result):
                return result
            failures = {self.rank: result}
        return CheckpointException(step, failures)

    def reduce_scatter(
        self, step: str, map_fun: Callable[[], Any], reduce_fun: Callable[[list[Any]], list[Any]]
    ) -> Any:
        """The part for this process of what `reduce_fun` makes, in the coordinator, of what `map_fun` returns in all."""
        results = self._reduced(step, map_fun, reduce_fun)
        if isinstance(results, CheckpointException):
            results = [results] * self.get_world_size()
        return _raised(self.scatter_object(results))

    def all_reduce(self, step: str, map_fun: Callable[[], Any], reduce_fun: Callable[[list[Any]], Any]) -> Any:
        """What `reduce_fun` makes, in the coordinator, of what `map_fun` returns in all."""
        return _raised(self.broadcast_object(self._reduced(step, map_fun, reduce_fun)))

    def all_gather(self, step: str, map_fun: Callable[[], Any]) -> list[Any]:
        """What `map_fun` returns in all."""
        results = self.all_gather_object(_attempt(map_fun))
        failures = {rank: value for rank, value in enumerate(results) if _is_wrapped_exception(value)}
        if failures:
            raise CheckpointException(step, failures)
        return results

    def barrier(self) -> None:
        """Wait for all."""
        if self.use_dist:
            barrier(self.group)


def _raised(result: Any) -> Any:
    if isinstance(result, CheckpointException):
        raise result
    return result


def _api_bc_check(function: Callable) -> Callable:
    """Accept the storage as second argument by position, as torch did, with its warning."""

    @wraps(function)
    def accepting(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 2:
            warnings.warn(
                f"The argument order of {function.__name__} has been changed. "
                "Please check the document to avoid future breakages.",
                stacklevel=2,
            )
            name = "storage_writer" if "storage_writer" in signature(function).parameters else "storage_reader"
            if name in kwargs:
                raise AssertionError(f"{name} in kwargs: {(args, kwargs)}")
            args, kwargs[name] = args[:1], args[1]
        return function(*args, **kwargs)

    return accepting
