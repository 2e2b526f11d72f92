"""The planners of `save` and `load`: what every process has is written once, by the one that has least to write."""

from __future__ import annotations

import io
from collections import ChainMap
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ...core.tensor.tensor import Tensor
from ...ops import empty
from . import _values
from ._nested_dict import FLATTEN_MAPPING, flatten_state_dict, set_element
from .metadata import (
    STATE_DICT_TYPE,
    STORAGE_TYPES,
    BytesStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem, WriteItemType
from .planner_helpers import _chunk_errors, _create_read_items, _create_write_items, _init_state_dict
from .utils import find_state_dict_object

__all__ = [
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "create_default_global_load_plan",
    "create_default_global_save_plan",
    "create_default_local_load_plan",
    "create_default_local_save_plan",
]


class DefaultSavePlanner(SavePlanner):
    """Plans a save of a nested state, whose tensors and other values get names of joined keys.

    flatten_state_dict: False saves each value of the outer dict under its key, a nested one as a whole.
    dedup_save_to_lowest_rank: what several processes have is written by the first of them, not by the one that has least.
    flatten_sharded_tensors, dedup_replicated_tensors, enable_plan_caching: change nothing here: no tensors are nested, what
    several have is always written once, and plans are made at each save.
    """

    mappings: FLATTEN_MAPPING

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ):
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings = {}

    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        """Take the state that is to be saved."""
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        """Everything that this process has."""
        self.plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            self.plan = replace(self.plan, planner_data=self.mappings)
        return self.plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Everything once. Raises ValueError where processes have different tensors of one name, or parts that overlap."""
        plans, metadata = create_default_global_save_plan(_written_once(all_plans, self.dedup_save_to_lowest_rank))
        if self.flatten_state_dict:
            metadata = replace(metadata, planner_data=dict(ChainMap(*[plan.planner_data for plan in plans])))
        _check(metadata.state_dict_metadata)
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """The coordinator's plan."""
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """The tensor, or the text of another value. Raises TypeError, naming the key, for what has none."""
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The value of a name. For subclasses."""
        return find_state_dict_object(self.state_dict, index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """What is written of a value. For subclasses."""
        if write_item.type != WriteItemType.BYTE_IO or isinstance(object, io.BytesIO):
            return object
        return io.BytesIO(_values.dumps(object, write_item.index.fqn))


class DefaultLoadPlanner(LoadPlanner):
    """Plans a load into a nested state: tensors are filled in place, other values replaced.

    flatten_state_dict: as when it was saved. flatten_sharded_tensors changes nothing here.
    allow_partial_load: leave alone what the checkpoint does not have, instead of raising RuntimeError.
    """

    original_state_dict: STATE_DICT_TYPE
    mappings: FLATTEN_MAPPING

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ):
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.original_state_dict, self.mappings = {}, {}

    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Take the state that is to be filled, and the checkpoint's content."""
        _init_state_dict(state_dict)
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        """What this process needs. Raises RuntimeError for a missing key, ValueError for a tensor of another size."""
        assert self.metadata is not None
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """The plans as they are."""
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, new_plan: LoadPlan) -> LoadPlan:
        """The plan as it is."""
        return new_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Put a value into the state, at its place."""
        name = read_item.dest_index.fqn
        loaded = _values.loads(value.read(), name)
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], loaded)
        else:
            self.state_dict[name] = loaded

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """The block of the state's tensor that is filled."""
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Nothing: the tensor is the state's own."""

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """The tensor of a name. For subclasses."""
        return find_state_dict_object(self.state_dict, index)

    def transform_tensor(self, read_item: ReadItem, tensor: Tensor) -> Tensor:
        """The block of a tensor. For subclasses."""
        return narrowed(tensor, read_item.dest_offsets, read_item.lengths)


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Fills an empty dict with the checkpoint, or with `keys` of it: names of values, or of dicts above them."""

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any):
        self.keys = keys
        super().__init__(*args, **kwargs)

    def _should_include_key(self, key: str, metadata: Metadata) -> bool:
        if self.keys is None or key in self.keys:
            return True
        path = (metadata.planner_data or {}).get(key, (key,))
        return any(".".join(map(str, path[:n])) in self.keys for n in range(1, len(path) + 1))

    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Make tensors of the checkpoint's sizes in the empty dict."""
        if state_dict:
            raise AssertionError("not state_dict")
        assert metadata is not None
        for key, known in metadata.state_dict_metadata.items():
            if self._should_include_key(key, metadata):
                is_tensor = isinstance(known, TensorStorageMetadata)
                value = empty(known.size, dtype=known.properties.dtype) if is_tensor else known
                set_element(state_dict, (metadata.planner_data or {}).get(key, (key,)), value)
        super().set_up_planner(state_dict, metadata, is_coordinator)


