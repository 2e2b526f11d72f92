"""`save`: an object with tensors into a file that torch loads too."""

import io
import os
import pickle
import sys

from . import legacy
from .atomic import atomic_write, check_folder
from .pickler import SavedStorages, pickler_class
from .zip_format import ALIGNMENT, ZipWriter, archive_name_of

__all__ = ["DEFAULT_PROTOCOL", "save"]

DEFAULT_PROTOCOL = 2


def save(
    obj,
    f,
    pickle_module=pickle,
    pickle_protocol=DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization=True,
    _disable_byteorder_record=False,
):
    """Save an object to a file, in the format that torch writes.

    obj: anything pickle takes; tensors keep their aliases, a view brings its whole storage.
    f: a path, or a file-like object with `write`. A path is replaced at once when everything is written: after an
    error, or a crash, the file that was there before is unchanged.

    Raises pickle.PicklingError (or what an object's own pickling raises), RuntimeError where writing to a path fails.

    >>> import io
    >>> save({"epoch": 3}, io.BytesIO())
    """
    is_path = isinstance(f, (str, bytes, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if is_path:
        check_folder(f)
    if _use_new_zipfile_serialization:
        name = archive_name_of(f) if is_path else "archive"
        write, size_bytes = _zip_writer(obj, name, pickle_module, pickle_protocol, _disable_byteorder_record)
    else:
        write, size_bytes = legacy.writer(obj, pickle_module, pickle_protocol)
    if is_path:
        with atomic_write(f, size_bytes) as file:
            write(file)
    else:
        write(f)
        if hasattr(f, "flush"):
            f.flush()


def _zip_writer(obj, archive_name, pickle_module, pickle_protocol, disable_byteorder_record):
    """A function (file) that writes the archive, and about how many bytes; all pickling has succeeded when it returns."""
    storages = SavedStorages()
    buffer = io.BytesIO()
    pickler_class(pickle_module, storages)(buffer, protocol=pickle_protocol).dump(obj)

    def write(file):
        archive = ZipWriter(file, archive_name)
        archive.write_record("data.pkl", buffer.getbuffer())
        archive.write_record(".format_version", b"1")
        archive.write_record(".storage_alignment", str(ALIGNMENT).encode())
        if not disable_byteorder_record:
            archive.write_record("byteorder", sys.byteorder.encode())
        for key, memory in storages.memories.items():
            archive.write_record(f"data/{key}", memory.bytes())
        archive.finish()

    return write, len(buffer.getbuffer()) + storages.size_bytes
