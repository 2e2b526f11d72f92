"""The index file of a checkpoint: JSON that says what is in which safetensors file. It is what makes files a checkpoint.

It names the save to which its files belong, and their sizes. Nothing in it is believed before it has been compared with
the files: names, sizes, parts that cover their tensors.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from dataclasses import dataclass
from math import prod
from typing import Any

from ...core.tensor.size import Size
from . import _values
from .metadata import (
    STORAGE_TYPES,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner_helpers import _chunk_errors

__all__ = ["DATA_FILE", "StorageInfo", "decode", "encode", "is_number"]

_FORMAT = "rushlight distributed checkpoint"
_VERSION = "1"
DATA_FILE = re.compile(r"__(\d{1,9})_(\d{1,9})\.([0-9a-f]{16})\.safetensors")  # rank, number, save
_LONGEST_GAP = 1000  # in a list: empty dicts between values, which are not saved


@dataclass
class StorageInfo:
    """Where a value is: the file, its name there, its bytes, and the size of the whole file."""

    relative_path: str
    key: str
    length: int
    file_bytes: int


class _Wrong(Exception):
    """What is wrong with an index."""


def encode(metadata: Metadata, save_id: str) -> bytes:
    """The index file. Raises ValueError or TypeError for a plan that it cannot hold."""
    places: dict[str, list[Any]] = {}
    files: dict[str, int] = {}
    for index, info in metadata.storage_data.items():
        places.setdefault(index.fqn, []).append((index.offset, info))
        files[info.relative_path] = info.file_bytes
    entries: dict[str, Any] = {}
    for fqn, known in metadata.state_dict_metadata.items():
        entry = entries[fqn] = {}
        if isinstance(known, TensorStorageMetadata):
            entry.update(dtype=known.properties.dtype.name, size=list(known.size))
            entry.update(requires_grad=known.properties.requires_grad)
            sizes = {chunk.offsets: chunk.sizes for chunk in known.chunks}
        entry["at"] = [
            [info.relative_path, info.key, info.length]
            if isinstance(known, BytesStorageMetadata)
            else [info.relative_path, info.key, info.length, list(offset), list(sizes[offset])]
            for offset, info in places[fqn]
        ]
    body = {"save": save_id, "files": files, "planner_data": None, "entries": entries}
    if metadata.planner_data is not None:
        body["planner_data"] = json.loads(_values.dumps(metadata.planner_data, "planner_data"))
    text = json.dumps(body, separators=(",", ":"))
    crc = zlib.crc32(text.encode())
    try:
        _check_paths(metadata.planner_data, entries)
    except _Wrong as error:
        raise ValueError(str(error)) from None
    return f'{{"format":"{_FORMAT}","version":"{_VERSION}","crc32":{crc},"checkpoint":{text}}}'.encode()


def decode(data: bytes, path: str, folder: str) -> tuple[Metadata, str]:
    """(content, save) of an index file. Raises RuntimeError, naming the file, for any other bytes or files that differ."""
    try:
        body = _body(data)
        files = _checked_files(body["files"], folder, body["save"])
        metadata = Metadata({}, None, {}, StorageMeta(folder, body["save"]), _VERSION)
        for fqn, entry in body["entries"].items():
            metadata.state_dict_metadata[fqn] = _entry(fqn, entry, files, metadata.storage_data)
        if body["planner_data"] is not None:
            metadata.planner_data = _values.loads(json.dumps(body["planner_data"]).encode(), "planner_data")
        _check_paths(metadata.planner_data, body["entries"])
    except _Wrong as error:
        raise RuntimeError(f"{path}: {error}") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
        raise RuntimeError(f"{path}: it is not the index of a checkpoint, or is damaged: {error}") from error
    return metadata, body["save"]


def _body(data: bytes) -> dict[str, Any]:
    if data[:1] == b"\x80":
        raise _Wrong(
            "it is a pickle, as torch.distributed.checkpoint of torch writes it, and pickles are not read. Under torch, "
            "dcp_to_torch_save makes a file of such a checkpoint that torch.load reads"
        )
    whole = json.loads(data)
    if not isinstance(whole, dict) or whole.get("format") != _FORMAT:
        raise _Wrong("it is not the index of a checkpoint")
    if whole["version"] != _VERSION:
        raise _Wrong(f"it is an index of version {whole['version']!r}, and only {_VERSION!r} can be read")
    body = whole["checkpoint"]
    crc = zlib.crc32(json.dumps(body, separators=(",", ":")).encode())
    if crc != whole["crc32"]:
        raise _Wrong(f"it has checksum {crc} (CRC-32), not {whole['crc32']}: it was altered")
    return body


def _checked_files(files: dict[str, int], folder: str, save_id: str) -> dict[str, int]:
    """{name: bytes}, when they are in the folder."""
    for name, size in files.items():
        match = DATA_FILE.fullmatch(name)
        if match is None or match[3] != save_id:
            raise _Wrong(f"it names {name!r}, which is not a file of this checkpoint")
        path = os.path.join(folder, name)
        try:
            found = os.stat(path).st_size
        except OSError as error:
            raise _Wrong(f"its file {path} cannot be read: {error.strerror}") from None
        if found != size:
            raise _Wrong(f"its file {path} has {found} bytes, not {size}: it is truncated, or of another checkpoint")
    return files


def _entry(fqn: str, entry: dict[str, Any], files: dict[str, int], places: dict[MetadataIndex, Any]) -> STORAGE_TYPES:
    """What is saved under a name; where goes to `places`."""
    for place in entry["at"]:
        name, key, length = place[:3]
        if not isinstance(key, str) or not is_number(length) or length > files[name]:
            raise _Wrong(f"{fqn!r} would take {length!r} bytes of a file that has {files[name]}")
    if "dtype" not in entry:
        ((name, key, length),) = entry["at"]
        places[MetadataIndex(fqn)] = StorageInfo(name, key, length, files[name])
        return BytesStorageMetadata()
    dtype = _values._dtype(entry["dtype"])
    properties = TensorProperties(dtype, requires_grad=bool(entry["requires_grad"]))
    known = TensorStorageMetadata(properties, _size(entry["size"]), [])
    for i, (name, key, length, offsets, sizes) in enumerate(entry["at"]):
        chunk = ChunkStorageMetadata(_size(offsets), _size(sizes))
        if prod(chunk.sizes) * dtype.itemsize != length:
            raise _Wrong(f"{fqn!r}: a part of {list(sizes)} numbers of {dtype} does not have {length} bytes")
        known.chunks.append(chunk)
        places[MetadataIndex(fqn, chunk.offsets, i)] = StorageInfo(name, key, length, files[name])
    for error in _chunk_errors(fqn, known):
        raise _Wrong(error)
    return known


def _size(numbers: list[Any]) -> Size:
    if not all(map(is_number, numbers)):
        raise _Wrong(f"{numbers!r} is no size")
    return Size(numbers)


def is_number(value: Any) -> bool:
    """Whether it is a size or an offset."""
    return type(value) is int and 0 <= value < 2**62


def _check_paths(paths: Any, entries: dict[str, Any]) -> None:
    """Refuse paths that would make lists of more than what there is, or one place a value and a dict."""
    if not isinstance(paths, dict):
        return
    kinds: dict[tuple, type] = {}
    for fqn, path in paths.items():
        if fqn not in entries or type(path) is not tuple or ".".join(map(str, path)) != fqn:
            raise _Wrong(f"{path!r} is no path of {fqn!r}")
        for n, part in enumerate(path):
            if type(part) is not str and not (type(part) is int and 0 <= part < len(entries) + _LONGEST_GAP):
                raise _Wrong(f"{part!r} is no part of a path, or the list in {fqn!r} is nearly empty")
            if kinds.setdefault(path[:n], type(part)) is not type(part):
                raise _Wrong(f"{'.'.join(map(str, path[:n]))!r} is a list and a dict")
    for fqn, path in paths.items():
        if path in kinds:
            raise _Wrong(f"{fqn!r} is a value and a dict")
