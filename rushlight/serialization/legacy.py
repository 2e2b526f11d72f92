"""The format before torch 1.6: pickles one after the other, then each storage's size and bytes."""

import io
import os
import struct
import sys

import numpy as np

from rushlight.core.tensor.pickling import Memory, after_load

from .pickler import SavedStorages, pickler_class
from .storages import check_saved_id, same_dtype, storage_type_of, typed
from .zip_format import read_into

__all__ = ["load", "writer"]

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_SYSTEM = {
    "protocol_version": PROTOCOL_VERSION,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": struct.calcsize("=l")},
}


def writer(obj, pickle_module, pickle_protocol):
    """A function (file) that writes `obj` in the old format, and about how many bytes; all pickling has succeeded by then."""
    storages = SavedStorages(None)  # one more field in the ids: this format could store views of storages
    buffer = io.BytesIO()
    for header in (MAGIC_NUMBER, PROTOCOL_VERSION, _SYSTEM):
        pickle_module.dump(header, buffer, protocol=pickle_protocol)
    pickler_class(pickle_module, storages)(buffer, protocol=pickle_protocol).dump(obj)
    keys = sorted(storages.memories)
    pickle_module.dump(keys, buffer, protocol=pickle_protocol)

    def write(file):
        file.write(buffer.getbuffer())
        for key in keys:
            memory = storages.memories[key]
            file.write(struct.pack("<q", memory.nbytes() // storage_type_of(memory).dtype.itemsize))
            file.write(memoryview(memory.bytes()))

    return write, len(buffer.getbuffer()) + storages.size_bytes


def load(file, restore, make_unpickler, weights_only):
    """The object in a file of the old format, read from the current position."""
    _refuse_tar(file, weights_only)
    storages = _FollowingStorages(file, restore)

    def unpickle():
        return make_unpickler(file, storages.persistent_load).load()

    if unpickle() != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = unpickle()
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version if type(version) is int else type(version)}")
    system = unpickle()
    with after_load:
        result = unpickle()
        storages.read_all(unpickle(), swapped=_is_little_endian(system) != (sys.byteorder == "little"))
    return result


def _is_little_endian(system):
    return bool(system.get("little_endian", True)) if isinstance(system, dict) else True


def _refuse_tar(file, weights_only):
    start = file.tell()
    file.seek(start + 257)
    magic = file.read(5)
    file.seek(start)
    if magic != b"ustar":
        return
    if weights_only:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with files saved in the legacy .tar format (before torch 0.1.10)."
        )
    raise NotImplementedError(
        "torch.load of the legacy .tar format (before torch 0.1.10) is not implemented; load the file with an older "
        "torch and save it again"
    )


class _FollowingStorages:
    """Storages that are made when the pickle names them, and filled when the pickle is over."""

    def __init__(self, file, restore):
        self._file = file
        self._restore = restore
        self._made = {}
        self._views = {}
        start = file.tell()
        self._room = file.seek(0, os.SEEK_END) - start
        file.seek(start)

    def persistent_load(self, saved_id):
        """The memory for ("storage", StorageType, key, location, number of elements, view or None)."""
        if type(saved_id) is tuple and saved_id and saved_id[0] in ("module", b"module"):
            return saved_id[1]  # a module's class, with its source, which torch only compares to warn
        kind, key, location, numel, view = check_saved_id(saved_id, 6)
        if key not in self._made:
            self._made[key] = self._restore(self._make(kind.dtype, numel, key), location)
        memory = same_dtype(self._made[key], kind.dtype, key)
        return memory if view is None else self._view(memory, *view)

    def read_all(self, keys, swapped):
        """Fill the storages in the order of `keys`, from the file."""
        if (
            not isinstance(keys, list)
            or any(type(key) is not str for key in keys)
            or sorted(keys) != sorted(self._made)
        ):
            raise RuntimeError("the list of storages is not that of the pickle; corrupt file?")
        for key in keys:
            memory = self._made[key]
            size = self._file.read(8)
            if size != struct.pack("<q", memory.size()):
                raise RuntimeError(f"storage {key!r} should have {memory.size()} elements here; the file is corrupted")
            if not read_into(self._file, memory.bytes()):
                raise RuntimeError(f"unexpected EOF: storage {key!r} ends before its {memory.nbytes()} bytes")
            typed(memory.bytes(), memory.dtype, swapped)

    def _make(self, dtype, numel, key):
        self._room -= numel * dtype.itemsize
        if self._room < 0:
            raise RuntimeError(
                f"storage {key!r} claims {numel} elements of {dtype}, more than the rest of the file holds"
            )
        return Memory(np.empty(numel, dtype.numpy))

    def _view(self, memory, key, offset, size):
        if type(offset) is not int or type(size) is not int or not 0 <= offset <= offset + size <= memory.size():
            raise RuntimeError(f"view {key!r} of {size!r} elements at {offset!r} is outside its storage")
        if key not in self._views:
            view = self._views[key] = Memory(memory.flat[offset : offset + size])
            view.storage = memory.shared_record()
        return self._views[key]
