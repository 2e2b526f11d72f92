"""The items of plans: what to write of a value, and which saved parts of a tensor the parts of another one need."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from ...core.tensor.size import Size
from ...core.tensor.tensor import Tensor
from ...ops import empty_like
from ..tensor._dtensor import DTensor
from .metadata import (
    STORAGE_TYPES,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import LoadItemType, ReadItem, TensorWriteData, WriteItem, WriteItemType

__all__ = ["create_read_items_for_chunk_list"]


def _whole(tensor: Tensor) -> ChunkStorageMetadata:
    return ChunkStorageMetadata(Size([0] * tensor.dim()), tensor.size())


def _parts(tensor: DTensor) -> list[ChunkStorageMetadata]:
    """What this process has of a tensor that is spread over processes."""
    place = tensor._place()
    return [] if place is None else [ChunkStorageMetadata(Size(place[0]), Size(place[1]))]


def _create_write_items(fqn: str, value: Any) -> list[WriteItem]:
    """What to write of a value. A tensor of which this process has parts says them itself, by `__create_write_items__`.

    Raises NotImplementedError for tensors without memory of their own, as in `_create_write_items("w", ones(2).to("meta"))`.
    """
    if hasattr(value, "__create_write_items__"):
        return value.__create_write_items__(fqn, value)
    if isinstance(value, DTensor):
        data = [TensorWriteData(c, TensorProperties.create_from_tensor(value), value.size()) for c in _parts(value)]
        return [WriteItem(MetadataIndex(fqn, d.chunk.offsets), WriteItemType.SHARD, None, d) for d in data]
    if not isinstance(value, Tensor):
        return [WriteItem(MetadataIndex(fqn), WriteItemType.BYTE_IO)]
    if value.is_sparse or value.is_quantized or value.device.type == "meta":
        kind = "meta" if value.device.type == "meta" else "sparse" if value.is_sparse else "quantized"
        raise NotImplementedError(f"{fqn}: {kind} tensors cannot be put into a checkpoint")
    chunk = _whole(value)
    data = TensorWriteData(chunk, TensorProperties.create_from_tensor(value), value.size())
    return [WriteItem(MetadataIndex(fqn, chunk.offsets), WriteItemType.TENSOR, None, data)]


def _create_chunk_list(tensor: Any) -> list[ChunkStorageMetadata]:
    """The parts of a tensor that this process has.

    Raises ValueError for what is no tensor, as in `_create_chunk_list(1)`.
    """
    if hasattr(tensor, "__create_chunk_list__"):
        return tensor.__create_chunk_list__()
    if isinstance(tensor, DTensor):
        return _parts(tensor)
    if not isinstance(tensor, Tensor):
        raise ValueError(f"Unsupported Type, expecting one of [Tensor, DTensor, ShardedTensor] ,but got {type(tensor)}")
    return [_whole(tensor)]


def _create_read_items(fqn: str, md: STORAGE_TYPES, obj: Any) -> list[ReadItem]:
    """What to read for a value."""
    if isinstance(md, BytesStorageMetadata):
        index, zero = MetadataIndex(fqn), Size([0])
        return [ReadItem(LoadItemType.BYTE_IO, index, zero, index, zero, zero)]
    try:
        chunks = _create_chunk_list(obj)
    except ValueError as error:
        raise ValueError(
            f"Invalid checkpoint metadata for {fqn}, expected BytesStorageMetadata but found {type(md)}"
        ) from error
    return create_read_items_for_chunk_list(fqn, md, chunks)


def create_read_items_for_chunk_list(
    fqn: str, checkpoint_md: TensorStorageMetadata, local_chunks: list[ChunkStorageMetadata]
) -> list[ReadItem]:
    """What to read so that the parts `local_chunks` of a tensor are filled from the parts in which it was saved."""
    items = []
    for i, local in enumerate(local_chunks):
        for j, saved in enumerate(checkpoint_md.chunks):
            block = _overlap(saved, local)
            if block is None:
                continue
            start, lengths = block
            to, at = ([a - b for a, b in zip(start, c.offsets, strict=True)] for c in (local, saved))
            items.append(
                ReadItem(
                    LoadItemType.TENSOR,
                    MetadataIndex(fqn, local.offsets, i),
                    Size(to),
                    MetadataIndex(fqn, saved.offsets, j),
                    Size(at),
                    Size(lengths),
                )
            )
    return items


def _overlap(one: ChunkStorageMetadata, other: ChunkStorageMetadata) -> tuple[list[int], list[int]] | None:
    """(offsets, sizes) of what two parts have in common; None where that is nothing."""
    offsets = [max(a, b) for a, b in zip(one.offsets, other.offsets, strict=True)]
    ends = [min(a + n, b + m) for a, n, b, m in zip(one.offsets, one.sizes, other.offsets, other.sizes, strict=True)]
    sizes = [end - offset for end, offset in zip(ends, offsets, strict=True)]
    return None if any(size <= 0 for size in sizes) else (offsets, sizes)


def _chunk_errors(fqn: str, md: TensorStorageMetadata) -> Iterator[str]:
    """What is wrong with the parts of a tensor: they have to cover it, once."""
    for chunk in md.chunks:
        parts = list(zip(chunk.offsets, chunk.sizes, md.size, strict=True))
        if any(offset < 0 or size < 0 or offset + size > whole for offset, size, whole in parts):
            yield f"key:{fqn} has out of bounds chunk: tensor-size:{md.size} chunk: {chunk}"
            return
    filled, needed = sum(prod(chunk.sizes) for chunk in md.chunks), prod(md.size)
    if filled != needed or not md.chunks:
        yield f"key:{fqn} invalid fill tensor-volume: {needed} chunks-volume: {filled}"
    if len(md.chunks) < 2:
        return
    dim = max(range(len(md.size)), key=lambda d: md.size[d], default=0)
    open_chunks: list[ChunkStorageMetadata] = []
    for chunk in sorted(md.chunks, key=lambda c: c.offsets[dim] if c.offsets else 0):
        open_chunks = [c for c in open_chunks if not c.offsets or c.offsets[dim] + c.sizes[dim] > chunk.offsets[dim]]
        for other in open_chunks:
            if _overlap(chunk, other) is not None:
                yield f"key:{fqn} has overlapping chunks: {chunk} {other}"
                return
        open_chunks.append(chunk)


def _init_state_dict(state_dict: Any) -> Any:
    """Give the meta tensors of a nested state memory, in place."""
    if isinstance(state_dict, Tensor):
        return empty_like(state_dict, device="cpu") if state_dict.device.type == "meta" else state_dict
    if isinstance(state_dict, dict):
        for key, value in state_dict.items():
            state_dict[key] = _init_state_dict(value)
    elif isinstance(state_dict, list):
        state_dict[:] = map(_init_state_dict, state_dict)
    elif type(state_dict) is tuple:
        return tuple(map(_init_state_dict, state_dict))
    return state_dict
