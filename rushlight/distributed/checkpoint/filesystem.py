"""Checkpoints in folders: a safetensors file for each process, and an index that makes them a checkpoint.

A save writes files of new names, brings them to the disk, and then replaces the index in one step; only then the files of
the checkpoint before are removed. Killed at any moment, it leaves the old checkpoint or the new one, whole.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from ...core.atomic import remove_leftovers, replacing, sync_folder
from ...core.tensor.tensor import Tensor, wrap
from ...serialization import safetensors
from ..work import completed
from ._index import DATA_FILE, StorageInfo, decode, encode
from .default_planner import narrowed
from .metadata import STATE_DICT_TYPE, Metadata, StorageMeta, TensorStorageMetadata
from .planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from .staging import BlockingAsyncStager
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystemReader", "FileSystemWriter", "SerializationFormat"]

_INDEX = ".metadata"  # torch's name: programs look for it
_WAIT_FOR_OTHERS_S = 600


class SerializationFormat(Enum):
    """What data files are. Only SAFETENSORS are written."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


def _index_name(rank: int | None) -> str:
    return _INDEX if rank is None else f"__{rank}{_INDEX}"


class _Folder:
    """A folder's path, from `__init__` or `reset`."""

    path: Path

    @property
    def checkpoint_id(self) -> str | os.PathLike:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether it is the path of a folder that is there, or can be made."""
        path = Path(checkpoint_id)
        if path.is_dir() or "://" in str(checkpoint_id):
            return path.is_dir()
        return any(p.exists() and os.access(str(p), os.W_OK) for p in path.absolute().parents)


class FileSystemWriter(_Folder, StorageWriter, BlockingAsyncStager):
    """Writes a checkpoint into a folder, which all processes have to see.

    single_file_per_rank: False writes a file for each value. sync_files: False does not wait for the disk; a loss of power
    may then leave no checkpoint at all. thread_count: how many threads of a process write, a file each.
    cache_staged_state_dict: `stage` copies into the same memory again at the next `async_save`.
    overwrite: False raises RuntimeError where the folder has a checkpoint.
    per_thread_copy_ahead: how much torch copies from a GPU ahead of writing; changes nothing here.

    Raises NotImplementedError for `_extensions` and for the format TORCH_SAVE.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Any = None,
        serialization_format: SerializationFormat = SerializationFormat.SAFETENSORS,
    ):
        if _extensions:
            raise NotImplementedError("FileSystemWriter: _extensions are not implemented")
        if serialization_format != SerializationFormat.SAFETENSORS:
            raise NotImplementedError("FileSystemWriter writes safetensors; pickles (TORCH_SAVE) are not implemented")
        BlockingAsyncStager.__init__(self, cache_staged_state_dict)
        self.path = Path(path)
        self.single_file_per_rank, self.sync_files, self.thread_count = single_file_per_rank, sync_files, thread_count
        self.per_thread_copy_ahead, self.overwrite = per_thread_copy_ahead, overwrite
        self.rank: int | None = None
        self.use_collectives = True
        self._lock: int | None = None  # the folder's, of the coordinator
        self.reset()

    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """Begin a save, into another folder if it is given."""
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.save_id = os.urandom(8).hex()

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Learn the rank, and whether the processes agree on one checkpoint."""
        self.rank, self.use_collectives = kwargs.get("rank"), kwargs.get("use_collectives", True)

    def storage_meta(self) -> StorageMeta | None:
        """The folder and the save."""
        return StorageMeta(checkpoint_id=self.path, save_id=self.save_id)

    @property
    def _own_rank(self) -> int | None:
        """The rank where each process makes a checkpoint of its own."""
        return None if self.use_collectives else self.rank or 0

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Make the folder. Warns where it has a checkpoint, or raises RuntimeError with `overwrite=False`."""
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / _index_name(self._own_rank)).exists():
            if not self.overwrite:
                raise RuntimeError(f"Checkpoint already exists and {self.overwrite=}.")
            warnings.warn(
                f"Detected an existing checkpoint in {self.path}, overwriting since {self.overwrite=}."
                " Past version 2.5 of PyTorch, `overwrite` will default to False. Set this variable to True to"
                " maintain this functionality or False to raise when an existing checkpoint is found.",
                stacklevel=2,
            )
        return plan if self.use_collectives else replace(plan, storage_data=(self._own_rank, self.save_id))

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Give every process its rank and the save's name, and remove what killed saves have left."""
        if self.use_collectives:
            self._lock = _locked(self.path)
            if self._lock is not None:
                self._remove_all_but(self._files_of_index())
        return [
            plan if plan.storage_data is not None else replace(plan, storage_data=(rank, self.save_id))
            for rank, plan in enumerate(plans)
        ]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Any:
        """Write this process's files, whole and on the disk when the future is there."""
        rank, save_id = plan.storage_data
        shares = [[item] for item in plan.items] if not self.single_file_per_rank else _shares(plan, self.thread_count)
        work = [(f"__{rank}_{i}.{save_id}.safetensors", items) for i, items in enumerate(shares) if items]
        if self.thread_count > 1 and len(work) > 1:
            with ThreadPoolExecutor(self.thread_count) as pool:
                parts = list(pool.map(lambda one: self._write_file(one[0], one[1], save_id, planner), work))
        else:
            parts = [self._write_file(name, items, save_id, planner) for name, items in work]
        if self.sync_files and work:
            sync_folder(self.path)
        return completed([result for part in parts for result in part])

    def _write_file(self, name: str, items: list[WriteItem], save_id: str, planner: SavePlanner) -> list[WriteResult]:
        tensors: dict[str, Tensor] = {}
        for item in items:
            value = planner.resolve_data(item)
            if item.type == WriteItemType.BYTE_IO:
                value = wrap(np.frombuffer(bytearray(value.getvalue()), np.uint8))  # type: ignore[union-attr]
            tensors[_unused(item.index.fqn, tensors)] = safetensors.storable(value)  # type: ignore[arg-type]
        for group in safetensors.sharing_names(tensors):
            tensors.update({key: tensors[key].clone() for key in group[1:]})
        with replacing(self.path / name, sync=self.sync_files) as file:
            safetensors.write(file, tensors, {"format": "pt", "checkpoint": save_id})
            size = file.tell()
        return [
            WriteResult(item.index, tensor.nbytes, StorageInfo(name, key, tensor.nbytes, size))
            for item, (key, tensor) in zip(items, tensors.items(), strict=True)
        ]

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Replace the index, and remove the files of the checkpoint before."""
        metadata.storage_data = {result.index: result.storage_data for part in results for result in part}
        metadata.storage_meta, metadata.version = self.storage_meta(), "1.0.0"
        data, before = encode(metadata, self.save_id), self._files_of_index()
        with replacing(self.path / _index_name(self._own_rank), sync=self.sync_files) as file:
            file.write(data)
        if self.sync_files:
            sync_folder(self.path)
        now = {info.relative_path for info in metadata.storage_data.values()}
        if self._lock is not None:
            self._remove_all_but(now)
        for name in before - now:
            with contextlib.suppress(OSError):
                (self.path / name).unlink()

    def release(self) -> None:
        """Let other saves use the folder."""
        if self._lock is not None:
            _unlock(self._lock)
            self._lock = None

    def _files_of_index(self) -> set[str]:
        """The files of the folder's checkpoint; none where there is none that can be read."""
        with contextlib.suppress(OSError, RuntimeError):
            path = self.path / _index_name(self._own_rank)
            return {
                info.relative_path
                for info in decode(path.read_bytes(), str(path), str(self.path))[0].storage_data.values()
            }
        return set()

    def _remove_all_but(self, kept: set[str]) -> None:
        """Remove the data files that neither this nor any process's own checkpoint has."""
        remove_leftovers(self.path)
        for entry in list(os.scandir(self.path)):
            match = DATA_FILE.fullmatch(entry.name)
            of_one_rank = match and (self.path / _index_name(int(match[1]))).exists()
            if match and entry.name not in kept and not of_one_rank:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)

    def stage(self, state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
        """A copy of the state, for `async_save`."""
        return BlockingAsyncStager.stage(self, state_dict)


def _shares(plan: SavePlan, count: int) -> list[list[WriteItem]]:
    """The items in `count` parts of about the same size."""
    sizes, shares = [0] * max(count, 1), [[] for _ in range(max(count, 1))]
    for item in sorted(plan.items, key=lambda item: -(item.tensor_storage_size() or 0)) if count > 1 else plan.items:
        least = sizes.index(min(sizes))
        shares[least].append(item)
        sizes[least] += item.tensor_storage_size() or 1
    return shares


def _unused(name: str, taken: dict[str, Any]) -> str:
    """A name for the file's table: several parts of a tensor may be in it, and one name is the format's own."""
    key, n = name, 0
    while key in taken or key == "__metadata__":
        n += 1
        key = f"{name}#{n}"
    return key


def _locked(folder: Path) -> int | None:
    """The folder, opened and locked: one save after the other. None where there are no locks.

    Raises RuntimeError when another save holds it all the time. The lock goes with the process.
    """
    try:
        import fcntl

        number = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    end = time.monotonic() + _WAIT_FOR_OTHERS_S
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return number
        except BlockingIOError:
            if time.monotonic() > end:
                os.close(number)
                raise RuntimeError(
                    f"{folder}: another save into this folder has been under way for {_WAIT_FOR_OTHERS_S} s"
                ) from None
            time.sleep(0.02)
        except OSError:  # a file system without locks
            os.close(number)
            return None


def _unlock(number: int) -> None:
    import fcntl

    fcntl.flock(number, fcntl.LOCK_UN)  # a process that was forked meanwhile has the descriptor, too
    os.close(number)


class FileSystemReader(_Folder, StorageReader):
    """Reads the checkpoint in a folder. Files are compared with the index, and numbers with their checksums.

    What is truncated, altered, or of another checkpoint raises RuntimeError, which names the file. Nothing in it is carried
    out. Raises NotImplementedError for `_extension_registry`.
    """

    def __init__(self, path: str | os.PathLike, _extension_registry: Any = None):
        if _extension_registry is not None:
            raise NotImplementedError("FileSystemReader: _extension_registry is not implemented")
        self.path = Path(path)
        self.rank: int | None = None
        self.use_collectives = True
        self.reset()

    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """Begin a load, from another folder if it is given."""
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.storage_data: dict[Any, Any] = {}
        self.load_id = os.urandom(8).hex()

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The checkpoint's content, of `rank` where it has one of its own.

        Raises FileNotFoundError for a folder without a checkpoint, RuntimeError for an index that is damaged, foreign, or
        does not match the files.
        """
        path = self.path / _index_name(kwargs.get("rank"))
        metadata, _ = decode(path.read_bytes(), str(path), str(self.path))
        metadata.storage_meta.load_id = self.load_id  # type: ignore[union-attr]
        return metadata

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Take the checkpoint's content."""
        self.rank, self.use_collectives = kwargs.get("rank"), kwargs.get("use_collectives", True)
        self.metadata, self.storage_data = metadata, metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan as it is."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans as they are."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Any:
        """Fill what the planner resolves. All files are opened, and their tables compared, before the first is read."""
        by_file: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            by_file.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)
        with contextlib.ExitStack() as stack:
            opened = {name: stack.enter_context(self._opened(name, items)) for name, items in by_file.items()}
            for name, items in by_file.items():
                self._read_file(name, opened[name], items, planner)
        return completed(None)

    def _opened(self, name: str, items: list[ReadItem]) -> Any:
        with self._naming(name):
            file = safetensors.safe_open(self.path / name, framework="pt")
            of = (file.metadata() or {}).get("checkpoint")
            if of != self.metadata.storage_meta.save_id:  # type: ignore[union-attr]
                raise ValueError(f"it is of the save {of!r}, and the index of {self.metadata.storage_meta.save_id!r}")  # type: ignore[union-attr]
            for item in items:
                info, part = self.storage_data[item.storage_index], None
                part = file.get_slice(info.key)
                kind, size = safetensors.stored_as(*self._expected(item))
                if part.get_dtype() != kind or part.get_shape() != size:
                    raise ValueError(
                        f"{info.key!r} is {part.get_dtype()} {part.get_shape()}, and {kind} {size} in the index"
                    )
            return file

    def _expected(self, item: ReadItem) -> tuple[Any, list[int]]:
        """The type and size of what is saved."""
        known = self.metadata.state_dict_metadata[item.storage_index.fqn]
        if not isinstance(known, TensorStorageMetadata):
            return safetensors.BYTES, [self.storage_data[item.storage_index].length]
        chunk = next(chunk for chunk in known.chunks if chunk.offsets == item.storage_index.offset)
        return known.properties.dtype, list(chunk.sizes)

    def _read_file(self, name: str, file: Any, items: list[ReadItem], planner: LoadPlanner) -> None:
        key, value = None, None
        for item in sorted(items, key=lambda item: self.storage_data[item.storage_index].key):
            with self._naming(name):
                if key != self.storage_data[item.storage_index].key:
                    key = self.storage_data[item.storage_index].key
                    value = safetensors.restored(file.get_tensor(key), *self._expected(item))
                if item.type == LoadItemType.BYTE_IO:
                    planner.load_bytes(item, io.BytesIO(value.numpy().tobytes()))  # type: ignore[union-attr]
                    continue
            block = narrowed(value, item.storage_offsets, item.lengths)  # type: ignore[arg-type]
            target = planner.resolve_tensor(item).detach()
            if target.size() != block.size():
                raise AssertionError(f"req {item.storage_index} mismatch sizes {target.size()} vs {block.size()}")
            target.copy_(block)
            planner.commit_tensor(item, target)

    @contextlib.contextmanager
    def _naming(self, name: str) -> Any:
        from safetensors import SafetensorError

        try:
            yield
        except (SafetensorError, OSError, ValueError, NotImplementedError, OverflowError) as error:
            raise RuntimeError(f"{self.path / name}: {error}") from error