def narrowed(tensor: Tensor, offsets: Iterable[int], sizes: Iterable[int]) -> Tensor:
    """A block of a tensor, as a view."""
    for dim, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
        if (offset, size) != (0, tensor.size(dim)):
            tensor = tensor.narrow(dim, offset, size)
    return tensor


def create_default_local_load_plan(state_dict: dict[str, Any], metadata: Metadata, strict: bool = True) -> LoadPlan:
    """What to read for a flat state.

    Raises RuntimeError for a key that the checkpoint does not have, if `strict`; ValueError for a tensor of another size.
    """
    requests: list[ReadItem] = []
    for fqn, value in state_dict.items():
        if fqn not in metadata.state_dict_metadata:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {fqn}.")
            continue
        known = metadata.state_dict_metadata[fqn]
        if isinstance(known, TensorStorageMetadata) and isinstance(value, Tensor) and known.size != value.size():
            raise ValueError(f"Size mismatch between saved {known.size} and current: {value.size()} for {fqn}")
        requests += _create_read_items(fqn, known, value)
    return LoadPlan(requests)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """The plans as they are."""
    return all_plans


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """All values of a flat state, in every process alike: the global plan sees to it that each is written once."""
    return SavePlan([item for fqn, value in state_dict.items() for item in _create_write_items(fqn, value)])


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The plans, whose items know their place among the parts of a tensor, and the checkpoint's content.

    Raises AssertionError for a value that several would write.
    """
    content: dict[str, STORAGE_TYPES] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            fqn, data = item.index.fqn, item.tensor_data
            if item.type != WriteItemType.SHARD and fqn in content:
                raise AssertionError(f"{fqn} would be written by several processes")
            if data is None:
                content[fqn] = BytesStorageMetadata()
            else:
                known = content.setdefault(fqn, TensorStorageMetadata(data.properties, data.size, []))
                assert isinstance(known, TensorStorageMetadata), f"{fqn} is a tensor in one process and not in another"
                if rewrite_index_hints:
                    item = replace(item, index=replace(item.index, index=len(known.chunks)))
                known.chunks.append(data.chunk)
            items.append(item)
        plans.append(replace(plan, items=items))
    return plans, Metadata(content)


def _written_once(plans: list[SavePlan], to_lowest_rank: bool) -> list[SavePlan]:
    """The plans without what another one writes: of those that have an item, the one with the fewest bytes writes it.

    Raises ValueError where they disagree on what it is.
    """
    having: dict[MetadataIndex, list[int]] = {}
    first: dict[MetadataIndex, WriteItem] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            known = first.setdefault(item.index, item)
            if _kind(known) != _kind(item):
                raise ValueError(
                    f"key:{item.index.fqn} is {_kind(known)} in process {having[item.index][0]} and {_kind(item)} in "
                    f"process {rank}"
                )
            having.setdefault(item.index, []).append(rank)
    bytes_of, kept = [0] * len(plans), [set[MetadataIndex]() for _ in plans]
    for index, ranks in having.items():
        rank = min(ranks) if to_lowest_rank else min(ranks, key=bytes_of.__getitem__)
        bytes_of[rank] += first[index].tensor_storage_size() or 1
        kept[rank].add(index)
    return [
        replace(plan, items=[item for item in plan.items if item.index in own])
        for plan, own in zip(plans, kept, strict=True)
    ]


def _kind(item: WriteItem) -> str:
    data = item.tensor_data
    return "no tensor" if data is None else f"{data.properties.dtype} {list(data.chunk.sizes)} of {list(data.size)}"


def _check(content: dict[str, STORAGE_TYPES]) -> None:
    """Raise ValueError where the parts of a tensor leave some of it out, or overlap."""
    for fqn, known in content.items():
        for error in _chunk_errors(fqn, known) if isinstance(known, TensorStorageMetadata) else ():
            raise ValueError(f"Failed to validate global plan: {error}")
